package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

// maxQueued bounds the prompts that wait in one session.
const maxQueued = 64

// Submit takes a prompt on. It is durable before Submit returns.
func (l *Live) Submit(ctx context.Context, c Command, t TurnRequest) (TurnAck, error) {
	if t.Text == "" && len(t.Images) == 0 {
		return TurnAck{}, badParams("the prompt is empty")
	}
	switch t.IfBusy {
	case "", Queue, Steer, Replace:
	default:
		return TurnAck{}, badParams("ifBusy: %q is none of queue, steer and replace", oneLine(t.IfBusy, 40))
	}
	if l.full(c) {
		return TurnAck{}, &Refusal{Kind: TooManyQueued, Capacity: maxQueued, Message: fmt.Sprintf("%d prompts wait in this session already", maxQueued)}
	}
	var words *steerParams
	params := func() (any, error) {
		if t.IfBusy != Steer || !l.steerable() {
			return nil, nil
		}
		images, err := l.keepImages(t.Images)
		words = &steerParams{Run: l.turn.id, Text: t.Text, Display: t.DisplayText, Images: images}
		return words, err
	}
	return command(ctx, l, c, params, func() (TurnAck, error) {
		if words != nil && l.turn.inbox.put(words.notice(c.ID)) {
			l.steerEffort(t.Effort)
			return TurnAck{TurnID: words.Run, Disposition: Steered}, nil
		}
		images, err := l.keepImages(t.Images)
		if err != nil {
			return TurnAck{}, err
		}
		in := Input{Text: t.Text, Images: images, Run: c.ID, Command: c.ID, Display: t.DisplayText, Effort: t.Effort}
		if t.IfBusy == Replace && l.turn != nil {
			l.next = c.ID
			l.turn.cancel(context.Canceled)
		}
		return l.admit(in, "chat")
	})
}

// admit records a prompt and starts its turn, or queues it behind the one that
// runs. The session's lock is held.
func (l *Live) admit(in Input, kind string) (TurnAck, error) {
	accepted := l.s.accepted(in)
	accepted.SemanticKind = event.Kinded{Kind: kind}
	if err := l.fact(accepted); err != nil {
		return TurnAck{}, err
	}
	if l.turn == nil {
		l.after = append(l.after, l.begin(in.Run))
		return TurnAck{TurnID: in.Run, Disposition: Started}, nil
	}
	if err := l.fact(event.TurnQueued{CommandID: in.Command, TurnID: in.Run}); err != nil {
		return TurnAck{}, err
	}
	return TurnAck{TurnID: in.Run, Disposition: Queued}, nil
}

// full reports whether no prompt can wait beside those that do.
func (l *Live) full(c Command) bool {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.queue) >= maxQueued && st.commands[c.ID] == nil
}

// steerable reports whether the running turn takes words; the lock is held.
func (l *Live) steerable() bool { return l.turn != nil && l.turn.id != "" && l.turn.inbox.open() }

func (l *Live) steerEffort(effort string) {
	if effort == "" || l.turn == nil {
		return
	}
	s := l.settings
	s.Effort = provider.Effort(effort)
	l.turn.inbox.use(s)
}

func (l *Live) keepImages(images []Image) ([]event.ContentBlock, error) {
	var out []event.ContentBlock
	for _, img := range images {
		b, err := l.s.KeepImage(img.MediaType, img.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// begin makes a turn the running one and returns what starts it. The session's
// lock is held and no other turn runs.
func (l *Live) begin(turn string) (start func()) {
	st := l.s.state
	st.mu.Lock()
	p := st.prompts[turn]
	st.mu.Unlock()
	if p == nil {
		return func() {} // it was taken back
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &running{id: turn, cancel: cancel, inbox: &inbox{}, done: make(chan struct{})}
	l.turn = t
	settings := l.settings
	if p.effort != "" {
		settings.Effort = provider.Effort(p.effort)
	}
	in := Input{
		Text: p.text, Images: p.images, Run: p.turn, Command: p.command, Display: p.display, Effort: p.effort,
		Label: l.label, Model: settings.Model.ID, Provider: settings.Provider.ID(),
	}
	return func() { go l.carry(ctx, t, in, settings) }
}

// carry runs a turn to its end and then whatever waits.
func (l *Live) carry(ctx context.Context, t *running, in Input, settings agent.Settings) {
	defer t.cancel(nil)
	l.loop.Use(settings)
	_, err := l.s.carryOut(ctx, l.loop, in, l.gear.Branch)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended(t, err)
}

// ended settles what a turn left and goes on with what waits. The lock is held.
func (l *Live) ended(t *running, err error) {
	if err != nil {
		_ = l.breaks(err) // asked for below
	}
	l.wishes = append(l.wishes, t.inbox.rest()...)
	for _, r := range l.late {
		l.s.conv.Apply(r)
	}
	l.late, l.turn = nil, nil
	if l.broken == nil {
		l.closeQuestions()
		l.takeBack(t)
	}
	if t.id != "" {
		l.nameBeside()
		l.changed()
	}
	close(t.done)
	l.indexBeside()
	l.proceed()
}

// closeQuestions ends the questions of a turn that ended without an answer to
// them. Those of commands that go on stay open.
func (l *Live) closeQuestions() {
	for _, e := range l.s.state.leftOpen() {
		switch b := e.Body.(type) {
		case event.Approval:
			if l.gear.Guard.Holds(approvalID(b)) {
				continue
			}
		case event.UserInputSettled:
		default:
			continue
		}
		if l.recordRun(e.Run, e.Body) != nil {
			return
		}
	}
}

// takeBack retracts the prompt of an interrupted turn when nothing of an
// answer was committed.
func (l *Live) takeBack(t *running) {
	st := l.s.state
	st.mu.Lock()
	span, ok := st.turn(t.id)
	spoke := st.spoke
	st.mu.Unlock()
	if t.retract == "" || !ok || spoke || span.terminal != "cancelled" {
		return
	}
	if l.recordRun(t.id, event.RunRetracted{CommandID: t.retract, PromptSequence: span.started}) == nil {
		l.keep()
	}
}

// keep makes what was recorded durable.
func (l *Live) keep() {
	if err := l.s.rec.Commit(); err != nil {
		_ = l.breaks(err) // the next record says so
	}
}

// proceed starts what waits: a compaction, then the next prompt. The lock is
// held and nothing runs.
func (l *Live) proceed() {
	if l.closing || l.broken != nil {
		return
	}
	if len(l.wishes) > 0 {
		w := l.wishes[0]
		l.wishes = l.wishes[1:]
		l.compaction(w)()
		return
	}
	st := l.s.state
	st.mu.Lock()
	queue := slices.Clone(st.queue)
	st.mu.Unlock()
	if l.next != "" && slices.Contains(queue, l.next) {
		queue = append([]string{l.next}, queue...)
	}
	l.next = ""
	if len(queue) > 0 {
		l.begin(queue[0])()
		return
	}
	l.watchIdle()
}

// Steer hands a prompt to the running turn, which must be expected.
func (l *Live) Steer(ctx context.Context, c Command, expected string, t TurnRequest) (string, error) {
	if strings.TrimSpace(t.Text) == "" && len(t.Images) == 0 {
		return "", badParams("the prompt is empty")
	}
	var words *steerParams
	params := func() (any, error) {
		if !l.steerable() || l.turn.id != expected {
			return nil, nil
		}
		images, err := l.keepImages(t.Images)
		words = &steerParams{Run: expected, Text: t.Text, Display: t.DisplayText, Images: images}
		return words, err
	}
	ack, err := command(ctx, l, c, params, func() (TurnAck, error) {
		switch {
		case words != nil && l.turn.inbox.put(words.notice(c.ID)):
			l.steerEffort(t.Effort)
			return TurnAck{TurnID: expected, Disposition: Steered}, nil
		case l.turn == nil || l.turn.id == "" || l.turn.id == expected:
			return TurnAck{}, refuse(ReasonMissingRun, "no turn is running")
		}
		return TurnAck{}, refuse(ReasonInvalidTarget, "turn %s is not the running turn", oneLine(expected, 64))
	})
	return ack.TurnID, err
}

// Interrupt stops a turn, "" for the running one, and returns its id. With
// retract the prompt is taken back if nothing was answered yet. A goal that is
// worked towards pauses. How the turn ended is an event. The command is known
// as long as this host lives.
func (l *Live) Interrupt(ctx context.Context, c Command, turnID string, retract bool) (string, error) {
	return l.once(ctx, c, func() (string, error) {
		t, err := l.target(turnID)
		if err != nil {
			return "", err
		}
		if retract && t.retract == "" {
			t.retract = c.ID
		}
		if err := l.pauseGoal(); err != nil {
			return "", err
		}
		t.cancel(context.Canceled)
		return t.id, nil
	})
}

// Cancel stops a turn as Interrupt does, without taking anything back.
func (l *Live) Cancel(ctx context.Context, c Command, turnID string) (string, error) {
	return l.Interrupt(ctx, c, turnID, false)
}

// tidyTime is how long a command waits for a turn whose end was shown to be
// put away.
const tidyTime = 2500 * time.Millisecond

// tidyUp waits a moment for a turn that is over, so that who saw its end finds
// the session idle. The lock is held, and given up meanwhile.
func (l *Live) tidyUp() {
	if !l.ending() {
		return
	}
	t := l.turn
	l.mu.Unlock()
	defer l.mu.Lock()
	timer := time.NewTimer(tidyTime)
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
	}
}

// ending reports whether the end of the running turn was recorded.
func (l *Live) ending() bool {
	over := l.over.Load()
	return l.turn != nil && over != nil && *over == l.turn.id
}

// target is the running turn, which turnID must name unless it is "".
func (l *Live) target(turnID string) (*running, error) {
	switch {
	case l.turn == nil || l.turn.id == "" || l.ending():
		return nil, refuse(ReasonMissingRun, "no turn is running")
	case turnID == "" || turnID == l.turn.id:
		return l.turn, nil
	}
	return nil, refuse(ReasonInvalidTarget, "turn %s is not the running turn", oneLine(turnID, 64))
}

// once carries out a command that is known only as long as this host lives.
func (l *Live) once(_ context.Context, c Command, carryOut func() (string, error)) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tidyUp()
	if i := l.volatile[c.ID]; i != nil {
		if i.digest != c.Digest || i.method != c.Method {
			return "", conflict(c)
		}
		if i.refusal != nil {
			return "", i.refusal
		}
		return string(i.result), nil
	}
	l.s.state.mu.Lock()
	other := l.s.state.commands[c.ID] != nil
	l.s.state.mu.Unlock()
	switch {
	case other:
		return "", conflict(c)
	case l.closing:
		return "", ErrClosed
	}
	out, err := carryOut()
	r := refusalOf(err)
	if err != nil && r == nil {
		return "", err
	}
	if len(l.volatile) >= maxVolatile {
		clear(l.volatile) // the oldest cannot be told apart; a retry comes soon
	}
	l.volatile[c.ID] = &intake{digest: c.Digest, method: c.Method, settled: true, refusal: r, result: []byte(out)}
	return out, err
}

// maxVolatile bounds the commands that only this host knows.
const maxVolatile = 4096

// Unqueue takes back a prompt that waits.
func (l *Live) Unqueue(ctx context.Context, c Command, turnID string) error {
	_, err := command(ctx, l, c, nil, func() (none, error) {
		st := l.s.state
		st.mu.Lock()
		waits := slices.Contains(st.queue, turnID)
		p := st.prompts[turnID]
		st.mu.Unlock()
		if !waits || p == nil || l.turn != nil && l.turn.id == turnID {
			return none{}, refuse(ReasonInvalidTarget, "turn %s does not wait in the queue", oneLine(turnID, 64))
		}
		return none{}, l.fact(event.TurnUnqueued{CommandID: c.ID, TurnID: turnID})
	})
	return err
}
