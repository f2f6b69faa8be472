package responses

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// event holds the members of all event types that are read.
type event struct {
	Type         string         `json:"type"`
	ItemID       string         `json:"item_id"`
	SummaryIndex int            `json:"summary_index"`
	Delta        jsontext.Value `json:"delta"`
	Item         *item          `json:"item"`
	Response     *response      `json:"response"`
	// Of function_call_arguments.done, for servers that send no item.
	Name      string `json:"name"`
	CallID    string `json:"call_id"`
	Arguments string `json:"arguments"`
}

type item struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Encrypted string `json:"encrypted_content"`
}

type response struct {
	ID         string `json:"id"`
	Model      string `json:"model"`
	Status     string `json:"status"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []item `json:"output"`
	Usage  *usage `json:"usage"`
}

type usage struct {
	Input        provider.Count `json:"input_tokens"`
	Output       provider.Count `json:"output_tokens"`
	InputDetails provider.Counts[struct {
		Cached  provider.Count `json:"cached_tokens"`
		Written provider.Count `json:"cache_write_tokens"`
	}] `json:"input_tokens_details"`
	OutputDetails provider.Counts[struct {
		Reasoning provider.Count `json:"reasoning_tokens"`
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
	calls  *provider.CallIDs

	begun   bool // a Created part was sent
	items   bool // an answer or a call was sent whole
	thought bool // a reasoning item was sent
	called  bool // a call was sent
	done    bool
	text    strings.Builder      // answer text of deltas, until its item comes
	loose   []*provider.ToolCall // calls of argument events, until their item comes
}

// event handles the data of one event.
func (d *decoder) event(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e, lenient); err != nil {
		return d.stream.Malformed(err)
	}
	d.stream.Saw(e.Type)
	switch e.Type {
	case "response.failed", "error":
		return d.stream.Reported(data)
	case "":
		if strings.Contains(string(data), `"error"`) {
			return d.stream.Reported(data)
		}
	}
	if err := d.created(e.Response); err != nil { // a server may leave its event out
		return err
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		text := e.delta()
		d.text.WriteString(text)
		return d.part(provider.Part{TextDelta: text}, text != "")
	case "response.reasoning_summary_text.delta":
		text := e.delta()
		return d.part(provider.Part{SummaryDelta: &provider.SummaryDelta{ItemID: e.ItemID, Index: e.SummaryIndex, Text: text}}, text != "")
	case "response.function_call_arguments.done":
		if e.Name != "" {
			d.loose = append(d.loose, &provider.ToolCall{ItemID: e.ItemID, CallID: e.CallID, Name: e.Name, Args: e.Arguments})
		}
	case "response.output_item.done":
		if e.Item != nil {
			return d.item(e.Item)
		}
	case "response.completed", "response.incomplete", "response.done":
		return d.finished(e.Response)
	}
	return nil
}

// delta is the event's fragment; some events of other types have objects there.
func (e *event) delta() string {
	var s string
	if e.Delta.Kind() != '"' || json.Unmarshal(e.Delta, &s) != nil {
		return ""
	}
	return s
}

func (d *decoder) part(p provider.Part, worth bool) error {
	if !worth {
		return nil
	}
	return d.emit(p)
}

func (d *decoder) created(r *response) error {
	if d.begun {
		return nil
	}
	d.begun = true
	c := &provider.Created{}
	if r != nil {
		c.ResponseID = r.ID
	}
	return d.emit(provider.Part{Created: c})
}

// item hands out one whole item.
func (d *decoder) item(it *item) error {
	switch it.Type {
	case "message":
		var text strings.Builder
		for _, c := range it.Content {
			text.WriteString(c.Text)
			text.WriteString(c.Refusal)
		}
		d.items = true
		return d.answer(it.ID, text.String())
	case "reasoning":
		d.thought = true
		return d.emit(provider.Part{Reasoning: d.reasoning(it)})
	case "function_call":
		if it.Status == "incomplete" {
			return nil // the output limit cut it
		}
		d.loose = remove(d.loose, it.ID, it.CallID)
		d.items = true
		return d.call(&provider.ToolCall{ItemID: it.ID, CallID: it.CallID, Name: it.Name, Args: it.Arguments})
	}
	return nil
}

// answer hands out a whole answer. What its deltas did not bring, or all of it
// when there were none, goes out as one more, so that the deltas of a reply are
// its text.
func (d *decoder) answer(id, text string) error {
	seen := d.text.String()
	d.text.Reset()
	if text == "" {
		text = seen
	}
	if text == "" {
		return nil
	}
	if missing, ok := strings.CutPrefix(text, seen); ok && missing != "" {
		if err := d.emit(provider.Part{TextDelta: missing}); err != nil {
			return err
		}
	}
	return d.emit(provider.Part{Text: &provider.AssistantMessage{ItemID: id, Text: text}})
}

// remove drops the call that an argument event announced and that has now come
// as an item.
func remove(calls []*provider.ToolCall, itemID, callID string) []*provider.ToolCall {
	kept := calls[:0]
	for _, c := range calls {
		if c.ItemID != "" && c.ItemID == itemID || c.CallID != "" && c.CallID == callID {
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

func (d *decoder) call(c *provider.ToolCall) error {
	d.called = true
	c.CallID = d.calls.Take(c.CallID)
	c.Name = provider.ToolName(d.req.Tools, c.Name)
	c.Args = provider.CleanArgs(c.Args)
	return d.emit(provider.Part{ToolCall: c})
}

func (d *decoder) reasoning(it *item) *provider.Reasoning {
	r := &provider.Reasoning{Provider: d.id, Model: d.req.Model, ItemID: it.ID, Opaque: it.Encrypted}
	for i, s := range it.Summary {
		if i > 0 {
			r.Summary += "\n\n"
		}
		r.Summary += s.Text
	}
	if it.Encrypted == "" {
		for _, c := range it.Content {
			r.Text += c.Text
		}
	}
	return r
}

// finished ends the reply with what the service says of it.
func (d *decoder) finished(r *response) error {
	if r == nil {
		r = &response{}
	}
	if err := d.rest(r); err != nil {
		return err
	}
	d.done = true
	c := &provider.Completed{
		ResponseID: r.ID, Model: r.Model, Finish: d.finish(r), Usage: r.Usage.tokens(), Wire: d.stream.Facts(),
	}
	if c.Model == "" {
		c.Model = d.req.Model
	}
	return d.emit(provider.Part{Completed: c})
}

// rest hands out what came without items of its own: in the final response, or
// only as deltas.
func (d *decoder) rest(r *response) error {
	if !d.items {
		for i := range r.Output {
			if r.Output[i].Type == "reasoning" && d.thought {
				continue
			}
			if err := d.item(&r.Output[i]); err != nil {
				return err
			}
		}
	}
	if err := d.answer("", ""); err != nil {
		return err
	}
	for _, c := range d.loose {
		if err := d.call(c); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) finish(r *response) provider.Finish {
	if r.Incomplete != nil {
		switch r.Incomplete.Reason {
		case "content_filter":
			return provider.FinishFilter
		case "max_output_tokens", "max_tokens":
			return provider.FinishLength
		}
	}
	switch {
	case r.Status == "incomplete":
		return provider.FinishLength
	case d.called:
		return provider.FinishToolCalls
	}
	return provider.FinishStop
}

// tokens reads the usage; a service that gives none leaves zeros.
func (u *usage) tokens() provider.Usage {
	if u == nil {
		return provider.Usage{}
	}
	return provider.Usage{
		Input: int64(u.Input), Output: int64(u.Output), Reasoning: int64(u.OutputDetails.Of.Reasoning),
		CacheRead: int64(u.InputDetails.Of.Cached), CacheWrite: int64(u.InputDetails.Of.Written),
	}
}
