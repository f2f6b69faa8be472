package tui

import (
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/tui/markdown"
	"github.com/openmuse/muse/internal/tui/text"
	"github.com/openmuse/muse/internal/view/session"
)

// lastShown is how many items of a session that is gone on with are shown.
const lastShown = 30

// conversation is a session as it is shown: the fold of its events and what the
// fold does not say.
type conversation struct {
	u    *ui
	view *session.View
	fold *session.Fold // of the view

	*aside
	open   []msp.Item // items in progress, oldest first
	output map[string]string
	lines  []string   // command lines of the session, oldest first
	ended  []msp.Item // tool calls that ended, newest last
	turns  int
	// steering are prompts that were handed to the running turn and that it has
	// not taken up yet.
	steering []string
	prompts  []prompted // for going back

	reply     markdown.Stream
	replyID   string
	replyText int // bytes of it that came
	replied   bool

	turn    string
	started time.Time // of the turn
	retry   *retrying
	last    string // kind of what was printed last
	answer  string // the newest answer of the agent, whole
}

// aside is what is kept of events beside what the fold says.
type aside struct {
	profile *event.PermissionProfile
	codes   map[string]int    // exit codes by item
	reasons map[string]string // why an approval is asked for, by approval
	fatal   string            // class of the error that ends the turn, "" for none
	use     turnUse           // of the turn that runs, or ran last
	waits   map[string]string // tasks that wait for a decision, by approval
	began   map[string]time.Time
	took    map[string]time.Duration // of calls whose output is whole, by item
}

// wasStopped stands for the exit code of a command that was stopped and has
// none.
const wasStopped = -1

func newAside() *aside {
	return &aside{codes: map[string]int{}, reasons: map[string]string{}, waits: map[string]string{}, began: map[string]time.Time{}, took: map[string]time.Duration{}}
}

// prompted is a turn that can be gone back to.
type prompted struct{ turn, text string }

// retrying is a model call that will be made again.
type retrying struct {
	at       time.Time
	attempt  int64
	attempts int64
	reason   string
}

func newConversation(u *ui, id string) *conversation {
	return conversationOf(u, session.NewView(id, session.DefaultLimits()), newAside())
}

// conversationOf goes on with a view.
func conversationOf(u *ui, view *session.View, beside *aside) *conversation {
	return &conversation{u: u, view: view, fold: view.Fold(), aside: beside, output: map[string]string{}}
}

// take takes in an event.
func (u *ui) take(f fed) {
	if f.view != u.view {
		return // of a session that was left
	}
	u.dirty = true
	if f.err != nil {
		u.ended(f.err)
		return
	}
	v := u.view
	v.beside(f.rec)
	notes, err := v.view.Apply(f.rec)
	if err != nil {
		u.fault(err)
		return
	}
	for _, n := range notes {
		v.note(n)
	}
	u.follow()
}

// beside takes in what the fold leaves out.
func (v *aside) beside(r event.Recorded) {
	switch b := r.Body.(type) {
	case event.PermissionProfile:
		v.profile = &b
	case event.RunStarted:
		v.fatal, v.use = "", turnUse{}
	case event.ModelCompleted:
		v.use.add(b)
	case event.FatalError:
		v.fatal = b.Class
	case event.EffectStarted:
		// The time that a person took to decide is not the call's.
		v.began[b.TaskID] = time.UnixMicro(r.At)
	case event.TaskOutput:
		if from, ok := v.began[r.Task]; ok && b.Final {
			v.took[r.Task] = time.UnixMicro(r.At).Sub(from)
		}
		var report struct {
			ExitCode *int   `json:"exit_code"`
			Reason   string `json:"terminal_reason"`
		}
		if b.Final && json.Unmarshal([]byte(b.Chunk), &report) == nil {
			switch {
			case report.ExitCode != nil:
				v.codes[r.Task] = *report.ExitCode
			case report.Reason == "cancelled":
				v.codes[r.Task] = wasStopped
			}
		}
	case event.Approval:
		var held struct {
			ID     string `json:"pending_action_id"`
			Task   string `json:"task_id"`
			Reason string `json:"openmuse_reason"`
		}
		if b.Kind == "decision_applied" && json.Unmarshal(b.Fields, &held) == nil {
			// A call that asks while it runs goes on from here.
			if task := v.waits[held.ID]; v.began[task] != (time.Time{}) {
				v.began[task] = time.UnixMicro(r.At)
			}
			delete(v.waits, held.ID)
		}
		// Each stage of a line has its own reason.
		if (b.Kind == "requested" || b.Kind == "requirement_decided") && json.Unmarshal(b.Fields, &held) == nil {
			v.reasons[held.ID] = held.Reason
			if held.Task != "" {
				v.waits[held.ID] = held.Task
			}
		}
	}
}

// note shows one notification of the view.
func (v *conversation) note(n session.Note) {
	at := time.UnixMicro(n.At)
	switch p := n.Params.(type) {
	case *msp.TurnStartedParams:
		v.turn, v.started, v.retry = p.TurnID, at, nil
		v.turns++
	case *msp.TurnCompletedParams:
		v.turnEnded(p)
	case *msp.TurnRetractedParams:
		v.retracted(p.TurnID)
	case *msp.TurnRetryScheduledParams:
		v.retry = &retrying{at.Add(time.Duration(p.RetryDelayMs) * time.Millisecond), p.NextAttempt, p.MaxAttempts, p.Reason}
	case *msp.ItemStartedParams:
		v.itemStarted(p.Item, at)
	case *msp.ItemUpdatedParams:
		v.itemUpdated(p.Item)
	case *msp.ItemDeltaParams:
		v.delta(p)
	case *msp.ItemCompletedParams:
		v.itemCompleted(p.Item, at)
	case *msp.ApprovalResolvedParams:
		delete(v.reasons, p.ApprovalID)
		v.granted(p)
		v.resolved(p)
	case *msp.SessionModelRouteUnservedParams:
		v.remark(text.Warn, "the model "+p.ModelID+" is not served; going on with what is installed")
	}
}

func (v *conversation) itemStarted(i msp.Item, at time.Time) {
	v.retry = nil
	v.began[i.ItemID] = at
	if i.Kind == msp.ItemKindAgentMessage {
		v.beginReply(i.ItemID)
		return
	}
	v.open = append(v.open, i)
}

func (v *conversation) itemUpdated(i msp.Item) {
	for n := range v.open {
		if v.open[n].ItemID == i.ItemID {
			v.open[n] = i
		}
	}
}

func (v *conversation) beginReply(id string) {
	v.reply, v.replyID, v.replyText, v.replied = markdown.Stream{}, id, 0, false
}

// delta is text or output on its way.
func (v *conversation) delta(p *msp.ItemDeltaParams) {
	if p.Field == "output" {
		out := v.output[p.ItemID] + p.Delta
		if len(out) > 16<<10 {
			out = out[len(out)-8<<10:]
		}
		v.output[p.ItemID] = out
		return
	}
	if p.ItemID != v.replyID {
		v.beginReply(p.ItemID)
	}
	v.retry = nil
	v.reply.Add(p.Delta)
	v.replyText += len(p.Delta)
	v.printReply(v.reply.Take(v.width()))
}

func (v *conversation) printReply(lines []text.Line) {
	if len(lines) == 0 {
		return
	}
	if !v.replied {
		v.gap("message")
		v.replied = true
	}
	v.u.out(lines...)
	v.last = "message"
}

// gap separates what is printed from what was printed before.
func (v *conversation) gap(kind string) {
	if v.last != "" && (kind != v.last || kind != "call") {
		v.u.out(nil)
	}
	v.last = kind
}

func (v *conversation) width() int {
	w, _ := v.u.screen.Size()
	return max(8, min(w, 120))
}

func (v *conversation) itemCompleted(i msp.Item, at time.Time) {
	for n := range v.open {
		if v.open[n].ItemID == i.ItemID {
			v.open = append(v.open[:n:n], v.open[n+1:]...)
			break
		}
	}
	v.timed(&i, at)
	delete(v.output, i.ItemID)
	if i.Kind == msp.ItemKindUserMessage && i.Steered && len(v.steering) > 0 {
		v.steering = v.steering[1:]
	}
	v.remember(i)
	v.show(i)
}

// timed notes how long a call took, of which at is the end when nothing else
// tells it, and forgets its times.
func (v *conversation) timed(i *msp.Item, at time.Time) {
	took, ok := v.took[i.ItemID]
	if from, began := v.began[i.ItemID]; !ok && began && !at.IsZero() {
		took, ok = at.Sub(from), true
	}
	if ms := took.Milliseconds(); ok && i.DurationMs == nil && i.Kind == msp.ItemKindToolCall {
		i.DurationMs = &ms
	}
	delete(v.began, i.ItemID)
	delete(v.took, i.ItemID)
}

// remember keeps of an item what is asked for later.
func (v *conversation) remember(i msp.Item) {
	switch i.Kind {
	case msp.ItemKindToolCall, msp.ItemKindUserShell:
		if i.Kind == msp.ItemKindUserShell || i.Tool == "bash" || i.Tool == "shell" {
			v.earlier(callSubject(i))
		}
		v.ended = append(v.ended, i)
		if len(v.ended) > 50 {
			delete(v.codes, v.ended[0].ItemID)
			v.ended = v.ended[1:]
		}
	case msp.ItemKindUserMessage:
		if i.TurnID != nil && !i.Steered && !i.Retracted {
			v.prompts = append(v.prompts, prompted{*i.TurnID, messageText(i)})
		}
	case msp.ItemKindAgentMessage:
		if i.Text != nil {
			v.answer = *i.Text
		}
	}
}

// showPast shows the end of what happened before the session was opened, and
// returns it. already is what was shown of it before the whole was read.
func (v *conversation) showPast(items, already []msp.Item) []msp.Item {
	v.turns = int(v.fold.State().TurnCount)
	var shown []msp.Item
	for _, i := range items {
		if !i.Retracted && i.Status != msp.ItemStatusInProgress {
			v.timed(&i, time.Time{})
			v.remember(i)
			shown = append(shown, i)
		}
	}
	more := len(shown) > lastShown
	shown = shown[max(0, len(shown)-lastShown):]
	if t := v.fold.ActiveTurn(); t != nil {
		v.turn, v.started = t.TurnID, v.u.Now()
	}
	switch {
	case already != nil && reflect.DeepEqual(already, shown):
		return shown
	case already != nil:
		v.remark(text.Warn, "the session went on differently; this is how it ends:")
	case more:
		v.remark(text.Muted, "what came before this is in the log")
	}
	for _, i := range shown {
		v.show(i)
	}
	return shown
}

// retracted takes a turn out of what can be gone back to.
func (v *conversation) retracted(turn string) {
	for n, p := range v.prompts {
		if p.turn == turn {
			v.prompts = append(v.prompts[:n:n], v.prompts[n+1:]...)
			break
		}
	}
	v.turns = max(0, v.turns-1)
}

// remark prints a line of the UI about the session.
func (v *conversation) remark(style text.Style, s string) {
	v.gap("remark")
	v.u.say(style, s)
}

func (v *conversation) turnEnded(p *msp.TurnCompletedParams) {
	v.turn, v.retry, v.steering = "", nil, nil
	v.closeReply()
	if v.u.hint == stopping {
		v.u.hint = ""
	}
	switch p.Terminal {
	case msp.TurnTerminalFailed:
		why := p.Reason
		if p.Error != nil {
			why = p.Error.Message
		}
		v.gap("remark")
		v.u.say(text.Bad, "✗ The turn failed: "+why)
		if help := v.whatToDo(p); help != "" {
			v.u.say(text.Muted, help)
		}
	case msp.TurnTerminalCancelled:
		v.remark(text.Warn, "■ Stopped.")
	}
	v.u.notify()
}

// whatToDo is advice for a failed turn.
func (v *conversation) whatToDo(p *msp.TurnCompletedParams) string {
	if p.Error == nil {
		return ""
	}
	if strings.Contains(p.Error.Message, "budget used up") {
		return "Send another prompt to go on from here: every turn has this allowance anew."
	}
	switch provider.Class(v.fatal) {
	case provider.Authentication:
		p.Error.Kind = msp.TurnErrorKindAuthRequired
	case provider.Quota, provider.Billing:
		return "The service gives no more for now: its account page says why. /model chooses another model."
	case provider.ModelNotFound:
		return "/model chooses another model."
	case provider.ContextLength:
		return "The conversation does not fit the model's window any more: /compact shortens it."
	case provider.NotReachable, provider.Network:
		return "Is the service up, and is its address right? Send the prompt once more when it is, or choose another model with /model."
	}
	switch p.Error.Kind {
	case msp.TurnErrorKindAuthRequired:
		if !canSignIn(v.u) {
			return "Keep a key with `muse auth set`, or choose another model with /model."
		}
		return "/login sets up a key or a server of your own, /model chooses another model; `muse auth` keeps keys, too."
	case msp.TurnErrorKindStepLimit:
		return "Send another prompt to go on from here."
	case msp.TurnErrorKindProjectionError:
		return "The conversation does not fit the model's window any more: /compact shortens it."
	}
	if p.Error.Retryable {
		return "It may work when you try again: send the prompt once more."
	}
	return ""
}

// closeReply prints what is left of the answer on its way.
func (v *conversation) closeReply() {
	if v.replyID != "" {
		v.printReply(v.reply.Close(v.width()))
		v.replyID = ""
	}
}
