package tui

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/text"
)

// idle reports whether no turn runs, and says so otherwise.
func (u *ui) idle() bool {
	if u.view.turn != "" {
		u.hint = "a turn runs; stop it first"
		return false
	}
	return true
}

func (u *ui) newSession() {
	if u.idle() {
		u.start("")
	}
}

func (u *ui) fork() {
	id := u.session.Facts().SessionID
	u.open(msp.MethodSessionFork, map[string]any{"sessionId": id}, func(ctx context.Context, c host.Command) (Session, error) {
		return u.Host.Fork(ctx, c, id, "")
	})
}

func (u *ui) resumeID(id string) {
	if u.session != nil && id == u.session.Facts().SessionID {
		u.hint = "that is this session"
		return
	}
	u.open(msp.MethodSessionResume, map[string]any{"sessionId": id}, func(ctx context.Context, c host.Command) (Session, error) {
		return u.Host.Resume(ctx, c, id)
	})
}

func (u *ui) resume(words string) {
	if !u.idle() {
		return
	}
	if words != "" && u.Find != nil {
		beside(u, func(ctx context.Context) (string, error) { return u.Find(ctx, words) }, func(id string, err error) {
			if err != nil {
				u.fault(err)
				return
			}
			u.resumeID(id)
		})
		return
	}
	beside(u, func(ctx context.Context) ([]Stored, error) { return u.Stored(ctx, "") }, func(all []Stored, err error) {
		if err != nil {
			u.fault(err)
			return
		}
		p := &picker{title: "Go on with", chosen: func(r pickRow) { u.resumeID(r.id) }}
		for _, s := range all {
			if u.session != nil && s.ID == u.session.Facts().SessionID {
				continue
			}
			r := pickRow{id: s.ID, label: s.Name, detail: oneLine(s.Title)}
			if r.label == "" {
				r.label, r.detail = oneLine(s.Title), s.ID[:8]
			}
			if r.label == "" {
				r.label = s.ID
			}
			r.label = s.Updated.Local().Format("Jan _2 15:04") + "  " + r.label
			r.detail += "  " + plural(int(s.Turns), "turn", "turns")
			p.rows = append(p.rows, r)
		}
		if len(p.rows) == 0 {
			u.hint = "there is no other session in this workspace"
			if u.session == nil {
				u.say(text.Muted, "there is no session of this workspace yet: this is a new one")
				u.start("")
			}
			return
		}
		u.pick = p
	})
}

func (u *ui) name(words string) {
	u.send(msp.MethodSessionRename, func(id string) any {
		return map[string]any{"sessionId": u.session.Facts().SessionID, "commandId": id, "name": words}
	}, func(ctx context.Context, s Session, c host.Command) error {
		_, err := s.Rename(ctx, c, words)
		return err
	}, func(err error) {
		if err != nil {
			u.fault(err)
			return
		}
		u.view.remark(text.Muted, "the session is named "+u.session.Facts().Name)
	})
}

func (u *ui) compact() {
	u.send(msp.MethodSessionCompact, func(id string) any {
		return map[string]any{"sessionId": u.session.Facts().SessionID, "commandId": id}
	}, func(ctx context.Context, s Session, c host.Command) error {
		ok, why, err := s.Compact(ctx, c, "")
		if err == nil && !ok {
			if why == "no_compactable_history" {
				why = "the conversation is too short to be shortened"
			}
			return fmt.Errorf("%s", why)
		}
		return err
	}, nil)
}

// rewind asks which prompt to go back to, and whether files go back too.
func (u *ui) rewind() {
	if !u.idle() {
		return
	}
	p := &picker{title: "Go back to before", chosen: func(r pickRow) { u.previewRewind(r.id, r.label) }}
	for _, t := range slices.Backward(u.view.prompts) {
		p.rows = append(p.rows, pickRow{id: t.turn, label: oneLine(t.text)})
	}
	if len(p.rows) == 0 {
		u.hint = "there is no prompt to go back to"
		return
	}
	u.pick = p
}

func (u *ui) previewRewind(turn, label string) {
	s := u.session
	beside(u, func(ctx context.Context) (host.RewindReport, error) { return s.PreviewRewind(ctx, turn) }, func(r host.RewindReport, err error) {
		if err != nil {
			u.fault(err)
			return
		}
		changes := 0
		p := &picker{title: "Go back to before “" + label + "”", chosen: func(row pickRow) { u.rewindTo(turn, row.id == "files") }}
		for _, f := range r.Files {
			if f.Action == "restore" || f.Action == "remove" {
				changes++
			}
		}
		p.rows = append(p.rows, pickRow{id: "talk", label: "the conversation alone", detail: "files stay as they are"})
		for _, f := range r.Files {
			if f.Action == "kept" && changes == 0 {
				u.view.remark(text.Warn, u.relative(f.Path)+" stays as it is: "+f.Why)
			}
		}
		if changes > 0 {
			p.rows = append(p.rows, pickRow{id: "files", label: "the conversation and files", detail: plural(changes, "file changes", "files change") + ", listed above"})
			u.view.gap("remark")
			for _, f := range r.Files {
				why := ""
				if f.Why != "" {
					why = ": " + f.Why
				}
				u.say(text.Muted, fmt.Sprintf("%-9s %s%s", f.Action, u.relative(f.Path), why))
			}
		}
		u.pick = p
	})
}

func (u *ui) relative(path string) string {
	if rel, err := filepath.Rel(u.Workspace, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

func (u *ui) rewindTo(turn string, files bool) {
	words := ""
	for _, p := range u.view.prompts {
		if p.turn == turn {
			words = p.text
		}
	}
	u.send("session/rewind", func(id string) any {
		return map[string]any{"sessionId": u.session.Facts().SessionID, "commandId": id, "turnId": turn, "files": files}
	}, func(ctx context.Context, s Session, c host.Command) error {
		_, err := s.Rewind(ctx, c, turn, files)
		return err
	}, func(err error) {
		if err != nil {
			u.fault(err)
			return
		}
		u.view.remark(text.Warn, "↶ The conversation is back to before “"+oneLine(words)+"”.")
		if u.draft.Empty() {
			u.draft.Set(words)
		}
	})
}

func (u *ui) export(path string) {
	id := u.session.Facts().SessionID
	beside(u, func(ctx context.Context) (string, error) { return u.Export(ctx, id, path) }, func(where string, err error) {
		if err != nil {
			u.fault(err)
			return
		}
		u.view.remark(text.Muted, "written to "+u.tilde(where))
	})
}

// copyAnswer puts the last answer on the clipboard by way of the terminal
// (OSC 52), which also works on another machine.
func (u *ui) copyAnswer() {
	answer := u.view.answer
	if answer == "" {
		u.hint = "there is no answer to copy yet"
		return
	}
	const most = 74_000 // what terminals take
	if len(answer) > most {
		u.hint = "the answer is too long for the terminal's clipboard; /export writes it to a file"
		return
	}
	if _, err := fmt.Fprintf(u.term, "\x1b]52;c;%s\a", base64.StdEncoding.EncodeToString([]byte(answer))); err != nil {
		u.fault(err)
		return
	}
	u.hint = "the answer was handed to the terminal's clipboard"
}

func (u *ui) diff() {
	beside(u, u.Diff, func(d string, err error) {
		switch {
		case err != nil:
			u.fault(err)
		case strings.TrimSpace(d) == "":
			u.say(text.Muted, "nothing has changed")
		default:
			u.view.gap("details")
			u.out(diffLines(d)...)
		}
	})
}

func (u *ui) stopAll() {
	background := len(u.inBackground())
	if u.view.turn == "" && len(u.view.fold.Tasks()) == 0 && background == 0 {
		u.hint = "nothing runs"
		return
	}
	if u.view.turn != "" {
		u.interrupt()
	}
	if len(u.view.fold.Tasks()) == 0 && background == 0 {
		return
	}
	u.send(msp.MethodTaskStopAll, func(id string) any {
		return map[string]any{"sessionId": u.session.Facts().SessionID, "commandId": id}
	}, func(ctx context.Context, s Session, c host.Command) error { return s.StopAll(ctx, c) }, func(err error) {
		switch {
		case err != nil:
			u.fault(err)
		case background > 0:
			u.view.remark(text.Muted, "stopped "+plural(background, "command", "commands")+" in the background")
		}
	})
}

// editDraft opens the draft in the person's editor.
func (u *ui) editDraft() {
	if u.Edit == nil {
		u.hint = "set VISUAL or EDITOR to write in an editor"
		return
	}
	words, err := u.edited(u.draft.Text())
	u.screen.Resize(u.term.Size())
	u.screen.Stale()
	if err != nil {
		u.fault(err)
		return
	}
	u.draft.Clear()
	u.draft.Set(words)
}

func (u *ui) edited(words string) (out string, err error) {
	dir, err := os.MkdirTemp("", "muse-prompt-")
	if err != nil {
		return "", fmt.Errorf("make a file for the editor: %w", err)
	}
	defer os.RemoveAll(dir) // a file that is left is in the system's temporary place
	path := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(path, []byte(words), 0o600); err != nil {
		return "", fmt.Errorf("make a file for the editor: %w", err)
	}
	if err := u.screen.Leave(); err != nil {
		return "", err
	}
	if err := u.term.Lend(func() error { return u.Edit(path) }); err != nil {
		return "", fmt.Errorf("the editor: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read what the editor wrote: %w", err)
	}
	return strings.TrimRight(strings.ToValidUTF8(string(data), "\uFFFD"), "\n"), nil
}
