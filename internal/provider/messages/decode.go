package messages

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// lenient reads what services send: some repeat members.
var lenient = jsontext.AllowDuplicateNames(true)

// event holds the members of all event types that are read.
type event struct {
	Type    string   `json:"type"`
	Message *reply   `json:"message"`
	Index   int      `json:"index"`
	Block   *content `json:"content_block"`
	Delta   *struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

type reply struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Model      string    `json:"model"`
	Content    []content `json:"content"`
	StopReason string    `json:"stop_reason"`
	Usage      *usage    `json:"usage"`
}

type content struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	Data      string         `json:"data"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
}

// usage is cumulative: later events repeat the counts and may leave some out.
type usage struct {
	Input      *provider.Count `json:"input_tokens"`
	Output     *provider.Count `json:"output_tokens"`
	CacheRead  *provider.Count `json:"cache_read_input_tokens"`
	CacheWrite *provider.Count `json:"cache_creation_input_tokens"`
	Details    provider.Counts[struct {
		Thinking provider.Count `json:"thinking_tokens"`
	}] `json:"output_tokens_details"`
}

// UnmarshalJSONFrom takes whatever a service puts in the place of its counts.
func (u *usage) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain usage
	return provider.ReadUsage(dec, (*plain)(u))
}

// decoder turns events into parts.
type decoder struct {
	stream *transport.Stream
	emit   func(provider.Part) error
	req    *provider.Request
	id     string // of the provider
	ids    *provider.CallIDs

	begun     bool
	done      bool
	response  string
	model     string
	reason    string
	input     int64
	cacheRead int64
	cacheNew  int64
	output    int64
	thought   int64
	blocks    map[int]*open
	calls     []*open // whole, in order; they go out when nothing can cut them
	summaries int     // thinking blocks seen
}

// open is a block of which pieces have come.
type open struct {
	kind, id, name, data string
	index                int // among thinking blocks
	text                 strings.Builder
	args                 strings.Builder
	input                jsontext.Value
}

// event handles the data of one event.
func (d *decoder) event(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e, lenient); err != nil {
		return d.stream.Malformed(err)
	}
	d.stream.Saw(e.Type)
	d.count(e.Usage)
	switch e.Type {
	case "message_start":
		return d.start(e.Message)
	case "content_block_start":
		if e.Block != nil {
			return d.open(e.Index, e.Block)
		}
	case "content_block_delta":
		return d.delta(&e)
	case "content_block_stop":
		return d.stop(e.Index)
	case "message_delta":
		if e.Delta != nil && e.Delta.StopReason != "" {
			d.reason = e.Delta.StopReason
		}
	case "message_stop":
		d.done = true
	case "error":
		return d.stream.Reported(data)
	case "":
		if strings.Contains(string(data), `"error"`) {
			return d.stream.Reported(data)
		}
	}
	return nil
}

func (d *decoder) start(m *reply) error {
	if d.begun {
		return nil
	}
	d.begun = true
	if m != nil {
		d.response, d.model = m.ID, m.Model
		d.count(m.Usage)
	}
	return d.emit(provider.Part{Created: &provider.Created{ResponseID: d.response}})
}

func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	for _, c := range []struct {
		to   *int64
		from *provider.Count
	}{{&d.input, u.Input}, {&d.output, u.Output}, {&d.cacheRead, u.CacheRead}, {&d.cacheNew, u.CacheWrite}} {
		if c.from != nil {
			*c.to = max(*c.to, int64(*c.from))
		}
	}
	d.thought = max(d.thought, int64(u.Details.Of.Thinking))
}

func (d *decoder) open(index int, c *content) error {
	if d.blocks == nil {
		d.blocks = map[int]*open{}
	}
	b := &open{kind: c.Type, id: c.ID, name: c.Name, data: c.Data + c.Signature, input: c.Input, index: d.summaries}
	d.blocks[index] = b
	switch c.Type {
	case "thinking":
		d.summaries++
		return d.think(b, c.Thinking)
	case "text":
		return d.say(b, c.Text)
	}
	return nil
}

func (d *decoder) delta(e *event) error {
	b := d.blocks[e.Index]
	if b == nil || e.Delta == nil {
		return nil
	}
	switch e.Delta.Type {
	case "text_delta":
		return d.say(b, e.Delta.Text)
	case "thinking_delta":
		return d.think(b, e.Delta.Thinking)
	case "signature_delta":
		b.data += e.Delta.Signature
	case "input_json_delta":
		b.args.WriteString(e.Delta.PartialJSON)
	}
	return nil
}

func (d *decoder) say(b *open, text string) error {
	if text == "" {
		return nil
	}
	b.text.WriteString(text)
	return d.emit(provider.Part{TextDelta: text})
}

func (d *decoder) think(b *open, text string) error {
	if text == "" {
		return nil
	}
	b.text.WriteString(text)
	return d.emit(provider.Part{SummaryDelta: &provider.SummaryDelta{Index: b.index, Text: text}})
}

// stop ends a block.
func (d *decoder) stop(index int) error {
	b := d.blocks[index]
	if b == nil {
		return nil
	}
	delete(d.blocks, index)
	switch b.kind {
	case "text":
		if b.text.Len() > 0 {
			return d.emit(provider.Part{Text: &provider.AssistantMessage{Text: b.text.String()}})
		}
	case "thinking", "redacted_thinking":
		return d.emit(provider.Part{Reasoning: &provider.Reasoning{
			Provider: d.id, Model: d.req.Model, Opaque: b.data, Text: b.text.String(), Redacted: b.kind == "redacted_thinking",
		}})
	case "tool_use":
		d.calls = append(d.calls, b)
	}
	return nil
}

// arguments is the call's argument text. The block's own input counts when no
// piece came.
func (b *open) arguments() string {
	if b.args.Len() == 0 && b.input.Kind() == '{' {
		return string(b.input)
	}
	return provider.CleanArgs(b.args.String())
}

// finished hands out the calls and the end.
func (d *decoder) finished() error {
	if d.reason == "model_context_window_exceeded" {
		return &provider.Error{Class: provider.ContextLength, RequestID: d.stream.RequestID(), Code: d.reason,
			Message: "the reply filled the model's context window"}
	}
	// Some servers that imitate this wire do not end their blocks.
	for _, index := range slices.Sorted(maps.Keys(d.blocks)) {
		if err := d.stop(index); err != nil {
			return err
		}
	}
	cut := d.reason == "max_tokens"
	called := false
	for _, b := range d.calls {
		args := b.arguments()
		if cut && !jsontext.Value(args).IsValid() {
			continue
		}
		called = true
		call := &provider.ToolCall{CallID: d.ids.Take(b.id), Name: provider.ToolName(d.req.Tools, b.name), Args: args}
		if err := d.emit(provider.Part{ToolCall: call}); err != nil {
			return err
		}
	}
	done := &provider.Completed{
		ResponseID: d.response, Model: d.model, Finish: provider.FinishStop, Wire: d.stream.Facts(),
		Usage: provider.Usage{
			Input: d.input + d.cacheRead + d.cacheNew, Output: d.output, Reasoning: d.thought,
			CacheRead: d.cacheRead, CacheWrite: d.cacheNew,
		},
	}
	switch {
	case cut:
		done.Finish = provider.FinishLength
	case d.reason == "refusal":
		done.Finish = provider.FinishFilter
	case called:
		done.Finish = provider.FinishToolCalls
	}
	if done.Model == "" {
		done.Model = d.req.Model
	}
	return d.emit(provider.Part{Completed: done})
}

// document reads a reply that came as one object instead of a stream.
func (d *decoder) document(body jsontext.Value) error {
	var m reply
	if err := json.Unmarshal(body, &m, lenient); err != nil {
		return d.stream.Malformed(err)
	}
	if m.Type != "message" {
		return d.stream.Reported(body)
	}
	d.stream.Saw("message")
	if err := d.start(&m); err != nil {
		return err
	}
	for i := range m.Content {
		if err := d.open(i, &m.Content[i]); err != nil {
			return err
		}
		if err := d.stop(i); err != nil {
			return err
		}
	}
	d.reason, d.done = m.StopReason, true
	return nil
}
