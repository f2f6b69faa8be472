package tool

import (
	"context"
	_ "embed" // the text for the model
	"fmt"
	"strings"
	"sync"
)

//go:embed todos.md
var writeTodosText string

const writeTodosSchema = `{"type":"object","properties":{
"todos":{"type":"array","maxItems":100,"items":{"type":"object","properties":{
"text":{"type":"string","minLength":1},
"status":{"enum":["pending","in_progress","completed"]}},
"required":["text","status"],"additionalProperties":false}}},
"required":["todos"],"additionalProperties":false}`

// todoPlan counts the plans of a session.
type todoPlan struct {
	mu       sync.Mutex
	revision int
}

// writeTodos is the tool write_todos.
type writeTodos struct{ set *Set }

var writeTodosSpec = sync.OnceValue(func() Spec {
	return Spec{Name: "write_todos", Description: strings.TrimSpace(writeTodosText), Schema: compact(writeTodosSchema)}
})

func (t *writeTodos) Spec() Spec { return writeTodosSpec() }

func (t *writeTodos) Run(_ context.Context, call Call) Result {
	var args struct {
		Todos []struct {
			Text   string `json:"text"`
			Status string `json:"status"`
		} `json:"todos"`
	}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	todos := make([]Todo, 0, len(args.Todos))
	for _, item := range args.Todos {
		todos = append(todos, Todo{Text: item.Text, Status: item.Status})
	}
	t.set.todos.mu.Lock()
	defer t.set.todos.mu.Unlock()
	t.set.todos.revision++
	return Result{
		Text:  fmt.Sprintf(`{"ok":true,"revision":%d,"items":%d}`, t.set.todos.revision, len(todos)),
		Todos: todos,
	}
}
