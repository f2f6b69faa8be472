// Package echo is the offline provider that answers "echo: <prompt>" (STREAM.md
// (d)). It spends nothing, reads nothing and needs no key: drivers use it to
// test their plumbing.
//
// It takes no reasoning effort, no pictures and no tools: what a request holds
// of them is refused or, for tools, never called.
package echo

import (
	"context"
	"time"

	"github.com/openmuse/muse/internal/provider"
)

// ID is the provider id in settings and logs.
const ID = "echo"

// Options of the echo provider.
type Options struct {
	// Delay is waited out before the answer (--echo-delay-ms), so that a
	// driver can interrupt a run. 0 answers at once.
	Delay time.Duration
}

// Echo implements provider.Provider.
type Echo struct{ opts Options }

// New returns an echo provider.
func New(opts Options) *Echo { return &Echo{opts: opts} }

// ID is "echo".
func (*Echo) ID() string { return ID }

// Stream answers the newest user message with one delta that is the whole
// text, as the recorded runs do.
func (e *Echo) Stream(ctx context.Context, req *provider.Request, emit func(provider.Part) error) error {
	if req.Effort != provider.EffortDefault {
		return refuse("provider echo takes no reasoning effort")
	}
	prompt, pictures := newest(req.Items)
	if pictures {
		return refuse("provider echo takes no images")
	}
	if e.opts.Delay > 0 {
		timer := time.NewTimer(e.opts.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return &provider.Error{Class: provider.Cancelled, Message: "cancelled", Err: err}
	}
	text := "echo: " + prompt
	for _, part := range []provider.Part{
		{Created: &provider.Created{}},
		{TextDelta: text},
		{Text: &provider.AssistantMessage{Text: text}},
		{Completed: &provider.Completed{Model: req.Model, Finish: provider.FinishStop}},
	} {
		if err := emit(part); err != nil {
			return err
		}
	}
	return nil
}

// newest is the text of the last user message and whether it has pictures.
func newest(items []provider.Item) (text string, pictures bool) {
	for i := len(items) - 1; i >= 0; i-- {
		if u := items[i].User; u != nil {
			return u.Text, len(u.Images) > 0
		}
	}
	return "", false
}

func refuse(why string) error {
	return &provider.Error{Class: provider.InvalidRequest, Message: why}
}
