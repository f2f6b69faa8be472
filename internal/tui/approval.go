package tui

import (
	"context"
	"fmt"
	"time"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/compose"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/tui/text"
)

// A question takes keys only after it could be seen, and after a person who was
// writing has paused: what was typed for the prompt goes to the prompt.
const (
	armAfterShown  = 500 * time.Millisecond
	armAfterTyping = 800 * time.Millisecond
)

// arming is when a question begins to take keys.
type arming struct {
	shown time.Time
	live  bool
}

// ready reports whether keys are for the question; typed is when the last key
// was pressed.
func (a *arming) ready(u *ui, typed time.Time) bool {
	if a.live {
		return true
	}
	at := a.shown.Add(armAfterShown)
	if t := typed.Add(armAfterTyping); t.After(at) {
		at = t
	}
	if now := u.Now(); now.Before(at) {
		u.wakeAt(at)
		return false
	}
	a.live = true
	return true
}

// approvalDialog asks for the oldest open approval.
type approvalDialog struct {
	arming
	id       string
	source   int64 // the stage that is asked about
	feedback *compose.Buffer
	scroll   int
	page     int
	sent     bool
}

// follow opens and closes questions as the session does.
func (u *ui) follow() {
	held := u.view.fold.Approvals()
	switch {
	case len(held) == 0:
		u.ask = nil
	case u.ask == nil || u.ask.id != held[0].ApprovalID || u.ask.source != held[0].CurrentRequirementID.SourceIndex:
		u.ask = &approvalDialog{arming: arming{shown: u.Now()}, id: held[0].ApprovalID, source: held[0].CurrentRequirementID.SourceIndex}
		u.notify()
	}
	asked := u.view.fold.UserInputs()
	switch {
	case len(asked) == 0:
		u.question = nil
	case u.question == nil || u.question.id != asked[0].UserInputID:
		u.question = newQuestion(u, asked[0])
		u.notify()
	}
}

func (d *approvalDialog) armed(u *ui) bool { return d.ready(u, u.typed) }

// takes reports whether a key is for the question.
func (d *approvalDialog) takes(u *ui, action keymap.Action, typed time.Time) bool {
	return d.ready(u, typed)
}

// held is the approval that is asked about.
func (d *approvalDialog) held(u *ui) (msp.ApprovalRequestParams, bool) {
	for _, a := range u.view.fold.Approvals() {
		if a.ApprovalID == d.id {
			return a, true
		}
	}
	return msp.ApprovalRequestParams{}, false
}

func (d *approvalDialog) key(u *ui, k term.Key, action keymap.Action) {
	a, ok := d.held(u)
	if !ok || d.sent {
		return
	}
	if d.feedback != nil {
		switch action {
		case keymap.Cancel:
			d.feedback = nil
		case keymap.Interrupt:
			u.interrupt()
		case keymap.Submit:
			d.decide(u, a, rejection(a), d.feedback.Text())
		case keymap.Newline:
			d.feedback.Insert("\n")
		default:
			editKey(d.feedback, k, action)
		}
		return
	}
	switch action {
	case keymap.Interrupt, keymap.Cancel:
		u.interrupt()
		return
	case keymap.PageUp, keymap.Up:
		d.scroll = max(0, d.scroll-max(1, d.page-1))
		return
	case keymap.PageDown, keymap.Down:
		d.scroll += max(1, d.page-1)
		return
	case keymap.Details:
		u.view.gap("details")
		u.out(u.view.block(d.whole(u, a))...)
		return
	}
	if k.Mod&^term.Shift != 0 || k.Text == "" {
		return
	}
	choices := a.AvailableChoices
	switch c := k.Text[0]; {
	case c >= '1' && c <= '9' && int(c-'1') < len(choices):
		d.decide(u, a, &choices[c-'1'], "")
	case k.Text == "y" && len(choices) > 0:
		d.decide(u, a, &choices[0], "")
	case k.Text == "n":
		d.decide(u, a, rejection(a), "")
	case k.Text == "f":
		if r := rejection(a); r != nil && r.AcceptsFeedback {
			d.feedback = &compose.Buffer{}
		}
	}
}

// rejection is the choice that says no.
func rejection(a msp.ApprovalRequestParams) *msp.ApprovalChoice {
	for n := len(a.AvailableChoices) - 1; n >= 0; n-- {
		c := &a.AvailableChoices[n]
		switch c.Decision {
		case msp.ApprovalDecisionAbort, msp.ApprovalDecisionDenied:
			return c
		}
	}
	return nil
}

func (d *approvalDialog) decide(u *ui, a msp.ApprovalRequestParams, c *msp.ApprovalChoice, feedback string) {
	if c == nil {
		u.hint = "this question has no such choice"
		return
	}
	d.sent = true
	choice := c.ChoiceID
	u.send(msp.MethodApprovalDecide, func(id string) any {
		p := msp.ApprovalDecideParams{
			SessionID: u.session.Facts().SessionID, CommandID: id, ApprovalID: a.ApprovalID, ChoiceID: choice, RequirementID: a.CurrentRequirementID,
		}
		if feedback != "" {
			p.Feedback = &feedback
		}
		return p
	}, func(ctx context.Context, s Session, cmd host.Command) error {
		_, err := s.Decide(ctx, cmd, host.Decision{
			ApprovalID: a.ApprovalID, RequirementID: a.CurrentRequirementID.ApprovalID,
			SourceIndex: int(a.CurrentRequirementID.SourceIndex), ChoiceID: choice, Feedback: feedback,
		})
		return err
	}, func(err error) {
		d.sent = false
		if err != nil {
			u.fault(err)
		}
	})
}

// resolved tells how a question ended that a person saw.
func (v *conversation) resolved(p *msp.ApprovalResolvedParams) {
	by := map[msp.ApprovalResolvedBy]string{msp.ApprovalResolvedByUser: "you", msp.ApprovalResolvedByLlmJudge: "the reviewer"}[p.ResolvedBy]
	if by == "" {
		return // the end of the call says it
	}
	word := "allowed this once"
	switch {
	case p.PolicyResult != msp.ApprovalPolicyResultAllow:
		word = "did not allow this"
	case p.Amendment != nil:
		word = "allowed this, and from now on " + p.Amendment.RulePreview
	case p.Decision == msp.ApprovalDecisionApprovedForSession:
		word = "allowed this for the session"
	}
	v.closeReply()
	v.gap("call")
	v.u.say(text.Muted, "↳ "+by+" "+word)
}

// subject is what is asked about, whole; of an edit the change as well.
func (v *conversation) subject(a msp.ApprovalRequestParams) []text.Line {
	out := subjectLines(a)
	for _, i := range v.open {
		if i.ItemID == a.ItemID && a.Subject.Kind == "fileAccess" && a.Subject.Access == "write" && isEdit(i.Tool) {
			out = append(out, diffLines(changes(editDiff(i)))...)
		}
	}
	return out
}

// subjectLines is what is asked about.
func subjectLines(a msp.ApprovalRequestParams) []text.Line {
	s := a.Subject
	switch s.Kind {
	case "shell":
		return commandLines(s.Command)
	case "fileAccess":
		return text.Lines(text.Plain, s.Access+" "+s.Path)
	case "network":
		line := s.Protocol + " " + s.Host
		if s.Port != nil {
			line = fmt.Sprintf("%s %s port %d", s.Protocol, s.Host, *s.Port)
		}
		out := text.Lines(text.Plain, line)
		if o := s.Origin; o != nil {
			if o.URL != "" {
				out = append(out, text.Of(text.Muted, "for "+o.URL))
			}
			if o.Command != "" {
				out = append(out, text.Of(text.Muted, "asked for by:"))
				out = append(out, commandLines(o.Command)...)
			}
		}
		return out
	}
	return text.Lines(text.Plain, s.ToolName+" "+a.RawArgs)
}

func subjectTitle(a msp.ApprovalRequestParams) string {
	switch a.Subject.Kind {
	case "shell":
		return "Run this command?"
	case "fileAccess":
		if a.Subject.Access == "write" {
			return "Write this file?"
		}
		return "Read this file?"
	case "network":
		return "Connect to this host?"
	}
	return "Use this tool?"
}

// view draws the question. Of a long command as much is seen as there is room
// for; the rest is reached by scrolling or printed whole.
func (d *approvalDialog) view(u *ui, w, room int) []text.Line {
	a, ok := d.held(u)
	if !ok {
		return nil
	}
	armed := d.armed(u)
	var top, foot []text.Line
	// On a small screen the least needed goes first: what is asked about and the
	// keys stay. All of it can be printed.
	for brief := range 3 {
		top, foot = d.head(u, a, w, brief), d.choices(u, a, w, armed, brief)
		if len(top)+len(foot)+3 <= room {
			break
		}
	}
	body := text.WrapAll(u.view.subject(a), max(8, w-4), text.Of(0, "  "))
	if len(a.Subject.Stages) > 1 {
		body = append(body, stageLines(a, w-4)...)
	}
	d.page = max(1, min(len(body), room-len(top)-len(foot)-1))
	d.scroll = max(0, min(d.scroll, len(body)-d.page))
	out := top
	for _, l := range body[d.scroll : d.scroll+d.page] {
		out = append(out, append(text.Of(text.Muted, "  │ "), l...))
	}
	if d.page < len(body) {
		out = append(out, text.Cut(text.Of(text.Warn, fmt.Sprintf("  │ rows %d to %d of %d; %s and %s scroll, %s prints all",
			d.scroll+1, d.scroll+d.page, len(body), u.Keys.Key(keymap.PageUp), u.Keys.Key(keymap.PageDown), u.Keys.Key(keymap.Details))), w))
	}
	return append(out, foot...)
}

// head says what is asked, why, and what waits behind it.
func (d *approvalDialog) head(u *ui, a msp.ApprovalRequestParams, w, brief int) []text.Line {
	head := text.Of(text.Warn|text.Bold, "? "+subjectTitle(a))
	if n := len(a.Subject.Stages); n > 1 {
		head = head.Add(text.Muted, fmt.Sprintf("  stage %d of %d", a.CurrentRequirementID.SourceIndex+1, n))
	}
	if n := len(u.view.fold.Approvals()) - 1; n > 0 {
		head = head.Add(text.Warn, "  "+plural(n, "more question waits", "more questions wait"))
	}
	rows := 3
	if brief > 0 {
		rows = 1
	}
	top := []text.Line{text.Cut(head, w)}
	if why := u.view.reasons[a.ApprovalID]; why != "" {
		top = append(top, limited(text.Wrap(text.Of(text.Warn, "  "+oneLine(why)), w, text.Of(0, "  ")), rows)...)
	}
	if a.JudgeEscalated {
		top = append(top, text.Cut(text.Of(text.Warn, "  The automated reviewer leaves this to you."), w))
	}
	if a.ProtectedWrite {
		top = append(top, text.Cut(text.Of(text.Warn, "  This is a protected file: what is written there can change what runs later."), w))
	}
	if a.SubagentOrigin != nil {
		top = append(top, text.Cut(text.Of(text.Muted, "  asked for by a subagent"), w))
	}
	return top
}

// whole is everything that is known of the question.
func (d *approvalDialog) whole(u *ui, a msp.ApprovalRequestParams) []text.Line {
	out := u.view.subject(a)
	if len(a.Subject.Stages) > 1 {
		out = append(out, stageLines(a, 1<<20)...)
	}
	if why := u.view.reasons[a.ApprovalID]; why != "" {
		out = append(out, text.Of(text.Warn, "held: "+oneLine(why)))
	}
	for _, c := range a.AvailableChoices {
		line := text.Of(text.Plain, c.Label)
		if rule, _ := previewOf(c); rule != "" {
			line = line.Add(text.Muted, "  "+rule)
		}
		out = append(out, line)
		if also := u.view.alsoLine(a, c); also != nil {
			out = append(out, append(text.Of(0, "  "), also...))
		}
	}
	return out
}

func limited(rows []text.Line, n int) []text.Line {
	if len(rows) > n {
		return append(rows[:n-1:n-1], text.Of(text.Muted, "  …"))
	}
	return rows
}

// stageLines are the stages of a command line, and which of them is asked about.
func stageLines(a msp.ApprovalRequestParams, w int) []text.Line {
	out := []text.Line{text.Of(text.Muted, "in stages:")}
	for n, s := range a.Subject.Stages {
		mark, style := "✓", text.Muted
		note := ""
		switch s.Resolution.Kind {
		case "held":
			mark, style, note = "·", text.Warn, "asked next"
			if int64(n) == a.CurrentRequirementID.SourceIndex {
				mark, note = "▸", "held"
			}
		case "approved":
			style, note = text.Good, "you allowed it"
		case "denied", "deny", "refused":
			mark, style, note = "⊘", text.Bad, "denied"
		}
		if d := s.Resolution.Diagnostic; d != "" {
			note += ": " + d
		}
		words := ""
		for i, a := range s.Argv {
			if i > 0 {
				words += " "
			}
			words += a
		}
		if !s.ArgvComplete {
			words += " …"
		}
		line := text.Of(style, fmt.Sprintf("%s %d ", mark, n+1)).Add(text.Plain, oneLine(words))
		if note != "" {
			line = line.Add(style, "  "+oneLine(note))
		}
		out = append(out, text.Wrap(line, w, text.Of(0, "    "))...)
	}
	return out
}

// choices are what can be answered, and with which key. A rule that an answer
// would keep is shown with what it would also pass, the more briefly the less
// room there is.
func (d *approvalDialog) choices(u *ui, a msp.ApprovalRequestParams, w int, armed bool, brief int) []text.Line {
	if d.feedback != nil {
		out := d.feedback.View(text.Of(text.Accent, "  why not: "), w, 4)
		return append(out, text.Cut(text.Of(text.Muted, fmt.Sprintf("  %s sends, %s goes back", u.Keys.Key(keymap.Submit), u.Keys.Key(keymap.Cancel))), w))
	}
	var out []text.Line
	key, label := text.Accent|text.Bold, text.Plain
	if !armed || d.sent {
		key, label = text.Muted, text.Muted
	}
	for n, c := range a.AvailableChoices {
		line := text.Of(key, fmt.Sprintf("  %d ", n+1)).Add(label, c.Label)
		if rule, _ := previewOf(c); rule != "" {
			line = line.Add(text.Muted, "  "+rule)
		}
		if brief > 0 {
			out = append(out, text.Cut(line, w))
		} else {
			out = append(out, limited(text.Wrap(line, w, text.Of(0, "    ")), 3)...)
		}
		if also := u.view.alsoLine(a, c); also != nil && brief < 2 {
			also = append(text.Of(0, "    "), also...)
			if brief > 0 {
				out = append(out, text.Cut(also, w))
			} else {
				out = append(out, limited(text.Wrap(also, w, text.Of(0, "    ")), 3)...)
			}
		}
	}
	if r := rejection(a); r != nil && r.AcceptsFeedback {
		out = append(out, text.Of(key, "  f ").Add(label, "Reject and say why"))
	}
	if !armed {
		out = append(out, text.Cut(text.Of(text.Muted, "  keys are taken in a moment"), w))
	} else if d.sent {
		out = append(out, text.Of(text.Muted, "  deciding"))
	}
	return out
}
