package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/prompts"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/tui/text"
)

// input takes in what came from the terminal.
func (u *ui) input(e term.Event) {
	u.dirty = true
	switch e := e.(type) {
	case term.Paste:
		u.hint, u.typed = "", u.Now()
		if u.entry != nil && u.confirm == nil {
			u.entry.paste(e.Text)
		} else if b := u.writing(); b != nil {
			if b != &u.draft || !u.pastedPictures(e.Text) {
				b.Paste(e.Text)
			}
			u.draftChanged()
		}
	case term.Line:
		u.line(e.Text)
	case term.Focus:
		u.unfocused = !e.In
	case term.Key:
		u.key(e)
	}
}

// key does what a key means in what is open; whatever is open, nothing that was
// typed for something else decides.
func (u *ui) key(k term.Key) {
	u.hint = ""
	action := u.Keys.Action(k.String())
	leaving := u.leaving
	u.leaving = false
	u.leavingNow = leaving
	u.escaped, u.escapedNow = u.escapedNow, false
	before := u.typed
	u.typed = u.Now()
	switch {
	case action == keymap.Suspend:
		u.suspend()
	case action == keymap.Redraw:
		if err := u.screen.Clear(); err != nil {
			u.done, u.err = true, err
		}
	case u.confirm != nil:
		u.confirm.key(u, k, action)
	case u.entry != nil:
		u.entry.key(u, k, action)
	case u.ask != nil && u.ask.takes(u, action, before):
		u.ask.key(u, k, action)
	case u.question != nil && u.question.takes(u, action, before):
		u.question.key(u, k, action)
	case u.pick != nil:
		u.pick.key(u, k, action)
	case u.history.searching:
		u.history.key(u, k, action)
	case u.drawer.open() && u.drawer.key(u, action):
	default:
		u.act(k, action, before)
	}
}

// twice is how long after one key its second press counts with it.
const twice = time.Second

// cancel stops the turn; twice on an empty prompt it goes back to an earlier one
// (CLI.md 13).
func (u *ui) cancel(before time.Time) {
	switch {
	case u.view.turn != "":
		u.interrupt()
	case !u.draft.Empty() || !kept(u) || len(u.view.prompts) == 0:
	case u.escaped && u.Now().Sub(before) < twice:
		u.rewind()
	default:
		u.escapedNow = true
		u.hint = u.Keys.Key(keymap.Cancel) + " again goes back to an earlier prompt"
	}
}

// act is what a key does in the prompt.
func (u *ui) act(k term.Key, action keymap.Action, before time.Time) {
	b := &u.draft
	switch action {
	case keymap.Interrupt:
		u.interruptOrLeave()
	case keymap.Quit:
		if b.Empty() {
			u.quit()
		} else {
			b.Delete()
		}
	case keymap.Editor:
		u.editDraft()
	case keymap.Details:
		u.details()
	case keymap.Picture:
		u.pastePicture()
	case keymap.Beside:
		u.background()
	case keymap.Approval:
		u.nextMode()
	case keymap.Submit:
		u.enterPressed(host.Steer)
	case keymap.Queue:
		u.enterPressed(host.Queue)
	case keymap.Complete:
		if u.view.turn != "" && !b.Empty() {
			u.enterPressed(host.Queue)
		}
	case keymap.Newline:
		b.Insert("\n")
	case keymap.Cancel:
		u.cancel(before)
	case keymap.Search:
		u.history.search(u)
	case keymap.Older:
		u.history.older(u)
	case keymap.Newer:
		u.history.newer(u)
	case keymap.Up:
		switch {
		case b.Empty() && len(u.view.fold.State().QueuedTurns) > 0:
			u.takeBack()
		case !b.Up():
			u.history.older(u)
		}
	case keymap.Down:
		if !b.Down() {
			u.history.newer(u)
		}
	default:
		if k.Text == "?" && b.Empty() {
			u.shortHelp()
			return
		}
		editKey(b, k, action)
	}
	u.draftChanged()
}

// editor is what editing keys work on.
type editor interface {
	Insert(string)
	Left()
	Right()
	WordLeft()
	WordRight()
	Home()
	End()
	Backspace()
	Delete()
	KillWord()
	KillWordRight()
	KillStart()
	KillEnd()
	Yank()
	Transpose()
}

// editKey edits a text; what is no editing key and types something is typed.
func editKey(b editor, k term.Key, action keymap.Action) {
	switch action {
	case keymap.Left:
		b.Left()
	case keymap.Right:
		b.Right()
	case keymap.WordLeft:
		b.WordLeft()
	case keymap.WordRight:
		b.WordRight()
	case keymap.Home:
		b.Home()
	case keymap.End:
		b.End()
	case keymap.Backspace:
		b.Backspace()
	case keymap.Delete:
		b.Delete()
	case keymap.KillWord:
		b.KillWord()
	case keymap.KillWordRight:
		b.KillWordRight()
	case keymap.KillStart:
		b.KillStart()
	case keymap.KillEnd:
		b.KillEnd()
	case keymap.Yank:
		b.Yank()
	case keymap.Transpose:
		b.Transpose()
	case "":
		if k.Text != "" {
			b.Insert(k.Text)
		}
	}
}

// draftChanged looks for what the draft may be completed to.
func (u *ui) draftChanged() { u.complete() }

// interruptOrLeave is ctrl+c.
func (u *ui) interruptOrLeave() {
	switch {
	case u.leavingNow:
		u.quit()
	case u.view.turn != "":
		u.interrupt()
		u.leaving = true
	case !u.draft.Empty():
		u.history.remember(u.draft.Text())
		u.draft.Clear()
	default:
		u.leaving = true
		u.hint = u.Keys.Key(keymap.Interrupt) + " again leaves muse"
	}
}

func (u *ui) quit() { u.done = true }

// stopping is said until the turn has ended.
const stopping = "stopping"

// interrupt stops the running turn. A prompt that nothing was answered to comes
// back into the draft.
func (u *ui) interrupt() {
	turn := u.view.turn
	if turn == "" {
		return
	}
	u.hint = stopping
	retract := true
	u.send("turn/interrupt", func(id string) any {
		return msp.TurnInterruptParams{SessionID: u.session.Facts().SessionID, CommandID: id, TurnID: &turn, Retract: &retract}
	}, func(ctx context.Context, s Session, c host.Command) error {
		_, err := s.Interrupt(ctx, c, turn, retract)
		return err
	}, func(err error) {
		var refused *host.Refusal
		if errors.As(err, &refused) && refused.Reason == host.ReasonMissingRun {
			return // it ended by itself meanwhile
		}
		if err != nil {
			u.fault(err)
		}
	})
}

// enterPressed sends the draft.
func (u *ui) enterPressed(ifBusy string) {
	if strings.HasSuffix(u.draft.Raw()[:u.draft.At()], `\`) && u.draft.At() == len(u.draft.Raw()) {
		u.draft.Backspace()
		u.draft.Insert("\n")
		return
	}
	out := outgoing{words: u.draft.Text(), pictures: u.inDraft()}
	words := out.words
	trimmed := strings.TrimSpace(words)
	if trimmed == "" {
		return
	}
	if u.reading {
		u.hint = "the clipboard is still being read"
		return
	}
	if u.session == nil {
		u.sendEarly(out)
		return
	}
	if words[0] == '/' && looksLikeCommand(trimmed) {
		if u.slash(trimmed) {
			u.remember(words)
			u.draft.Clear()
		}
		return
	}
	line, shell := strings.CutPrefix(trimmed, "!")
	if shell = shell && strings.TrimSpace(line) != ""; !shell && !u.complement(&out) {
		return
	}
	u.remember(words)
	u.draft.Clear()
	u.pictures = nil
	if shell {
		u.userShell(strings.TrimSpace(line))
		return
	}
	u.submit(out, ifBusy)
}

// sendEarly takes a prompt that was sent before there is a session: it is the
// first one then. Only one waits, and only plain words do.
func (u *ui) sendEarly(out outgoing) {
	if u.Prompt != "" || !u.opening || u.PickFirst || len(out.pictures) > 0 || strings.ContainsAny(out.words[:1], "/!") {
		u.hint = "the session is still being opened"
		return
	}
	u.remember(out.words)
	u.draft.Clear()
	u.Prompt, u.hint = out.words, "sent as soon as the session is open"
}

// complement adds the pictures that a prompt names; false when it cannot be
// sent as it is.
func (u *ui) complement(out *outgoing) bool {
	why := ""
	if len(out.pictures) > 0 {
		why = u.blind()
	} else if u.blind() == "" {
		// Without a model that sees, the name of a picture is a name.
		named, err := u.namedPictures(out.words)
		if err != nil {
			why = err.Error()
		}
		out.pictures = named
	}
	if why != "" {
		u.hint = why
	}
	return why == ""
}

// looksLikeCommand tells a command from a path that a prompt begins with.
func looksLikeCommand(line string) bool {
	name, _, _ := strings.Cut(line[1:], " ")
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// remember keeps a prompt for the next time.
func (u *ui) remember(words string) {
	u.history.remember(words)
	if u.History == nil {
		return
	}
	e := prompts.Entry{Text: words, Project: u.Workspace}
	if u.session != nil {
		e.Session = u.session.Facts().SessionID
	}
	beside(u, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, u.History.Append(context.WithoutCancel(ctx), e)
	},
		func(_ struct{}, err error) {
			if err != nil {
				u.say(text.Warn, err.Error())
			}
		})
}

// submit sends a prompt. One that is refused comes back into the draft.
func (u *ui) submit(out outgoing, ifBusy string) {
	var command string
	steered := false
	var display *string
	if out.display != "" {
		display = &out.display
	}
	u.send("turn/start", func(id string) any {
		command = id
		return msp.TurnStartParams{
			SessionID: u.session.Facts().SessionID, CommandID: id, IfBusy: msp.IfBusy(ifBusy),
			Input: out.inputParts(), DisplayText: display,
		}
	}, func(ctx context.Context, s Session, c host.Command) error {
		ack, err := s.Submit(ctx, c, host.TurnRequest{
			Text: out.words, DisplayText: out.display, Images: images(out.pictures), IfBusy: ifBusy,
		})
		steered = ack.Disposition == host.Steered
		return err
	}, func(err error) {
		if steered && u.view.turn != "" {
			u.view.steering = append(u.view.steering, out.words)
		}
		if err != nil {
			u.fault(err)
			if u.draft.Empty() && out.display == "" {
				u.putBack(out)
			}
		}
	})
	u.sent[command] = out
}

// takeBack takes the newest prompt that waits back into the draft.
func (u *ui) takeBack() {
	waiting := u.view.fold.State().QueuedTurns
	last := waiting[len(waiting)-1]
	out, known := u.sent[last.TurnID]
	if !known {
		out.words = last.DisplayText
	}
	u.send("turn/unqueue", func(id string) any {
		return msp.TurnUnqueueParams{SessionID: u.session.Facts().SessionID, CommandID: id, TurnID: last.TurnID}
	}, func(ctx context.Context, s Session, c host.Command) error { return s.Unqueue(ctx, c, last.TurnID) },
		func(err error) {
			if err != nil {
				u.fault(err)
			} else if u.draft.Empty() {
				u.putBack(out)
			}
		})
}

// userShell runs the person's own command line.
func (u *ui) userShell(line string) {
	u.send(msp.MethodSessionUserShell, func(id string) any {
		return msp.SessionUserShellParams{SessionID: u.session.Facts().SessionID, CommandID: id, CommandText: line}
	}, func(ctx context.Context, s Session, c host.Command) error { return s.UserShell(ctx, c, line) }, nil)
}

// background lets the newest command that runs go on beside the agent.
func (u *ui) background() {
	tasks := u.view.fold.Tasks()
	for n := len(tasks) - 1; n >= 0; n-- {
		task := tasks[n]
		if task.BackgroundInitiator != "" {
			continue
		}
		u.send("task/background", func(id string) any {
			return map[string]any{"sessionId": u.session.Facts().SessionID, "commandId": id, "taskId": task.TaskID}
		}, func(ctx context.Context, s Session, c host.Command) error { return s.Background(ctx, c, task.TaskID) }, nil)
		return
	}
	u.hint = "no command runs that could go to the background"
}

func (u *ui) suspend() {
	if err := u.screen.Leave(); err == nil {
		err = u.term.Suspend()
		if err != nil {
			u.fault(err)
		}
	}
	u.screen.Resize(u.term.Size())
	u.screen.Stale()
}

// notify tells a person who looks elsewhere that it is their turn: OSC 9 where
// the terminal knows it, and the bell. The text is ours alone.
func (u *ui) notify() {
	if !u.unfocused || u.Plain {
		return
	}
	// A terminal that cannot be written to shows itself with the next frame.
	_, _ = u.term.Write([]byte("\x1b]9;muse waits for you\a\a"))
}
