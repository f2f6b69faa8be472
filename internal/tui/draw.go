package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/text"
)

// live is the live area: what is not finished, what is asked, the prompt and
// the status line. On a small screen what matters most keeps its place: the
// question, the prompt, the status.
func (u *ui) live() []text.Line {
	if u.done {
		return nil
	}
	w, _ := u.screen.Size()
	room := u.screen.Room()
	status := u.statusLine(w)
	var low []text.Line
	switch {
	case u.confirm != nil:
		low = u.confirm.view(u, w, room-2)
	case u.entry != nil:
		low = u.entry.view(u, w)
	case u.ask != nil:
		low = u.ask.view(u, w, room-2)
	case u.question != nil:
		low = u.question.view(u, w, room-2)
	case u.pick != nil:
		low = u.pick.view(u, w, room-2)
	}
	if low == nil || u.ask != nil && !u.ask.armed(u) {
		low = append(low, u.composer(w, room-1-len(low))...)
	}
	low = append(low, status)
	if u.hint != "" {
		low = append(low, text.Cut(text.Of(text.Muted, "  "+u.hint), w))
	}
	high := u.doing(w, max(0, room-len(low)-1))
	if len(high) > 0 || room > len(low)+4 {
		high = append(high, nil)
	}
	all := append(high, low...)
	if n := len(all) - room; n > 0 {
		all = all[n:]
	}
	return all
}

// composer is the prompt with what belongs to it.
func (u *ui) composer(w, room int) []text.Line {
	if room < 1 {
		return nil
	}
	mark := text.Of(text.Accent, "› ")
	if strings.HasPrefix(u.draft.Raw(), "!") {
		mark = text.Of(text.Warn|text.Bold, "› ")
	}
	out := u.history.view(u, w)
	rows := u.draft.View(mark, w, max(1, min(10, room-len(out))))
	if u.draft.Empty() && out == nil {
		rows[0] = text.Cut(append(rows[0], text.Of(text.Muted, u.placeholder())...), w)
	}
	out = append(out, rows...)
	return append(out, u.drawer.view(w, min(8, room-len(out)))...)
}

func (u *ui) placeholder() string {
	switch {
	case u.session == nil:
		return " opening the session"
	case u.view.turn != "":
		return fmt.Sprintf(" %s steers the turn, %s queues a prompt", u.Keys.Key("composer.submit"), u.Keys.Key("composer.queue"))
	}
	return " ask for something; / commands, ! shell, @ files, ? help"
}

// doing is what goes on, in at most room rows.
func (u *ui) doing(w, room int) []text.Line {
	v := u.view
	if room < 1 {
		return nil
	}
	var out []text.Line
	if v.replyID != "" {
		tail := v.reply.Tail(v.width())
		if !v.replied && len(tail) > 0 {
			out = append(out, nil)
		}
		out = append(out, tail...)
	}
	for _, i := range v.open {
		rows := u.openItem(i)
		if len(out) == 0 && len(rows) > 0 && v.last != "call" {
			out = append(out, nil)
		}
		out = append(out, rows...)
	}
	var below []text.Line
	below = append(below, u.plan(w)...)
	below = append(below, u.queue(w)...)
	if l := u.working(w); l != nil {
		below = append(below, nil, l)
	}
	if n := len(below) - room; n > 0 {
		below = below[n:]
	}
	if n := len(out) + len(below) - room; n > 0 {
		out = out[n:]
	}
	return append(out, below...)
}

// openItem is a call that runs: its line, its time, the end of its output.
func (u *ui) openItem(i msp.Item) []text.Line {
	v := u.view
	if u.waitsForPerson(i.ItemID) {
		return nil // the question shows it
	}
	switch i.Kind {
	case msp.ItemKindToolCall, msp.ItemKindUserShell:
	case msp.ItemKindCompaction:
		return []text.Line{text.Of(text.Accent, "◇ Shortening the conversation")}
	default:
		return nil
	}
	if at, ok := v.began[i.ItemID]; ok {
		if d := u.Now().Sub(at); d >= time.Second {
			ms := d.Milliseconds()
			i.DurationMs = &ms
			u.everySecond(at)
		}
	}
	rows := v.callLine(i)
	if out := v.output[i.ItemID]; out != "" {
		lines := text.Lines(text.Muted, strings.TrimRight(out, "\n"))
		if n := len(lines); n > 4 {
			lines = lines[n-4:]
		}
		for _, l := range lines {
			rows = append(rows, text.Cut(append(text.Of(text.Muted, "  │ "), l...), v.width()))
		}
	}
	return rows
}

// waitsForPerson reports whether an item waits for a decision or an answer.
func (u *ui) waitsForPerson(item string) bool {
	for _, a := range u.view.fold.Approvals() {
		if a.ItemID == item {
			return true
		}
	}
	for _, q := range u.view.fold.UserInputs() {
		if q.ItemID == item {
			return true
		}
	}
	return false
}

// everySecond draws again when a second count that began at a time changes.
func (u *ui) everySecond(began time.Time) {
	since := u.Now().Sub(began)
	u.wakeAt(u.Now().Add(time.Second - since%time.Second))
}

// working says that the agent works, or what it waits for.
func (u *ui) working(w int) text.Line {
	v := u.view
	if v.turn == "" {
		return nil
	}
	since := u.Now().Sub(v.started)
	u.everySecond(v.started)
	stop := " · " + u.Keys.Key("composer.cancel") + " stops"
	if r := v.retry; r != nil {
		wait := max(0, r.at.Sub(u.Now()))
		line := text.Of(text.Warn, fmt.Sprintf("◌ Trying again in %s (attempt %d", spent(wait.Round(time.Second)), r.attempt))
		if r.attempts > 0 {
			line = line.Add(text.Warn, fmt.Sprintf(" of %d", r.attempts))
		}
		return text.Cut(line.Add(text.Warn, "): "+oneLine(r.reason)).Add(text.Muted, stop), w)
	}
	what := "Working"
	switch {
	case len(v.fold.Approvals()) > 0:
		what = "Waiting for your decision"
	case len(v.fold.UserInputs()) > 0:
		what = "Waiting for your answer"
	}
	used := ""
	if v.use.tokens > 0 {
		used = " · " + count(v.use.tokens) + " tok"
	}
	if c := v.use.cost(); c != "" {
		used += " · " + c
	}
	return text.Cut(text.Of(text.Accent, "● "+what).Add(text.Muted, " "+spent(since.Truncate(time.Second))+used+stop), w)
}

// plan is the to-do list while there is something to do.
func (u *ui) plan(w int) []text.Line {
	list := u.view.fold.State().TodoList
	if list == nil || u.view.turn == "" {
		return nil
	}
	done, first := 0, -1
	for n, t := range list.Items {
		if t.Status == msp.TodoStatusCompleted || t.Status == msp.TodoStatusCancelled {
			done++
		} else if first < 0 {
			first = n
		}
	}
	if first < 0 {
		return nil
	}
	out := []text.Line{nil, text.Of(text.Bold, "Plan").Add(text.Muted, fmt.Sprintf(" %d of %d done", done, len(list.Items)))}
	for n := first; n < len(list.Items) && n < first+5; n++ {
		t := list.Items[n]
		mark, style := "☐ ", text.Muted
		switch t.Status {
		case msp.TodoStatusInProgress:
			mark, style = "▸ ", text.Plain
		case msp.TodoStatusCompleted:
			mark = "☑ "
		}
		out = append(out, text.Cut(text.Of(style, "  "+mark+oneLine(t.Text)), w))
	}
	if n := len(list.Items) - first - 5; n > 0 {
		out = append(out, text.Of(text.Muted, fmt.Sprintf("  … %d more", n)))
	}
	return out
}

// queue are the prompts that wait.
func (u *ui) queue(w int) []text.Line {
	waiting := u.view.fold.State().QueuedTurns
	if len(waiting)+len(u.view.steering) == 0 {
		return nil
	}
	out := []text.Line{nil}
	for _, s := range u.view.steering[max(0, len(u.view.steering)-3):] {
		out = append(out, text.Cut(text.Of(text.Muted, "  steering » "+oneLine(s)), w))
	}
	if len(waiting) == 0 {
		return out
	}
	for n, q := range waiting {
		if n == 3 {
			out = append(out, text.Of(text.Muted, fmt.Sprintf("  … %d more wait", len(waiting)-n)))
			break
		}
		out = append(out, text.Cut(text.Of(text.Muted, "  queued › "+oneLine(q.DisplayText)), w))
	}
	if u.draft.Empty() {
		out = append(out, text.Of(text.Muted, "  "+u.Keys.Key("move.up")+" takes the last one back"))
	}
	return out
}

// banner is what the UI begins with.
func (u *ui) banner() {
	u.out(text.Of(text.Bold, "muse").Add(text.Muted, " "+u.Version+" · "+u.tilde(u.Workspace)))
	u.view.last = "banner"
}

// tilde is a path with the home directory as ~.
func (u *ui) tilde(path string) string {
	if u.Home != "" && path == u.Home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, u.Home+"/"); ok && u.Home != "" {
		return "~/" + rest
	}
	return path
}
