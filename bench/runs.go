package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/openmuse/muse/internal/ident"

	"github.com/openmuse/muse/bench/process"
	"github.com/openmuse/muse/bench/service"
	"github.com/openmuse/muse/bench/subject"
)

// The work of the waiting run: the model thinks and a command sleeps.
var waiting = service.Work{Steps: 1, Command: "sleep 1", Delay: time.Second}

// candidate is a subject with its places and what was measured of it so far.
type candidate struct {
	*subject.Subject
	place    subject.Place
	kept     subject.Place // holds the session that is continued
	version  []*sample
	runs     map[int][]*sample // by steps
	goingOn  []*sample         // continuing the longest session
	waited   []*sample
	traced   *traces
	problems []string
	out      bool // failed: measured no further
}

// traces are the system calls of a run and of one more step.
type traces struct{ start, step process.Trace }

// measureRuns measures every subject, one run of each in turn, so that what
// the machine does meanwhile meets all of them alike.
func (b *bench) measureRuns(ctx context.Context) error {
	var all []*candidate
	for _, s := range b.subjects() {
		c := &candidate{Subject: s, runs: map[int][]*sample{}}
		b.prepare(ctx, c)
		all = append(all, c)
	}
	if len(all) == 0 {
		return &usageError{"-only names no subject that is here"}
	}
	b.rounds(ctx, "version", 2*b.opts.runs, all, b.versionRun)
	for _, n := range b.opts.steps {
		rounds := b.opts.runs
		if n >= 50 {
			rounds = (rounds + 1) / 2
		}
		b.rounds(ctx, fmt.Sprintf("%d steps", n), rounds, all, func(ctx context.Context, c *candidate) error {
			s, err := b.once(ctx, c.Subject, c.place, service.Work{Steps: n}, c.Run)
			if err == nil {
				c.runs[n] = append(c.runs[n], s)
			}
			return err
		})
	}
	b.rounds(ctx, "continue", b.opts.runs, all, b.continueRun)
	b.rounds(ctx, "wait", (b.opts.runs+1)/2, all, b.waitRun)
	b.rounds(ctx, "system calls", 1, all, b.trace)
	for _, c := range all {
		b.report.Subjects = append(b.report.Subjects, summarize(c, b.opts.steps))
	}
	b.report.Budgets = judge(&b.report, b.opts.steps)
	return ctx.Err()
}

// prepare makes the places and lets the program do what it only does once.
func (b *bench) prepare(ctx context.Context, c *candidate) {
	b.sayf("%s: first runs, not measured", c.Name)
	var err error
	if c.place, err = b.place(ctx, c.Subject, "run"); err != nil {
		c.fail("prepare", err)
		return
	}
	if _, err = b.once(ctx, c.Subject, c.place, service.Work{Steps: 1}, c.Run); err != nil {
		c.fail("first run", err)
		return
	}
	if c.Continue == nil {
		return
	}
	if c.kept, err = b.place(ctx, c.Subject, "continue"); err != nil {
		c.fail("prepare", err)
		return
	}
	c.kept.Session = ident.V7(time.Now())
	if _, err = b.once(ctx, c.Subject, c.kept, service.Work{Steps: b.longest()}, c.Run); err != nil {
		c.fail("session to continue", err)
	}
}

func (b *bench) longest() int { return b.opts.steps[len(b.opts.steps)-1] }

// fail notes what went wrong and takes the candidate out of the rest.
func (c *candidate) fail(what string, err error) {
	c.problems = append(c.problems, fmt.Sprintf("%s: %v", what, err))
	c.out = true
}

// rounds runs fn for every candidate in turn, n times over.
func (b *bench) rounds(ctx context.Context, what string, n int, all []*candidate, fn func(context.Context, *candidate) error) {
	if ctx.Err() != nil {
		return
	}
	b.sayf("%s: %d round(s)", what, n)
	for range n {
		for _, c := range all {
			if c.out || ctx.Err() != nil {
				continue
			}
			if err := fn(ctx, c); err != nil {
				c.fail(what, err)
				b.sayf("%s: %s", c.Name, c.problems[len(c.problems)-1])
			}
		}
	}
}

func (b *bench) versionRun(ctx context.Context, c *candidate) error {
	b.noise.Foreign() // what happened since the last run is not this one's
	cost, err := process.Run(ctx, process.Spec{
		Args: append([]string{c.Program}, c.Version...), Env: c.Environ(c.place), Dir: c.place.Work, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	if cost.Exit != 0 {
		return fmt.Errorf("it ended with exit code %d", cost.Exit)
	}
	s := &sample{Cost: cost, Foreign: -1}
	if f, ok := b.noise.Foreign(); ok {
		s.Foreign = f
	}
	c.version = append(c.version, s)
	return nil
}

// continueRun goes on with the longest session; its answer needs no step.
func (b *bench) continueRun(ctx context.Context, c *candidate) error {
	if c.Continue == nil {
		return nil
	}
	s, err := b.once(ctx, c.Subject, c.kept, service.Work{}, c.Continue)
	if err != nil {
		return err
	}
	// The whole session has to be in the first request again. A step of it
	// takes more than a hundred bytes on every wire.
	if n := b.longest(); n > 0 && s.Sizes.Body < 100*n {
		return fmt.Errorf("the first request has %d bytes: a session of %d steps is not in it", s.Sizes.Body, n)
	}
	c.goingOn = append(c.goingOn, s)
	return nil
}

// waitRun tells whether a program works while there is nothing to do. It takes
// its time, so peers are left out.
func (b *bench) waitRun(ctx context.Context, c *candidate) error {
	if c.Peer {
		return nil
	}
	s, err := b.once(ctx, c.Subject, c.place, waiting, c.Run)
	if err == nil {
		c.waited = append(c.waited, s)
	}
	return err
}

// trace looks at the system calls of a short and a longer run.
func (b *bench) trace(ctx context.Context, c *candidate) error {
	const few, many = 1, 11
	short, err := b.tracedRun(ctx, c, few)
	if errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	long, err := b.tracedRun(ctx, c, many)
	if err != nil {
		return err
	}
	c.traced = &traces{start: short, step: long.Minus(short)}
	return nil
}

// tracedSteps is how many steps traces.step is the sum of.
const tracedSteps = 10

func (b *bench) tracedRun(ctx context.Context, c *candidate, steps int) (process.Trace, error) {
	w := service.Work{Steps: steps}
	svc, err := service.Start(c.Wire, w)
	if err != nil {
		return process.Trace{}, err
	}
	defer svc.Close()
	p := c.place
	p.URL = svc.URL()
	if c.Configure != nil {
		if err := c.Configure(p); err != nil {
			return process.Trace{}, err
		}
	}
	t, err := process.RunTraced(ctx, process.Spec{
		Args: append([]string{c.Program}, c.Run(p)...), Env: c.Environ(p), Dir: p.Work, Limit: 2 * c.Limit,
	}, filepath.Join(b.root, "trace"))
	if err != nil {
		return t, err
	}
	return t, w.Done(svc.Calls())
}
