package provider

import "strings"

// wireNameSize is the longest tool name that every service takes.
const wireNameSize = 64

// interrupted is the result that stands in for one that was never recorded.
const interrupted = "tool failed: interrupted"

// Sendable is req as a service takes it; req itself stays as it was. Services
// refuse a conversation for ever once it has a call without its result, a
// result without its call, or a call by a name they would not let a tool have,
// so a record that was cut, or a name that a model made up, must not get there:
//
//   - the results of a batch of calls follow it directly, each once;
//   - a call without a result gets one that says it was interrupted;
//   - a result without a call before it is left out;
//   - call names are [WireName]s. Results carry no name.
func Sendable(req *Request) *Request {
	out := *req
	out.Items = named(paired(req.Items))
	return &out
}

// WireName is a tool's name in the characters and length that every service
// takes, for calls of earlier turns: models make up names that no tool has.
func WireName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if b.Len() == wireNameSize {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteByte(byte(r))
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "unknown_tool"
	}
	return b.String()
}

// named gives the calls of items their wire names. It changes items, which is
// a copy, but not what they point to.
func named(items []Item) []Item {
	for i := range items {
		c := items[i].ToolCall
		if c == nil {
			continue
		}
		if name := WireName(c.Name); name != c.Name {
			clean := *c
			clean.Name = name
			items[i].ToolCall = &clean
		}
	}
	return items
}

// paired is a copy of items in which calls and results answer each other.
func paired(items []Item) []Item {
	results := answers(items)
	out := make([]Item, 0, len(items))
	var open []int    // calls whose results are still to go out
	answered := false // a result of the open batch went out
	for i := range items {
		it := &items[i]
		if it.ToolResult != nil {
			for n, call := range open {
				if at, ok := results[call]; ok && at == i {
					open = append(open[:n], open[n+1:]...)
					out, answered = append(out, *it), true
					break
				}
			}
			continue
		}
		if len(open) > 0 && (answered || it.User != nil || it.Developer != nil) {
			out, open = closed(out, items, open, results), open[:0]
		}
		if it.ToolCall != nil {
			if len(open) == 0 {
				answered = false
			}
			open = append(open, i)
		}
		out = append(out, *it)
	}
	return closed(out, items, open, results)
}

// answers is the index of the result of each call, by the call's index. Of two
// calls with one id the later is meant.
func answers(items []Item) map[int]int {
	calls, results := map[string]int{}, map[int]int{}
	for i := range items {
		switch it := &items[i]; {
		case it.ToolCall != nil:
			calls[it.ToolCall.CallID] = i
		case it.ToolResult != nil:
			if call, ok := calls[it.ToolResult.CallID]; ok {
				results[call] = i
				delete(calls, it.ToolResult.CallID)
			}
		}
	}
	return results
}

// closed appends what the open calls of a batch still lack.
func closed(out, items []Item, open []int, results map[int]int) []Item {
	for _, call := range open {
		if at, ok := results[call]; ok {
			out = append(out, items[at])
			continue
		}
		out = append(out, Item{ToolResult: &ToolResult{CallID: items[call].ToolCall.CallID, Text: interrupted, Failed: true}})
	}
	return out
}
