package agent

import (
	"context"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

// Waiting are the calls of a run that was cut off while a person was asked
// about them, by call id. Such a run need not end: nothing of those calls has
// happened yet, and the question can be asked again (MSP.md 6, Approval state
// machine).

// Resumable reports whether the run that has not ended can go on when the
// waiting calls are begun again: every other call of its batch has its result,
// or was not begun. Calls run in order, so those behind a waiting one were not.
func (c *Conversation) Resumable(waiting map[string]bool) bool {
	if c.run == "" || len(c.calls) == 0 || len(waiting) == 0 {
		return false
	}
	for _, t := range c.tasks {
		if t.callID == "" || c.calls[t.callID] == nil {
			return false // a model call, or a task of something else
		}
	}
	announced := false
	for _, id := range c.order {
		announced = announced || c.taskOf(id) != ""
	}
	reached := false
	for _, id := range c.order {
		open := c.calls[id]
		switch {
		case open == nil:
			return false // half of the results were recorded
		case waiting[id]:
			reached = true
		case !announced, open.output != nil:
		case c.taskOf(id) == "", !reached:
			return false // it ended without a word, or it was running
		}
	}
	for id := range waiting {
		if c.calls[id] == nil {
			return false
		}
	}
	return reached
}

// taskOf is the task that was announced for a call, "" when none was.
func (c *Conversation) taskOf(call string) string {
	for id, t := range c.tasks {
		if t.callID == call && t.announced {
			return id
		}
	}
	return ""
}

// Resume goes on with the run that was cut off, as Turn would have: the waiting
// calls are begun again, which asks again. Resumable must have said yes. Budgets
// count from here.
func (l *Loop) Resume(ctx context.Context, waiting map[string]bool) (Outcome, error) {
	t := &turn{Loop: l, run: l.conv.run, began: l.Now(), step: 1}
	l.spent = spent{}
	ctx, cancel := l.Budget.deadline(ctx, l.Now())
	defer cancel()
	out, over, err := t.carry(ctx, l.conv.batch, t.cutOff(waiting))
	if !over && err == nil {
		out, err = t.steps(ctx)
	}
	l.dropCompaction()
	if err != nil {
		return Outcome{}, err
	}
	return out, t.close(out)
}

// cutOff is the open batch as the other process left it.
func (t *turn) cutOff(waiting map[string]bool) []*pending {
	var batch []*pending
	for _, id := range t.conv.order {
		open := t.conv.calls[id]
		p := t.prepare(provider.ToolCall{ItemID: open.call.ID, CallID: id, Name: open.call.Name, Args: open.call.Args}, open.index)
		switch task := t.conv.taskOf(id); {
		case open.output != nil:
			p.done, p.refusal = true, ""
			p.result = event.ToolResult{
				CallID: id, Index: open.index, Text: open.output.Chunk, Images: open.output.Images,
				Failed: strings.HasPrefix(open.output.Chunk, failedPrefix),
			}
		case task != "":
			p.task, p.announced, p.started = task, true, waiting[id]
		}
		batch = append(batch, p)
	}
	return batch
}
