package messages

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
)

type request struct {
	Model      string        `json:"model"`
	MaxTokens  int           `json:"max_tokens"`
	System     []*block      `json:"system,omitempty"`
	Messages   []message     `json:"messages"`
	Tools      []tool        `json:"tools,omitempty"`
	ToolChoice *toolChoice   `json:"tool_choice,omitzero"`
	Thinking   *thinking     `json:"thinking,omitzero"`
	Output     *outputConfig `json:"output_config,omitzero"`
	Stream     bool          `json:"stream"`
}

type toolChoice struct {
	Type       string `json:"type"`
	OneAtATime bool   `json:"disable_parallel_tool_use"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema jsontext.Value `json:"input_schema"`
	Cache       *cacheControl  `json:"cache_control,omitzero"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type message struct {
	Role    string   `json:"role"`
	Content []*block `json:"content"`
}

// block is one content block of any type.
type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitzero"`
	Thinking  *string        `json:"thinking,omitzero"`
	Signature string         `json:"signature,omitzero"`
	Data      string         `json:"data,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
	ToolUseID string         `json:"tool_use_id,omitzero"`
	Content   any            `json:"content,omitzero"` // string or []*block
	IsError   bool           `json:"is_error,omitzero"`
	Source    *source        `json:"source,omitzero"`
	Cache     *cacheControl  `json:"cache_control,omitzero"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64
}

// encode is the body of a request and the beta header that goes with it.
func (w *Wire) encode(req *provider.Request) (body []byte, beta string, err error) {
	req = provider.Sendable(req)
	effort, _, err := provider.ResolveEffort("anthropic", req.Effort, w.opts.Efforts)
	if err != nil {
		return nil, "", &provider.Error{Class: provider.InvalidRequest, Message: err.Error(), Err: err}
	}
	r := request{Model: req.Model, MaxTokens: DefaultMaxOutput, Stream: true}
	for _, n := range []int{w.opts.MaxOutput, req.MaxOutput} {
		if n > 0 {
			r.MaxTokens = n
		}
	}
	p := w.plan(req.Model, effort, r.MaxTokens)
	b := builder{wire: w, req: req, blocks: p.blocks}
	r.Messages = b.build()
	if p.thinking != nil && p.thinking.Type == "enabled" && calledWithoutThinking(r.Messages) {
		// The turn under way was begun without thinking, by another model or
		// effort: it has to go on so.
		p = plan{}
		b = builder{wire: w, req: req}
		r.Messages = b.build()
	}
	r.Thinking, r.Output = p.thinking, p.output
	if req.Instructions != "" {
		r.System = []*block{{Type: "text", Text: req.Instructions}}
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	if len(r.Tools) > 0 && !req.Parallel {
		r.ToolChoice = &toolChoice{Type: "auto", OneAtATime: true}
	}
	r.mark()
	body, err = w.client.Encode(&r)
	return body, p.beta, err
}

// mark sets the four cache points that are allowed: behind the tools, the
// system text, and the last two user messages. The older of these two is where
// the request before ended, so its prefix is found again.
func (r *request) mark() {
	point := &cacheControl{Type: "ephemeral"}
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1].Cache = point
	}
	if n := len(r.System); n > 0 {
		r.System[n-1].Cache = point
	}
	left := 2
	for i := len(r.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := r.Messages[i]; m.Role == "user" {
			m.Content[len(m.Content)-1].Cache = point
			left--
		}
	}
}

// calledWithoutThinking reports whether the last answer has calls and does not
// begin with a thinking block, which the service refuses while thinking with a
// budget is on.
func calledWithoutThinking(list []message) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role != "assistant" {
			continue
		}
		if strings.HasSuffix(list[i].Content[0].Type, "thinking") {
			return false
		}
		for _, b := range list[i].Content {
			if b.Type == "tool_use" {
				return true
			}
		}
		return false
	}
	return false
}

// builder joins items to messages: user and assistant take turns on this wire.
type builder struct {
	wire   *Wire
	req    *provider.Request
	blocks bool // thinking blocks may be sent
	list   []message

	role    string
	results []*block // they come first in a user message
	content []*block
}

func (b *builder) build() []message {
	for i := range b.req.Items {
		b.item(i)
	}
	b.flush()
	if len(b.list) == 0 || b.list[0].Role != "user" {
		start := message{Role: "user", Content: []*block{{Type: "text", Text: provider.Notice("The conversation goes on.")}}}
		b.list = append([]message{start}, b.list...)
	}
	return b.list
}

func (b *builder) item(i int) {
	it := &b.req.Items[i]
	switch {
	case it.User != nil:
		b.begin("user")
		b.text(it.User.Text)
		b.pictures(it.User.Images)
	case it.Developer != nil:
		b.begin("user")
		b.text(provider.Notice(it.Developer.Text))
	case it.Reasoning != nil:
		b.reasoning(i)
	case it.Assistant != nil:
		b.begin("assistant")
		b.text(it.Assistant.Text)
	case it.ToolCall != nil:
		b.begin("assistant")
		b.content = append(b.content, &block{
			Type: "tool_use", ID: callID(it.ToolCall.CallID), Name: it.ToolCall.Name, Input: provider.ObjectArgs(it.ToolCall.Args),
		})
	case it.ToolResult != nil:
		b.begin("user")
		b.results = append(b.results, b.result(it.ToolResult))
	}
}

func (b *builder) begin(role string) {
	if b.role != role {
		b.flush()
		b.role = role
	}
}

func (b *builder) flush() {
	if content := append(b.results, b.content...); len(content) > 0 {
		b.list = append(b.list, message{Role: b.role, Content: content})
	}
	b.role, b.results, b.content = "", nil, nil
}

// text adds a text block; the service refuses empty ones.
func (b *builder) text(s string) {
	if strings.TrimSpace(s) != "" {
		b.content = append(b.content, &block{Type: "text", Text: s})
	}
}

func (b *builder) pictures(images []provider.Image) {
	if b.wire.opts.NoImages {
		if len(images) > 0 {
			b.text(provider.WithoutImages("", images))
		}
		return
	}
	for _, im := range images {
		b.content = append(b.content, picture(im))
	}
}

func picture(im provider.Image) *block {
	return &block{Type: "image", Source: &source{Type: "base64", MediaType: im.MediaType, Data: im.Data}}
}

func (b *builder) result(r *provider.ToolResult) *block {
	out := &block{Type: "tool_result", ToolUseID: callID(r.CallID), IsError: r.Failed}
	switch {
	case len(r.Images) == 0:
		if r.Text != "" {
			out.Content = r.Text
		}
	case b.wire.opts.NoImages:
		out.Content = provider.WithoutImages(r.Text, r.Images)
	default:
		var list []*block
		if strings.TrimSpace(r.Text) != "" {
			list = append(list, &block{Type: "text", Text: r.Text})
		}
		for _, im := range r.Images {
			list = append(list, picture(im))
		}
		out.Content = list
	}
	return out
}

// reasoning adds the thinking block at index i, if it may be sent: only to the
// provider and model that made it, and only signed.
func (b *builder) reasoning(i int) {
	r := b.req.Items[i].Reasoning
	if !b.blocks || r.Provider != b.wire.opts.ID || r.Model != b.req.Model || r.Opaque == "" || !provider.Answered(b.req.Items, i) {
		return
	}
	b.begin("assistant")
	if r.Redacted {
		b.content = append(b.content, &block{Type: "redacted_thinking", Data: r.Opaque})
		return
	}
	b.content = append(b.content, &block{Type: "thinking", Thinking: &r.Text, Signature: r.Opaque})
}

// callID is a call id in the characters this wire takes; ids of other services
// may have more.
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
}
