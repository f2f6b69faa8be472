package responses

import (
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
)

// namespace is the tool that Meta's service expects all functions in (CLI.md 5).
const namespace = "muse"

// request is the body. Members whose value is the service's default are left
// out: the first request's size is a budget.
type request struct {
	Model           string       `json:"model"`
	Instructions    string       `json:"instructions,omitzero"`
	Input           []any        `json:"input"`
	Tools           []tool       `json:"tools,omitempty"`
	Parallel        *bool        `json:"parallel_tool_calls,omitzero"`
	Reasoning       *reasoning   `json:"reasoning,omitzero"`
	Include         []string     `json:"include,omitempty"`
	MaxOutputTokens int          `json:"max_output_tokens,omitzero"`
	Text            *textOptions `json:"text,omitzero"`
	CacheKey        string       `json:"prompt_cache_key,omitzero"`
	Store           bool         `json:"store"`
	Stream          bool         `json:"stream"`
}

type reasoning struct {
	Effort  provider.Effort `json:"effort,omitzero"`
	Summary string          `json:"summary"`
}

type textOptions struct {
	Format format `json:"format"`
}

type format struct {
	Type   string         `json:"type"`
	Name   string         `json:"name"`
	Schema jsontext.Value `json:"schema"`
	Strict bool           `json:"strict"`
}

// tool is a function, or a namespace with functions in it. Strict is sent
// because its default would force every argument to be required.
type tool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Tools       []tool         `json:"tools,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // string or []part
}

// answer is an earlier message of the model, which has to carry its type.
type answer struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content []part `json:"content"`
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	ImageURL string `json:"image_url,omitzero"`
}

type thought struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitzero"`
	Summary   []part `json:"summary"`
	Content   []part `json:"content,omitempty"`
	Encrypted string `json:"encrypted_content,omitzero"`
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Namespace string `json:"namespace,omitzero"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type functionOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // string or []part
}

// encode is the body of a request.
func (w *Wire) encode(req *provider.Request) ([]byte, error) {
	req = provider.Sendable(req)
	effort, _, err := provider.ResolveEffort(w.name(), req.Effort, w.opts.Efforts)
	if err != nil {
		return nil, &provider.Error{Class: provider.InvalidRequest, Message: err.Error(), Err: err}
	}
	r := request{
		Model: req.Model, Instructions: req.Instructions, Input: w.input(req), Tools: w.tools(req.Tools),
		MaxOutputTokens: req.MaxOutput, CacheKey: req.CacheKey, Stream: true,
	}
	if r.MaxOutputTokens == 0 {
		r.MaxOutputTokens = w.opts.MaxOutput
	}
	if len(req.Tools) > 0 {
		r.Parallel = &req.Parallel
	}
	if !w.opts.NoReasoning {
		r.Reasoning = &reasoning{Effort: effort, Summary: "auto"}
		r.Include = []string{"reasoning.encrypted_content"}
	}
	if req.OutputSchema != nil {
		r.Text = &textOptions{Format: format{
			Type: "json_schema", Name: "answer", Schema: req.OutputSchema, Strict: provider.StrictSchema(req.OutputSchema),
		}}
	}
	return w.client.Encode(&r)
}

func (w *Wire) tools(tools []provider.Tool) []tool {
	list := make([]tool, len(tools))
	loose := new(bool)
	for i, t := range tools {
		list[i] = tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema, Strict: loose}
	}
	if w.opts.Meta && len(list) > 0 {
		return []tool{{Type: "namespace", Name: namespace, Description: "The tools of this session.", Tools: list}}
	}
	return list
}

// input is the conversation. Item ids of answers and calls are not sent: the
// service keeps nothing under them, and an id of another service is refused.
func (w *Wire) input(req *provider.Request) []any {
	items := make([]any, 0, len(req.Items))
	for i := range req.Items {
		it := &req.Items[i]
		switch {
		case it.User != nil:
			items = append(items, message{Role: "user", Content: w.content(it.User.Text, it.User.Images)})
		case it.Developer != nil:
			items = append(items, message{Role: "developer", Content: it.Developer.Text})
		case it.Assistant != nil:
			items = append(items, answer{Type: "message", Role: "assistant", Content: []part{{Type: "output_text", Text: it.Assistant.Text}}})
		case it.Reasoning != nil:
			if t, ok := w.thought(req, i); ok {
				items = append(items, t)
			}
		case it.ToolCall != nil:
			c := functionCall{
				Type: "function_call", CallID: it.ToolCall.CallID, Name: it.ToolCall.Name,
				Arguments: string(provider.ObjectArgs(it.ToolCall.Args)),
			}
			if w.opts.Meta {
				c.Namespace = namespace
			}
			items = append(items, c)
		case it.ToolResult != nil:
			items = append(items, functionOutput{
				Type: "function_call_output", CallID: it.ToolResult.CallID, Output: w.content(it.ToolResult.Text, it.ToolResult.Images),
			})
		}
	}
	return items
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
		parts = append(parts, part{Type: "input_text", Text: text})
	}
	for _, im := range images {
		parts = append(parts, part{Type: "input_image", ImageURL: "data:" + im.MediaType + ";base64," + base64.StdEncoding.EncodeToString(im.Data)})
	}
	return parts
}

// thought is the reasoning item at index i, if it may be sent: only to the
// provider and model that made it, and only before the answer or call that it
// led to, without which a service refuses it.
func (w *Wire) thought(req *provider.Request, i int) (thought, bool) {
	r := req.Items[i].Reasoning
	if r.Provider != w.opts.ID || r.Model != req.Model || w.opts.NoReasoning || !provider.Answered(req.Items, i) {
		return thought{}, false
	}
	t := thought{Type: "reasoning", ID: r.ItemID, Summary: []part{}, Encrypted: r.Opaque}
	if r.Summary != "" {
		t.Summary = []part{{Type: "summary_text", Text: r.Summary}}
	}
	if r.Opaque == "" {
		if r.Text == "" {
			return thought{}, false // nothing but an id, under which nothing is stored
		}
		// A server that gives its reasoning in the open takes it back so.
		t.Content = []part{{Type: "reasoning_text", Text: r.Text}}
	}
	return t, true
}
