// Package messages is the Messages wire of Anthropic: POST /v1/messages, answered
// by a stream of content blocks. Thinking blocks are kept with their signature
// and go back to the provider and model that made them; the prompt's stable
// parts are marked for the service's cache.
package messages

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// DefaultMaxOutput is the output token cap, which this wire demands, when
// neither request nor options name one. Every model since Claude 4 takes it.
const DefaultMaxOutput = 32_000

// version of the interface, sent with every request.
const version = "2023-06-01"

// Options of a provider on this wire.
type Options struct {
	// ID is the provider id that logs, settings and reasoning items carry.
	ID string
	// Thinking is how the model is asked to think; ThinkingAuto goes by its
	// name.
	Thinking Thinking
	// Efforts are the levels the model takes; nil means all.
	Efforts []provider.Effort
	// NoImages says that the model takes no pictures: their place is named in
	// the text instead.
	NoImages bool
	// MaxOutput is the model's output limit; 0 means DefaultMaxOutput.
	MaxOutput int
}

// Wire implements provider.Provider.
type Wire struct {
	client *transport.Client
	opts   Options
	path   string
}

// New returns a provider that speaks through client.
func New(client *transport.Client, opts Options) *Wire {
	w := &Wire{client: client, opts: opts, path: "v1/messages"}
	if strings.HasSuffix(client.Path(), "/v1") {
		w.path = "messages" // people write the base URL both ways
	}
	return w
}

// ID is the provider id.
func (w *Wire) ID() string { return w.opts.ID }

// Stream sends one request and hands out its reply.
func (w *Wire) Stream(ctx context.Context, req *provider.Request, emit func(provider.Part) error) error {
	body, beta, err := w.encode(req)
	if err != nil {
		return err
	}
	header := http.Header{"Anthropic-Version": {version}}
	if beta != "" {
		header["Anthropic-Beta"] = []string{beta}
	}
	stream, err := w.client.Post(ctx, w.path, body, header)
	if err != nil {
		return err
	}
	defer stream.Close()
	d := &decoder{
		stream: stream, emit: emit, req: req, id: w.opts.ID,
		ids: provider.NewCallIDs(req.Items, w.client.Now),
	}
	document, whole, err := stream.Document()
	if err != nil {
		return err
	}
	if whole {
		err = d.document(document)
	} else {
		err = d.read(ctx)
	}
	if err != nil {
		return err
	}
	if d.reason == "" {
		return stream.Cut()
	}
	if err := d.finished(); err != nil {
		return err
	}
	stream.Done()
	return nil
}

// read handles events until the reply is complete. What breaks after the stop
// reason is no loss.
func (d *decoder) read(ctx context.Context) error {
	for !d.done {
		ev, err := d.stream.Next()
		if err != nil {
			if errors.Is(err, io.EOF) || d.reason != "" && ctx.Err() == nil {
				return nil
			}
			return err
		}
		if err := d.event(ev.Data); err != nil {
			return err
		}
	}
	return nil
}

var _ provider.Provider = (*Wire)(nil)
