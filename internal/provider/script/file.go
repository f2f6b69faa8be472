package script

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/plainfile"
	"github.com/openmuse/muse/internal/provider"
)

// Version is the schema_version of script files.
const Version = 1

// File is a recorded model.
type File struct {
	SchemaVersion int `json:"schema_version"`
	// Model is the id that replies name; the requested one when empty.
	Model string `json:"model,omitzero"`
	// Summary answers a request that offers no tools, which is how a session
	// asks for its own summary. It does not count as a reply.
	Summary string  `json:"summary,omitzero"`
	Replies []Reply `json:"replies"`
}

// Reply is what the model says to one request.
type Reply struct {
	Reasoning string `json:"reasoning,omitzero"` // readable summary; paragraphs are split at blank lines
	Text      string `json:"text,omitzero"`
	ToolCalls []Call `json:"tool_calls,omitzero"`
	Usage     Usage  `json:"usage,omitzero"`
	// Finish overrides the finish reason: "stop", "tool_calls", "length" or
	// "content_filter".
	Finish provider.Finish `json:"finish,omitzero"`
	// Chunk is the size of a text delta in words; 0 means 3.
	Chunk int `json:"chunk,omitzero"`
	// DelayMS is waited out before the reply, so that a run can be interrupted
	// while the model works.
	DelayMS int `json:"delay_ms,omitzero"`
	// Failures are played before the reply, one an attempt.
	Failures []Failure `json:"failures,omitzero"`
}

// Call is one tool call: Args is a JSON value, ArgsText raw text as a model
// that writes bad JSON would send it. Exactly one is given.
type Call struct {
	Name     string         `json:"name"`
	Args     jsontext.Value `json:"args,omitzero"`
	ArgsText *string        `json:"args_text,omitzero"`
}

// text is the argument text as the model wrote it.
func (c *Call) text() string {
	if c.ArgsText != nil {
		return *c.ArgsText
	}
	return string(c.Args)
}

// Usage counts tokens as provider.Usage does.
type Usage struct {
	Input      int64 `json:"input,omitzero"`
	Output     int64 `json:"output,omitzero"`
	Reasoning  int64 `json:"reasoning,omitzero"`
	CacheRead  int64 `json:"cache_read,omitzero"`
	CacheWrite int64 `json:"cache_write,omitzero"`
}

// Failure is one attempt that does not get the reply.
type Failure struct {
	Class        provider.Class `json:"class"`
	Status       int            `json:"status,omitzero"`
	Code         string         `json:"code,omitzero"`
	Message      string         `json:"message,omitzero"`
	RetryAfterMS int64          `json:"retry_after_ms,omitzero"`
	QuotaScope   string         `json:"quota_scope,omitzero"`
	ResetAt      string         `json:"reset_at,omitzero"`
	// AfterDeltas is how many text deltas of the reply go out before the
	// failure, as in a stream that breaks.
	AfterDeltas int `json:"after_deltas,omitzero"`
}

// Load reads the script file at path.
func Load(path string) (*File, error) {
	data, err := plainfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read model script: %w", err)
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("model script %s: %w", path, err)
	}
	return f, nil
}

// Parse decodes a script. Unknown members, duplicate members and values that
// no model could give are errors.
func Parse(data []byte) (*File, error) {
	var f File
	if err := json.Unmarshal(data, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if f.SchemaVersion != Version {
		return nil, fmt.Errorf("schema_version is %d, want %d", f.SchemaVersion, Version)
	}
	for i := range f.Replies {
		if err := f.Replies[i].check(); err != nil {
			return nil, fmt.Errorf("reply %d: %w", i+1, err)
		}
	}
	return &f, nil
}

func (r *Reply) check() error {
	for i, c := range r.ToolCalls {
		if c.Name == "" {
			return fmt.Errorf("tool call %d has no name", i+1)
		}
		if (c.Args == nil) == (c.ArgsText == nil) {
			return fmt.Errorf("tool call %d needs args or args_text, not both", i+1)
		}
		if c.Args == nil {
			continue
		}
		// A model sends its arguments on one line, however the file is laid out.
		if err := r.ToolCalls[i].Args.Compact(); err != nil {
			return fmt.Errorf("tool call %d: %w", i+1, err)
		}
	}
	switch r.Finish {
	case "", provider.FinishStop, provider.FinishToolCalls, provider.FinishLength, provider.FinishFilter:
	default:
		return fmt.Errorf("unknown finish %q", r.Finish)
	}
	if r.Chunk < 0 || r.DelayMS < 0 {
		return fmt.Errorf("chunk and delay_ms cannot be negative")
	}
	for i, f := range r.Failures {
		if !f.Class.Known() {
			return fmt.Errorf("failure %d: unknown class %q", i+1, f.Class)
		}
		if f.RetryAfterMS < 0 || f.AfterDeltas < 0 {
			return fmt.Errorf("failure %d: retry_after_ms and after_deltas cannot be negative", i+1)
		}
	}
	return nil
}
