package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/config/atomicfile"
	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/plainfile"
)

// Auth is auth.json: {"schema_version", "providers": {"<id>": {…}}} (seed 000,
// Credentials). It is read leniently, because other programs and later
// versions write it too: what is not understood is left alone and kept.
type Auth struct {
	File    string
	Entries []AuthEntry
	// Warnings are single lines for stderr: others can read the file, a field
	// is not understood.
	Warnings []string
	doc      *jsondoc.Document
	broken   error // why the file could not be read
}

// AuthEntry is what is stored for one provider.
type AuthEntry struct {
	Provider    string
	Mechanism   string // "oauth", "api_key"
	ObtainedVia string // "device_code", "stdin"
	APIKey      string
	AccessToken string
	// APIBaseURL is the address the key is meant for, "" for the provider's
	// own.
	APIBaseURL string
	UserEmail  string
	// ExpiresAt is when the access token ends, zero when not stored.
	ExpiresAt time.Time
	auth      *Auth
}

// HasKey reports whether there is anything to authenticate with.
func (e *AuthEntry) HasKey() bool { return e.APIKey != "" || e.AccessToken != "" }

// Origin is where a field of the entry stands.
func (e *AuthEntry) Origin(field string) Origin {
	o := Origin{Layer: Stored, File: e.auth.File}
	if n := e.auth.doc.Root().Get("providers", e.Provider, field); n != nil {
		o.Name = n.Path()
		o.Line, o.Column = n.Pos()
	}
	return o
}

// Entry is what is stored for a provider, nil when nothing is.
func (a *Auth) Entry(id string) *AuthEntry {
	if a == nil {
		return nil
	}
	for i := range a.Entries {
		if a.Entries[i].Provider == id {
			return &a.Entries[i]
		}
	}
	return nil
}

// entryFor is the entry an endpoint uses: its own, and for OpenAI's second wire
// also the one of the first. Keys are bound to hosts, so sharing is safe.
func (a *Auth) entryFor(e Endpoint) *AuthEntry {
	if own := a.Entry(e.ID); own != nil || e.ID != "openai-chat" {
		return own
	}
	return a.Entry("openai")
}

// ReadAuth reads the stored credentials. A missing file is fine.
func ReadAuth(path string) (*Auth, error) {
	data, err := plainfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Auth{File: path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read stored credentials: %w", err)
	}
	a, err := parseAuth(path, data)
	if err != nil {
		return nil, err
	}
	if mode, open := readableByOthers(path); open {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s can be read by others (mode %#o); make it private with: chmod 600 %s", path, mode, path))
	}
	return a, nil
}

func parseAuth(path string, data []byte) (*Auth, error) {
	doc, err := jsondoc.Parse(path, data)
	if err != nil {
		return nil, err
	}
	a := &Auth{File: path, doc: doc}
	root := doc.Root()
	if root.Kind() != '{' {
		return nil, root.Mismatch("an object")
	}
	providers := root.Get("providers")
	if absent(providers) {
		return a, nil
	}
	if providers.Kind() != '{' {
		return nil, providers.Mismatch("an object")
	}
	for _, m := range providers.Members() {
		if m.Kind() != '{' {
			a.Warnings = append(a.Warnings, m.Mismatch("an object").Error())
			continue
		}
		e := AuthEntry{Provider: m.Key()}
		for field, to := range map[string]*string{
			"mechanism": &e.Mechanism, "obtained_via": &e.ObtainedVia, "api_key": &e.APIKey,
			"access_token": &e.AccessToken, "api_base_url": &e.APIBaseURL, "user_email": &e.UserEmail,
		} {
			n := m.Get(field)
			if absent(n) {
				continue
			}
			if n.Kind() != '"' {
				// The value may be a secret: only its kind is told.
				line, col := n.Pos()
				a.Warnings = append(a.Warnings, fmt.Sprintf("%s:%d:%d: %s is not text and is not used", path, line, col, n.Path()))
				continue
			}
			text, err := n.Text()
			if err != nil {
				return nil, err
			}
			*to = text
		}
		e.ExpiresAt = expiry(m.Get("expires_at"))
		a.Entries = append(a.Entries, e)
	}
	for i := range a.Entries {
		a.Entries[i].auth = a
	}
	return a, nil
}

// expiry reads the launcher's optional expires_at: seconds or milliseconds
// since 1970, or an RFC 3339 time. Anything else counts as not stored.
func expiry(n *jsondoc.Node) time.Time {
	if absent(n) {
		return time.Time{}
	}
	if text, err := n.Text(); err == nil {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t
		}
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return epoch(v)
		}
		return time.Time{}
	}
	if v, err := n.Float(); err == nil && v > 0 && v < 1e15 {
		return epoch(int64(v))
	}
	return time.Time{}
}

// epoch tells seconds from milliseconds by size: 1e11 seconds are the year
// 5138.
func epoch(v int64) time.Time {
	if v > 100_000_000_000 {
		return time.UnixMilli(v)
	}
	return time.Unix(v, 0)
}

// StoreKey keeps an API key for a provider, with the address it is meant for
// ("" for the provider's own). Everything else in the file stays as it is; the
// file becomes private to its owner.
func StoreKey(ctx context.Context, path, provider, key, baseURL string) error {
	if !validName(provider) {
		return fmt.Errorf("%q is not a provider name", provider)
	}
	if problem := checkKey(key); problem != "" {
		return fmt.Errorf("the key is not stored: %s", problem)
	}
	return changeAuth(ctx, path, func(a *Auth) error {
		type field struct{ name, value string }
		fields := []field{{"api_key", key}}
		if a.Entry(provider) == nil {
			fields = append([]field{{"mechanism", "api_key"}, {"obtained_via", "stdin"}}, fields...)
		}
		if baseURL != "" {
			fields = append(fields, field{"api_base_url", baseURL})
		}
		for _, f := range fields {
			value, err := jsontext.AppendQuote(nil, f.value)
			if err != nil {
				return fmt.Errorf("store %s: %w", f.name, err)
			}
			if err := a.doc.Set(value, "providers", provider, f.name); err != nil {
				return err
			}
		}
		if baseURL == "" {
			// An address stored with an earlier key is not this key's.
			return a.doc.Delete("providers", provider, "api_base_url")
		}
		return nil
	})
}

// RemoveKey forgets what is stored for a provider and reports whether there
// was anything.
func RemoveKey(ctx context.Context, path, provider string) (removed bool, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = changeAuth(ctx, path, func(a *Auth) error {
		removed = a.doc.Root().Get("providers", provider) != nil
		return a.doc.Delete("providers", provider)
	})
	return removed, err
}

func changeAuth(ctx context.Context, path string, change func(*Auth) error) error {
	return atomicfile.UpdateSecret(ctx, path, func(old []byte) ([]byte, error) {
		if old == nil {
			old = []byte("{\n  \"schema_version\": 1,\n  \"providers\": {}\n}\n")
		}
		a, err := parseAuth(path, old)
		if err != nil {
			return nil, fmt.Errorf("stored credentials are not changed because they cannot be read: %w", err)
		}
		if err := change(a); err != nil {
			return nil, err
		}
		return a.doc.Bytes(), nil
	})
}
