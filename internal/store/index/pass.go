package index

import (
	"context"
	"sync"
	"time"
)

// pass is one look at all logs.
type pass struct {
	done chan struct{}
	err  error
	// some is closed when the first rows are there, those of the sessions that
	// were written last, or when there are none.
	some     chan struct{}
	someOnce sync.Once
}

func newPass() *pass { return &pass{done: make(chan struct{}), some: make(chan struct{})} }

func (p *pass) first() { p.someOnce.Do(func() { close(p.some) }) }

func (p *pass) end(err error) {
	p.err = err
	p.first()
	close(p.done)
}

// waitFirst waits for the first rows of a pass, but not for long.
func (p *pass) waitFirst(ctx context.Context, most time.Duration) error {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-p.some:
		return p.ended()
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ended is the error of a pass that is over.
func (p *pass) ended() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// look begins a pass unless one is under way or was made just now; then it is
// nil.
func (x *Index) look() *pass {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.pass != nil {
		return x.pass
	}
	now := x.opts.Now()
	if since := now.Sub(x.looked); !x.looked.IsZero() && since >= 0 && since < x.opts.Fresh {
		return nil
	}
	p := newPass()
	ok := x.begin(func() {
		err := x.run(p)
		x.mu.Lock()
		x.pass = nil
		if err == nil {
			x.looked = now
		}
		x.mu.Unlock()
		p.end(err)
	})
	if !ok {
		p.end(ErrClosed)
		return p
	}
	x.pass = p
	return p
}

// wait waits for a pass and reports whether it ended well.
func (x *Index) wait(ctx context.Context, p *pass, most time.Duration) (bool, error) {
	if p == nil {
		return true, nil
	}
	var end <-chan time.Time
	if most >= 0 {
		t := time.NewTimer(most)
		defer t.Stop()
		end = t.C
	}
	select {
	case <-p.done:
		return p.err == nil, p.err
	default:
	}
	select {
	case <-p.done:
		return p.err == nil, p.err
	case <-end:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
