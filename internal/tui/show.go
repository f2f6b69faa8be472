package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/markdown"
	"github.com/openmuse/muse/internal/tui/text"
)

// show prints an item that has ended.
func (v *conversation) show(i msp.Item) {
	switch i.Kind {
	case msp.ItemKindUserMessage:
		v.showPrompt(i)
	case msp.ItemKindAgentMessage:
		v.showAnswer(i)
	case msp.ItemKindReasoning:
		v.showReasoning(i)
	case msp.ItemKindToolCall, msp.ItemKindUserShell:
		v.showCall(i)
	case msp.ItemKindCompaction:
		v.showCompaction(i)
	default:
		if i.FallbackText != "" {
			v.remark(text.Muted, i.FallbackText)
		}
	}
}

// messageText is what a person is shown of their own message.
func messageText(i msp.Item) string {
	if i.DisplayText != "" {
		return i.DisplayText
	}
	if i.Text != nil {
		return *i.Text
	}
	return i.Message
}

// promptRows is how many rows of a long prompt are shown again.
const promptRows = 12

func (v *conversation) showPrompt(i msp.Item) {
	v.closeReply()
	v.gap("prompt")
	mark := "› "
	if i.Steered {
		mark = "» "
	}
	var rows []text.Line
	for n, l := range text.Lines(text.Person, messageText(i)) {
		lead := text.Of(0, "  ")
		if n == 0 {
			lead = text.Of(text.Accent, mark)
		}
		rows = append(rows, text.Wrap(append(lead, l...), v.width(), text.Of(0, "  "))...)
	}
	if n := len(rows); n > promptRows {
		rows = append(rows[:promptRows-1:promptRows-1], text.Of(text.Muted, "  … "+plural(n-promptRows+1, "more row", "more rows")))
	}
	v.u.out(rows...)
	if n := len(i.Attachments); n > 0 {
		v.u.say(text.Muted, plural(n, "picture", "pictures")+" attached")
	}
}

// showAnswer prints an answer, or what is missing of one that was printed as it
// came.
func (v *conversation) showAnswer(i msp.Item) {
	whole := ""
	if i.Text != nil {
		whole = *i.Text
	}
	switch {
	case v.replyID != i.ItemID || v.replyText == 0:
		v.beginReply(i.ItemID)
		v.reply.Add(whole)
	case v.replyText < len(whole):
		// Pieces that were lost on their way: the whole is in the log.
		v.reply.Add(whole[v.replyText:])
	}
	v.closeReply()
	if i.Status != msp.ItemStatusCompleted {
		why := i.FailureReason
		if why == "" {
			why = "the reply broke off"
		}
		v.u.say(text.Warn, "… "+why)
	}
}

func (v *conversation) showReasoning(i msp.Item) {
	words := strings.Join(i.Summary, "\n\n")
	if words == "" && i.Text != nil {
		words = *i.Text
	}
	if strings.TrimSpace(words) == "" {
		return
	}
	v.closeReply()
	v.gap("reasoning")
	rows := markdown.Render(words, v.width()-2)
	if n := len(rows); n > 6 && !v.u.Verbose {
		rows = append(rows[:5:5], text.Of(0, "… "+plural(n-5, "more row", "more rows")))
	}
	for _, l := range rows {
		muted := text.Line{{Text: "  "}}
		for _, s := range l {
			muted = append(muted, text.Span{Text: s.Text, Style: text.Muted | text.Italic})
		}
		v.u.out(muted)
	}
}

func (v *conversation) showCompaction(i msp.Item) {
	switch {
	case i.Outcome == msp.CompactionOutcomeCompacted && i.TokensBefore != nil && i.TokensAfter != nil:
		v.remark(text.Muted, fmt.Sprintf("◇ The conversation was shortened from %s to %s tokens.", count(*i.TokensBefore), count(*i.TokensAfter)))
	case i.Outcome == msp.CompactionOutcomeCompacted:
		v.remark(text.Muted, "◇ The conversation was shortened.")
	default:
		why := i.Reason
		if why == "" {
			why = string(i.Outcome)
		}
		v.remark(text.Warn, "◇ The conversation was not shortened: "+why)
	}
}

// showCall prints a call as one line, with as much of its output as it takes to
// see what happened.
func (v *conversation) showCall(i msp.Item) {
	v.closeReply()
	v.gap("call")
	v.u.out(v.callLine(i)...)
	switch {
	case v.u.Verbose:
		v.u.out(v.callBody(i, 1000)...)
	case i.Kind == msp.ItemKindUserShell:
		v.u.out(v.outputRows(i, 40)...)
	case isEdit(i.Tool) && i.Status == msp.ItemStatusCompleted:
		v.u.out(v.editRows(i, 12)...)
	case i.Status != msp.ItemStatusCompleted || v.codes[i.ItemID] != 0:
		v.u.out(v.outputRows(i, 6)...)
	}
}

// callLine is a call in one line: what was done and how it ended.
func (v *conversation) callLine(i msp.Item) []text.Line {
	mark, style := "✓ ", text.Good
	var tail text.Line
	note := func(st text.Style, s string) { tail = tail.Add(st, " · "+s) }
	code, known := v.codes[i.ItemID]
	if i.ExitCode != nil {
		code, known = int(*i.ExitCode), true
	}
	switch i.Status {
	case msp.ItemStatusInProgress:
		mark, style = "• ", text.Accent
	case msp.ItemStatusFailed:
		mark, style = "✗ ", text.Bad
	case msp.ItemStatusRejected:
		mark, style = "⊘ ", text.Warn
		note(text.Warn, "not allowed")
	case msp.ItemStatusCancelled:
		mark, style = "■ ", text.Warn
		note(text.Warn, "stopped")
	case msp.ItemStatusTimedOut:
		mark, style = "✗ ", text.Bad
		note(text.Bad, "timed out")
	}
	switch {
	case known && code == wasStopped && i.Status == msp.ItemStatusCancelled:
	case known && code == wasStopped:
		mark, style = "■ ", text.Warn
		note(text.Warn, "stopped")
	case known && code != 0:
		mark, style = "✗ ", text.Bad
		note(text.Bad, fmt.Sprintf("exit %d", code))
	}
	if i.ExitSignal != nil {
		note(text.Bad, fmt.Sprintf("signal %d", *i.ExitSignal))
	}
	if i.Background {
		note(text.Muted, "in the background")
	}
	if a, r := editSize(i); a+r > 0 {
		tail = tail.Add(text.Added, fmt.Sprintf(" +%d", a)).Add(text.Removed, fmt.Sprintf(" -%d", r))
	}
	if i.DurationMs != nil && *i.DurationMs >= 1000 {
		note(text.Muted, spent(time.Duration(*i.DurationMs)*time.Millisecond))
	}
	head := text.Of(style, mark).Add(text.Bold, callVerb(i)+" ")
	room := v.width() - head.Width() - tail.Width()
	return []text.Line{append(append(head, text.Cut(text.Of(text.Plain, oneLine(callSubject(i))), max(8, room))...), tail...)}
}

// outputRows are the last rows of a call's output, or why it has none.
func (v *conversation) outputRows(i msp.Item, limit int) []text.Line {
	out := i.FailureReason
	if i.VisibleOutput != nil && strings.TrimSpace(*i.VisibleOutput) != "" {
		out = *i.VisibleOutput
	}
	out = strings.TrimRight(strings.TrimPrefix(out, "tool failed: "), "\n")
	if strings.TrimSpace(out) == "" {
		return nil
	}
	lines := text.Lines(text.Muted, out)
	rows := v.block(lines)
	if n := len(rows); n > limit {
		cut := "  │ … " + plural(n-limit, "row", "rows") + " before this"
		if k := v.u.Keys.Key("app.details"); k != "" {
			cut += "; " + k + " shows all"
		}
		rows = append([]text.Line{text.Of(text.Muted, cut)}, rows[n-limit:]...)
	}
	// Of a call that was cut off the row above says so: there is no more to see.
	if i.Truncated && i.Status != msp.ItemStatusCancelled && i.Status != msp.ItemStatusTimedOut {
		rows = append(rows, text.Of(text.Muted, "  │ … the output was longer than what is shown here"))
	}
	return rows
}

// block sets lines off from the rest.
func (v *conversation) block(lines []text.Line) []text.Line {
	var rows []text.Line
	bar := text.Of(text.Muted, "  │ ")
	for _, l := range lines {
		for _, r := range text.Wrap(l, max(8, v.width()-4), nil) {
			rows = append(rows, append(bar[:1:1], r...))
		}
	}
	return rows
}

// callBody is a call in full: what it was given and what came of it.
func (v *conversation) callBody(i msp.Item, limit int) []text.Line {
	var rows []text.Line
	switch {
	case isEdit(i.Tool):
		rows = v.editRows(i, limit)
	case i.Kind == msp.ItemKindUserShell, i.Tool == "bash", i.Tool == "shell":
		rows = v.block(commandLines(callSubject(i)))
	default:
		rows = v.block(text.Lines(text.Muted, i.Args))
	}
	if i.Tool == "bash" || i.Tool == "shell" {
		if code, ok := v.codes[i.ItemID]; ok && code != wasStopped {
			rows = append(rows, text.Of(text.Muted, fmt.Sprintf("  │ exit code %d", code)))
		}
	}
	return append(rows, v.outputRows(i, limit)...)
}

// commandLines is a command with a prompt before it.
func commandLines(command string) []text.Line {
	var out []text.Line
	for n, l := range text.Lines(text.Plain, command) {
		lead := "  "
		if n == 0 {
			lead = "$ "
		}
		out = append(out, append(text.Of(text.Accent, lead), l...))
	}
	return out
}

// details shows the last call in full, then the one before it, and so on.
func (u *ui) details() {
	v := u.view
	if len(v.ended) == 0 {
		u.hint = "no tool call to show yet"
		return
	}
	if u.opened >= len(v.ended) {
		u.opened = 0
	}
	i := v.ended[len(v.ended)-1-u.opened]
	u.opened++
	v.gap("details")
	u.out(v.callLine(i)...)
	u.out(v.callBody(i, 2000)...)
}
