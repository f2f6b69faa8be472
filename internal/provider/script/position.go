package script

import (
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/provider"
)

// itemPrefix begins the item ids of a reply; its number follows.
const itemPrefix = "script_"

// next is the index of the reply that a conversation is due. Every group of
// reasoning, answer and call items that nothing interrupts is one reply, and
// several user turns go on through the same list. A compacted conversation
// has lost its older groups: the item ids of the replies that are left still
// carry their numbers, and the highest of them wins.
func next(items []provider.Item) int {
	n, inside := 0, false
	for i := range items {
		it := &items[i]
		id, ok := replyItem(it)
		if !ok {
			inside = false
			continue
		}
		if !inside {
			n++
			inside = true
		}
		if k, ok := number(id); ok && k+1 > n {
			n = k + 1
		}
	}
	return n
}

// replyItem is the item's id; ok is false for what a model does not send.
func replyItem(it *provider.Item) (id string, ok bool) {
	switch {
	case it.Reasoning != nil:
		return it.Reasoning.ItemID, true
	case it.Assistant != nil:
		return it.Assistant.ItemID, true
	case it.ToolCall != nil:
		return it.ToolCall.ItemID, true
	}
	return "", false
}

// number is the reply's index in an item id this package made.
func number(id string) (int, bool) {
	rest, ok := strings.CutPrefix(id, itemPrefix)
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, "_")
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}

// split cuts text into deltas of size words; they concatenate to text exactly.
func split(text string, size int) []string {
	if size <= 0 {
		size = 3
	}
	var out []string
	start, words, inWord := 0, 0, false
	for i, r := range text {
		space := r == ' ' || r == '\n' || r == '\t'
		if !space && !inWord {
			if words == size {
				out = append(out, text[start:i])
				start, words = i, 0
			}
			words++
		}
		inWord = !space
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}
