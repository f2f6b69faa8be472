package tool

import (
	"context"
	_ "embed" // the text for the model
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

//go:embed shell.md
var shellText string

const shellSchema = `{"type":"object","properties":{
"command":{"type":"string","minLength":1}},
"required":["command"],"additionalProperties":false}`

// shellLimit is the longest that a shell call waits (seed 001).
const shellLimit = 600 * time.Second

// shellTool is the tool shell: bash without a background.
type shellTool struct{ set *Set }

var shellToolSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "shell", Description: strings.TrimSpace(shellText),
		Schema: compact(shellSchema), Effects: true, Shell: true,
	}
})

func (t *shellTool) Spec() Spec { return shellToolSpec() }

// Run returns the bare output. That of a failing command follows the reason;
// so does that of a command which ran out of time.
func (t *shellTool) Run(ctx context.Context, call Call) Result {
	var args struct {
		Command string `json:"command"`
	}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	c, no := t.set.start(ctx, call, startOptions{command: args.Command})
	if no != nil {
		return *no
	}
	limit := time.NewTimer(t.set.shellLimit())
	defer limit.Stop()
	reason := ""
	select {
	case <-c.ended:
	case <-limit.C:
		reason = fmt.Sprintf("tool timed out after %v and was killed; what it had printed follows", t.set.shellLimit())
		c.stop(reason)
	case <-ctx.Done():
		reason = "cancelled; what it had printed follows"
		c.stop(reason)
	}
	c.unwatch()
	t.set.cmds.done(c)
	cut := t.set.cut(c.out.Take(), call, "shell", t.set.opt.MaxOutputBytes, false)
	exit := c.proc.Exit()
	if errors.Is(exit.Err, ErrNoSandbox) {
		return environmentFailure(exit.Err)
	}
	if reason == "" && exit.Success() {
		return Result{Text: cut.text, Spill: cut.spill}
	}
	if reason == "" {
		reason = exit.Status
		if exit.Err != nil {
			reason = exit.Err.Error()
		}
	}
	r := Fail(reason)
	if cut.text != "" {
		r.Text += "\n" + cut.text
	}
	r.Reason, _, _ = strings.Cut(reason, ";")
	r.Spill = cut.spill
	return r
}

func (s *Set) shellLimit() time.Duration {
	if s.opt.ShellLimit > 0 {
		return s.opt.ShellLimit
	}
	return shellLimit
}
