package session

import (
	"errors"
	"fmt"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

// TooLargeError is one event that alone is more than an answer may hold.
type TooLargeError struct{ Cursor string }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the event at %s is too large for a page", e.Cursor)
}

// request is a page request with its places found.
type request struct {
	number   int64 // 0 with backward means the head
	open     bool  // backward without a cursor
	backward bool
	limit    int
	boundary int64
}

func resolve(f *Fold, p msp.ViewPageParams) (request, error) {
	q := request{backward: p.Direction == msp.ViewPageDirectionBackward, limit: int(min(max(p.Limit, 1), 1000))}
	if p.Anchor == msp.ViewPageAnchorLatestCompaction {
		if f.s.Boundary == 0 {
			return q, ErrNoBoundary
		}
		q.number, q.boundary = f.s.Boundary, f.s.Boundary
		return q, nil
	}
	if p.Cursor == nil {
		q.open = q.backward
		return q, nil
	}
	var err error
	q.number, err = f.Number(*p.Cursor)
	return q, err
}

// Page answers view/page from memory; an error wrapping ErrBehindWindow when
// the log has to be read for it ([PageLog]).
func (v *View) Page(p msp.ViewPageParams) (msp.ViewPageResult, error) {
	q, err := resolve(v.fold, p)
	if err != nil {
		return msp.ViewPageResult{}, err
	}
	c := collector{session: v.fold.s.Session, request: q, room: v.limits.Answer}
	all := v.window()
	if !q.backward {
		if q.number < v.gone {
			return msp.ViewPageResult{}, ErrBehindWindow
		}
		for _, k := range all {
			if c.add(k); c.full {
				break
			}
		}
		return c.result(false)
	}
	if !q.open && q.number <= v.gone {
		return msp.ViewPageResult{}, ErrBehindWindow
	}
	for _, k := range all {
		if c.add(k); c.full {
			break
		}
	}
	if len(c.kept) == 0 && v.gone > 0 {
		return msp.ViewPageResult{}, ErrBehindWindow
	}
	return c.result(v.gone > 0)
}

// PageLog answers view/page by folding the log again: it keeps no more than the
// page in memory. at is the fold of the session up to now, which knows its
// cursors and boundaries.
func PageLog(at *Fold, log LogFrom, p msp.ViewPageParams, limits Limits) (msp.ViewPageResult, error) {
	q, err := resolve(at, p)
	if err != nil {
		return msp.ViewPageResult{}, err
	}
	c := collector{session: at.s.Session, request: q, room: limits.orDefault().Answer}
	f := New(at.s.Session)
	err = log(0, func(r event.Recorded) error {
		if r.Sequence > at.s.Sequence {
			return errEnough // what came meanwhile is for the next page
		}
		for _, n := range f.Apply(r) {
			if n.Live || (!q.backward && n.Number <= q.number) {
				continue
			}
			k, err := n.Keep()
			if err != nil {
				return err
			}
			if c.add(k); c.full {
				return errEnough
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return msp.ViewPageResult{}, fmt.Errorf("read a page from the log: %w", err)
	}
	return c.result(false)
}

var errEnough = errors.New("enough")

// collector gathers one page from notifications that come oldest first.
type collector struct {
	request
	session string
	room    int

	kept  []Kept
	bytes int
	more  bool // there is more in the page's direction
	full  bool // nothing that follows belongs to the page
	large string
}

func (c *collector) add(k Kept) {
	if c.backward {
		c.addBackward(k)
		return
	}
	switch {
	case k.Number <= c.number:
	case len(c.kept) == c.limit, len(c.kept) > 0 && c.bytes+len(k.Params) > c.room:
		c.more, c.full = true, true
	case len(k.Params) > c.room:
		c.large, c.full = Cursor(c.session, k.Number), true
	default:
		c.kept, c.bytes = append(c.kept, k), c.bytes+len(k.Params)
	}
}

// addBackward keeps the newest before the cursor.
func (c *collector) addBackward(k Kept) {
	if !c.open && k.Number >= c.number {
		c.full = true
		return
	}
	c.kept, c.bytes = append(c.kept, k), c.bytes+len(k.Params)
	for len(c.kept) > 1 && (len(c.kept) > c.limit || c.bytes > c.room) {
		c.bytes -= len(c.kept[0].Params)
		c.kept, c.more = c.kept[1:], true
	}
}

func (c *collector) result(moreBehind bool) (msp.ViewPageResult, error) {
	if c.backward && len(c.kept) == 1 && len(c.kept[0].Params) > c.room {
		c.large = Cursor(c.session, c.kept[0].Number)
	}
	if c.large != "" {
		return msp.ViewPageResult{}, &TooLargeError{Cursor: c.large}
	}
	r := msp.ViewPageResult{Events: make([]msp.UnframedViewNotification, 0, len(c.kept))}
	for _, k := range c.kept {
		r.Events = append(r.Events, k.unframed(c.session))
	}
	if n := len(c.kept); n > 0 && (c.more || (c.backward && moreBehind)) {
		next := c.kept[n-1].Number
		if c.backward {
			next = c.kept[0].Number
		}
		cursor := Cursor(c.session, next)
		r.NextCursor = &cursor
	}
	if c.boundary > 0 {
		r.ResolvedAnchor = &msp.ViewPageResolvedAnchor{BoundaryCursor: Cursor(c.session, c.boundary)}
	}
	return r, nil
}
