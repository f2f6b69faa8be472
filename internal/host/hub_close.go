package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Close cancels what runs, records the end of every session and gives the
// leases back. Prompts that wait are not started; the next host says so.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	opening := slices.Collect(maps.Values(h.opening))
	h.mu.Unlock()
	for _, o := range opening {
		select {
		case <-o:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.mu.Lock()
	live := h.live
	h.live = map[string]*Live{}
	h.mu.Unlock()
	errs := make(chan error, len(live))
	for _, l := range live {
		go func() { errs <- l.close(ctx, "hostShutdown") }()
	}
	var all []error
	for range live {
		all = append(all, <-errs)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(append(h.lost, all...)...)
}

// maxLost bounds the failures of sessions that Close reports.
const maxLost = 16

// breaks notes that the session's log failed. Nothing can be recorded any more
// and what nobody recorded must not be shown, so the session is unloaded: who
// follows it hears of that instead of waiting for the end of its turn, and can
// resume it, which repairs the log. The lock is held.
func (l *Live) breaks(err error) error {
	if l.broken == nil {
		l.broken = fmt.Errorf("session %s: %w", l.s.id, err)
		if !l.closing {
			go l.hub.drop(l)
		}
	}
	return l.broken
}

// drop unloads a session whose log failed.
func (h *Hub) drop(l *Live) {
	leave, err := h.admit(context.Background(), l.s.id)
	if err != nil {
		return // the hub closes it
	}
	defer leave()
	h.mu.Lock()
	mine := h.live[l.s.id] == l
	if mine {
		delete(h.live, l.s.id)
	}
	h.mu.Unlock()
	if !mine { // it was never opened, or is closed
		return
	}
	err = l.close(context.Background(), "idle")
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.lost) < maxLost {
		h.lost = append(h.lost, err)
	}
}

// close ends the session: what runs is stopped, its end is recorded, the lease
// is given back.
func (l *Live) close(ctx context.Context, reason string) error {
	l.mu.Lock()
	l.closing = true
	t := l.turn
	if t != nil {
		t.cancel(context.Canceled)
	}
	for _, cancel := range l.shells {
		cancel()
	}
	if l.indexing != nil {
		l.indexing()
	}
	l.mu.Unlock()
	if t != nil {
		select {
		case <-t.done:
		case <-ctx.Done():
			return fmt.Errorf("close session %s: %w", l.s.id, ctx.Err())
		}
	}
	l.beside.Wait()
	exit := "clean"
	if t != nil {
		exit = "interrupted"
	}
	l.mu.Lock()
	l.giveUp()
	broken := l.broken
	l.mu.Unlock()
	err := l.gear.Close()
	if broken != nil {
		err = errors.Join(broken, err, l.s.Abandon())
	} else {
		err = errors.Join(err, l.s.Close(exit))
	}
	head := l.Head()
	l.s.rec.end()
	if p := l.hub.opts.Presence; p != nil {
		p.Closed(l.s.id)
	}
	if told := l.hub.opts.Closed; told != nil && err == nil {
		told(l.s.id, reason, head)
	}
	return err
}

// giveUp records that the prompts which wait will not be started. The lock is
// held and nothing runs.
func (l *Live) giveUp() {
	for _, e := range l.s.state.leftWaiting() {
		if l.fact(e.Body) != nil {
			return // the log failed, and that is what is reported
		}
	}
}

// watching counts those who watch.
func (l *Live) watching(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers += n
	l.watchIdle()
}

// watchIdle unloads a session that nobody needs any more, after a while. The
// lock is held.
func (l *Live) watchIdle() {
	// A session of which nothing is kept would be lost.
	if l.hub.opts.IdleUnload <= 0 || l.hub.opts.Ephemeral || l.closing || !l.unused() {
		return
	}
	l.idle++
	since := l.idle
	go func() {
		<-l.hub.opts.After(l.hub.opts.IdleUnload)
		l.hub.unload(l, since)
	}()
}

// unused reports whether nothing keeps the session loaded.
func (l *Live) unused() bool {
	return l.watchers == 0 && l.turn == nil && len(l.shells) == 0 && len(l.inFlight) == 0 && !l.asks.any()
}

// unload closes a session that has been unused since it became so for the
// since-th time.
func (h *Hub) unload(l *Live, since int) {
	leave, err := h.admit(context.Background(), l.s.id)
	if err != nil {
		return // the hub closes it
	}
	defer leave()
	l.mu.Lock()
	unused := l.unused() && !l.closing && l.idle == since
	if unused {
		l.closing = true
	}
	l.mu.Unlock()
	if !unused || h.loaded(l.s.id) != l {
		return
	}
	h.mu.Lock()
	delete(h.live, l.s.id)
	h.mu.Unlock()
	// Nobody is there to be told; the next opening repairs what is left.
	_ = l.close(context.Background(), "idle")
}
