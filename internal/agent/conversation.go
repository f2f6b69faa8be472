package agent

import (
	"fmt"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

// Conversation is what the model is told: a fold over recorded events. The
// running loop and the replay of a log feed it the same events, so a continued
// session cannot differ from the one that was interrupted.
type Conversation struct {
	entries []entry
	// reasoning waits for the message or the calls of its reply: a reply that
	// broke off leaves none behind, and wires refuse reasoning that nothing
	// follows.
	reasoning []entry
	calls     map[string]*openCall // calls without a result, by call id
	order     []string             // their ids in call order
	batch     string               // message id of the open batch
	tasks     map[string]*openTask
	// beside waits for the end of the run: what happened beside it must not
	// come between a call and its result.
	beside    []provider.Item
	shell     map[string]string // a person's command lines under way, by command id
	runs      int
	run       string // the run that has not ended, or ""
	provider  string // of the newest run
	model     string
	todos     int // newest revision of the plan
	compacted int // compactions in force so far
	// summarised is the newest place that a summary stands for.
	summarised int64
	size       int64 // bytes of everything said, see bytes
	trimmed    int   // entries before this one hold no long result any more
}

// maxHeld bounds what a conversation keeps in memory. No model takes as much;
// beyond it the oldest long results are only in the log.
const maxHeld = 64 << 20

type entry struct {
	seq    int64 // place in the log of the event it came from
	item   provider.Item
	images []event.ContentBlock // pictures to load before the item is sent
}

// openCall is a call without a result. Output is set when the call's task gave
// its final output before the process ended.
type openCall struct {
	call   event.ToolCall
	index  int
	output *event.TaskOutput
}

type openTask struct {
	run    string
	callID string // "" for a model task
	// announced says that the intent was recorded: from there on the task may
	// have had effects.
	announced bool
}

// NewConversation is an empty one.
func NewConversation() *Conversation {
	return &Conversation{calls: map[string]*openCall{}, tasks: map[string]*openTask{}, shell: map[string]string{}}
}

// Runs is the number of runs begun so far.
func (c *Conversation) Runs() int { return c.runs }

// Apply takes in one recorded event.
func (c *Conversation) Apply(r event.Recorded) {
	switch b := r.Body.(type) {
	case event.RunStarted:
		c.runs++
		c.run = r.Run
		c.reasoning = nil
		c.add(r, provider.Item{User: &provider.UserMessage{Text: b.Prompt}}, b.Images)
	case event.ModelConfigured:
		c.provider, c.model = b.ProviderID, b.ModelID
	case event.ReasoningCommitted:
		if b.ProviderID == "" {
			// Logs of Muse Code name the model per run, not per item.
			b.ProviderID, b.ModelID = c.provider, c.model
		}
		c.reasoning = append(c.reasoning, entry{seq: r.Sequence, item: provider.Item{Reasoning: &provider.Reasoning{
			Provider: b.ProviderID, Model: b.ModelID, ItemID: b.ItemID, Opaque: b.Encrypted, Text: b.Text, Redacted: b.Redacted,
		}}})
	case event.AssistantMessage:
		c.flushReasoning()
		c.add(r, provider.Item{Assistant: &provider.AssistantMessage{ItemID: b.ItemID, Text: b.Text}}, nil)
	case event.ToolCalls:
		c.flushReasoning()
		c.batch = b.MessageID
		for i, call := range b.Calls {
			c.calls[call.CallID] = &openCall{call: call, index: i}
			c.order = append(c.order, call.CallID)
			c.add(r, provider.Item{ToolCall: &provider.ToolCall{ItemID: call.ID, CallID: call.CallID, Name: call.Name, Args: call.Args}}, nil)
		}
	case event.ToolResults:
		for _, res := range b.Results {
			delete(c.calls, res.CallID)
			c.add(r, provider.Item{ToolResult: &provider.ToolResult{CallID: res.CallID, Text: res.Text, Failed: res.Failed}}, res.Images)
		}
		if len(c.calls) == 0 {
			c.order = nil
		}
	case event.Notice:
		if words, ok := b.Steered(); ok {
			c.add(r, provider.Item{User: &provider.UserMessage{Text: words.Prompt}}, words.Images)
			return
		}
		c.add(r, provider.Item{Developer: &provider.DeveloperMessage{Text: b.Body}}, nil)
	case event.TodoSnapshot:
		c.todos = b.Revision
	case event.CompactionInstalled:
		c.install(r, b)
	case event.ResultsCleared:
		c.clear(b)
	case event.RunTerminal:
		c.run = ""
		c.reasoning = nil
		if b.Terminal == "cancelled" {
			c.add(r, provider.Item{Developer: &provider.DeveloperMessage{
				Text: "The previous turn was interrupted before it finished. Its last tool calls may have had effects.",
			}}, nil)
		}
		c.flushBeside()
	default:
		if !c.applyBeside(r) {
			c.applyTask(r)
		}
	}
}

func (c *Conversation) applyTask(r event.Recorded) {
	switch b := r.Body.(type) {
	case event.TaskProposed:
		c.tasks[b.TaskID] = &openTask{run: r.Run}
	case event.TaskScheduled:
		if t := c.tasks[b.TaskID]; t != nil {
			t.callID, _ = strings.CutPrefix(b.IdempotencyKey, "tool:")
			if strings.HasPrefix(b.IdempotencyKey, "model:") {
				t.callID = ""
			}
		}
	case event.TaskIntent:
		if t := c.tasks[b.TaskID]; t != nil {
			t.announced = true
		}
	case event.TaskOutput:
		if t := c.tasks[b.TaskID]; t != nil && b.Final {
			if call := c.calls[t.callID]; call != nil {
				call.output = &b
			}
		}
	case event.TaskCompleted:
		delete(c.tasks, b.TaskID)
	case event.TaskFailed:
		if t := c.tasks[b.TaskID]; t != nil {
			if call := c.calls[t.callID]; call != nil && call.output == nil {
				call.output = &event.TaskOutput{Chunk: "tool failed: " + b.Reason, Final: true}
			}
		}
		delete(c.tasks, b.TaskID)
	case event.TaskCancelled:
		delete(c.tasks, b.TaskID)
	}
}

func (c *Conversation) add(r event.Recorded, item provider.Item, images []event.ContentBlock) {
	c.push(entry{seq: r.Sequence, item: item, images: images})
}

func (c *Conversation) push(entries ...entry) {
	for _, e := range entries {
		c.size += itemBytes(e.item)
	}
	c.entries = append(c.entries, entries...)
	for c.size > maxHeld && c.trimmed < len(c.entries) {
		c.trim(&c.entries[c.trimmed])
		c.trimmed++
	}
}

// trim drops the text of a long result from memory.
func (c *Conversation) trim(e *entry) {
	r := e.item.ToolResult
	if r == nil || len(r.Text) < 4<<10 {
		return
	}
	c.size -= itemBytes(e.item)
	m := *r
	m.Text = fmt.Sprintf("[result of %d bytes is no longer in view; it is in the session log]", len(r.Text))
	e.item.ToolResult, e.images = &m, nil
	c.size += itemBytes(e.item)
}

func (c *Conversation) flushReasoning() {
	c.push(c.reasoning...)
	c.reasoning = nil
}

// Items is the conversation as a request carries it. load reads a picture that
// is kept beside the log; one that cannot be read is named in the text instead.
func (c *Conversation) Items(load func(event.ContentBlock) ([]byte, error)) []provider.Item {
	items := make([]provider.Item, 0, len(c.entries))
	for _, e := range c.entries {
		item := e.item
		if len(e.images) > 0 {
			item = withImages(item, e.images, load)
		}
		items = append(items, item)
	}
	return items
}

func withImages(item provider.Item, blocks []event.ContentBlock, load func(event.ContentBlock) ([]byte, error)) provider.Item {
	var images []provider.Image
	var missing []string
	for _, b := range blocks {
		data, err := load(b)
		if err != nil {
			missing = append(missing, fmt.Sprintf("[picture %s is no longer available]", b.Path))
			continue
		}
		images = append(images, provider.Image{MediaType: b.MediaType, Data: data})
	}
	note := strings.Join(append([]string{""}, missing...), "\n")
	switch {
	case item.User != nil:
		m := *item.User
		m.Images, m.Text = images, m.Text+note
		item.User = &m
	case item.ToolResult != nil:
		m := *item.ToolResult
		m.Images, m.Text = images, m.Text+note
		item.ToolResult = &m
	}
	return item
}

// bytes is the size of what is said, the base of token estimates.
func (c *Conversation) bytes() int64 { return c.size }

// replace puts other entries in the place of all.
func (c *Conversation) replace(entries []entry) {
	c.entries, c.size, c.trimmed = nil, 0, 0
	c.push(entries...)
}

func itemBytes(i provider.Item) int64 {
	const overhead = 24 // the wire's own words around an item
	n := overhead
	switch {
	case i.User != nil:
		n += len(i.User.Text)
	case i.Assistant != nil:
		n += len(i.Assistant.Text)
	case i.Developer != nil:
		n += len(i.Developer.Text)
	case i.ToolCall != nil:
		n += len(i.ToolCall.Name) + len(i.ToolCall.Args)
	case i.ToolResult != nil:
		n += len(i.ToolResult.Text)
	case i.Reasoning != nil:
		n += (len(i.Reasoning.Opaque) + len(i.Reasoning.Text)) / 2
	}
	return int64(n)
}
