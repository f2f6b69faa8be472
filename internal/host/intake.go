package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
)

// intake is a command that was received.
type intake struct {
	digest   string
	method   string
	result   jsontext.Value
	refusal  *Refusal
	sequence int64 // of its answer
	settled  bool
}

func (i *intake) answered() bool { return i.settled }

// received and settled fold commands; the state's lock is held.
func (s *state) received(b event.CommandReceived) {
	if i := s.commands[b.CommandID]; i != nil {
		i.digest, i.method = b.Digest, b.Method
		return
	}
	s.commands[b.CommandID] = &intake{digest: b.Digest, method: b.Method}
	if b.Method != methodSteer && b.Method != methodTurnStart || b.Params == nil {
		return
	}
	var w steerParams
	if json.Unmarshal(b.Params, &w) == nil && w.Run != "" {
		s.steers[b.CommandID] = steer{run: w.Run, notice: w.notice(b.CommandID)}
	}
}

// steerParams is what is kept of a command whose words wait for a running
// turn, so that they are not lost with the process.
type steerParams struct {
	Run     string               `json:"run_id"`
	Text    string               `json:"text"`
	Display string               `json:"display_text,omitempty"`
	Images  []event.ContentBlock `json:"images,omitempty"`
}

func (w steerParams) notice(command string) event.Notice {
	return event.Notice{
		Body: w.Text, CommandID: command, Disposition: "delivered", Source: event.NoticeSource{Source: event.UserSteer},
		Summary: oneLine(w.Text, 80), Payload: &event.NoticePayload{Prompt: w.Text, DisplayText: w.Display, Images: w.Images},
	}
}

const (
	methodSteer     = "turn/steer"
	methodTurnStart = "turn/start"
)

func (s *state) settled(b event.CommandSettled, sequence int64) {
	i := s.commands[b.CommandID]
	if i == nil {
		i = &intake{}
		s.commands[b.CommandID] = i
	}
	i.settled, i.result, i.sequence = true, b.Result, sequence
	if b.Error == nil {
		return
	}
	i.refusal = &Refusal{Kind: RefusedCommand, Message: b.Error.Message}
	// A refusal of another build is told by its words alone.
	_ = json.Unmarshal(b.Error.Data, i.refusal)
}

// launchFailed turns the acceptance of a prompt into the refusal that a
// repeated command reads (MSP.md 5, deferred_start_failed).
func (s *state) launchFailed(b event.TurnLaunchFailed) {
	if i := s.commands[b.CommandID]; i != nil {
		i.settled = true
		i.refusal = refuse(ReasonDeferredStart, "queued turn launch failed: %s", b.Reason)
	}
}

// abandoned answers a command that a process took in and did not live to
// answer.
func abandoned(id string) event.CommandSettled {
	return settlement(id, refuse(ReasonAbandoned, "the host ended before it had carried the command out"), "abandoned")
}

func settlement(id string, r *Refusal, outcome string) event.CommandSettled {
	data, err := json.Marshal(r)
	if err != nil {
		data = nil // strings and numbers only: it cannot fail
	}
	return event.CommandSettled{CommandID: id, Outcome: outcome, Error: &event.CommandFailure{
		Code: refusalCode(r.Kind), Message: r.Message, Data: jsontext.Value(data),
	}}
}

// refusalCode is the number that the session protocol gives a kind (MSP.md 9).
func refusalCode(kind string) int {
	switch kind {
	case MethodNotAvailable:
		return -32601
	case BadParams:
		return -32602
	case NoSuchSession:
		return -32020
	case SessionInUse:
		return -32021
	case BadForkBoundary:
		return -32023
	case SessionNotLoaded:
		return -32024
	case TooManyQueued:
		return -32031
	case NoSuchApproval:
		return -32050
	case ApprovalResolved:
		return -32051
	case BadChoice:
		return -32052
	case StaleRequirement:
		return -32053
	case NoSuchUserInput:
		return -32055
	case UserInputSettled:
		return -32056
	case BadUserInputAnswer:
		return -32057
	}
	return -32030
}

// conflict refuses a command id that was used for something else.
func conflict(c Command) *Refusal {
	return refuse(ReasonConflict, "command id %s was used for another command", c.ID)
}

// command carries c out once. A repeated command gets the answer of the first
// time. params and carryOut are called with the session's lock. params is what
// must be known of the command after a restart, nil for nothing; what carryOut
// returns is the answer, durable before this function returns. An error that is no
// *Refusal is a fault: the command stays unanswered.
func command[T any](ctx context.Context, l *Live, c Command, params func() (any, error), carryOut func() (T, error)) (T, error) {
	var none T
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tidyUp()
	if known, err := l.known(ctx, c); known != nil || err != nil {
		if err != nil {
			return none, err
		}
		return answerOf[T](known)
	}
	if l.closing {
		return none, ErrClosed
	}
	if err := l.receive(c, params); err != nil {
		return none, err
	}
	pending := make(chan struct{})
	l.inFlight[c.ID] = pending
	defer func() {
		delete(l.inFlight, c.ID)
		close(pending)
		for _, f := range l.after {
			f()
		}
		l.after = nil
	}()
	out, err := carryOut()
	if err := l.settle(c, out, err); err != nil {
		return none, err
	}
	return out, err
}

// receive records a command that is new.
func (l *Live) receive(c Command, params func() (any, error)) error {
	received := event.CommandReceived{CommandID: c.ID, Digest: c.Digest, Method: c.Method}
	if params != nil {
		p, err := params()
		if err != nil {
			return err
		}
		if p != nil {
			if received.Params, err = json.Marshal(p, json.Deterministic(true)); err != nil {
				return fmt.Errorf("keep command %s: %w", c.ID, err)
			}
		}
	}
	return l.fact(received)
}

// settle records the answer to a command and makes everything up to it
// durable; the session's lock is held. It returns a fault, of the command or
// of the record.
func (l *Live) settle(c Command, result any, err error) error {
	var body event.CommandSettled
	if err != nil {
		r := refusalOf(err)
		if r == nil {
			return err
		}
		body = settlement(c.ID, r, "rejected")
	} else {
		raw, err := json.Marshal(result, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("keep the answer to command %s: %w", c.ID, err)
		}
		body = event.CommandSettled{CommandID: c.ID, Outcome: "accepted", Result: raw}
		if n, ok := result.(interface{ Outcome() string }); ok {
			body.Outcome = n.Outcome()
		}
	}
	if err := l.fact(body); err != nil {
		return err
	}
	return l.s.rec.Commit()
}

// known is the intake of a command that came before, answered; nil for a new
// one. The session's lock is held and given up while one is under way.
func (l *Live) known(ctx context.Context, c Command) (*intake, error) {
	for {
		l.s.state.mu.Lock()
		i := l.s.state.commands[c.ID]
		var copied intake
		if i != nil {
			copied = *i
		}
		l.s.state.mu.Unlock()
		switch {
		case i == nil:
			return nil, nil
		case copied.digest != c.Digest || copied.method != c.Method:
			return nil, conflict(c)
		case copied.settled:
			return &copied, nil
		}
		pending := l.inFlight[c.ID]
		if pending == nil {
			return nil, fmt.Errorf("command %s was received and not answered", c.ID)
		}
		l.mu.Unlock()
		select {
		case <-pending:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// answerOf is the answer of the first time.
func answerOf[T any](i *intake) (T, error) {
	var out T
	if i.refusal != nil {
		return out, i.refusal
	}
	if err := json.Unmarshal(i.result, &out); err != nil {
		return out, fmt.Errorf("read the kept answer of a command: %w", err)
	}
	return out, nil
}

// refusalOf is the refusal in err, nil when it is a fault.
func refusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// none is the answer of commands that say nothing beyond "accepted".
type none struct{}
