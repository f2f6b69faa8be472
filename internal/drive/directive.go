package drive

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
)

//go:embed directive.md
var directiveText string

// Ceilings are the time limits a driven agent is told about.
type Ceilings struct {
	// Hard is when the synchronous shell kills a command; 0 means 10 minutes.
	Hard time.Duration
	// Soft is the most an agent should block on one command; 0: none.
	Soft time.Duration
	// LongCommand is the command to hand long work to, for example a job
	// runner of the site; empty when there is none.
	LongCommand string
}

// inlineMargin is how much earlier than the kill an inline command is to give
// up, so that its log can still be read (540 of 600 seconds in seed 001).
const inlineMargin = 10 // percent

// Directive is the short prefix of every prompt: the ceiling, and the routing
// rules that must be known before a command starts (seed 001, single-turn
// normalization).
func Directive(c Ceilings) string {
	hard := c.Hard
	if hard <= 0 {
		hard = 10 * time.Minute
	}
	seconds := int(hard / time.Second)
	long := fmt.Sprintf("Do not start a command that can take longer than %s. Say in your reply which command has to be run and why.", minutes(hard))
	if c.LongCommand != "" {
		long = fmt.Sprintf("A command that can take longer than %s, final verification included, goes to `%s` before it starts.", minutes(hard), c.LongCommand)
	}
	soft := ""
	if c.Soft > 0 {
		soft = fmt.Sprintf("- Do not block on one command for more than %s.\n", minutes(c.Soft))
	}
	return strings.TrimSpace(strings.NewReplacer(
		"{{ceiling}}", minutes(hard), "{{inline}}", fmt.Sprint(seconds-seconds*inlineMargin/100), "{{long}}", long, "{{soft}}", soft,
	).Replace(directiveText))
}

func minutes(d time.Duration) string {
	if d%time.Minute == 0 {
		if d == time.Minute {
			return "1 minute"
		}
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return fmt.Sprintf("%d seconds", d/time.Second)
}

// Parts of composed prompts. Each is a section of its own, so that the
// original request is never mixed with what a supervisor adds.
const (
	resumeNudge = `An earlier attempt at the request below ended before it was done, because the model service failed. The workspace is as that attempt left it. Look at what is there (for example with git status and git diff) before you change anything, keep what is good, and finish the rest.`

	interruptNudge = `An earlier attempt at the request below was interrupted. The workspace is as that attempt left it. Look at what is there before you change anything, and go on from it.`

	waitNudge = `Your last reply ended by waiting for something. Nothing will wake you: a turn that ends is over. Do the rest now, in the foreground, and give your final answer.`
)

// composer builds the prompts of one turn.
type composer struct {
	directive string
	request   string
}

// first is the prompt of the first run.
func (c composer) first() string { return join(c.directive, c.request) }

// resume is the prompt after a transient failure: the nudge stands first.
func (c composer) resume(partial string) string {
	return join(resumeNudge, c.directive, section("Request", c.request), section("What the earlier attempt had written", partial))
}

// afterWait is the prompt of a continuation of the wait guard. longCommand is
// where long work can go.
func (c composer) afterWait(replies string, longCommand string) string {
	nudge := waitNudge
	if longCommand != "" {
		nudge += fmt.Sprintf(" If the rest is one long command, hand it to `%s` and say so.", longCommand)
	}
	return join(c.directive, section("Request", c.request), section("What you have written so far", replies), nudge)
}

// afterInterrupt is the prompt that goes on from an interrupted turn; more is
// the new instruction, if any.
func (c composer) afterInterrupt(earlier, partial, more string) string {
	return join(interruptNudge, c.directive, section("Request", earlier), section("What the earlier attempt had written", partial), section("New instruction", more))
}

func section(title, body string) string {
	body = strings.TrimSpace(body)
	if body == "" {
		return ""
	}
	return "# " + title + "\n\n" + body
}

// join puts the parts that are not empty one blank line apart.
func join(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}
