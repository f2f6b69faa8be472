package serve

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/msp"
)

// SessionList lists stored sessions, newest first, from an index.
type SessionList interface {
	// Start begins to bring the list up to date and returns at once.
	Start()
	// Refresh brings the rows of these sessions up to date with their logs.
	Refresh(ctx context.Context, sessionIDs []string) error
	// List answers session/list; p has been checked.
	List(ctx context.Context, p msp.SessionListParams) (msp.SessionListResult, error)
	// Watch calls changed for every row that another process changes, until
	// stop is called. It may do nothing.
	Watch(changed func(msp.Session)) (stop func())
}

const (
	listDefault = 50
	listMost    = 200
)

// listSessions shows what sessions there are. Those that this host has loaded
// are shown as they are now.
func listSessions(k *call, p msp.SessionListParams) (msp.SessionListResult, error) {
	none := msp.SessionListResult{}
	limit := int64(listDefault)
	if p.Limit != nil {
		if limit = *p.Limit; limit < 1 || limit > listMost {
			return none, msp.InvalidParams("limit", "is not between 1 and 200")
		}
	}
	p.Limit = &limit
	if p.UpdatedAfter != nil {
		if _, err := time.Parse(time.RFC3339, *p.UpdatedAfter); err != nil {
			return none, msp.InvalidParams("updatedAfter", "is not a time of RFC 3339")
		}
	}
	if p.Filter != nil {
		filter, err := canonicalFilter(*p.Filter)
		if err != nil {
			return none, err
		}
		p.Filter = &filter
	}
	out := msp.SessionListResult{Sessions: []msp.Session{}}
	if k.opts.List != nil {
		err := k.opts.List.Refresh(k.ctx, k.feeds.unlisted())
		if err != nil {
			return none, err
		}
		if out, err = k.opts.List.List(k.ctx, p); err != nil {
			return none, err
		}
	}
	out.AppliedFilter = p.Filter
	for i, row := range out.Sessions {
		if f := k.feeds.of(row.SessionID); f != nil {
			out.Sessions[i] = f.overlay(row)
		}
	}
	return out, nil
}

// unlisted are the loaded sessions in which something was recorded since they
// were listed last.
func (s *feeds) unlisted() []string {
	var ids []string
	for _, f := range s.list() {
		f.gate.Lock()
		if at := f.view.Fold().Sequence(); at != f.listed {
			f.listed = at
			ids = append(ids, f.view.id())
		}
		f.gate.Unlock()
	}
	return ids
}

// overlay puts the present state of a loaded session over its row.
func (f *feed) overlay(row msp.Session) msp.Session {
	f.gate.Lock()
	defer f.gate.Unlock()
	now := f.view.row(true)
	now.Title, now.Kind = row.Title, row.Kind
	return now
}

// canonicalFilter is the filter in the form in which it is echoed: without
// repetitions, words in lower case, in order.
func canonicalFilter(f msp.SessionListFilter) (msp.SessionListFilter, error) {
	var out msp.SessionListFilter
	if f.SessionID != nil {
		out.SessionID = &msp.SessionListSessionIdFilter{AnyOf: ordered(f.SessionID.AnyOf)}
	}
	if f.Branch != nil {
		out.Branch = &msp.SessionListBranchFilter{AnyOf: []*string{}}
		var names []string
		for _, b := range f.Branch.AnyOf {
			if b == nil {
				out.Branch.AnyOf = []*string{nil}
			} else {
				names = append(names, *b)
			}
		}
		for _, name := range ordered(names) {
			out.Branch.AnyOf = append(out.Branch.AnyOf, &name)
		}
	}
	if f.Text != nil {
		if len(f.Text.Fields) == 0 {
			return out, msp.InvalidParams("filter.text.fields", "is empty")
		}
		fields := slices.Clone(f.Text.Fields)
		slices.Sort(fields)
		out.Text = &msp.SessionListTextFilter{
			Fields: slices.Compact(fields), AllOf: words(f.Text.AllOf), AnyOf: words(f.Text.AnyOf),
		}
		if out.Text.AllOf == nil && out.Text.AnyOf == nil {
			return out, msp.InvalidParams("filter.text", "has neither allOf nor anyOf")
		}
	}
	return out, nil
}

func ordered(in []string) []string {
	out := append([]string{}, in...)
	slices.Sort(out)
	return slices.Compact(out)
}

func words(in []string) []string {
	if in == nil {
		return nil
	}
	out := make([]string, 0, len(in))
	for _, w := range in {
		if w = strings.ToLower(strings.TrimSpace(w)); w != "" {
			out = append(out, w)
		}
	}
	return ordered(out)
}

// watchList makes the list ready behind the handshake, which does not wait for
// it, and follows it for a client that was granted that.
func (c *conn) watchList() (stop func()) {
	if c.opts.List == nil {
		return func() {}
	}
	done := make(chan func(), 1)
	go func() {
		defer close(done)
		select {
		case <-c.greeted:
		case <-c.ctx.Done():
			return
		}
		c.opts.List.Start()
		if c.has(msp.CapabilityNameSessionListStream) {
			done <- c.opts.List.Watch(func(row msp.Session) {
				if c.feeds.of(row.SessionID) == nil { // what is loaded here tells of itself
					c.rowChanged(row)
				}
			})
		}
	}()
	return func() {
		c.cancel()
		for stop := range done {
			stop()
		}
	}
}
