//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/openmuse/muse/bench/console"
	"github.com/openmuse/muse/bench/service"
	"github.com/openmuse/muse/bench/stat"
	"github.com/openmuse/muse/bench/subject"
	"github.com/openmuse/muse/internal/ident"
)

const (
	// uiLimit is how long one thing may take to be seen.
	uiLimit = 30 * time.Second
	// settle is how long a program is left alone before it counts as at rest.
	settle = 2 * time.Second
	// idleFor is how long it is watched then.
	idleFor = 5 * time.Second
	// keysTyped are the keys of one streaming run, between two of which passes
	// from keyLeast to keyMost.
	keysTyped         = 60
	keyLeast, keyMost = 30 * time.Millisecond, 90 * time.Millisecond
	// streamed answers have streamPieces pieces, one every streamEvery.
	streamEvery  = 5 * time.Millisecond
	streamPieces = 2000
	// quitWithin is how long a program may take to end.
	quitWithin = 5 * time.Second
	// longStep is how long an item of a long session may take.
	longStep = 30 * time.Millisecond
	// fewItems and manyItems are the sessions whose memory is compared.
	fewItems, manyItems = 100, 10_000
)

// terminalSubject is a program on a terminal and what was measured of it.
type terminalSubject struct {
	*subject.Subject
	place  subject.Place
	report uiReport

	frame, key []*sample // wall: from the start to it
	idle       []*sample // CPU and resident memory
	echo       []*sample // one for each key
	resume     []*sample
	out        bool
}

// measureUI measures the programs on a terminal.
func (b *bench) measureUI(ctx context.Context) error {
	var all []*terminalSubject
	for _, s := range b.subjects() {
		if s.UI == nil {
			continue
		}
		t := &terminalSubject{Subject: s, report: uiReport{Name: s.Name, Peer: s.Peer}}
		b.try(ctx, t, "first start, not measured", func(ctx context.Context, t *terminalSubject) error {
			var err error
			if t.place, err = b.place(ctx, s, "ui"); err != nil {
				return err
			}
			_, err = b.firstFrame(ctx, t)
			return err
		})
		all = append(all, t)
	}
	if len(all) == 0 {
		return &usageError{"-only names no subject with a terminal UI that is here"}
	}
	rounds := func(what string, n int, fn func(context.Context, *terminalSubject) error) {
		b.sayf("%s: %d round(s)", what, n)
		for range n {
			for _, t := range all {
				b.try(ctx, t, what, fn)
			}
		}
	}
	rounds("first frame", 2*b.opts.runs, func(ctx context.Context, t *terminalSubject) error {
		s, err := b.firstFrame(ctx, t)
		if err == nil {
			t.frame, t.key = append(t.frame, s[0]), append(t.key, s[1])
		}
		return err
	})
	rounds("at rest", (b.opts.runs+1)/2, b.atRest)
	rounds("keys while an answer streams", (b.opts.runs+2)/3, b.typeWhileStreaming)
	for _, t := range all {
		if t.Peer {
			continue
		}
		b.try(ctx, t, "a long session", b.longSession)
		b.try(ctx, t, "resume", b.resumeLarge)
	}
	for _, t := range all {
		b.report.UI = append(b.report.UI, t.sum())
	}
	b.report.Budgets = judgeUI(b.report.UI)
	return ctx.Err()
}

// try does one thing with a subject and takes it out of the rest when it fails.
func (b *bench) try(ctx context.Context, t *terminalSubject, what string, fn func(context.Context, *terminalSubject) error) {
	if t.out || ctx.Err() != nil {
		return
	}
	if err := fn(ctx, t); err != nil && ctx.Err() == nil {
		t.out = true
		t.report.Problems = append(t.report.Problems, fmt.Sprintf("%s: %v", what, err))
		b.sayf("%s: %s: %v", t.Name, what, err)
	}
}

// on runs a program on a terminal with a service of its own.
func (b *bench) on(t *terminalSubject, args func(subject.Place) []string, svc service.Service, use func(*console.Console) error) (err error) {
	defer func() { err = errors.Join(err, svc.Close()) }()
	p := t.place
	p.URL = svc.URL()
	for _, configure := range []func(subject.Place) error{t.Configure, t.UI.Configure} {
		if configure != nil {
			if err := configure(p); err != nil {
				return fmt.Errorf("configure %s: %w", t.Name, err)
			}
		}
	}
	b.noise.Foreign() // what happened since the last run is not this one's
	c, err := console.Start(console.Spec{Args: append([]string{t.Program}, args(p)...), Env: t.TerminalEnviron(p), Dir: p.Work})
	if err != nil {
		return err
	}
	err = use(c)
	if err == nil {
		err = b.eraseDraft(c)
	}
	return errors.Join(err, c.Quit(quitWithin))
}

// typed is what is typed to see it: it is found nowhere else.
const typed = "zqx"

// eraseDraft takes away what was typed: programs that keep it would begin with
// it the next time. One that does not let go of it shows that then.
func (b *bench) eraseDraft(c *console.Console) error {
	gone := c.Await(func(screen string) bool { return !strings.Contains(screen, typed) })
	if err := c.Type("\x15"); err != nil {
		return err
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
	}
	return nil
}

// timed is a sample of one duration.
func (b *bench) timed(d time.Duration) *sample {
	s := &sample{Foreign: -1}
	s.Wall = d
	if f, ok := b.noise.Foreign(); ok {
		s.Foreign = f
	}
	return s
}

// firstFrame is the time until the prompt can be seen, and until a key that is
// pressed then can be.
func (b *bench) firstFrame(ctx context.Context, t *terminalSubject) (out [2]*sample, err error) {
	svc, err := service.Start(t.Wire, service.Work{})
	if err != nil {
		return out, err
	}
	return out, b.on(t, t.UI.Open, svc, func(c *console.Console) error {
		at, err := c.Until(ctx, uiLimit, "the prompt", t.UI.Composer)
		if err != nil {
			return err
		}
		if _, err := c.Echo(ctx, typed, typed, uiLimit); err != nil {
			return err
		}
		out = [2]*sample{b.timed(at.Sub(c.Started)), b.timed(time.Since(c.Started))}
		return nil
	})
}

// atRest is what a program costs while nobody does anything.
func (b *bench) atRest(ctx context.Context, t *terminalSubject) error {
	svc, err := service.Start(t.Wire, service.Work{})
	if err != nil {
		return err
	}
	return b.on(t, t.UI.Open, svc, func(c *console.Console) error {
		if _, err := c.Until(ctx, uiLimit, "the prompt", t.UI.Composer); err != nil {
			return err
		}
		if err := pause(ctx, settle); err != nil {
			return err
		}
		before, err := c.Use()
		if err != nil {
			return err
		}
		if err := pause(ctx, idleFor); err != nil {
			return err
		}
		after, err := c.Use()
		if err != nil {
			return err
		}
		s := b.timed(idleFor)
		s.User = after.CPU - before.CPU
		s.PeakRSS = after.Resident
		t.idle = append(t.idle, s)
		t.report.Processes = after.Processes
		return nil
	})
}

// typeWhileStreaming types while an answer of many pieces comes in.
func (b *bench) typeWhileStreaming(ctx context.Context, t *terminalSubject) error {
	if !t.UI.Streams {
		return nil
	}
	svc, err := service.StartStream(t.Wire, streamPieces, streamEvery)
	if err != nil {
		return err
	}
	return b.on(t, t.UI.Open, svc, func(c *console.Console) error {
		if _, err := c.Until(ctx, uiLimit, "the prompt", t.UI.Composer); err != nil {
			return err
		}
		if _, err := c.Echo(ctx, "tell", "tell", uiLimit); err != nil {
			return err
		}
		// Some programs take a key that comes at once with the text for a part
		// of a paste.
		if err := pause(ctx, settle/4); err != nil {
			return err
		}
		if err := c.Type(t.UI.Submit); err != nil {
			return err
		}
		if _, err := c.Until(ctx, uiLimit, "the answer", console.Shows(service.StreamMark+"00020")); err != nil {
			return err
		}
		draft := typed
		if _, err := c.Echo(ctx, draft, draft, uiLimit); err != nil {
			return err
		}
		for n := range keysTyped {
			if err := pause(ctx, keyLeast+rand.N(keyMost-keyLeast)); err != nil {
				return err
			}
			key := string("zqxjkvbw"[n%8])
			draft += key
			d, err := c.Echo(ctx, key, draft, uiLimit)
			if err != nil {
				return err
			}
			t.echo = append(t.echo, b.timed(d))
		}
		if s := c.Screen(); strings.Contains(s, fmt.Sprintf("%s%05d", service.StreamMark, streamPieces-1)) {
			return errors.New("the answer was complete before the last key: it did not stream")
		}
		return nil
	})
}

// longSession compares the memory after a long session with that after a short
// one.
func (b *bench) longSession(ctx context.Context, t *terminalSubject) error {
	for _, items := range []int{fewItems, manyItems} {
		b.sayf("%s: a session of %d items", t.Name, items)
		svc, err := service.StartLong(items, "read_file", `{"path":"README.md"}`)
		if err != nil {
			return err
		}
		err = b.on(t, t.UI.Open, svc, func(c *console.Console) error {
			if _, err := c.Until(ctx, uiLimit, "the prompt", t.UI.Composer); err != nil {
				return err
			}
			if err := c.Type("go on" + t.UI.Submit); err != nil {
				return err
			}
			if _, err := c.Until(ctx, uiLimit+time.Duration(items)*longStep, "the answer", console.Shows(service.Answer)); err != nil {
				return err
			}
			if err := pause(ctx, settle); err != nil {
				return err
			}
			u, err := c.Use()
			if err != nil {
				return err
			}
			mb := float64(u.Resident) / (1 << 20)
			if items == fewItems {
				t.report.FewMB = &mb
			} else {
				t.report.ManyMB = &mb
			}
			// What is typed now is shown as fast as at the beginning.
			d, err := c.Echo(ctx, typed, typed, uiLimit)
			v := ms(d)
			t.report.ManyKeyMS = &v
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// resumeLarge opens a session with a large log.
func (b *bench) resumeLarge(ctx context.Context, t *terminalSubject) error {
	p := t.place
	p.Session = ident.V7(time.Now())
	if _, err := b.once(ctx, t.Subject, p, service.Work{}, t.Run); err != nil {
		return err
	}
	log, err := t.Logs.Newest(p)
	if err != nil {
		return err
	}
	stats, _, err := b.extendLog(ctx, log, p.Session, uiLogSize)
	if err != nil {
		return err
	}
	t.report.ResumeBytes = stats.Bytes
	// The last page is known: it ends with a turn of its own.
	if _, err := b.once(ctx, t.Subject, p, service.Work{}, t.Run); err != nil {
		return err
	}
	t.place.Session = p.Session
	for range b.opts.runs {
		svc, err := service.Start(t.Wire, service.Work{})
		if err != nil {
			return err
		}
		err = b.on(t, t.UI.Resume, svc, func(c *console.Console) error {
			at, err := c.Until(ctx, 2*uiLimit, "the last page", func(screen string) bool {
				return strings.Contains(screen, service.Answer) && t.UI.Composer(screen)
			})
			if err == nil {
				t.resume = append(t.resume, b.timed(at.Sub(c.Started)))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sum makes the report of a subject.
func (t *terminalSubject) sum() uiReport {
	r := t.report
	r.FrameMS, r.KeyMS = figure(t.frame, wallMS), figure(t.key, wallMS)
	r.IdleCPU, r.RestMB = figure(t.idle, cpuMS), figure(t.idle, peakMB)
	r.EchoMS, r.ResumeMS = figure(t.echo, wallMS), figure(t.resume, wallMS)
	if len(t.echo) > 0 {
		p := stat.Quantile(stat.Each(t.echo, wallMS), 0.95)
		r.EchoP95 = &p
	}
	return r
}

// pause lets a program be for a while.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
