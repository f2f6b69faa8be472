package tool

import (
	"context"
	_ "embed" // the text for the model
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/tool/process"
)

//go:embed bashinput.md
var bashInputText string

const bashInputSchema = `{"type":"object","properties":{
"session_id":{"type":"string"},
"chars":{"type":"string"},
"terminate":{"type":"boolean"},
"yield_time_ms":{"type":"integer","minimum":0,"maximum":300000,"description":"default 10000"},
"max_output_tokens":{"type":"integer","minimum":1}},
"required":["session_id"],"additionalProperties":false}`

// settle is how long a terminal must be quiet after input before what it
// printed counts as the answer.
const settle = 250 * time.Millisecond

// bashInput is the tool bash_input.
type bashInput struct{ set *Set }

var bashInputSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "bash_input", Description: strings.TrimSpace(bashInputText),
		Schema: compact(bashInputSchema), Effects: true, Shell: true,
	}
})

func (t *bashInput) Spec() Spec { return bashInputSpec() }

func (t *bashInput) Run(ctx context.Context, call Call) Result {
	args := struct {
		Session   string `json:"session_id"`
		Chars     string `json:"chars"`
		Terminate bool   `json:"terminate"`
		Yield     int    `json:"yield_time_ms"`
		MaxTokens int    `json:"max_output_tokens"`
	}{Yield: defaultYield}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	c, ok := t.set.cmds.find(args.Session)
	if !ok {
		return Fail(t.set.cmds.unknown(args.Session))
	}
	c.watch(call)
	if args.Terminate {
		c.stop("terminated by bash_input")
		return c.report(call, "bash_input", args.MaxTokens)
	}
	if args.Chars != "" {
		if err := c.input(args.Chars); err != nil {
			c.unwatch()
			return Fail(err.Error())
		}
	}
	yield := time.NewTimer(time.Duration(min(args.Yield, maxYield)) * time.Millisecond)
	defer yield.Stop()
	if c.await(ctx, yield.C, args.Chars != "") != nil {
		c.stop("cancelled")
	}
	return c.report(call, "bash_input", args.MaxTokens)
}

// await waits for the command's end or for the yield time. After input to a
// terminal it also ends when an answer came and the terminal is quiet again.
func (c *command) await(ctx context.Context, yield <-chan time.Time, typed bool) error {
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	var arrived <-chan struct{}
	if typed && c.tty {
		arrived = c.out.Arrived()
	}
	for {
		select {
		case <-c.ended:
			return nil
		case <-yield:
			return nil
		case <-quiet.C:
			return nil
		case <-arrived:
			quiet.Reset(settle)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// input types into the command. Without a terminal only Ctrl-C means
// something.
func (c *command) input(chars string) error {
	if chars == "\x03" && !c.tty {
		c.proc.Interrupt()
		return nil
	}
	err := c.proc.Input(chars)
	if errors.Is(err, process.ErrNoTerminal) {
		return fmt.Errorf("%w; start it with tty: true, or send \\u0003 to interrupt it", err)
	}
	return err
}
