package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/tui/text"
)

// Plain mode writes text and nothing else: each line once, in order, without
// colours, without a live area. What is asked is written out and answered with
// a line.

// plainFrame writes what there is to say.
func (u *ui) plainFrame() error {
	w, _ := u.screen.Size()
	lines := text.WrapAll(u.print, w, nil)
	u.print = nil
	access := strings.Join(append(u.weakened(), u.approvalWord()), ", ")
	if access = strings.Trim(access, ", "); access != u.access {
		u.access = access
		lines = append(lines, text.Of(text.Warn, "Access: "+access))
	}
	key, asked := u.plainQuestion(w)
	switch {
	case key == u.asked:
	case key != "":
		lines = append(lines, nil)
		lines = append(lines, asked...)
	}
	u.asked = key
	if running := u.view.turn != ""; running != u.running {
		u.running = running
		word := "Ready."
		if running {
			word = "Working. /stop stops the turn."
		}
		lines = append(lines, text.Of(text.Muted, word))
	}
	if u.hint != "" {
		lines = append(lines, text.Of(text.Muted, u.hint))
		u.hint = ""
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(text.Clean(l.String()))
		b.WriteByte('\n')
	}
	u.dirty = false
	if b.Len() == 0 {
		return nil
	}
	if _, err := u.term.Write([]byte(b.String())); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// plainQuestion is what is asked now, and what tells it from other questions.
func (u *ui) plainQuestion(w int) (key string, lines []text.Line) {
	const all = 1 << 20 // rows: nothing is scrolled here
	switch {
	case u.confirm != nil:
		return fmt.Sprintf("confirm %p", u.confirm), u.confirm.view(u, w, all)
	case u.ask != nil:
		u.ask.live = true
		lines = append(u.ask.view(u, w, all), text.Of(text.Muted, "Type the number, or f and why not."))
		lines = append(lines, u.statusLine(w))
		return fmt.Sprintf("approval %s %d", u.ask.id, u.ask.source), lines
	case u.question != nil:
		u.question.live = true
		return fmt.Sprintf("question %s %d", u.question.id, u.question.at), u.question.view(u, w, all)
	case u.pick != nil:
		lines = append(lines, text.Of(text.Bold, u.pick.title))
		for n, r := range u.pick.rows {
			lines = append(lines, text.Of(text.Plain, fmt.Sprintf("%d %s  %s", n+1, r.label, r.detail)))
		}
		return fmt.Sprintf("pick %p", u.pick), append(lines, text.Of(text.Muted, "Type the number; an empty line closes the list."))
	}
	return "", nil
}

// line takes in a line in plain mode.
func (u *ui) line(s string) {
	u.dirty = true
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, "/stop") || trimmed == "/quit" {
		u.slash(trimmed)
		return
	}
	switch {
	case u.confirm != nil:
		u.confirmLine(strings.ToLower(trimmed))
	case u.ask != nil:
		u.approvalLine(trimmed)
	case u.question != nil:
		u.questionLine(trimmed)
	case u.pick != nil:
		u.pickLine(trimmed)
	case u.session == nil:
		u.Prompt = s // sent when the session is open
	default:
		u.draft.Clear()
		u.draft.Set(s)
		u.enterPressed(host.Steer)
		u.draft.Clear()
	}
}

func (u *ui) confirmLine(s string) {
	c := u.confirm
	switch s {
	case "y", "yes":
		u.confirm = nil
		c.yes()
	case "n", "no":
		u.confirm = nil
		if c.no != nil {
			c.no()
		}
	default:
		u.hint = "type y or n"
	}
}

func (u *ui) approvalLine(s string) {
	a, ok := u.ask.held(u)
	if !ok {
		return
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= len(a.AvailableChoices) {
		u.ask.decide(u, a, &a.AvailableChoices[n-1], "")
		return
	}
	if why, is := strings.CutPrefix(s, "f "); is && strings.TrimSpace(why) != "" {
		u.ask.decide(u, a, rejection(a), strings.TrimSpace(why))
		return
	}
	u.hint = "type the number of a choice, or f and why not; nothing was decided"
}

// questionLine answers with numbers, several with commas between them, or in
// words.
func (u *ui) questionLine(s string) {
	d := u.question
	if d.sent || d.at >= len(d.params.Questions) || s == "" {
		return
	}
	q := d.question()
	var picked []int
	for p := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || n < 1 || n > len(q.Options) || slices.Contains(picked, n) {
			picked = nil
			break
		}
		picked = append(picked, n)
	}
	switch {
	case len(picked) == 0:
		if n := len([]rune(s)); n > maxAnswer {
			u.hint = fmt.Sprintf("the answer has %d characters; %d are allowed", n, maxAnswer)
			return
		}
		d.next(u, host.Answer{QuestionID: q.ID, FreeText: s})
	case d.many():
		for _, n := range picked {
			d.picked[q.Options[n-1].Label] = true
		}
		d.answerMany(u)
	case len(picked) == 1:
		d.pick(u, picked[0]-1)
	default:
		u.hint = "choose one"
	}
}

func (u *ui) pickLine(s string) {
	p := u.pick
	n, err := strconv.Atoi(s)
	switch {
	case s == "":
		p.close(u)
	case err != nil || n < 1 || n > len(p.rows):
		u.hint = "type a number of the list, or an empty line"
	default:
		u.pick = nil
		p.chosen(p.rows[n-1])
	}
}
