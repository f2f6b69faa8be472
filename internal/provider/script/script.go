// Package script plays a recorded model from a file: the replies are recorded,
// whatever tools they call runs for real. It is the offline demonstration, the
// model of the tests and a way to reproduce a run.
//
// Which reply is played follows from the request alone (see next), so a session
// that was stopped goes on with the reply it had not got yet, in any process.
// Only failures are counted per process: each is played once.
package script

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/provider"
)

// ID is the provider id in settings and logs.
const ID = "script"

// Options of the script provider.
type Options struct {
	// Name is the file as errors call it.
	Name string
	// Now stamps call ids; time.Now when nil.
	Now func() time.Time
}

// Script implements provider.Provider.
type Script struct {
	file *File
	opts Options

	mu     sync.Mutex
	failed map[int]int // failures of a reply that were played
}

// New returns a provider that plays f.
func New(f *File, opts Options) *Script {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Name == "" {
		opts.Name = "model script"
	}
	return &Script{file: f, opts: opts, failed: map[int]int{}}
}

// Open loads the script at path and returns its provider.
func Open(path string, now func() time.Time) (*Script, error) {
	f, err := Load(path)
	if err != nil {
		return nil, err
	}
	return New(f, Options{Name: path, Now: now}), nil
}

// ID is "script".
func (*Script) ID() string { return ID }

// Model is the model id the script names, "" when it names none.
func (s *Script) Model() string { return s.file.Model }

// Stream plays the reply that the request is due.
func (s *Script) Stream(ctx context.Context, req *provider.Request, emit func(provider.Part) error) error {
	model := s.file.Model
	if model == "" {
		model = req.Model
	}
	if len(req.Tools) == 0 && s.file.Summary != "" {
		p := player{ctx: ctx, emit: emit, item: "script_summary", model: model}
		return p.play(&Reply{Text: s.file.Summary}, nil, s.opts.Now)
	}
	n := next(req.Items)
	if n >= len(s.file.Replies) {
		return &provider.Error{
			Class:   provider.InvalidRequest,
			Message: fmt.Sprintf("%s has %d replies and reply %d was asked for", s.opts.Name, len(s.file.Replies), n+1),
		}
	}
	reply := &s.file.Replies[n]
	p := player{ctx: ctx, emit: emit, item: fmt.Sprintf("%s%d", itemPrefix, n), model: model}
	return p.play(reply, s.failure(n), s.opts.Now)
}

// failure takes the next unplayed failure of reply n, nil when there is none.
func (s *Script) failure(n int) *Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.failed[n]
	if k >= len(s.file.Replies[n].Failures) {
		return nil
	}
	s.failed[n] = k + 1
	return &s.file.Replies[n].Failures[k]
}

// player sends one reply.
type player struct {
	ctx         context.Context
	emit        func(provider.Part) error
	item, model string
}

func (p *player) play(r *Reply, f *Failure, now func() time.Time) error {
	if err := p.wait(time.Duration(r.DelayMS) * time.Millisecond); err != nil {
		return err
	}
	if f != nil && f.AfterDeltas == 0 {
		return f.err()
	}
	// The response id keeps the reply's number readable in a log.
	response := "resp_" + p.item
	if err := p.send(provider.Part{Created: &provider.Created{ResponseID: response}}); err != nil {
		return err
	}
	if err := p.reason(r.Reasoning); err != nil {
		return err
	}
	left := -1
	if f != nil {
		left = f.AfterDeltas
	}
	for _, delta := range split(r.Text, r.Chunk) {
		if left == 0 {
			break
		}
		left--
		if err := p.send(provider.Part{TextDelta: delta}); err != nil {
			return err
		}
	}
	if f != nil {
		return f.err()
	}
	if r.Text != "" {
		if err := p.send(provider.Part{Text: &provider.AssistantMessage{ItemID: p.item, Text: r.Text}}); err != nil {
			return err
		}
	}
	for i := range r.ToolCalls {
		c := &r.ToolCalls[i]
		call := &provider.ToolCall{
			ItemID: fmt.Sprintf("%s_%d", p.item, i), CallID: ident.Call(now()),
			Name: c.Name, Args: c.text(),
		}
		if err := p.send(provider.Part{ToolCall: call}); err != nil {
			return err
		}
	}
	return p.send(provider.Part{Completed: &provider.Completed{
		ResponseID: response, Model: p.model, Finish: r.finish(),
		Usage: provider.Usage{
			Input: r.Usage.Input, Output: r.Usage.Output, Reasoning: r.Usage.Reasoning,
			CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite,
		},
	}})
}

// reason sends the readable summary, a delta a paragraph, and the reasoning
// item that a continued session gives back.
func (p *player) reason(summary string) error {
	if summary == "" {
		return nil
	}
	for i, paragraph := range strings.Split(summary, "\n\n") {
		d := &provider.SummaryDelta{ItemID: p.item, Index: i, Text: paragraph}
		if err := p.send(provider.Part{SummaryDelta: d}); err != nil {
			return err
		}
	}
	return p.send(provider.Part{Reasoning: &provider.Reasoning{
		Provider: ID, Model: p.model, ItemID: p.item, Summary: summary,
	}})
}

func (p *player) send(part provider.Part) error {
	if err := p.ctx.Err(); err != nil {
		return cancelled(err)
	}
	return p.emit(part)
}

func (p *player) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.ctx.Done():
		return cancelled(p.ctx.Err())
	}
}

func cancelled(err error) error {
	return &provider.Error{Class: provider.Cancelled, Message: "cancelled", Err: err}
}

func (r *Reply) finish() provider.Finish {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.ToolCalls) > 0:
		return provider.FinishToolCalls
	}
	return provider.FinishStop
}

func (f *Failure) err() error {
	message := f.Message
	if message == "" {
		message = "scripted " + string(f.Class)
	}
	return &provider.Error{
		Class: f.Class, Status: f.Status, Code: f.Code, Message: message,
		RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond,
		QuotaScope: f.QuotaScope, ResetAt: f.ResetAt,
	}
}
