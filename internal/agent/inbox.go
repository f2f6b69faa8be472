package agent

import (
	"context"
	"errors"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

// Inbox is how the outside reaches a turn that runs. The loop reads it before
// each model call. Its methods are called on the turn's goroutine.
type Inbox interface {
	// Words hands over what the person put in since the last call, oldest
	// first. With last the turn is about to end: an empty answer closes the
	// inbox, and nothing may be put into it afterwards.
	Words(last bool) []event.Notice
	// Settings hands over what the next model calls are to use when that has
	// changed since the last call.
	Settings() (Settings, bool)
	// Compaction hands over a wish for a shorter conversation: the id under
	// which it is recorded and the command it came with.
	Compaction() (CompactionWish, bool)
}

// Settings are what may change within a session.
type Settings struct {
	Provider provider.Provider
	Model    Model
	Effort   provider.Effort
}

// CompactionWish is a person's wish for a shorter conversation.
type CompactionWish struct {
	ID        string // compaction id
	CommandID string
}

// Stopped is the cause of a context whose end stops a turn for a reason that
// is worth recording.
type Stopped struct{ Reason string }

func (s *Stopped) Error() string { return s.Reason }

// Use changes what the loop's model calls use. It is for the time between
// turns; within one the inbox tells.
func (l *Loop) Use(s Settings) {
	l.Provider, l.Model, l.Effort = s.Provider, s.Model, s.Effort
}

// readInbox takes in what came from outside since the last model call.
func (t *turn) readInbox(ctx context.Context) error {
	if t.Inbox == nil {
		return nil
	}
	if s, changed := t.Inbox.Settings(); changed {
		t.dropCompaction()
		t.Use(s)
	}
	if _, err := t.takeWords(false); err != nil {
		return err
	}
	if wish, ok := t.Inbox.Compaction(); ok {
		return t.compactAsked(ctx, wish)
	}
	return nil
}

// takeWords records what the person put in, which makes it part of the
// conversation; false when there was nothing.
func (t *turn) takeWords(last bool) (bool, error) {
	if t.Inbox == nil {
		return false, nil
	}
	words := t.Inbox.Words(last)
	for _, n := range words {
		if _, err := t.record(event.Event{Run: t.run, Body: n}); err != nil {
			return false, err
		}
	}
	return len(words) > 0, nil
}

// Compact shortens the conversation between two turns. run is the newest run,
// to which the compaction belongs. The error is only for failures of the
// recorder; how it went is recorded.
func (l *Loop) Compact(ctx context.Context, run string, wish CompactionWish) error {
	t := &turn{Loop: l, run: run, began: l.Now(), standalone: true}
	err := t.compactAsked(ctx, wish)
	var rec *recordError
	if errors.As(err, &rec) {
		return rec.err
	}
	return l.Recorder.Commit()
}

// Compactable reports whether there is anything to shorten.
func (l *Loop) Compactable() bool {
	_, _, _, ok := l.conv.end()
	return ok
}

// compactAsked carries out a person's wish. Exactly one settlement follows the
// start.
func (t *turn) compactAsked(ctx context.Context, wish CompactionWish) error {
	if _, err := t.record(event.Event{Run: t.run, Body: event.CompactionStarted{
		CommandID: wish.CommandID, CompactionID: wish.ID, Trigger: "manual",
	}}); err != nil {
		return err
	}
	before := t.conv.compacted
	err := t.compactNow(ctx, triggerManual)
	var rec *recordError
	if errors.As(err, &rec) {
		return err
	}
	settled := event.CompactionSettled{CompactionID: wish.ID, Outcome: "compacted"}
	switch {
	case t.conv.compacted > before:
		settled.InstallID = installID(t.conv.compacted)
	case ctx.Err() != nil:
		settled.Outcome, settled.Reason = "cancelled", "interrupted"
	case errors.Is(err, errNothingToSummarise):
		settled.Outcome, settled.Reason = "noop", "no_compactable_history"
	case err != nil:
		settled.Outcome, settled.Reason = "failed", err.Error()
	}
	_, err = t.record(event.Event{Run: t.run, Body: settled})
	return err
}

const triggerManual = "manual"
