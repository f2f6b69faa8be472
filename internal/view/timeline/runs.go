package timeline

import (
	"strings"

	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// runEvent is the reader of a run event, or nil for bookkeeping.
func (r *Reader) runEvent(kind string) func(*Reader, Event, []byte) {
	switch kind {
	case "started":
		return func(r *Reader, ev Event, event []byte) {
			ev.Kind, ev.Text = Prompt, textOf(jsonline.Get(event, "prompt"))
			r.emit(ev)
		}
	case "inbox_item_queued":
		return readInbox
	case "assistant_message_committed":
		return func(r *Reader, ev Event, event []byte) {
			ev.Kind, ev.Text = Assistant, textOf(jsonline.Get(event, "text"))
			r.emit(ev)
		}
	case "assistant_tool_calls_committed":
		return readCalls
	case "tool_result_batch_committed", "tool_results_committed", "tool_result_committed", "tool_result":
		return readResults
	case "provider_tool_call_completed":
		return readProviderCall
	case "model_completed":
		return readModelDone
	case "terminal":
		return func(r *Reader, ev Event, event []byte) {
			ev.Kind, ev.Name = RunEnd, word(jsonline.Get(event, "terminal"))
			ev.Text, ev.Raw = textOf(jsonline.Get(event, "reason")), event
			r.emit(ev)
		}
	case "context_compaction_installed", "run_retracted", "turn_task_died":
		return func(r *Reader, ev Event, event []byte) {
			ev.Kind, ev.Name = Logged, []byte(kind)
			ev.Text = Text{Plain: jsonline.AppendCompact(nil, event)}
			r.emit(ev)
		}
	case "reasoning_summary_committed", "reasoning_committed", "reasoning_summary_delta":
		if r.Thinking {
			return func(r *Reader, ev Event, event []byte) { readThinking(r, ev, kind, event) }
		}
	case "task_stream_linked", "memory_reminder_child_session_linked":
		if r.Extra {
			return readChildLink
		}
	}
	return nil
}

// readInbox reads a prompt typed while a run was active, or a delivery.
func readInbox(r *Reader, ev Event, event []byte) {
	ev.Kind = Inbox
	ev.Name = word(jsonline.Get(jsonline.Get(event, "source"), "source"))
	ev.Text = textOf(jsonline.Get(jsonline.Get(event, "payload"), "prompt"))
	if ev.Text.IsEmpty() {
		ev.Text = textOf(jsonline.Get(event, "body"))
	}
	r.emit(ev)
}

func readThinking(r *Reader, ev Event, kind string, event []byte) {
	ev.ID = word(jsonline.Get(event, "message_id"))
	ev.Text = textOf(jsonline.Get(event, "text"))
	ev.Kind = Thinking
	switch {
	case kind == "reasoning_summary_delta":
		ev.Kind = ThinkingDelta
	case kind == "reasoning_summary_committed":
		ev.Name = []byte("summary") // ends the deltas of its message
	case ev.Text.IsEmpty():
		return // the content is the opaque encrypted_content
	}
	r.emit(ev)
}

func readCalls(r *Reader, ev Event, event []byte) {
	for c := jsonline.Elements(jsonline.Get(event, "tool_calls")); c.Next(); {
		call := ev
		call.Kind = ToolCall
		var args []byte
		for f := jsonline.Members(c.Val); f.Next(); {
			switch string(f.Key) {
			case "name":
				call.Name = word(f.Val)
			case "call_id":
				call.ID = word(f.Val)
			case "args":
				args = f.Val
			}
		}
		call.Text, call.Raw = r.arguments(args)
		r.emit(call)
	}
}

// arguments gives a call's text: its most telling argument, else all of them
// as compact JSON (seed 000, Columns). The arguments are a JSON text inside a
// string, or the value itself.
func (r *Reader) arguments(args []byte) (Text, []byte) {
	if lit, ok := jsonline.Literal(args); ok {
		inner := r.resolve(lit)
		if !jsonline.Valid(inner) {
			return Text{Plain: inner}, inner
		}
		args = trim(inner)
	}
	if len(args) == 0 || args[0] != '{' {
		return textOf(args), args
	}
	var found [6][]byte
	for f := jsonline.Members(args); f.Next(); {
		switch string(f.Key) {
		case "command":
			found[0] = f.Val
		case "cmd":
			found[1] = f.Val
		case "url":
			found[2] = f.Val
		case "query":
			found[3] = f.Val
		case "path":
			found[4] = f.Val
		case "file_path":
			found[5] = f.Val
		}
	}
	for _, val := range found {
		if t := textOf(val); !t.IsEmpty() {
			return t, args
		}
	}
	return Text{Plain: jsonline.AppendCompact(nil, args)}, args
}

// readResults reads a batch, or the one result an event itself is.
func readResults(r *Reader, ev Event, event []byte) {
	results := jsonline.Get(event, "results")
	if len(results) == 0 || results[0] != '[' {
		r.result(ev, event)
		return
	}
	for e := jsonline.Elements(results); e.Next(); {
		r.result(ev, e.Val)
	}
}

// result reads one result with the names that earlier builds used (seed 000,
// Run events: tool_result).
func (r *Reader) result(ev Event, val []byte) {
	ev.Kind = ToolResult
	var id, other []byte
	var text [5][]byte
	for f := jsonline.Members(val); f.Next(); {
		at := -1
		switch string(f.Key) {
		case "tool_call_id":
			id = word(f.Val)
		case "call_id":
			other = word(f.Val)
		case "text":
			at = 0
		case "output":
			at = 1
		case "result":
			at = 2
		case "tool_result_model_visible_content":
			at = 3
		case "content":
			at = 4
		}
		if at >= 0 && string(f.Val) != "null" {
			text[at] = f.Val
		}
	}
	if ev.ID = id; len(id) == 0 {
		ev.ID = other
	}
	for _, t := range text {
		if t != nil {
			ev.Text, ev.Raw = r.output(t)
			break
		}
	}
	r.emit(ev)
}

// output is a result's text; the JSON object that a shell result is gives its
// output, after the exit code when it is not 0 (seed 000, Columns).
func (r *Reader) output(val []byte) (Text, []byte) {
	lit, ok := jsonline.Literal(val)
	if !ok {
		return textOf(val), val
	}
	plain := Text{Literal: lit}
	if !maybeObject(lit) {
		return plain, val
	}
	inner := trim(r.resolve(lit))
	var output, code []byte
	if len(inner) == 0 || inner[0] != '{' || !jsonline.Object(inner, func(key, val []byte) {
		switch string(key) {
		case "output":
			output = val
		case "exit_code":
			code = val
		}
	}) || output == nil {
		return plain, val
	}
	t := textOf(output)
	if n, ok := jsonline.Int(code); code != nil && string(code) != "null" && (!ok || n != 0) {
		t.Prefix = "[exit " + string(word(code)) + "] "
	}
	return t, inner
}

// maybeObject looks at the first character of a literal's text that is no
// space, without resolving it.
func maybeObject(lit []byte) bool {
	for len(lit) > 0 {
		switch {
		case lit[0] == '{':
			return true
		case lit[0] == ' ':
			lit = lit[1:]
		case len(lit) > 1 && lit[0] == '\\' && (lit[1] == 'n' || lit[1] == 't' || lit[1] == 'r'):
			lit = lit[2:]
		case len(lit) > 5 && strings.EqualFold(string(lit[:6]), `\u007b`):
			return true
		default:
			return false
		}
	}
	return false
}

// readProviderCall reads a call that the provider ran itself: the call and its
// result in one record (seed 000, coverage table; shape not observed).
func readProviderCall(r *Reader, ev Event, event []byte) {
	action := jsonline.Get(event, "action")
	ev.Kind, ev.ID = ToolCall, word(jsonline.Get(event, "call_id"))
	if ev.Name = word(jsonline.Get(action, "type")); len(ev.Name) == 0 {
		ev.Name = []byte("provider_tool")
	}
	ev.Text, ev.Raw = r.arguments(action)
	r.emit(ev)
	ev.Kind = ToolResult
	results := jsonline.Get(event, "results")
	ev.Text, ev.Raw = textOf(results), results
	if status := word(jsonline.Get(event, "status")); len(status) > 0 && string(status) != "completed" {
		ev.Text.Prefix = "[" + string(status) + "] "
	}
	r.emit(ev)
}

func readModelDone(r *Reader, ev Event, event []byte) {
	ev.Kind = ModelDone
	for f := jsonline.Members(event); f.Next(); {
		switch string(f.Key) {
		case "model":
			ev.Name = word(f.Val)
		case "duration_ms":
			ev.Usage.DurationMS, _ = jsonline.Int(f.Val) // a missing number counts as none
		case "cost_micro_usd":
			ev.Usage.CostMicros, ev.Usage.Priced = jsonline.Int(f.Val)
		case "usage":
			readUsage(&ev.Usage, f.Val)
		}
	}
	r.emit(ev)
}

func readUsage(u *Usage, usage []byte) {
	for f := jsonline.Members(usage); f.Next(); {
		n, ok := jsonline.Int(f.Val)
		if !ok || n < 0 {
			continue
		}
		switch string(f.Key) {
		case "input_tokens":
			u.Input = n
		case "output_tokens":
			u.Output = n
		case "reasoning_tokens":
			u.Reasoning = n
		case "cached_tokens":
			u.Cached = n
		case "cache_read_tokens":
			u.CacheRead = n
		case "cache_write_tokens":
			u.CacheWrite = n
		}
	}
}

func readChildLink(r *Reader, ev Event, event []byte) {
	ev.Kind = ChildLinked
	ev.ID = word(jsonline.Get(event, "child_session_id"))
	ev.Second = word(jsonline.Get(event, "child_session_log_path"))
	if display := jsonline.Get(event, "display"); display != nil {
		ev.Second = word(jsonline.Get(display, "path"))
		ev.Name = word(jsonline.Get(display, "label"))
	}
	if len(ev.ID) > 0 || len(ev.Second) > 0 {
		r.emit(ev)
	}
}
