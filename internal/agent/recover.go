package agent

import (
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/event"
)

// interruptedResult is what the model reads for a call whose process ended
// while it ran: whether it had effects is not known.
const interruptedResult = "tool failed: interrupted: the session ended while this call was running. It may have had effects; look before you repeat it."

// Interrupted is what must be recorded before a conversation that was cut off
// can go on: results for its open calls (the true one where the task had given
// it), the end of its open tasks, and the end of its run. It is empty for a
// session that was left in order. The events are not applied here: recording
// them does that.
func (c *Conversation) Interrupted() []event.Event {
	var out []event.Event
	run := c.run
	for id, task := range c.tasks {
		out = append(out, event.Event{Run: task.run, Task: id, Body: event.TaskCancelled{TaskID: id, Reason: "interrupted"}})
	}
	slices.SortFunc(out, func(a, b event.Event) int { return strings.Compare(a.Task, b.Task) })
	if len(c.calls) > 0 {
		results := event.ToolResults{BatchID: c.batch}
		for _, id := range c.order {
			open := c.calls[id]
			if open == nil {
				continue
			}
			res := event.ToolResult{CallID: id, Index: open.index, Text: c.interruptedText(id), Failed: true}
			if open.output != nil {
				res.Text, res.Images = open.output.Chunk, open.output.Images
				res.Failed = strings.HasPrefix(res.Text, failedPrefix)
			}
			results.Results = append(results.Results, res)
		}
		out = append(out, event.Event{Run: run, Body: results})
	}
	if run != "" {
		reason := "interrupted: the process ended before the run did"
		out = append(out, event.Event{Run: run, Body: event.RunTerminal{Terminal: "cancelled", Reason: &reason}})
	}
	return out
}

const failedPrefix = "tool failed: "

// interruptedText tells a call that was announced from one that never began.
func (c *Conversation) interruptedText(callID string) string {
	for _, task := range c.tasks {
		if task.callID == callID && task.announced {
			return interruptedResult
		}
	}
	return "tool failed: interrupted: the session ended before this call was started. It had no effects."
}
