package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/serve"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/index"
)

// sessionRows lists stored sessions for the session protocol from the index.
type sessionRows struct {
	index *index.Index
}

var _ serve.SessionList = (*sessionRows)(nil)

// How long a list waits for the index to know of the newest logs: less than a
// program would notice when the index is there, more when it is only being
// made. What is missing then shows up in the stream of changes.
const (
	listWait = 5 * time.Millisecond
	makeWait = 500 * time.Millisecond
)

// Refresh implements serve.SessionList.
func (r *sessionRows) Refresh(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if _, err := r.index.Get(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("list sessions: %w", err)
		}
	}
	return nil
}

// Start implements serve.SessionList.
func (r *sessionRows) Start() { r.index.Start() }

// List implements serve.SessionList.
func (r *sessionRows) List(ctx context.Context, p msp.SessionListParams) (msp.SessionListResult, error) {
	q := index.Query{Limit: int(*p.Limit), Wait: listWait}
	if p.Cursor != nil {
		q.Cursor = *p.Cursor
	}
	if p.WorkspaceRoot != nil {
		q.Workspace = *p.WorkspaceRoot
	}
	if p.UpdatedAfter != nil {
		after, err := time.Parse(time.RFC3339, *p.UpdatedAfter)
		if err != nil {
			return msp.SessionListResult{}, fmt.Errorf("list sessions: %w", err)
		}
		q.After = after
	}
	if f := p.Filter; f != nil {
		filterRows(&q, f)
	}
	found, err := r.index.List(ctx, q)
	if err == nil && !found.Whole && found.Next == "" {
		// Perhaps this is all there is, and perhaps there is more to be found.
		q.Wait = makeWait
		found, err = r.index.List(ctx, q)
	}
	if errors.Is(err, index.ErrCursor) {
		return msp.SessionListResult{}, msp.InvalidParams("cursor", "is not a cursor of this list")
	}
	if err != nil {
		return msp.SessionListResult{}, fmt.Errorf("list sessions: %w", err)
	}
	out := msp.SessionListResult{Sessions: make([]msp.Session, 0, len(found.Rows))}
	for _, row := range found.Rows {
		out.Sessions = append(out.Sessions, wireRow(row))
	}
	if found.Next != "" {
		out.NextCursor = &found.Next
	}
	return out, nil
}

func filterRows(q *index.Query, f *msp.SessionListFilter) {
	if f.SessionID != nil {
		q.IDs = &f.SessionID.AnyOf
	}
	if f.Branch != nil {
		q.Branches = &index.Branches{}
		for _, b := range f.Branch.AnyOf {
			if b == nil {
				q.Branches.None = true
			} else {
				q.Branches.AnyOf = append(q.Branches.AnyOf, *b)
			}
		}
	}
	if f.Text != nil {
		q.Text = &index.Text{AllOf: f.Text.AllOf, AnyOf: f.Text.AnyOf}
		for _, field := range f.Text.Fields {
			q.Text.Name = q.Text.Name || field == msp.SessionListTextFieldName
			q.Text.Title = q.Text.Title || field == msp.SessionListTextFieldTitle
		}
	}
}

// wireRow is a row of the index as the protocol shows it. A session that is
// loaded elsewhere is not loaded here (MSP.md 7.1, session/list).
func wireRow(row index.Row) msp.Session {
	s := msp.Session{
		SessionID: row.ID, Status: msp.SessionStatusNotLoaded, TurnCount: row.Turns, Path: row.Log, Name: row.Name,
		CreatedAt: wireMicros(row.Created), UpdatedAt: wireMicros(row.Updated), Branch: row.Branch,
		FirstUserPrompt: row.FirstPrompt, Title: row.Title(), Kind: msp.SessionKindRoot,
	}
	if row.Active != 0 {
		s.LastActivityAt = wireMicros(row.Active)
	}
	s.WorkspaceRoot, s.ModelID, s.ProviderID = textOrNull(row.Root()), textOrNull(row.Model), textOrNull(row.Provider)
	if m := row.Mode; m != nil {
		s.ApprovalMode = &msp.EffectiveApprovalModeState{
			Mode: msp.ApprovalMode(m.Mode), Source: msp.ApprovalModeSource(m.Source), LastCommandID: textOrNull(m.Command),
		}
	}
	if f := row.Forked; f != nil {
		s.ForkedFrom = &msp.ForkProvenance{SessionID: f.Session, CommandID: f.Command, CutCursor: f.CutCursor, CutExplicit: f.Explicit}
	}
	if f := row.Side; f != nil {
		s.SideFrom = &msp.SideProvenance{SessionID: f.Session, CommandID: f.Command, CutCursor: f.CutCursor}
	}
	if c := row.Client; c != nil {
		s.CreatedByClient = &msp.ClientInfo{Name: c.Name, Title: c.Title, Version: c.Version}
	}
	return s
}

// wireMicros spells a time of a log.
func wireMicros(at int64) string {
	return time.UnixMicro(at).UTC().Format("2006-01-02T15:04:05.000Z")
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Watch implements serve.SessionList.
func (r *sessionRows) Watch(changed func(msp.Session)) (stop func()) {
	changes := r.index.Watch()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := changes.Next(context.Background())
			if err != nil {
				return // closed
			}
			if !c.Removed {
				changed(wireRow(c.Row))
			}
		}
	}()
	return func() {
		changes.Close()
		<-done
	}
}
