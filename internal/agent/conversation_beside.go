package agent

import (
	"fmt"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

// applyBeside takes in what happens outside of runs; false for anything else.
func (c *Conversation) applyBeside(r event.Recorded) bool {
	switch b := r.Body.(type) {
	case event.UserShellCommand:
		c.shell[b.CommandID] = b.CommandText
	case event.UserShellResult:
		line, ok := c.shell[b.CommandID]
		if !ok {
			return true
		}
		delete(c.shell, b.CommandID)
		c.beside = append(c.beside, provider.Item{User: &provider.UserMessage{Text: shellText(line, b)}})
		if c.run == "" {
			c.flushBeside()
		}
	case event.UserShellRejected:
		delete(c.shell, b.CommandID)
	case event.RunRetracted:
		c.cut(b.PromptSequence - 1)
	case event.SessionRewound:
		c.cut(b.Sequence)
	default:
		return false
	}
	return true
}

// flushBeside makes what happened beside a run part of the conversation. It
// stands after the run, whenever it was recorded.
func (c *Conversation) flushBeside() {
	for _, item := range c.beside {
		var seq int64
		if n := len(c.entries); n > 0 {
			seq = c.entries[n-1].seq
		}
		c.push(entry{seq: seq, item: item})
	}
	c.beside = nil
}

// shellText tells the model what the person ran, in the person's place.
func shellText(line string, b event.UserShellResult) string {
	var out strings.Builder
	fmt.Fprintf(&out, "I ran a shell command myself:\n\n$ %s\n%s", line, strings.TrimRight(cutMiddle(b.VisibleOutput, keptMessageBytes), "\n"))
	switch {
	case b.ExitCode != nil:
		fmt.Fprintf(&out, "\n[exit %d]", *b.ExitCode)
	default:
		fmt.Fprintf(&out, "\n[%s]", b.TerminalState)
	}
	return out.String()
}

// cut takes everything after a place in the log out of the conversation.
func (c *Conversation) cut(through int64) {
	kept := c.entries[:0:0]
	for _, e := range c.entries {
		if e.seq <= through {
			kept = append(kept, e)
		}
	}
	c.reasoning = nil
	c.replace(kept)
}

// SummarisedThrough is the newest place in the log that a summary stands for,
// 0 when there is none.
func (c *Conversation) SummarisedThrough() int64 { return c.summarised }
