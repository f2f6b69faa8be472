package chat

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// lenient reads what servers send: some repeat members.
var lenient = jsontext.AllowDuplicateNames(true)

// chunk is one event, or a whole reply of a server that does not stream.
type chunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices []struct {
		Delta        *delta `json:"delta"`
		Message      *delta `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
	Groq  struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
	Error jsontext.Value `json:"error"`
}

type delta struct {
	Content          jsontext.Value   `json:"content"` // string or list of parts
	Refusal          string           `json:"refusal"`
	ReasoningContent string           `json:"reasoning_content"`
	Reasoning        jsontext.Value   `json:"reasoning"` // a string where it is text
	ReasoningDetails []detail         `json:"reasoning_details"`
	ToolCalls        []callDelta      `json:"tool_calls"`
	FunctionCall     *callDeltaTarget `json:"function_call"` // the form before tool_calls
}

type callDelta struct {
	Index    *int            `json:"index"`
	ID       string          `json:"id"`
	Function callDeltaTarget `json:"function"`
}

type callDeltaTarget struct {
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"` // a string; an object on some servers
}

type usage struct {
	Prompt        provider.Count `json:"prompt_tokens"`
	Completion    provider.Count `json:"completion_tokens"`
	Total         provider.Count `json:"total_tokens"`
	PromptDetails provider.Counts[struct {
		Cached  provider.Count `json:"cached_tokens"`
		Written provider.Count `json:"cache_write_tokens"`
	}] `json:"prompt_tokens_details"`
	CompletionDetails provider.Counts[struct {
		Reasoning provider.Count `json:"reasoning_tokens"`
	}] `json:"completion_tokens_details"`
	CacheHit provider.Count `json:"prompt_cache_hit_tokens"` // DeepSeek
}

// UnmarshalJSONFrom takes whatever a service puts in the place of its counts.
func (u *usage) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain usage
	return provider.ReadUsage(dec, (*plain)(u))
}

// decoder turns chunks into parts.
type decoder struct {
	stream *transport.Stream
	emit   func(provider.Part) error
	req    *provider.Request
	id     string // of the provider
	ids    *provider.CallIDs

	begun     bool
	marked    bool // the end mark was seen
	complete  bool // nothing more is to come
	response  string
	model     string
	finish    string
	usage     *usage
	text      strings.Builder
	reasoning strings.Builder
	details   []detail
	calls     calls
}

// chunk handles the data of one event.
func (d *decoder) chunk(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c, lenient); err != nil {
		return d.stream.Malformed(err)
	}
	if k := c.Error.Kind(); k == '{' || k == '"' || c.Object == "error" {
		return d.stream.Reported(data)
	}
	d.stream.Saw(c.Object)
	if c.Model != "" {
		d.model = c.Model
	}
	if !d.begun {
		d.begun, d.response = true, c.ID
		if err := d.emit(provider.Part{Created: &provider.Created{ResponseID: c.ID}}); err != nil {
			return err
		}
	}
	for _, u := range []*usage{c.Usage, c.Groq.Usage} {
		if u != nil {
			d.usage = u
		}
	}
	if len(c.Choices) == 0 {
		// The chunk behind the last choice carries the usage and ends the reply.
		d.complete = d.finish != "" && c.Usage != nil
		return nil
	}
	choice := &c.Choices[0]
	part := choice.Delta
	if part == nil {
		part = choice.Message
	}
	if part != nil {
		if err := d.delta(part); err != nil {
			return err
		}
	}
	if choice.FinishReason == "error" {
		return d.stream.Reported(data)
	}
	if choice.FinishReason != "" {
		d.finish = choice.FinishReason
	}
	return nil
}

func (d *decoder) delta(p *delta) error {
	content, thoughts := readContent(p.Content)
	for _, text := range []string{p.ReasoningContent, readText(p.Reasoning), thoughts} {
		if text == "" {
			continue
		}
		d.reasoning.WriteString(text)
		if err := d.emit(provider.Part{SummaryDelta: &provider.SummaryDelta{Text: text}}); err != nil {
			return err
		}
		break // servers that send both names send the same text
	}
	d.details = merge(d.details, p.ReasoningDetails)
	if content += p.Refusal; content != "" {
		d.text.WriteString(content)
		if err := d.emit(provider.Part{TextDelta: content}); err != nil {
			return err
		}
	}
	for i := range p.ToolCalls {
		d.calls.add(&p.ToolCalls[i])
	}
	if p.FunctionCall != nil {
		d.calls.add(&callDelta{Index: new(int), Function: *p.FunctionCall})
	}
	return nil
}

// readText is a JSON string's text, "" for anything else.
func readText(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// readContent is the answer text and the reasoning of a content member: a
// string, or a list of parts.
func readContent(v jsontext.Value) (text, thoughts string) {
	if v.Kind() != '[' {
		return readText(v), ""
	}
	var parts []struct {
		Text     string         `json:"text"`
		Thinking jsontext.Value `json:"thinking"`
	}
	if json.Unmarshal(v, &parts, lenient) != nil {
		return "", ""
	}
	for _, p := range parts {
		text += p.Text
		if p.Thinking != nil {
			inner, _ := readContent(p.Thinking)
			thoughts += inner
		}
	}
	return text, thoughts
}

// finished hands out the whole items and the end.
func (d *decoder) finished() error {
	var parts []provider.Part
	if r := d.thought(); r != nil {
		parts = append(parts, provider.Part{Reasoning: r})
	}
	if d.text.Len() > 0 {
		parts = append(parts, provider.Part{Text: &provider.AssistantMessage{Text: d.text.String()}})
	}
	cut := d.finish == "length" || d.finish == "max_tokens"
	called := false
	for _, c := range d.calls.list {
		args := provider.CleanArgs(c.args.String())
		if c.name == "" || cut && !jsontext.Value(args).IsValid() {
			continue // the output limit cut it
		}
		called = true
		parts = append(parts, provider.Part{ToolCall: &provider.ToolCall{
			CallID: d.ids.Take(c.id), Name: provider.ToolName(d.req.Tools, c.name), Args: args,
		}})
	}
	done := &provider.Completed{ResponseID: d.response, Model: d.model, Finish: provider.FinishStop, Usage: d.usage.tokens(), Wire: d.stream.Facts()}
	switch {
	case cut:
		done.Finish = provider.FinishLength
	case d.finish == "content_filter":
		done.Finish = provider.FinishFilter
	case called:
		done.Finish = provider.FinishToolCalls
	}
	if done.Model == "" {
		done.Model = d.req.Model
	}
	for _, p := range append(parts, provider.Part{Completed: done}) {
		if err := d.emit(p); err != nil {
			return err
		}
	}
	return nil
}

// thought is the reasoning of the reply, nil without any.
func (d *decoder) thought() *provider.Reasoning {
	if d.reasoning.Len() == 0 && len(d.details) == 0 {
		return nil
	}
	return &provider.Reasoning{
		Provider: d.id, Model: d.req.Model, Text: d.reasoning.String(), Opaque: encodeDetails(d.details),
	}
}

func (u *usage) tokens() provider.Usage {
	if u == nil {
		return provider.Usage{}
	}
	t := provider.Usage{
		Input: int64(u.Prompt), Output: int64(u.Completion), Reasoning: int64(u.CompletionDetails.Of.Reasoning),
		CacheRead: int64(max(u.PromptDetails.Of.Cached, u.CacheHit)), CacheWrite: int64(u.PromptDetails.Of.Written),
	}
	if t.Reasoning > 0 && int64(u.Total) == t.Input+t.Output+t.Reasoning {
		t.Output += t.Reasoning // a server that counts reasoning apart
	}
	return t
}
