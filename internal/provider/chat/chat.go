// Package chat is the Chat Completions wire: POST {base}/chat/completions. It is
// what most servers imitate (Ollama, vLLM, llama.cpp, OpenRouter), each in its
// own way, so it sends only what all of them know and reads whatever they send:
// tool calls without index or id or in one piece, reasoning under several
// names, streams without usage or end mark, and replies that do not stream at
// all.
//
// Reasoning goes back to the provider and model that made it, and only within
// the turn it belongs to: services that want it want it there, and some refuse
// older reasoning.
package chat

import (
	"context"
	"errors"
	"io"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// Options of a provider on this wire.
type Options struct {
	// ID is the provider id that logs, settings and reasoning items carry.
	ID string
	// Efforts are the levels the model takes; nil means what most servers
	// know, up to high.
	Efforts []provider.Effort
	// NoReasoning says that the model takes no effort.
	NoReasoning bool
	// NoImages says that the model takes no pictures: their place is named in
	// the text instead.
	NoImages bool
	// MaxOutput caps the output when the request does not; 0 means none.
	MaxOutput int
	// NoUsage leaves out the request for usage, for servers that refuse it.
	NoUsage bool
}

// Wire implements provider.Provider.
type Wire struct {
	client *transport.Client
	opts   Options
	// official is OpenAI's own service, which takes members that others may
	// refuse.
	official bool
}

// New returns a provider that speaks through client.
func New(client *transport.Client, opts Options) *Wire {
	return &Wire{client: client, opts: opts, official: client.Host() == "api.openai.com"}
}

// ID is the provider id.
func (w *Wire) ID() string { return w.opts.ID }

// Stream sends one request and hands out its reply.
func (w *Wire) Stream(ctx context.Context, req *provider.Request, emit func(provider.Part) error) error {
	body, err := w.encode(req)
	if err != nil {
		return err
	}
	stream, err := w.client.Post(ctx, "chat/completions", body, nil)
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
		if err := d.chunk(document); err != nil {
			return err
		}
	} else if err := d.read(ctx); err != nil {
		return err
	}
	if d.finish == "" && !d.marked {
		return stream.Cut()
	}
	if err := d.finished(); err != nil {
		return err
	}
	stream.Done()
	return nil
}

// read handles events until the reply is complete. What breaks after the
// finish reason is no loss: only the usage comes behind it.
func (d *decoder) read(ctx context.Context) error {
	for !d.complete {
		ev, err := d.stream.Next()
		if err != nil {
			if errors.Is(err, io.EOF) || d.finish != "" && ctx.Err() == nil {
				return nil
			}
			return err
		}
		if string(ev.Data) == "[DONE]" {
			d.stream.Saw("[DONE]")
			d.marked = true
			return nil
		}
		if err := d.chunk(ev.Data); err != nil {
			return err
		}
	}
	return nil
}

var _ provider.Provider = (*Wire)(nil)
