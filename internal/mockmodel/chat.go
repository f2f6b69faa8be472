package mockmodel

import "fmt"

// The Chat Completions wire.

func (e *encoder) chunk(choices []any, usage object) {
	v := object{"id": fmt.Sprintf("chatcmpl-%d", e.call.Number), "object": "chat.completion.chunk", "model": e.call.Model, "choices": choices}
	if usage != nil {
		v["usage"] = usage
	}
	e.add("", v)
}

func (e *encoder) delta(d object) {
	e.chunk([]any{object{"index": 0, "delta": d, "finish_reason": nil}}, nil)
}

func (e *encoder) chat(r Reply, q Quirks) {
	e.delta(object{"role": "assistant", "content": ""})
	if r.Reasoning != "" {
		member := q.Reasoning
		if member == "" {
			member = "reasoning_content"
		}
		for _, piece := range cut(r.Reasoning) {
			e.delta(object{member: piece})
		}
	}
	if r.Text != "" {
		for i, piece := range cut(r.Text) {
			e.delta(object{"content": piece})
			if i == 0 {
				e.half()
			}
		}
	}
	for i, c := range r.Calls {
		e.toolCall(i, c, q)
	}
	e.chunk([]any{object{"index": 0, "delta": object{}, "finish_reason": finishOf(r)}}, nil)
	if !q.NoUsage {
		e.chunk([]any{}, r.Usage.chat())
	}
	if !q.NoDone {
		e.events = append(e.events, event{bytes: []byte("data: [DONE]\n\n")})
	}
}

func (e *encoder) toolCall(i int, c ToolCall, q Quirks) {
	part := func(v object) {
		if !q.NoIndex {
			v["index"] = i
		}
		e.delta(object{"tool_calls": []any{v}})
	}
	head := object{"type": "function"}
	if !q.NoIDs {
		head["id"] = c.ID
	}
	if q.WholeCalls {
		head["function"] = object{"name": c.Name, "arguments": c.Args}
		part(head)
		e.half()
		return
	}
	head["function"] = object{"name": c.Name, "arguments": ""}
	part(head)
	for k, piece := range cut(c.Args) {
		part(object{"function": object{"arguments": piece}})
		if k == 0 {
			e.half()
		}
	}
}

func finishOf(r Reply) string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (u Usage) chat() object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

// document is a reply of a server that does not stream.
func document(call *Call, r Reply) any {
	message := object{"role": "assistant", "content": r.Text}
	if r.Reasoning != "" {
		message["reasoning_content"] = r.Reasoning
	}
	if len(r.Calls) > 0 {
		calls := []any{}
		for i, c := range r.Calls {
			id := c.ID
			if id == "" {
				id = fmt.Sprintf("call_mock_%d_%d", call.Number, i)
			}
			calls = append(calls, object{"id": id, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
		}
		message["tool_calls"] = calls
	}
	return object{
		"id": fmt.Sprintf("chatcmpl-%d", call.Number), "object": "chat.completion", "model": call.Model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": finishOf(r)}}, "usage": r.Usage.chat(),
	}
}
