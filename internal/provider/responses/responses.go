// Package responses is the Responses wire: POST {base}/responses, answered by a
// stream of typed events. Two providers speak it: "openai" in the plain form,
// and "meta" in the form of Meta's service (CLI.md 16), which nests all
// functions in one namespace tool and has a catalogue of its models.
//
// Nothing is stored at the service: every request carries the conversation, and
// reasoning travels sealed (encrypted_content) back to the provider and model
// that made it, and to no other.
package responses

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/catalog"
	"github.com/openmuse/muse/internal/provider/transport"
)

// MetaMaxOutput is the output token cap of requests to Meta's service (CLI.md
// 16).
const MetaMaxOutput = 128_000

// Options of a provider on this wire.
type Options struct {
	// ID is the provider id that logs, settings and reasoning items carry.
	ID string
	// Meta selects the form of Meta's service.
	Meta bool
	// Efforts are the levels the model takes; nil means what the wire's models
	// take in general.
	Efforts []provider.Effort
	// NoReasoning says that the model does not reason: the wire then asks for
	// no summary and no sealed reasoning, which such a model refuses.
	NoReasoning bool
	// NoImages says that the model takes no pictures: their place is named in
	// the text instead.
	NoImages bool
	// MaxOutput caps the output when the request does not: 0 means none for
	// the plain form and MetaMaxOutput for Meta's.
	MaxOutput int
	// Catalogue, when not nil, is fetched once before the first request, as
	// Meta's service is used to (STREAM.md (d)). A failure of it is ignored
	// here: it is not needed to speak.
	Catalogue *catalog.Catalogue
}

// Wire implements provider.Provider.
type Wire struct {
	client *transport.Client
	opts   Options
}

// New returns a provider that speaks through client.
func New(client *transport.Client, opts Options) *Wire {
	if opts.Meta && opts.MaxOutput == 0 {
		opts.MaxOutput = MetaMaxOutput
	}
	return &Wire{client: client, opts: opts}
}

// ID is the provider id.
func (w *Wire) ID() string { return w.opts.ID }

// name is the wire as effort rules call it.
func (w *Wire) name() string {
	if w.opts.Meta {
		return "meta"
	}
	return "openai"
}

// Stream sends one request and hands out its reply.
func (w *Wire) Stream(ctx context.Context, req *provider.Request, emit func(provider.Part) error) error {
	body, err := w.encode(req)
	if err != nil {
		return err
	}
	if w.opts.Catalogue != nil {
		w.opts.Catalogue.Prime(ctx)
	}
	stream, err := w.client.Post(ctx, "responses", body, nil)
	if err != nil {
		return err
	}
	defer stream.Close()
	d := &decoder{
		stream: stream, emit: emit, req: req, id: w.opts.ID,
		calls: provider.NewCallIDs(req.Items, w.client.Now),
	}
	document, whole, err := stream.Document()
	switch {
	case err != nil:
		return err
	case whole:
		if err := d.document(document); err != nil {
			return err
		}
		stream.Done()
		return nil
	}
	for !d.done {
		ev, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return stream.Cut()
		}
		if err != nil {
			return err
		}
		if string(ev.Data) == "[DONE]" {
			return stream.Cut()
		}
		if err := d.event(ev.Data); err != nil {
			return err
		}
	}
	stream.Done()
	return nil
}

// lenient reads what services send: some repeat members.
var lenient = jsontext.AllowDuplicateNames(true)

// document reads a reply that came as one object instead of a stream.
func (d *decoder) document(body jsontext.Value) error {
	var outer struct {
		Object string         `json:"object"`
		Error  jsontext.Value `json:"error"`
		response
	}
	if err := json.Unmarshal(body, &outer, lenient); err != nil {
		return d.stream.Malformed(err)
	}
	if outer.Object != "response" || outer.Error.Kind() == '{' {
		return d.stream.Reported(body)
	}
	d.stream.Saw("response")
	if err := d.created(&outer.response); err != nil {
		return err
	}
	return d.finished(&outer.response)
}

var _ provider.Provider = (*Wire)(nil)
