package chat

import (
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
)

type request struct {
	Model               string          `json:"model"`
	Messages            []message       `json:"messages"`
	Tools               []tool          `json:"tools,omitempty"`
	Parallel            *bool           `json:"parallel_tool_calls,omitzero"`
	Effort              provider.Effort `json:"reasoning_effort,omitzero"`
	MaxTokens           int             `json:"max_tokens,omitzero"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitzero"`
	ResponseFormat      *responseFormat `json:"response_format,omitzero"`
	CacheKey            string          `json:"prompt_cache_key,omitzero"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options,omitzero"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type   string `json:"type"`
	Schema schema `json:"json_schema"`
}

type schema struct {
	Name   string         `json:"name"`
	Schema jsontext.Value `json:"schema"`
	Strict bool           `json:"strict"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
}

// message is one message. Content is a string, []part or nil, which stands for
// null: an answer that is only calls.
type message struct {
	Role             string         `json:"role"`
	Content          any            `json:"content"`
	ReasoningContent string         `json:"reasoning_content,omitzero"`
	ReasoningDetails jsontext.Value `json:"reasoning_details,omitzero"`
	ToolCalls        []toolCall     `json:"tool_calls,omitempty"`
	ToolCallID       string         `json:"tool_call_id,omitzero"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitzero"`
	ImageURL *imageURL `json:"image_url,omitzero"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encode is the body of a request.
func (w *Wire) encode(req *provider.Request) ([]byte, error) {
	req = provider.Sendable(req)
	r := request{Model: req.Model, Messages: w.messages(req), Stream: true}
	if !w.opts.NoReasoning {
		effort, _, err := provider.ResolveEffort("openai-chat", req.Effort, w.opts.Efforts)
		if err != nil {
			return nil, &provider.Error{Class: provider.InvalidRequest, Message: err.Error(), Err: err}
		}
		r.Effort = effort
	}
	if !w.opts.NoUsage {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, tool{Type: "function", Function: function{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	if len(req.Tools) > 0 && !req.Parallel {
		r.Parallel = &req.Parallel // true is the default
	}
	limit := req.MaxOutput
	if limit == 0 {
		limit = w.opts.MaxOutput
	}
	if w.official {
		r.MaxCompletionTokens, r.CacheKey = limit, req.CacheKey
	} else {
		r.MaxTokens = limit
	}
	// A server that forces tokens into a schema cannot call tools meanwhile:
	// the shape of the answer is then left to the loop's own check.
	if req.OutputSchema != nil && (len(req.Tools) == 0 || w.official) {
		r.ResponseFormat = &responseFormat{Type: "json_schema", Schema: schema{
			Name: "answer", Schema: req.OutputSchema, Strict: provider.StrictSchema(req.OutputSchema),
		}}
	}
	return w.client.Encode(&r)
}

// messages is the conversation.
func (w *Wire) messages(req *provider.Request) []message {
	b := builder{wire: w, req: req, turn: lastUser(req.Items)}
	if req.Instructions != "" {
		b.list = append(b.list, message{Role: "system", Content: req.Instructions})
	}
	for i := range req.Items {
		b.item(i)
	}
	b.flush()
	return b.list
}

// lastUser is the index of the newest user message, -1 without one.
func lastUser(items []provider.Item) int {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].User != nil {
			return i
		}
	}
	return -1
}

// builder joins items to messages: templates of models want user and assistant
// in turn, so neighbours of one role become one message.
type builder struct {
	wire *Wire
	req  *provider.Request
	turn int // where the newest turn begins
	list []message

	role   string // of what is being gathered: "user", "assistant" or ""
	text   string
	images []provider.Image
	calls  []toolCall
	think  string
	detail jsontext.Value
}

func (b *builder) item(i int) {
	it := &b.req.Items[i]
	switch {
	case it.User != nil:
		b.user(it.User.Text, it.User.Images)
	case it.Developer != nil:
		b.user(provider.Notice(it.Developer.Text), nil)
	case it.Reasoning != nil:
		b.reasoning(i)
	case it.Assistant != nil:
		b.begin("assistant")
		b.text = join(b.text, it.Assistant.Text)
	case it.ToolCall != nil:
		b.begin("assistant")
		b.calls = append(b.calls, toolCall{ID: it.ToolCall.CallID, Type: "function", Function: functionCall{
			// Servers parse the arguments of earlier calls and fail on bad ones.
			Name: it.ToolCall.Name, Arguments: string(provider.ObjectArgs(it.ToolCall.Args)),
		}})
	case it.ToolResult != nil:
		b.result(it.ToolResult)
	}
}

// begin starts gathering for a role, sending off what was gathered before.
func (b *builder) begin(role string) {
	if b.role != role {
		b.flush()
		b.role = role
	}
}

func (b *builder) user(text string, images []provider.Image) {
	b.begin("user")
	b.text = join(b.text, text)
	b.images = append(b.images, images...)
}

func (b *builder) reasoning(i int) {
	r := b.req.Items[i].Reasoning
	if i < b.turn || r.Provider != b.wire.opts.ID || r.Model != b.req.Model || !provider.Answered(b.req.Items, i) {
		return
	}
	b.begin("assistant")
	b.think = join(b.think, r.Text)
	if r.Opaque != "" && jsontext.Value(r.Opaque).IsValid() {
		b.detail = jsontext.Value(r.Opaque)
	}
}

// result sends a tool's result. Its pictures follow in a user message: the
// tool role has only text.
func (b *builder) result(r *provider.ToolResult) {
	if len(b.images) > 0 && b.role == "user" {
		// Pictures of the result before: they wait for the last of the batch.
		text, images := b.text, b.images
		b.role, b.text, b.images = "", "", nil
		b.list = append(b.list, message{Role: "tool", ToolCallID: r.CallID, Content: b.wire.plain(r)})
		b.user(text, images)
	} else {
		b.flush()
		b.list = append(b.list, message{Role: "tool", ToolCallID: r.CallID, Content: b.wire.plain(r)})
	}
	if len(r.Images) > 0 && !b.wire.opts.NoImages {
		b.user(provider.Notice("The pictures of tool result "+r.CallID+":"), r.Images)
	}
}

func (w *Wire) plain(r *provider.ToolResult) string {
	if w.opts.NoImages {
		return provider.WithoutImages(r.Text, r.Images)
	}
	return r.Text
}

// flush appends what was gathered as a message.
func (b *builder) flush() {
	switch b.role {
	case "user":
		b.list = append(b.list, message{Role: "user", Content: b.wire.content(b.text, b.images)})
	case "assistant":
		m := message{Role: "assistant", ToolCalls: b.calls, ReasoningContent: b.think}
		if b.text != "" || len(b.calls) == 0 {
			m.Content = b.text
		}
		if b.detail != nil {
			m.ReasoningContent, m.ReasoningDetails = "", b.detail
		}
		b.list = append(b.list, m)
	}
	b.role, b.text, b.images, b.calls, b.think, b.detail = "", "", nil, nil, "", nil
}

// content is a text alone, or a list when pictures are with it.
func (w *Wire) content(text string, images []provider.Image) any {
	if len(images) == 0 {
		return text
	}
	if w.opts.NoImages {
		return provider.WithoutImages(text, images)
	}
	parts := make([]part, 0, 1+len(images))
	if text != "" {
		parts = append(parts, part{Type: "text", Text: text})
	}
	for _, im := range images {
		url := "data:" + im.MediaType + ";base64," + base64.StdEncoding.EncodeToString(im.Data)
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{URL: url}})
	}
	return parts
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "\n\n" + b
}
