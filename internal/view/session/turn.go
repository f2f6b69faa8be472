package session

import (
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

// chat is the semantic kind of a prompt of the person; a turn that something
// else wakes shows no message of hers.
const chat = "chat"

func (f *Fold) intentAccepted(b event.IntentAccepted) {
	i := &intent{CommandID: b.CommandID, DisplayText: b.DisplayText, Kind: b.SemanticKind.Kind}
	if i.CommandID == "" {
		i.CommandID = b.IntentID
	}
	for _, m := range b.ModelMessages {
		for _, c := range m.Content {
			if c.Kind == "text" && i.Prompt == "" {
				// The whole prompt comes with the run; until then it is shown in a list.
				i.Prompt, _ = clip(c.Text, maxQueuedText+1)
			}
		}
	}
	f.s.Intents[b.IntentID] = i
}

func (f *Fold) turnQueued(b event.TurnQueued) {
	if f.s.Intents[b.TurnID] == nil {
		f.s.Intents[b.TurnID] = &intent{CommandID: b.CommandID, Kind: chat}
	}
	if !slices.Contains(f.s.Queue, b.TurnID) {
		f.s.Queue = append(f.s.Queue, b.TurnID)
	}
}

// leaveQueue forgets a turn that waited and returns its command.
func (f *Fold) leaveQueue(turn string) (i intent) {
	if found := f.s.Intents[turn]; found != nil {
		i = *found
		delete(f.s.Intents, turn)
	} else {
		i = intent{CommandID: turn, Kind: chat}
	}
	f.s.Queue = slices.DeleteFunc(f.s.Queue, func(id string) bool { return id == turn })
	return i
}

func (f *Fold) turnUnqueued(b event.TurnUnqueued) {
	i := f.leaveQueue(b.TurnID)
	f.say(msp.NoteTurnUnqueued, &msp.TurnUnqueuedParams{Durable: f.here(), CommandID: i.CommandID, TurnID: b.TurnID})
}

func (f *Fold) turnLaunchFailed(b event.TurnLaunchFailed) {
	f.leaveQueue(b.TurnID)
	kind := msp.TurnErrorKind(b.Kind)
	if kind == "" {
		kind = msp.TurnErrorKindLaunchError
	}
	failure := msp.TurnError{Kind: kind, Message: b.Reason, Retryable: b.Retryable}
	f.s.LastTurn = &msp.LastTurn{TurnID: b.TurnID, Terminal: msp.TurnTerminalFailed, Error: clone(&failure), Reason: b.Reason}
	f.say(msp.NoteTurnCompleted, &msp.TurnCompletedParams{
		Durable: f.here(), TurnID: b.TurnID, Terminal: msp.TurnTerminalFailed, Reason: b.Reason, Error: &failure,
	})
}

func (f *Fold) runStarted(b event.RunStarted) {
	f.dropReply(msp.ItemStatusCancelled)
	i := f.leaveQueue(f.cur.Run)
	f.s.Run = &run{ID: f.cur.Run, CommandID: i.CommandID}
	f.say(msp.NoteTurnStarted, &msp.TurnStartedParams{Durable: f.here(), CommandID: i.CommandID, TurnID: f.cur.Run})
	if i.Kind != chat && i.Kind != "" {
		return
	}
	if f.s.FirstPrompt == "" {
		f.s.FirstPrompt, _ = clip(strings.TrimSpace(b.Prompt), maxFirstPrompt)
	}
	item := f.userMessage(b.Prompt, i.DisplayText, i.CommandID, b.Images)
	f.s.Run.Prompt = &item
	f.single(item)
}

// userMessage is what the person said, with the identity of its record.
func (f *Fold) userMessage(text, display, command string, images []event.ContentBlock) msp.Item {
	item := msp.Item{
		ItemID: f.cur.ID, Kind: msp.ItemKindUserMessage, TurnID: named(f.cur.Run), Revision: 1, Status: msp.ItemStatusCompleted,
		RecordedAt: stamp(f.cur.At), CommandID: command, DisplayText: display,
	}
	text, item.Truncated = clip(text, maxText)
	item.Text = &text
	for n, image := range images {
		item.Attachments = append(item.Attachments, msp.MessageAttachment{
			Type: "image", MediaType: image.MediaType, AttachmentID: attachmentID(item.ItemID, n+1),
		})
	}
	return item
}

// notice: what the person puts in while a turn runs is a message of hers; what
// the harness says to the model is not shown.
func (f *Fold) notice(b event.Notice) {
	said, steered := b.Steered()
	if !steered {
		return
	}
	item := f.userMessage(said.Prompt, said.DisplayText, b.CommandID, said.Images)
	item.Steered = true
	f.single(item)
}

func (f *Fold) retryScheduled(b event.RetryScheduled) {
	f.dropReply(msp.ItemStatusFailed)
	f.say(msp.NoteTurnRetryScheduled, &msp.TurnRetryScheduledParams{
		Durable: f.here(), TurnID: f.cur.Run, Attempt: int64(b.Attempt), NextAttempt: int64(b.Attempt) + 1,
		MaxAttempts: int64(b.MaxAttempts), RetryDelayMs: b.DelayMS, Reason: retryReason(b),
	})
}

// retryReason is one short line (MSP.md 8, turn/retryScheduled).
func retryReason(b event.RetryScheduled) string {
	if line := oneLine(b.Reason, 160); line != "" {
		return line
	}
	return "the model call failed"
}

func (f *Fold) fatal(b event.FatalError) {
	if f.s.Run != nil && f.s.Run.ID == f.cur.Run {
		f.s.Run.Fatal = &b
	}
}

func (f *Fold) stepBudget(b event.StepBudget) {
	if f.s.Run != nil && f.s.Run.ID == f.cur.Run && b.Kind == "steps" && b.State == "exhausted" {
		f.s.Run.StepLimit = true
	}
}

// processEnded is the reason that recovery gives to a run whose process did not
// live to end it. Clients are told of a failure without an error then (MSP.md
// 13, LastTurn).
const (
	processEnded  = "interrupted: the process ended before the run did"
	crashInferred = "crash_inferred"
)

func (f *Fold) runTerminal(b event.RunTerminal) {
	terminal := msp.TurnTerminal(b.Terminal)
	crashed := terminal == msp.TurnTerminalCancelled && deref(b.Reason) == processEnded
	if crashed {
		terminal, b.Reason = msp.TurnTerminalFailed, named(crashInferred)
	}
	f.endRunItems(terminal)
	r := f.s.Run
	if r == nil || r.ID != f.cur.Run {
		// The beginning of the run is not in this log.
		r = &run{ID: f.cur.Run, CommandID: f.cur.Run}
	}
	p := &msp.TurnCompletedParams{
		TurnID: r.ID, Terminal: terminal, TimeToFirstTokenMs: clone(b.FirstTokenMS), Usage: clone(r.Usage),
	}
	if b.DurationMS > 0 {
		p.DurationMs = clone(&b.DurationMS)
	}
	if b.Reason != nil {
		p.Reason = *b.Reason
	}
	if terminal == msp.TurnTerminalFailed && !crashed {
		p.Error = turnError(r, b)
	}
	f.s.Turns++
	f.s.LastTurn = &msp.LastTurn{TurnID: r.ID, Terminal: terminal, Error: clone(p.Error), Reason: p.Reason}
	f.s.Previous, f.s.Run = r, nil
	p.Durable = f.here()
	f.say(msp.NoteTurnCompleted, p)
}

// turnError classes a failure (MSP.md 6, Turn state machine).
func turnError(r *run, b event.RunTerminal) *msp.TurnError {
	e := &msp.TurnError{Kind: msp.TurnErrorKindModelError, Message: "the turn failed"}
	if b.Reason != nil && *b.Reason != "" {
		e.Message = *b.Reason
	}
	switch {
	case r.StepLimit || strings.Contains(e.Message, "did not reach a terminal state within"):
		e.Kind = msp.TurnErrorKindStepLimit
	case r.Fatal == nil && strings.Contains(e.Message, "hard threshold"):
		e.Kind = msp.TurnErrorKindProjectionError
	case r.Fatal == nil && strings.Contains(e.Message, "approval"):
		e.Kind = msp.TurnErrorKindEnvironmentError
	}
	if b.FailureRetryable != nil {
		e.Retryable = *b.FailureRetryable
	}
	return e
}

// runRetracted takes back the prompt of the turn that ends or has just ended.
func (f *Fold) runRetracted(b event.RunRetracted) {
	r := f.s.Run
	if r == nil || r.ID != f.cur.Run {
		r = f.s.Previous
	}
	if r == nil || r.ID != f.cur.Run {
		r = &run{ID: f.cur.Run, CommandID: f.cur.Run}
	}
	f.say(msp.NoteTurnRetracted, &msp.TurnRetractedParams{Durable: f.here(), CommandID: r.CommandID, TurnID: r.ID})
	if r.Prompt == nil {
		return
	}
	r.Prompt.Revision++
	r.Prompt.Retracted = true
	r.Prompt.RecordedAt = stamp(f.cur.At)
	f.say(msp.NoteItemUpdated, &msp.ItemUpdatedParams{Durable: f.here(), Item: *r.Prompt})
}

// rewound: whole turns are taken out of the conversation.
func (f *Fold) rewound(b event.SessionRewound) {
	for _, turn := range b.Turns {
		f.say(msp.NoteTurnRetracted, &msp.TurnRetractedParams{Durable: f.here(), CommandID: b.CommandID, TurnID: turn})
	}
	f.s.Turns = max(0, f.s.Turns-int64(len(b.Turns)))
}
