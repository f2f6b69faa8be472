package summary

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

// usualStart is how every line begins that a known build wrote; its envelope
// is then compact and in the known order, so that most lines need no parsing.
const usualStart = `{"schema_version":1,"id":"`

// envelopeBytes is within how many bytes the envelope's own fields stand.
const envelopeBytes = 600

// eventBytes is within how many bytes the kind of a run's start stands.
const eventBytes = 4 << 10

// add takes in one line of the log.
func (s *Summary) add(line []byte) {
	if !bytes.HasPrefix(line, []byte(usualStart)) {
		s.parse(line)
		return
	}
	head := line[:min(len(line), envelopeBytes)]
	kind, ok := after(head, `,"payload_type":"`, '"')
	if !ok {
		s.parse(line)
		return
	}
	if s.matters(string(kind), line) {
		s.parse(line)
		return
	}
	at, ok := after(head, `,"recorded_at":`, ',')
	if !ok {
		s.parse(line)
		return
	}
	var n int64
	for _, c := range at {
		if c < '0' || c > '9' || n > 1<<58 {
			return
		}
		n = n*10 + int64(c-'0')
	}
	s.time(n, string(kind))
}

// after is what stands in b between mark and the next end.
func after(b []byte, mark string, end byte) ([]byte, bool) {
	i := bytes.Index(b, []byte(mark))
	if i < 0 {
		return nil, false
	}
	b = b[i+len(mark):]
	j := bytes.IndexByte(b, end)
	if j < 0 {
		return nil, false
	}
	return b[:j], true
}

// matters reports whether more than the time of a record is wanted.
func (s *Summary) matters(payloadType string, line []byte) bool {
	switch payloadType {
	case "runtime.session":
		return bytes.Contains(line[:min(len(line), eventBytes)], []byte(`"kind":"started"`))
	case "runtime.session.metadata", "runtime.session.route_facts", "run.model.configured",
		"runtime.model_reconfigure.completed", "session.workspace_branch.observed", "session.name.changed",
		"session.description.generated", "runtime.user_intent.accepted", "session.fork.created", "openmuse.side.started",
		"openmuse.session.created", "openmuse.approval_mode.changed", "session.end":
		return true
	}
	return false
}

// time takes in when a record of some type was written.
func (s *Summary) time(at int64, payloadType string) {
	if at <= 0 {
		return
	}
	if s.Created == 0 {
		s.Created = at
	}
	s.Updated = max(s.Updated, at)
	switch {
	case payloadType == "runtime.session", payloadType == "runtime.session.task",
		strings.HasPrefix(payloadType, "tool_batch."), strings.HasPrefix(payloadType, "runtime.user_intent."),
		strings.HasPrefix(payloadType, "user_shell."):
		s.Active = max(s.Active, at)
	}
	if payloadType != "session.end" && !strings.HasPrefix(payloadType, "openmuse.integrity.") {
		s.End = ""
	}
}

// payload is every member that some record of interest has, wherever it
// stands: facts are read from payload.record.X, then from payload.X (seed 000,
// Payload families).
type payload struct {
	facts
	Kind   string `json:"kind"`
	Record facts  `json:"record"`
	Event  struct {
		Kind   string         `json:"kind"`
		Prompt jsontext.Value `json:"prompt"`
	} `json:"event"`
	ModelMessages []struct {
		Content []block `json:"content"`
	} `json:"model_messages"`
	RefillBlocks []block `json:"refill_blocks"`
}

type block struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

type facts struct {
	WorkspaceRoot   string `json:"workspace_root"`
	Cwd             string `json:"cwd"`
	ProviderID      string `json:"provider_id"`
	ModelID         string `json:"model_id"`
	ExitReason      string `json:"exit_reason"`
	NewName         string `json:"new_name"`
	Source          any    `json:"source"`
	Title           string `json:"title"`
	Description     string `json:"description"`
	CommandID       string `json:"command_id"`
	SourceSessionID string `json:"source_session_id"`
	ParentSessionID string `json:"parent_session_id"`
	CutCursor       string `json:"cut_cursor"`
	CutExplicit     bool   `json:"cut_explicit"`
	SessionID       string `json:"session_id"`
	Mode            string `json:"mode"`
	Client          struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"client"`
	Effective struct {
		ProviderID string `json:"provider_id"`
		ModelID    string `json:"model_id"`
	} `json:"effective"`
	Reference struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"reference"`
}

// parse takes in a line with all that it says.
func (s *Summary) parse(line []byte) {
	v, err := record.Scan(line)
	if err != nil || v.Kind != record.KindEnvelope {
		return // bad lines, frames and markers say nothing here
	}
	kind := string(v.PayloadType)
	s.time(v.RecordedAt, kind)
	if !s.matters(kind, v.Payload) && kind != "runtime.session" {
		return
	}
	var p payload
	// A member of another type than expected leaves the rest readable only if
	// it comes later; a record that odd says nothing.
	if json.Unmarshal(v.Payload, &p, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return
	}
	s.fact(kind, &p)
}

func (s *Summary) fact(kind string, p *payload) {
	f := p.Record
	own := func(f facts) bool { return f.SessionID == "" || s.ID == "" || strings.EqualFold(f.SessionID, s.ID) }
	switch kind {
	case "runtime.session":
		if p.Kind == "run" && p.Event.Kind == "started" {
			s.Turns++
			if text := textOf(p.Event.Prompt); s.Intents == 0 {
				s.prompt(text)
			}
		}
	case "runtime.session.metadata":
		set(&s.Workspace, f.WorkspaceRoot, p.WorkspaceRoot)
		set(&s.Provider, f.ProviderID, p.ProviderID)
		set(&s.Model, f.ModelID, p.ModelID)
	case "runtime.session.route_facts":
		set(&s.Cwd, f.Cwd, p.Cwd)
	case "run.model.configured":
		set(&s.Provider, f.ProviderID, p.ProviderID)
		set(&s.Model, f.ModelID, p.ModelID)
	case "runtime.model_reconfigure.completed":
		set(&s.Provider, f.Effective.ProviderID, p.Effective.ProviderID)
		set(&s.Model, f.Effective.ModelID, p.Effective.ModelID)
	case "session.workspace_branch.observed":
		ref := f.Reference
		if ref.Name == "" {
			ref = p.Reference
		}
		s.Branch = ""
		if ref.Kind == "branch" {
			s.Branch = ref.Name
		}
	case "session.name.changed":
		if !own(f) || !own(p.facts) {
			return // it was copied from another session
		}
		set(&s.Name, f.NewName, p.NewName)
		set(&s.NameSource, asText(f.Source), asText(p.Source))
	case "session.description.generated":
		set(&s.Description, f.Title, f.Description, p.Title, p.Description)
	case "runtime.user_intent.accepted":
		s.Intents++
		var blocks []block
		for _, m := range p.ModelMessages {
			blocks = append(blocks, m.Content...)
		}
		if blocks == nil {
			blocks = p.RefillBlocks
		}
		s.prompt(joined(blocks))
	case "session.fork.created":
		s.Forked = provenance(p)
	case "openmuse.side.started":
		s.Side = provenance(p)
	case "openmuse.session.created":
		if f.Client.Name != "" {
			s.Client = &Client{f.Client.Name, f.Client.Title, f.Client.Version}
		}
	case "openmuse.approval_mode.changed":
		if f.Mode != "" {
			s.Mode = &ApprovalMode{f.Mode, asText(f.Source), f.CommandID}
		}
	case "session.end":
		set(&s.End, f.ExitReason, p.ExitReason)
	}
}

func provenance(p *payload) *Provenance {
	f := p.Record
	if f == (facts{}) {
		f = p.facts
	}
	v := Provenance{Command: f.CommandID, CutCursor: f.CutCursor, Explicit: f.CutExplicit}
	set(&v.Session, f.SourceSessionID, f.ParentSessionID)
	if v.Session == "" {
		return nil
	}
	return &v
}

// set takes the first value that is not empty.
func set(dst *string, values ...string) {
	for _, v := range values {
		if v != "" {
			*dst = v
			return
		}
	}
}

func asText(v any) string {
	s, _ := v.(string) // anything else is no source
	return s
}

func textOf(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s, jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return s
}

func joined(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		if b.Kind == "text" && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}
