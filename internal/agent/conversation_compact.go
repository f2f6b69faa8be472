package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

const (
	// keptMessageBytes bounds one message of the person after a compaction:
	// beyond it the middle is cut, because a pasted file must not make every
	// later compaction useless.
	keptMessageBytes = 16 << 10
	// keptUserBytes bounds all of them together where the log does not say.
	keptUserBytes = 64 << 10
)

// install replaces everything up to the summary's cursor by the person's own
// messages, the newest ones as far as they fit, and the summary.
func (c *Conversation) install(r event.Recorded, b event.CompactionInstalled) {
	rest := len(c.entries)
	for i, e := range c.entries {
		if e.seq > b.Through.Sequence {
			rest = i
			break
		}
	}
	kept, left := keepUser(c.entries[:rest], b.KeptUserBytes)
	note := "Earlier work of this session was summarised to save room. The person's messages above are kept; everything else up to here is in this summary:"
	if left > 0 {
		note = fmt.Sprintf("Earlier work of this session was summarised to save room. The person's newest messages are kept above, %d older one(s) are not; everything else up to here is in this summary:", left)
	}
	kept = append(kept, entry{seq: b.Through.Sequence, item: provider.Item{Developer: &provider.DeveloperMessage{
		Text: note + "\n\n" + b.Replacement.Text,
	}}})
	c.replace(append(kept, c.entries[rest:]...))
	c.compacted++
	c.summarised = max(c.summarised, b.Through.Sequence)
}

// keepUser picks the person's messages that stay, in order, and counts those
// that do not. The newest always stays.
func keepUser(entries []entry, limit int64) (kept []entry, left int) {
	if limit <= 0 {
		limit = keptUserBytes
	}
	var total int64
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		if e.item.User == nil {
			continue
		}
		m := *e.item.User
		m.Text = cutMiddle(m.Text, int(min(keptMessageBytes, limit)))
		e.item.User = &m
		total += itemBytes(e.item)
		if total > limit && len(kept) > 0 {
			left++
			continue
		}
		kept = append(kept, e)
	}
	slices.Reverse(kept)
	return kept, left
}

// clear replaces the texts of results that were moved to files.
func (c *Conversation) clear(b event.ResultsCleared) {
	texts := make(map[string]string, len(b.Cleared))
	for _, r := range b.Cleared {
		texts[r.CallID] = r.Text
	}
	for i, e := range c.entries {
		if e.item.ToolResult == nil {
			continue
		}
		if text, ok := texts[e.item.ToolResult.CallID]; ok {
			m := *e.item.ToolResult
			c.size += int64(len(text) - len(m.Text))
			m.Text = text
			c.entries[i].item.ToolResult = &m
			c.entries[i].images = nil
		}
	}
}

// clearable lists old results worth moving to files: those before the newest
// keep bytes of conversation that are longer than min bytes, oldest first.
func (c *Conversation) clearable(keep, min int64) []*provider.ToolResult {
	var recent int64
	cut := len(c.entries)
	for i := len(c.entries) - 1; i >= 0 && keep > 0; i-- {
		cut = i
		if recent += itemBytes(c.entries[i].item); recent > keep {
			break
		}
	}
	var out []*provider.ToolResult
	for _, e := range c.entries[:cut] {
		if r := e.item.ToolResult; r != nil && int64(len(r.Text)) > min && !strings.HasPrefix(r.Text, clearedPrefix) {
			out = append(out, r)
		}
	}
	return out
}

const clearedPrefix = "[result cleared to save room"

func clearedText(path string, size int) string {
	return fmt.Sprintf("%s: %d bytes, full output saved to: %s]", clearedPrefix, size, path)
}

// boundary is the newest place to summarise through that leaves at least keep
// bytes of conversation after it, no call apart from its result and nothing of
// an open batch summarised. head is the sequence of the first entry and tail
// of the last. ok is false when there is nothing to summarise.
func (c *Conversation) boundary(keep int64) (through, head, tail int64, ok bool) {
	if len(c.entries) == 0 {
		return 0, 0, 0, false
	}
	open := map[string]bool{}
	var suffix int64
	for i := len(c.entries) - 1; i > 0; i-- {
		e := c.entries[i]
		suffix += itemBytes(e.item)
		switch {
		case e.item.ToolResult != nil:
			open[e.item.ToolResult.CallID] = true
		case e.item.ToolCall != nil:
			delete(open, e.item.ToolCall.CallID)
		}
		prev := c.entries[i-1]
		apart := prev.seq == e.seq || prev.item.Reasoning != nil
		if suffix >= keep && len(open) == 0 && !apart {
			return prev.seq, c.entries[0].seq, c.entries[len(c.entries)-1].seq, true
		}
	}
	return 0, 0, 0, false
}

// end is the newest place to summarise through: everything, but for a prompt
// that was not answered yet.
func (c *Conversation) end() (through, head, tail int64, ok bool) {
	n := len(c.entries)
	if n == 0 {
		return 0, 0, 0, false
	}
	tail = c.entries[n-1].seq
	if c.entries[n-1].item.User != nil {
		n--
	}
	if n == 0 {
		return 0, 0, 0, false
	}
	return c.entries[n-1].seq, c.entries[0].seq, tail, true
}

// upTo is the conversation as far as through, for the model that summarises.
func (c *Conversation) upTo(through int64) *Conversation {
	part := NewConversation()
	for _, e := range c.entries {
		if e.seq > through {
			break
		}
		part.push(e)
	}
	return part
}

func cutMiddle(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := s[:limit/2], s[len(s)-limit/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[… %d bytes cut …]\n", len(s)-limit) + strings.ToValidUTF8(tail, "")
}
