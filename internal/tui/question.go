package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/compose"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/tui/text"
)

// maxAnswer is how long a text of a person's own may be (MSP.md 7.4).
const maxAnswer = 500

// questionDialog answers the questions that a tool asks, one after the other.
type questionDialog struct {
	arming
	id      string
	params  msp.UserInputRequestParams
	at      int // the question
	row     int
	picked  map[string]bool
	words   *compose.Buffer
	answers []host.Answer
	engaged bool
	sent    bool
	until   time.Time // when it answers itself, zero for never
}

func newQuestion(u *ui, p msp.UserInputRequestParams) *questionDialog {
	d := &questionDialog{arming: arming{shown: u.Now()}, id: p.UserInputID, params: p, picked: map[string]bool{}}
	if p.AutoResolutionMs != nil {
		d.until = u.Now().Add(time.Duration(*p.AutoResolutionMs) * time.Millisecond)
	}
	if len(p.Questions) > 0 && len(p.Questions[0].Options) == 0 {
		d.words = &compose.Buffer{}
	}
	return d
}

func (d *questionDialog) takes(u *ui, _ keymap.Action, typed time.Time) bool {
	return d.ready(u, typed)
}

func (d *questionDialog) question() msp.UserInputQuestion { return d.params.Questions[d.at] }

func (d *questionDialog) many() bool {
	return d.question().Selection.Mode == msp.UserInputSelectionModeMultiple
}

func (d *questionDialog) key(u *ui, k term.Key, action keymap.Action) {
	if d.sent || d.at >= len(d.params.Questions) {
		return
	}
	if !d.engaged {
		d.engaged, d.until = true, time.Time{}
		u.session.Engaged(d.id)
	}
	if d.words != nil {
		d.wordKey(u, k, action)
		return
	}
	options := d.question().Options
	switch action {
	case keymap.Interrupt:
		u.interrupt()
	case keymap.Cancel:
		d.settle(u, host.Settlement{UserInputID: d.id, Outcome: host.Cancelled})
	case keymap.Up, keymap.Older:
		d.row = max(0, d.row-1)
	case keymap.Down, keymap.Newer, keymap.Complete:
		d.row = min(len(options)-1, d.row+1)
	case keymap.Submit:
		if d.many() {
			d.answerMany(u)
		} else {
			d.pick(u, d.row)
		}
	default:
		switch {
		case k.Text == " ":
			d.pick(u, d.row)
		case k.Text == "t":
			d.words = &compose.Buffer{}
		case len(k.Text) == 1 && k.Text[0] >= '1' && k.Text[0] <= '9':
			d.pick(u, int(k.Text[0]-'1'))
		}
	}
}

// pick chooses an option: of several it is marked, of one it is the answer.
func (d *questionDialog) pick(u *ui, n int) {
	q := d.question()
	if n < 0 || n >= len(q.Options) {
		return
	}
	d.row = n
	label := q.Options[n].Label
	if d.many() {
		d.picked[label] = !d.picked[label]
		return
	}
	d.next(u, host.Answer{QuestionID: q.ID, SelectedLabels: []string{label}})
}

func (d *questionDialog) answerMany(u *ui) {
	q := d.question()
	a := host.Answer{QuestionID: q.ID, Many: true}
	for _, o := range q.Options {
		if d.picked[o.Label] {
			a.SelectedLabels = append(a.SelectedLabels, o.Label)
		}
	}
	least, most := int64(1), int64(len(q.Options))
	if m := q.Selection.MinSelections; m != nil {
		least = *m
	}
	if m := q.Selection.MaxSelections; m != nil {
		most = *m
	}
	if n := int64(len(a.SelectedLabels)); n < least || n > most {
		u.hint = fmt.Sprintf("choose %d to %d of them", least, most)
		return
	}
	d.next(u, a)
}

// wordKey is a key while an answer in words is written.
func (d *questionDialog) wordKey(u *ui, k term.Key, action keymap.Action) {
	switch action {
	case keymap.Interrupt:
		u.interrupt()
	case keymap.Cancel:
		if len(d.question().Options) == 0 {
			d.settle(u, host.Settlement{UserInputID: d.id, Outcome: host.Cancelled})
			return
		}
		d.words = nil
	case keymap.Newline:
		d.words.Insert("\n")
	case keymap.Submit:
		words := d.words.Text()
		switch n := len([]rune(words)); {
		case words == "":
			u.hint = "the answer is empty"
		case n > maxAnswer:
			u.hint = fmt.Sprintf("the answer has %d characters; %d are allowed", n, maxAnswer)
		default:
			d.next(u, host.Answer{QuestionID: d.question().ID, FreeText: words})
		}
	default:
		editKey(d.words, k, action)
	}
}

// next notes an answer and goes to the next question, or answers.
func (d *questionDialog) next(u *ui, a host.Answer) {
	d.answers = append(d.answers[:d.at:d.at], a)
	d.at++
	d.row, d.picked, d.words = 0, map[string]bool{}, nil
	if d.at == len(d.params.Questions) {
		d.settle(u, host.Settlement{UserInputID: d.id, Outcome: host.Answered, Answers: d.answers})
		return
	}
	if len(d.question().Options) == 0 {
		d.words = &compose.Buffer{}
	}
}

func (d *questionDialog) settle(u *ui, s host.Settlement) {
	d.sent = true
	method := msp.MethodUserInputAnswer
	if s.Outcome == host.Cancelled {
		method = msp.MethodUserInputCancel
	}
	u.send(method, func(id string) any {
		session := u.session.Facts().SessionID
		if s.Outcome == host.Cancelled {
			return msp.UserInputCancelParams{SessionID: session, CommandID: id, UserInputID: s.UserInputID}
		}
		p := msp.UserInputAnswerParams{SessionID: session, CommandID: id, UserInputID: s.UserInputID, Answers: []msp.UserInputAnswer{}}
		for _, a := range s.Answers {
			w := msp.UserInputAnswer{QuestionID: a.QuestionID}
			switch {
			case a.FreeText != "":
				w.FreeText = &a.FreeText
			case a.Many:
				w.SelectedLabels = slices.Clone(a.SelectedLabels)
			default:
				w.SelectedLabel = &a.SelectedLabels[0]
			}
			p.Answers = append(p.Answers, w)
		}
		return p
	}, func(ctx context.Context, sess Session, c host.Command) error { return sess.Settle(ctx, c, s) }, func(err error) {
		if err != nil {
			d.sent, d.at = false, min(d.at, len(d.params.Questions)-1)
			u.fault(err)
		}
	})
}

func (d *questionDialog) view(u *ui, w, room int) []text.Line {
	if d.at >= len(d.params.Questions) {
		return []text.Line{text.Of(text.Muted, "  answering")}
	}
	q := d.question()
	armed := d.ready(u, u.typed)
	head := text.Of(text.Accent|text.Bold, "? "+oneLine(q.Header))
	if n := len(d.params.Questions); n > 1 {
		head = head.Add(text.Muted, fmt.Sprintf("  question %d of %d", d.at+1, n))
	}
	if !d.until.IsZero() {
		left := d.until.Sub(u.Now())
		head = head.Add(text.Warn, "  answers itself in "+spent(max(0, left).Round(time.Second)))
		u.wakeAt(u.Now().Add(time.Second))
	}
	out := []text.Line{text.Cut(head, w)}
	for _, l := range text.Lines(text.Plain, q.Question) {
		out = append(out, text.Wrap(append(text.Of(0, "  "), l...), w, text.Of(0, "  "))...)
	}
	if d.words != nil {
		out = append(out, d.words.View(text.Of(text.Accent, "  › "), w, max(1, room-len(out)-1))...)
		return append(out, text.Cut(text.Of(text.Muted, fmt.Sprintf("  %s answers, %s goes back", u.Keys.Key(keymap.Submit), u.Keys.Key(keymap.Cancel))), w))
	}
	key, label := text.Accent|text.Bold, text.Plain
	if !armed {
		key, label = text.Muted, text.Muted
	}
	var rows []text.Line
	first, last := 0, 0
	for n, o := range q.Options {
		mark := fmt.Sprintf("  %d ", n+1)
		if n == d.row {
			mark = fmt.Sprintf("▸ %d ", n+1)
			first = len(rows)
		}
		if d.many() {
			if d.picked[o.Label] {
				mark += "☑ "
			} else {
				mark += "☐ "
			}
		}
		line := text.Of(key, mark).Add(label, o.Label)
		if o.Description != "" {
			line = line.Add(text.Muted, "  "+oneLine(o.Description))
		}
		rows = append(rows, text.Wrap(line, w, text.Of(0, "      "))...)
		if n == d.row {
			if o.Preview != nil {
				rows = append(rows, limited(u.view.block(text.Lines(text.Muted, o.Preview.Content)), 8)...)
			}
			last = len(rows)
		}
	}
	if fit := max(1, room-len(out)-1); len(rows) > fit {
		from := max(0, min(first, last-fit, len(rows)-fit))
		if last-first > fit {
			from = first
		}
		rows = rows[from:min(len(rows), from+fit)]
	}
	out = append(out, rows...)
	help := fmt.Sprintf("  a number chooses, t answers in words, %s declines", u.Keys.Key(keymap.Cancel))
	if d.many() {
		help = fmt.Sprintf("  numbers choose, %s answers, t answers in words, %s declines", u.Keys.Key(keymap.Submit), u.Keys.Key(keymap.Cancel))
	}
	if !armed {
		help = "  keys are taken in a moment"
	}
	return append(out, text.Cut(text.Of(text.Muted, help), w))
}

// writing is the text that a paste goes to: what is written in a question, else
// the draft. nil when nothing is written.
func (u *ui) writing() *compose.Buffer {
	switch {
	case u.confirm != nil:
		return nil
	case u.ask != nil && u.ask.feedback != nil:
		return u.ask.feedback
	case u.question != nil && u.question.words != nil && u.question.live:
		return u.question.words
	case u.pick != nil:
		return &u.pick.filter
	}
	return &u.draft
}
