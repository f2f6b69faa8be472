// Package wires opens a provider by the name of its wire, so that commands need
// to know one constructor only.
package wires

import (
	"fmt"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/catalog"
	"github.com/openmuse/muse/internal/provider/chat"
	"github.com/openmuse/muse/internal/provider/echo"
	"github.com/openmuse/muse/internal/provider/messages"
	"github.com/openmuse/muse/internal/provider/responses"
	"github.com/openmuse/muse/internal/provider/script"
	"github.com/openmuse/muse/internal/provider/transport"
)

// The wires.
const (
	Meta       = "meta"
	OpenAI     = "openai"
	OpenAIChat = "openai-chat"
	Anthropic  = "anthropic"
	Echo       = "echo"
	Script     = "script"
)

// Options say which provider to open and what its model can do.
type Options struct {
	// ID is the provider id in settings and logs; the wire's name when empty.
	ID   string
	Wire string

	// Transport is how the service is reached. Auth "bearer" (or none given)
	// becomes the form the wire has for keys.
	Transport transport.Options

	// What is known of the model. The zero values stand for "not known".
	Efforts     []provider.Effort
	NoReasoning bool
	NoImages    bool
	// MaxOutput is the model's output limit. Only the Messages wire, which
	// demands a cap, sends it: elsewhere the service's own limit is the better
	// one, and a local server refuses a cap beyond its context.
	MaxOutput int
	Thinking  messages.Thinking

	// CataloguePath is the cache file of the service's model list, "" for none
	// on disk; CatalogueLifetime how long it is fresh.
	CataloguePath     string
	CatalogueLifetime time.Duration

	ScriptPath string        // of the script wire
	EchoDelay  time.Duration // of the echo wire
}

// Opened is a provider and what came with it.
type Opened struct {
	Provider provider.Provider
	// Catalogue lists the service's models; nil for offline wires.
	Catalogue *catalog.Catalogue
	// Notes are warnings for stderr, one line each.
	Notes []string
	// Model is the model id that the wire itself names (a script's), "" else.
	Model string
	// Close drops kept connections. It is never nil.
	Close func()
}

// Open returns the provider. Nothing is sent.
func Open(o Options) (*Opened, error) {
	if o.ID == "" {
		o.ID = o.Wire
	}
	out := &Opened{Close: func() {}}
	switch o.Wire {
	case Echo:
		out.Provider = echo.New(echo.Options{Delay: o.EchoDelay})
		return out, nil
	case Script:
		s, err := script.Open(o.ScriptPath, o.Transport.Now)
		if err != nil {
			return nil, err
		}
		out.Provider, out.Model = s, s.Model()
		return out, nil
	case Meta, OpenAI, OpenAIChat, Anthropic:
	default:
		return nil, fmt.Errorf("unknown wire %q", o.Wire)
	}
	if o.Wire == Anthropic && (o.Transport.Auth == "" || o.Transport.Auth == transport.AuthBearer) {
		o.Transport.Auth = transport.AuthAPIKey
	}
	client, err := transport.New(o.Transport)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", o.ID, err)
	}
	out.Notes, out.Close = client.Notes(), client.CloseIdle
	list := catalog.Options{Meta: o.Wire == Meta, Path: o.CataloguePath, Lifetime: o.CatalogueLifetime}
	if o.Wire == Anthropic && !strings.HasSuffix(client.Path(), "/v1") {
		list.At = "v1/models"
	}
	out.Catalogue = catalog.New(client, list)
	switch o.Wire {
	case Meta, OpenAI:
		r := responses.Options{
			ID: o.ID, Meta: o.Wire == Meta, Efforts: o.Efforts, NoReasoning: o.NoReasoning, NoImages: o.NoImages,
		}
		if r.Meta {
			r.Catalogue = out.Catalogue
		}
		out.Provider = responses.New(client, r)
	case OpenAIChat:
		out.Provider = chat.New(client, chat.Options{
			ID: o.ID, Efforts: o.Efforts, NoReasoning: o.NoReasoning, NoImages: o.NoImages,
		})
	case Anthropic:
		thinking := o.Thinking
		if o.NoReasoning {
			thinking = messages.ThinkingNone
		}
		out.Provider = messages.New(client, messages.Options{
			ID: o.ID, Thinking: thinking, Efforts: o.Efforts, NoImages: o.NoImages, MaxOutput: o.MaxOutput,
		})
	}
	return out, nil
}
