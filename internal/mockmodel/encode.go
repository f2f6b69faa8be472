package mockmodel

import (
	"fmt"
	"slices"
	"strings"
)

// event is one event of a reply as bytes. middle marks a place inside an item.
type event struct {
	bytes  []byte
	middle bool
}

// encoder gathers the events of one reply.
type encoder struct {
	call   *Call
	events []event
	seq    int
	named  bool // events carry an event line
}

func (e *encoder) add(kind string, v object) {
	head := ""
	if e.named {
		head = "event: " + kind + "\n"
	}
	e.events = append(e.events, event{bytes: []byte(head + "data: " + string(encodeJSON(v)) + "\n\n")})
}

// half marks the last event as the middle of an item.
func (e *encoder) half() { e.events[len(e.events)-1].middle = true }

func encode(wire string, call *Call, r Reply, q Quirks) []event {
	e := &encoder{call: call}
	r.Calls = slices.Clone(r.Calls) // the reply's own may serve several requests at once
	for i := range r.Calls {
		if r.Calls[i].ID == "" {
			r.Calls[i].ID = fmt.Sprintf("call_mock_%d_%d", call.Number, i)
		}
	}
	switch wire {
	case Responses:
		e.named = true
		e.responses(r)
	case Chat:
		e.chat(r, q)
	case Messages:
		e.named = true
		e.messages(r)
	}
	return e.events
}

// cut splits a text into pieces of a few words, at least two.
func cut(text string) []string {
	words := strings.SplitAfter(text, " ")
	if len(words) < 2 {
		return []string{text[:len(text)/2], text[len(text)/2:]}
	}
	var out []string
	for len(words) > 0 {
		n := min(3, len(words))
		if len(out) == 0 && n == len(words) {
			n = 1
		}
		out = append(out, strings.Join(words[:n], ""))
		words = words[n:]
	}
	return out
}

// The Responses wire.

func (e *encoder) response(kind string, v object) {
	v["type"], v["sequence_number"] = kind, e.seq
	e.seq++
	e.add(kind, v)
}

func (e *encoder) responses(r Reply) {
	id := fmt.Sprintf("resp_%d", e.call.Number)
	e.response("response.created", object{"response": object{"id": id, "model": e.call.Model, "status": "in_progress"}})
	output := 0
	item := func(kind string, v object) {
		e.response("response.output_item."+kind, object{"output_index": output, "item": v})
	}
	if r.Reasoning != "" {
		rs := fmt.Sprintf("rs_%d", e.call.Number)
		item("added", object{"type": "reasoning", "id": rs, "summary": []any{}})
		parts := []any{}
		for i, paragraph := range strings.Split(r.Reasoning, "\n\n") {
			at := object{"item_id": rs, "output_index": output, "summary_index": i}
			for _, piece := range cut(paragraph) {
				d := object{"delta": piece}
				for k, v := range at {
					d[k] = v
				}
				e.response("response.reasoning_summary_text.delta", d)
			}
			parts = append(parts, object{"type": "summary_text", "text": paragraph})
		}
		item("done", object{"type": "reasoning", "id": rs, "summary": parts, "encrypted_content": "sealed-" + rs})
		output++
	}
	if r.Text != "" {
		msg := fmt.Sprintf("msg_%d", e.call.Number)
		item("added", object{"type": "message", "id": msg, "role": "assistant", "content": []any{}})
		for i, piece := range cut(r.Text) {
			e.response("response.output_text.delta", object{"item_id": msg, "output_index": output, "content_index": 0, "delta": piece})
			if i == 0 {
				e.half()
			}
		}
		item("done", object{"type": "message", "id": msg, "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": r.Text, "annotations": []any{}}}})
		output++
	}
	for i, c := range r.Calls {
		fc := fmt.Sprintf("fc_%d_%d", e.call.Number, i)
		v := object{"type": "function_call", "id": fc, "call_id": c.ID, "name": c.Name, "arguments": ""}
		if ns := e.call.namespaceOf(c.Name); ns != "" {
			v["namespace"] = ns
		}
		item("added", v)
		for k, piece := range cut(c.Args) {
			e.response("response.function_call_arguments.delta", object{"item_id": fc, "output_index": output, "delta": piece})
			if k == 0 {
				e.half()
			}
		}
		whole := object{"status": "completed"}
		for k, x := range v {
			whole[k] = x
		}
		whole["arguments"] = c.Args
		item("done", whole)
		output++
	}
	kind, v := "response.completed", object{"id": id, "model": e.call.Model, "status": "completed", "usage": r.Usage.responses()}
	if r.Finish != "" {
		reason := map[string]string{"length": "max_output_tokens"}[r.Finish]
		if reason == "" {
			reason = r.Finish
		}
		kind, v["status"], v["incomplete_details"] = "response.incomplete", "incomplete", object{"reason": reason}
	}
	e.response(kind, object{"response": v})
}

func (u Usage) responses() object {
	return object{
		"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.Cached},
		"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

// The Messages wire.

func (e *encoder) message(kind string, v object) {
	v["type"] = kind
	e.add(kind, v)
}

func (e *encoder) messages(r Reply) {
	e.message("message_start", object{"message": object{
		"id": fmt.Sprintf("msg_%d", e.call.Number), "type": "message", "role": "assistant", "model": e.call.Model, "content": []any{},
		"usage": object{
			"input_tokens":            r.Usage.Input - r.Usage.Cached - r.Usage.Written,
			"cache_read_input_tokens": r.Usage.Cached, "cache_creation_input_tokens": r.Usage.Written, "output_tokens": 1,
		},
	}})
	e.message("ping", object{})
	index := 0
	block := func(start object, deltas ...object) {
		e.message("content_block_start", object{"index": index, "content_block": start})
		for i, d := range deltas {
			e.message("content_block_delta", object{"index": index, "delta": d})
			if i == 0 {
				e.half()
			}
		}
		e.message("content_block_stop", object{"index": index})
		index++
	}
	if r.Reasoning != "" {
		var deltas []object
		for _, piece := range cut(r.Reasoning) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": piece})
		}
		signature := fmt.Sprintf("signed-%d", e.call.Number)
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			append(deltas, object{"type": "signature_delta", "signature": signature})...)
	}
	if r.Redacted {
		block(object{"type": "redacted_thinking", "data": fmt.Sprintf("hidden-%d", e.call.Number)})
	}
	if r.Text != "" {
		var deltas []object
		for _, piece := range cut(r.Text) {
			deltas = append(deltas, object{"type": "text_delta", "text": piece})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range r.Calls {
		var deltas []object
		for _, piece := range cut(c.Args) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": piece})
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
	}
	reason := map[string]string{"": "end_turn", "length": "max_tokens", "content_filter": "refusal"}[r.Finish]
	if len(r.Calls) > 0 && r.Finish == "" {
		reason = "tool_use"
	}
	e.message("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": r.Usage.Output}})
	e.message("message_stop", object{})
}
