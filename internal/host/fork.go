package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/store"
)

// source is a session that is copied, as its log tells it.
type source struct {
	id    string
	dir   string // "" when nothing is kept
	state *state
	cut   int64 // the last record that is copied
	last  string
	turns map[string]bool // those that are copied
}

// Fork copies a session up to a turn, "" for all that is completed, and goes
// on with the copy. The source need not be loaded.
func (h *Hub) Fork(ctx context.Context, c Command, sessionID, lastTurnID string) (*Live, error) {
	if h.opts.Ephemeral {
		return nil, notOnEphemeral("session/fork")
	}
	return h.branchOff(ctx, c, sessionID, lastTurnID, func(src *source) event.Body {
		return event.SessionForked{
			CommandID: c.ID, CutCursor: h.cursor(src.id, src.cut), CutExplicit: lastTurnID != "", CutSequence: src.cut,
			LastTurnID: src.last, SourceSessionID: src.id,
		}
	})
}

// SideChat opens a side session of a loaded one: it knows what its parent knew
// and changes nothing there.
func (h *Hub) SideChat(ctx context.Context, c Command, sessionID string) (*Live, error) {
	parent, err := h.Loaded(sessionID)
	if err != nil {
		return nil, err
	}
	side, err := h.branchOff(ctx, c, sessionID, "", func(src *source) event.Body {
		return event.SideStarted{CommandID: c.ID, CutCursor: h.cursor(src.id, src.cut), CutSequence: src.cut, SourceSessionID: src.id}
	})
	if err != nil {
		return nil, err
	}
	return side, parent.sideOpened(c, side.s.id)
}

// sideOpened tells the parent of a side session, once.
func (l *Live) sideOpened(c Command, side string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s.state.mu.Lock()
	told := l.s.state.sides[side]
	l.s.state.mu.Unlock()
	if told || l.closing {
		return nil
	}
	return l.fact(event.SideOpened{CommandID: c.ID, SideSessionID: side})
}

// cursor spells a place of a session's view.
func (h *Hub) cursor(id string, sequence int64) string {
	if h.opts.Cursor != nil {
		return h.opts.Cursor(id, sequence)
	}
	return fmt.Sprintf("v:%s:%d", id, sequence)
}

func (h *Hub) branchOff(ctx context.Context, c Command, sessionID, lastTurnID string, provenance func(*source) event.Body) (*Live, error) {
	id := derivedID(c)
	leave, err := h.admit(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	if l, err := h.startedBefore(ctx, c, id); l != nil || err != nil {
		return l, err
	}
	src, err := h.source(ctx, sessionID, lastTurnID)
	if err != nil {
		return nil, err
	}
	w := src.wanted(h.opts.Workspace)
	return h.open(ctx, id, w, opening{
		command: c,
		started: func(l *Live) []event.Body {
			bodies := []event.Body{
				provenance(src),
				event.SessionCreated{CommandID: c.ID, Client: client(c)},
				event.ApprovalModeChanged{ClientName: c.Client, CommandID: c.ID, Mode: l.mode, Source: "startup"},
			}
			if src.state.effort != "" {
				l.settings.Effort = provider.Effort(src.state.effort)
				bodies = append(bodies, event.EffortChanged{Effort: src.state.effort, Source: "default"})
			}
			return bodies
		},
		copied: func(l *Live) error { return h.fill(ctx, l, src) },
	})
}

// source reads a session and finds the place to cut it.
func (h *Hub) source(ctx context.Context, id, lastTurnID string) (*source, error) {
	src := &source{id: id, state: newState(), turns: map[string]bool{}}
	if err := h.Replay(ctx, id, 0, func(r event.Recorded) error {
		src.state.apply(r)
		return nil
	}); err != nil {
		return nil, err
	}
	if !h.opts.Ephemeral {
		place, err := store.Find(h.opts.DataRoot, id)
		if err != nil {
			return nil, err
		}
		src.dir = place.Dir
	}
	found := lastTurnID == ""
	for _, t := range src.state.turns {
		if t.ended == 0 {
			break
		}
		src.turns[t.id] = true
		src.cut, src.last = t.ended, t.id
		if t.id == lastTurnID {
			found = true
			break
		}
	}
	if !found {
		return nil, &Refusal{
			Kind: BadForkBoundary, SessionID: id, TurnID: oneLine(lastTurnID, 64),
			Message: "turn " + oneLine(lastTurnID, 64) + " is no completed turn of the session",
		}
	}
	return src, nil
}

func (src *source) wanted(fallback string) Wanted {
	w := Wanted{Workspace: src.state.workspace, Provider: src.state.provider, Model: src.state.model}
	if w.Workspace == "" {
		w.Workspace = fallback
	}
	if mode, err := permission.ParseMode(src.state.mode); err == nil {
		w.Mode = mode
	}
	return w
}

// fill copies what was said and done up to the cut into a new session. The
// session's lock is held.
func (h *Hub) fill(ctx context.Context, l *Live, src *source) error {
	if src.dir != "" {
		for _, name := range []string{assetDir, "tool-outputs", snapshotsDir} {
			if err := copyTree(filepath.Join(src.dir, name), filepath.Join(l.s.place.Dir, name)); err != nil {
				return fmt.Errorf("copy session %s: %w", src.id, err)
			}
		}
	}
	var moved places
	err := h.Replay(ctx, src.id, 0, func(r event.Recorded) error {
		if r.Sequence > src.cut {
			return errEnough
		}
		if !carriedOver(r.Event) {
			return nil
		}
		e := r.Event
		e.Body = moved.rewrite(e.Body)
		to, err := l.s.rec.Record(e)
		if err != nil {
			return err
		}
		moved.add(r.Sequence, to.Sequence)
		l.s.conv.Apply(to)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

// carriedOver reports whether a copy has an event: what was said and done, not
// which process, client or command was there.
func carriedOver(e event.Event) bool {
	switch event.FamilyOf(e) {
	case event.RunEvent, event.TaskEvent, event.ApprovalEvent:
		return true
	}
	switch e.Body.(type) {
	case event.IntentAccepted, event.IntentMaterialized, event.ModelConfigured, event.EffectStarted, event.EffectTerminal,
		event.GoalChanged, event.SessionRewound, event.UserShellCommand, event.UserShellResult, event.WorkspaceBranch:
		return true
	}
	return false
}

// places says where records of a source stand in its copy.
type places struct{ from, to []int64 }

func (p *places) add(from, to int64) { p.from, p.to = append(p.from, from), append(p.to, to) }

// at is the place of the last copied record up to sequence.
func (p *places) at(sequence int64) int64 {
	i := sort.Search(len(p.from), func(i int) bool { return p.from[i] > sequence })
	if i == 0 {
		return 0
	}
	return p.to[i-1]
}

// rewrite moves the places that an event names.
func (p *places) rewrite(b event.Body) event.Body {
	switch b := b.(type) {
	case event.CompactionCandidate:
		b.Through.Sequence, b.StartedAt.Sequence = p.at(b.Through.Sequence), p.at(b.StartedAt.Sequence)
		b.Preserved.Head, b.Preserved.Tail = b.Through.Sequence+1, p.at(b.Preserved.Tail)
		return b
	case event.CompactionInstalled:
		b.Through.Sequence = p.at(b.Through.Sequence)
		b.Preserved.Head, b.Preserved.Tail = b.Through.Sequence+1, p.at(b.Preserved.Tail)
		b.Preserved.Interval = fmt.Sprintf("(%d, %d]", b.Through.Sequence, b.Preserved.Tail)
		return b
	case event.RunRetracted:
		b.PromptSequence = p.at(b.PromptSequence)
		return b
	case event.SessionRewound:
		b.Sequence = p.at(b.Sequence)
		return b
	}
	return b
}

// copyTree copies regular files of a tree of ours; one that does not exist is
// empty.
func copyTree(from, to string) error {
	root, err := os.OpenRoot(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(path))
		switch {
		case d.Name() == ".spool":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := root.ReadFile(filepath.FromSlash(path))
		if err != nil {
			return err
		}
		if err := writeNew(target, data); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}
