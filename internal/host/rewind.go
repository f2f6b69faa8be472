package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
)

// What a rewind does to a file.
const (
	fileRestore   = "restore"
	fileRemove    = "remove"
	fileUnchanged = "unchanged"
	fileKept      = "kept"
)

// restoring is one file of a rewind with what it goes back to.
type restoring struct {
	RewindFile
	rel  string // below the workspace
	data []byte
	mode fs.FileMode
}

// PreviewRewind says what a rewind to before a turn would do to files.
func (l *Live) PreviewRewind(_ context.Context, turnID string) (RewindReport, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.rewindTo(turnID); err != nil {
		return RewindReport{}, err
	}
	files, _ := l.restorings(turnID)
	return report(turnID, files), nil
}

func report(turnID string, files []restoring) RewindReport {
	r := RewindReport{TurnID: turnID, Files: []RewindFile{}}
	for _, f := range files {
		r.Files = append(r.Files, f.RewindFile)
	}
	return r
}

// Rewind takes the conversation back to before a turn; with files it also
// brings back the files that tools changed since. Commands may have changed
// others: those are not known.
func (l *Live) Rewind(ctx context.Context, c Command, turnID string, files bool) (RewindReport, error) {
	return command(ctx, l, c, nil, func() (RewindReport, error) {
		turns, err := l.rewindTo(turnID)
		if err != nil {
			return RewindReport{}, err
		}
		if l.turn != nil {
			return RewindReport{}, refuse(ReasonInvalidTarget, "a turn is running; stop it first")
		}
		var todo []restoring
		if files {
			todo, _ = l.restorings(turnID)
		}
		out := report(turnID, todo)
		rewound := event.SessionRewound{CommandID: c.ID, Sequence: turns[0].started - 1}
		for _, t := range turns {
			rewound.Turns = append(rewound.Turns, t.id)
		}
		if len(todo) > 0 {
			if err := l.restore(c, todo, &out); err != nil {
				return RewindReport{}, err
			}
		}
		return out, l.fact(rewound)
	})
}

// rewindTo are the turns that a rewind takes out, oldest first.
func (l *Live) rewindTo(turnID string) ([]turnSpan, error) {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, t := range st.turns {
		if t.id != turnID {
			continue
		}
		if l.turn == nil && t.started <= l.s.conv.SummarisedThrough() {
			return nil, refuse(ReasonInvalidTarget, "turn %s was summarised and cannot be taken back", turnID)
		}
		return append([]turnSpan{}, st.turns[i:]...), nil
	}
	return nil, refuse(ReasonInvalidTarget, "there is no turn %s", oneLine(turnID, 64))
}

// restorings are the files that tools changed since a turn began, with their
// state at that time.
func (l *Live) restorings(turnID string) ([]restoring, error) {
	st := l.s.state
	st.mu.Lock()
	span, _ := st.turn(turnID)
	var first []snapshot
	seen := map[string]bool{}
	for _, f := range st.snapshots {
		if f.sequence > span.started && !seen[f.Path] {
			seen[f.Path] = true
			first = append(first, f)
		}
	}
	st.mu.Unlock()
	root, err := os.OpenRoot(l.s.opts.Workspace)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	var out []restoring
	for _, f := range first {
		out = append(out, l.restoring(root, f))
	}
	return out, nil
}

func (l *Live) restoring(root *os.Root, f snapshot) restoring {
	r := restoring{RewindFile: RewindFile{Path: f.Path, Action: fileKept}, mode: fs.FileMode(f.Mode) & fs.ModePerm}
	rel, err := filepath.Rel(l.s.opts.Workspace, f.Path)
	if err != nil || !filepath.IsLocal(rel) {
		r.Why = "it is outside of the workspace"
		return r
	}
	r.rel = rel
	if f.Omitted != "" {
		r.Why = "its earlier content was not kept: " + f.Omitted
		return r
	}
	info, err := root.Lstat(rel)
	present := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		r.Why = err.Error()
		return r
	case present && !info.Mode().IsRegular():
		r.Why = "there is no regular file any more"
		return r
	case !f.Existed && !present:
		r.Action = fileUnchanged
		return r
	case !f.Existed:
		r.Action = fileRemove
		return r
	}
	if r.data, err = l.s.content(f.Digest); err != nil {
		r.Why = err.Error()
		return r
	}
	if present && info.Size() == int64(len(r.data)) {
		if now, err := root.ReadFile(rel); err == nil && bytes.Equal(now, r.data) {
			r.Action = fileUnchanged
			return r
		}
	}
	r.Action = fileRestore
	return r
}

// restore brings files back and records how that went.
func (l *Live) restore(c Command, todo []restoring, out *RewindReport) error {
	root, err := os.OpenRoot(l.s.opts.Workspace)
	if err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	restored := event.FilesRestored{CommandID: c.ID, Files: []event.RestoredFile{}}
	for i, f := range todo {
		one := event.RestoredFile{Path: f.Path, Outcome: "skipped", Reason: f.Why}
		switch f.Action {
		case fileRestore:
			one.Outcome = "restored"
			err = writeBack(root, f)
		case fileRemove:
			one.Outcome = "removed"
			err = root.Remove(f.rel)
		case fileUnchanged:
			continue
		}
		if err != nil {
			one.Outcome, one.Reason = "failed", err.Error()
			out.Files[i].Action, out.Files[i].Why = fileKept, err.Error()
			err = nil
		}
		restored.Files = append(restored.Files, one)
	}
	return l.fact(restored)
}

// writeBack writes the earlier content beside the file and puts it in its
// place.
func writeBack(root *os.Root, f restoring) error {
	if err := root.MkdirAll(filepath.Dir(f.rel), 0o755); err != nil {
		return err
	}
	temp := f.rel + ".rewind-" + ident.V4()[:8]
	w, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
	if err != nil {
		return err
	}
	_, err = w.Write(f.data)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = root.Rename(temp, f.rel)
	}
	if err != nil {
		// The half file must go; that it cannot is a lesser trouble than why.
		_ = root.Remove(temp)
	}
	return err
}
