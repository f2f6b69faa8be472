package tool

import (
	"context"
	_ "embed" // the text for the model
	"math"
	"strings"
	"sync"
	"time"
)

//go:embed bash.md
var bashText string

// bashSchema is the arguments of CLI.md 5. What asks to leave the sandbox is
// for the gate, which reads it from the call.
const bashSchema = `{"type":"object","properties":{
"command":{"type":"string","minLength":1},
"description":{"type":"string","description":"what it does, 5-10 words"},
"workdir":{"type":"string"},
"yield_time_ms":{"type":"integer","minimum":0,"maximum":300000,"description":"default 10000"},
"timeout_ms":{"type":"integer","minimum":1,"description":"kill it after this; default never"},
"max_output_tokens":{"type":"integer","minimum":1},
"tty":{"type":"boolean","description":"give it a terminal, to type into with bash_input"},
"login":{"type":"boolean","description":"read the user's login files first"},
"sandbox_permissions":{"enum":["use_default","require_escalated"],"description":"require_escalated asks a person to run it without the sandbox"},
"justification":{"type":"string","description":"why it must leave the sandbox"}},
"required":["command"],"additionalProperties":false}`

// Waiting times of CLI.md 5.
const (
	defaultYield = 10_000
	maxYield     = 300_000
	// maxTimeout is the most milliseconds that a time.Duration holds.
	maxTimeout = int64(math.MaxInt64 / time.Millisecond)
)

// bash is the tool of that name.
type bash struct{ set *Set }

var bashSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "bash", Description: strings.TrimSpace(bashText),
		Schema: compact(bashSchema), Effects: true, Shell: true,
	}
})

func (t *bash) Spec() Spec { return bashSpec() }

func (t *bash) Run(ctx context.Context, call Call) Result {
	args := struct {
		Command     string `json:"command"`
		Description string `json:"description"`
		Workdir     string `json:"workdir"`
		Yield       int    `json:"yield_time_ms"`
		Timeout     int    `json:"timeout_ms"`
		MaxTokens   int    `json:"max_output_tokens"`
		TTY         bool   `json:"tty"`
		Login       bool   `json:"login"`
	}{Yield: defaultYield}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	c, no := t.set.start(ctx, call, startOptions{
		command: args.Command, description: args.Description, workdir: args.Workdir,
		tty: args.TTY, login: args.Login, limit: time.Duration(min(int64(args.Timeout), maxTimeout)) * time.Millisecond,
	})
	if no != nil {
		return *no
	}
	yield := time.NewTimer(time.Duration(min(args.Yield, maxYield)) * time.Millisecond)
	defer yield.Stop()
	yielded, done := t.set.cmds.await(call.TaskID)
	defer done()
	select {
	case <-c.ended:
	case <-yield.C:
	case <-yielded:
	case <-ctx.Done():
		c.stop("cancelled")
	}
	return c.report(call, "bash", args.MaxTokens)
}
