// Package catalog asks a service for its models: Meta's catalogue at
// /muse-code/models below the host's root (STREAM.md (d), MSP.md 3), and the
// list that other services keep at {base}/models.
//
// The catalogue is cached in a file. A service without one is no failure of a
// run: limits then come from the settings or the built-in table.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/plainfile"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// DefaultLifetime is how long a cached catalogue counts as fresh. It is short
// enough for a new model to show up within a working session.
const DefaultLifetime = 5 * time.Minute

// wait bounds one look-up: a run must not hang on a list it can do without.
const wait = 10 * time.Second

// Model is one model that a service offers.
type Model struct {
	ID          string `json:"id"`
	ReleaseDate string `json:"release_date,omitzero"`
	Hidden      bool   `json:"hidden,omitzero"`
	// Context and Output are limits in tokens; 0 where the service is silent.
	Context int64 `json:"context,omitzero"`
	Output  int64 `json:"output,omitzero"`
}

// Options of a catalogue.
type Options struct {
	// Meta selects Meta's catalogue; else the list at {base}/models is read.
	Meta bool
	// At is the list's path when it is neither of these.
	At string
	// Path is the cache file; "" caches in memory only. Its directory is made
	// when needed.
	Path string
	// Lifetime of the cache; 0 means DefaultLifetime.
	Lifetime time.Duration
}

// Catalogue is the list of a service's models, fetched when first needed. It is
// safe for concurrent use.
type Catalogue struct {
	client *transport.Client
	opts   Options

	mu     sync.Mutex
	asked  time.Time // when models and err were found; zero before
	models []Model
	err    error
}

// New returns the catalogue of the service that client speaks to.
func New(client *transport.Client, opts Options) *Catalogue {
	if opts.Lifetime == 0 {
		opts.Lifetime = DefaultLifetime
	}
	return &Catalogue{client: client, opts: opts}
}

// Prime fetches the catalogue if there is no fresh one. A failure is kept for
// Models to tell.
func (c *Catalogue) Prime(ctx context.Context) {
	_, _ = c.Models(ctx) // kept
}

// Models is the list, not older than the lifetime; a failure lasts as long, so
// that a service without a catalogue is not asked before every request. A
// rejected key has the
// documented wording (STREAM.md (e)); every failure wraps a *provider.Error.
func (c *Catalogue) Models(ctx context.Context) ([]Model, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := c.client.Now().Sub(c.asked); !c.asked.IsZero() && age >= 0 && age < c.opts.Lifetime {
		return c.models, c.err
	}
	if f, ok := c.cached(); ok {
		c.asked, c.models, c.err = f.FetchedAt, f.Models, nil
		return c.models, nil
	}
	models, err := c.fetch(ctx)
	if ctx.Err() != nil {
		return nil, err // the caller's wish says nothing about the service
	}
	c.asked, c.models, c.err = c.client.Now(), models, err
	if err == nil {
		c.save()
	}
	return models, err
}

// Find is the row of a model in a list; ok is false when it has none.
func Find(models []Model, id string) (m Model, ok bool) {
	for _, m := range models {
		if m.ID == id {
			return m, true
		}
	}
	return Model{}, false
}

func (c *Catalogue) fetch(ctx context.Context) ([]Model, error) {
	path := "models"
	switch {
	case c.opts.At != "":
		path = c.opts.At
	case c.opts.Meta:
		path = "/muse-code/models"
	}
	body, err := c.client.Get(ctx, path, wait)
	if err != nil {
		return nil, c.describe(err)
	}
	models, err := parse(body)
	if err != nil {
		return nil, c.describe(&provider.Error{Class: provider.Server, Message: "unreadable answer: " + err.Error(), Err: err})
	}
	return models, nil
}

// describe words a failure as a start-up failure is documented.
func (c *Catalogue) describe(err error) error {
	var e *provider.Error
	if errors.As(err, &e) && e.Class == provider.Authentication && e.Status == http.StatusUnauthorized && c.client.KeyFrom() != "" {
		return &described{
			text: fmt.Sprintf("failed to fetch model catalog: authentication failed: your API key from %s was rejected — update or unset it", c.client.KeyFrom()),
			err:  err,
		}
	}
	return &described{text: "failed to fetch model catalog: " + err.Error(), err: err}
}

// described gives a failure other words.
type described struct {
	text string
	err  error
}

func (d *described) Error() string { return d.text }
func (d *described) Unwrap() error { return d.err }

// row is a model in either list. The names of limits differ between servers.
type row struct {
	ID       string `json:"id"`
	Metadata struct {
		Muse *struct {
			ReleaseDate string `json:"release_date"`
			Hidden      bool   `json:"is_hidden"`
			Limit       struct {
				Context int64 `json:"context"`
				Output  int64 `json:"output"`
			} `json:"limit"`
		} `json:"muse-code"`
	} `json:"metadata"`
	ContextLength jsontext.Value `json:"context_length"` // OpenRouter
	MaxModelLen   jsontext.Value `json:"max_model_len"`  // vLLM
	MaxInput      jsontext.Value `json:"max_input_tokens"`
	MaxTokens     jsontext.Value `json:"max_tokens"`
}

func parse(body []byte) ([]Model, error) {
	var list struct {
		Data []row `json:"data"`
	}
	if err := json.Unmarshal(body, &list, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, err
	}
	models := make([]Model, 0, len(list.Data))
	for _, r := range list.Data {
		if r.ID == "" {
			continue
		}
		m := Model{ID: r.ID, Context: first(r.ContextLength, r.MaxModelLen, r.MaxInput), Output: first(r.MaxTokens)}
		if x := r.Metadata.Muse; x != nil {
			m.ReleaseDate, m.Hidden, m.Context, m.Output = x.ReleaseDate, x.Hidden, x.Limit.Context, x.Limit.Output
		}
		models = append(models, m)
	}
	return models, nil
}

// first is the first of the values that is a positive integer.
func first(values ...jsontext.Value) int64 {
	for _, v := range values {
		var n int64
		if v.Kind() == '0' && json.Unmarshal(v, &n) == nil && n > 0 {
			return n
		}
	}
	return 0
}

// cache is the file's content. The host is part of it: one file must not give
// one service the models of another.
type cache struct {
	SchemaVersion int       `json:"schema_version"`
	Host          string    `json:"host"`
	FetchedAt     time.Time `json:"fetched_at"`
	Models        []Model   `json:"models"`
}

// cached reads the file; anything odd about it counts as no cache.
func (c *Catalogue) cached() (f cache, ok bool) {
	if c.opts.Path == "" {
		return f, false
	}
	data, err := plainfile.Read(c.opts.Path)
	if err != nil {
		return f, false
	}
	if json.Unmarshal(data, &f) != nil || f.SchemaVersion != 1 || f.Host != c.client.Host() {
		return f, false
	}
	age := c.client.Now().Sub(f.FetchedAt)
	return f, age >= 0 && age < c.opts.Lifetime
}

// save writes the file, whole or not at all. A cache that cannot be written
// costs one request in the next process and nothing else.
func (c *Catalogue) save() {
	if c.opts.Path == "" {
		return
	}
	data, err := json.Marshal(cache{SchemaVersion: 1, Host: c.client.Host(), FetchedAt: c.client.Now().UTC(), Models: c.models})
	if err != nil {
		return
	}
	dir := filepath.Dir(c.opts.Path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	tmp, err := os.CreateTemp(dir, ".models-*")
	if err != nil {
		return
	}
	_, writeErr := tmp.Write(append(data, '\n'))
	closeErr := tmp.Close()
	if writeErr != nil || closeErr != nil || os.Rename(tmp.Name(), c.opts.Path) != nil {
		_ = os.Remove(tmp.Name()) // left over, and of no use
	}
}
