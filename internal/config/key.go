package config

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Key is a secret for a model endpoint, where it came from and where it may
// go. Its text forms are masked, so that a key in a log line or an error is
// not a leak.
type Key struct {
	Value  string // "" when the endpoint is called without a key
	Source Origin
	// Origins are where it may be sent: "https://api.meta.ai".
	Origins []string
	// Command is the argv that was or would be run for it, nil otherwise.
	Command []string
}

// AllowedFor reports whether the key may be sent in a request to u.
func (k Key) AllowedFor(u *url.URL) bool {
	return k.Value != "" && slices.Contains(k.Origins, originOf(u))
}

// Stored reports whether the key was kept for later runs (in auth.json, or
// behind a command) rather than given for this one.
func (k Key) Stored() bool { return k.Source.Layer == Stored || k.Command != nil }

// String is the masked key.
func (k Key) String() string { return Mask(k.Value) }

// GoString is the masked key.
func (k Key) GoString() string { return "config.Key(" + Mask(k.Value) + ")" }

// LogValue is the masked key.
func (k Key) LogValue() slog.Value { return slog.StringValue(Mask(k.Value)) }

// Mask shows a secret so that its owner can tell it from another: the last
// four characters of a long one, nothing of a short one.
func Mask(secret string) string {
	switch n := len(secret); {
	case n == 0:
		return ""
	case n < 16:
		return "…"
	default:
		return "…" + secret[n-4:]
	}
}

// checkKey says why text cannot be a key, "" when it can: keys travel in a
// header.
func checkKey(key string) string {
	switch {
	case key == "":
		return "it is empty"
	case len(key) > 16<<10:
		return "it is longer than 16 KiB"
	case strings.IndexFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0:
		return "it has a character that a key cannot have (a space, a line break or one beyond ASCII)"
	}
	return ""
}

// MissingKeyError means that a provider needs a key and none was found.
type MissingKeyError struct {
	Provider string
	KeyEnv   string // "" when no variable is read for it
	Withheld string // why a key that exists is not used, "" when there is none
}

// Error begins with the documented line "missing meta credentials" (STREAM.md
// (e)).
func (e *MissingKeyError) Error() string {
	text := "missing " + e.Provider + " credentials"
	if e.Withheld != "" {
		return text + ": " + e.Withheld
	}
	if e.KeyEnv != "" {
		text += ": set " + e.KeyEnv + ", run `muse auth set"
	} else {
		text += ": run `muse auth set"
	}
	if e.Provider != "meta" {
		text += " --provider " + e.Provider
	}
	return text + " --api-key-stdin`, or give --api-key-stdin"
}

// KeyInputs is everything a key comes from.
type KeyInputs struct {
	Resolved *Resolved
	// Stdin is what --api-key-stdin read; nil without that flag.
	Stdin    *string
	Getenv   func(string) string
	Environ  []string // for the key command
	Settings *Settings
	Defaults *Settings // enterprise defaults; nil: none
	Auth     *Auth
	Now      time.Time
	// Preview finds the source of a key without running a command: a key that
	// a command would give has no Value.
	Preview bool
}

// ResolveKey finds the key for the endpoint: --api-key-stdin, the environment,
// auth.json, the settings' command, in this order. Keys given for this run
// (the first two) go where the run goes. Stored and fetched keys go only to
// the provider's own host, to the address stored with them, or to one that
// settings pin for the provider; for any other address they are withheld, with a warning.
func ResolveKey(ctx context.Context, in KeyInputs) (Key, []string, error) {
	r := in.Resolved
	e, own, _ := endpoint(r.Provider.V, in.Settings)
	if r.Endpoint.Offline || r.Transport.Auth.V == "none" {
		return Key{Source: r.Transport.Auth.Origin}, nil, nil
	}
	k := keyFinder{in: in, base: OriginOf(r.BaseURL.V), endpoint: e, own: own}
	for _, find := range []func(context.Context) (Key, error){k.fromStdin, k.fromEnvironment, k.fromStore, k.fromCommand} {
		key, err := find(ctx)
		if err != nil {
			return Key{}, k.warnings, err
		}
		if key.Value == "" && key.Command == nil {
			continue
		}
		if key.Command == nil || !in.Preview {
			if problem := checkKey(key.Value); problem != "" {
				return Key{}, k.warnings, fmt.Errorf("the key from %s cannot be used: %s", key.Source, problem)
			}
		}
		return key, k.warnings, nil
	}
	if k.optional() {
		if k.withheld != "" {
			k.warnings = append(k.warnings, k.withheld)
		}
		return Key{Source: Origin{Name: e.ID}}, k.warnings, nil
	}
	missing := &MissingKeyError{Provider: r.Provider.V, Withheld: k.withheld}
	if names := keyVariables(e, own); len(names) > 0 {
		missing.KeyEnv = names[0]
	}
	return Key{}, k.warnings, missing
}

type keyFinder struct {
	in       KeyInputs
	base     string // origin of the base URL in force
	endpoint Endpoint
	own      *ProviderSettings
	warnings []string
	withheld string
}

// optional reports whether the endpoint may be called without a key: servers
// of one's own often have none.
func (k *keyFinder) optional() bool {
	if k.own != nil && (k.own.APIKeyEnv != nil || k.own.APIKeyCommand != nil) {
		return false
	}
	return k.endpoint.KeyOptional || k.endpoint.Wire == "openai-chat" && k.base != OriginOf(k.endpoint.BaseURL)
}

func (k *keyFinder) fromStdin(context.Context) (Key, error) {
	if k.in.Stdin == nil {
		return Key{}, nil
	}
	source := Origin{Layer: CommandLine, Name: "--api-key-stdin"}
	value := strings.TrimSpace(*k.in.Stdin)
	if value == "" {
		return Key{}, fmt.Errorf("--api-key-stdin was given but standard input holds no key")
	}
	return Key{Value: value, Source: source, Origins: []string{k.base}}, nil
}

func (k *keyFinder) fromEnvironment(context.Context) (Key, error) {
	for _, name := range keyVariables(k.endpoint, k.own) {
		if value := strings.TrimSpace(k.in.Getenv(name)); value != "" {
			return Key{Value: value, Source: Origin{Layer: Environment, Name: name}, Origins: []string{k.base}}, nil
		}
	}
	return Key{}, nil
}

func (k *keyFinder) fromStore(context.Context) (Key, error) {
	if a := k.in.Auth; a != nil && a.broken != nil {
		return Key{}, fmt.Errorf("the stored credentials cannot be read: %w", a.broken)
	}
	e := k.in.Auth.entryFor(k.endpoint)
	if e == nil || !e.HasKey() {
		return Key{}, nil
	}
	field, value := "api_key", e.APIKey
	if value == "" {
		field, value = "access_token", e.AccessToken
		if !e.ExpiresAt.IsZero() && !k.in.Now.IsZero() && e.ExpiresAt.Before(k.in.Now) {
			k.withheld = fmt.Sprintf("the stored login expired at %s", e.ExpiresAt.UTC().Format(time.RFC3339))
			return Key{}, nil
		}
	}
	home := e.APIBaseURL
	if home == "" {
		home = k.endpoint.BaseURL
	}
	key := Key{Value: value, Source: e.Origin(field), Origins: k.bound(home)}
	if !k.mayGo(key.Origins, "the stored key") {
		return Key{}, nil
	}
	return key, nil
}

func (k *keyFinder) fromCommand(ctx context.Context) (Key, error) {
	if k.own == nil || k.own.APIKeyCommand == nil {
		return Key{}, nil
	}
	home := k.endpoint.BaseURL
	if k.own.BaseURL != nil {
		home = *k.own.BaseURL
	}
	key := Key{
		Source:  k.in.Settings.Origin("openmuse", "providers", k.own.ID, "api_key_command"),
		Origins: k.bound(home), Command: *k.own.APIKeyCommand,
	}
	if !k.mayGo(key.Origins, "the key of api_key_command") {
		return Key{}, nil
	}
	if k.in.Preview {
		return key, nil
	}
	value, err := runKeyCommand(ctx, key.Command, k.in.Environ)
	if err != nil {
		return Key{}, fmt.Errorf("get the key for %s (%s): %w", k.own.ID, key.Source, err)
	}
	key.Value = value
	return key, nil
}

// bound lists where a key with this home may go: there, and to the addresses
// that settings pin for the provider.
func (k *keyFinder) bound(home string) []string {
	var origins []string
	add := func(address string) {
		if o := OriginOf(address); o != "" && !slices.Contains(origins, o) {
			origins = append(origins, o)
		}
	}
	add(home)
	for _, s := range []*Settings{k.in.Defaults, k.in.Settings} {
		if s != nil && s.EndpointTransport.BaseURL != nil && settingsProvider(s) == k.endpoint.ID {
			add(*s.EndpointTransport.BaseURL)
		}
	}
	if k.own != nil && k.own.BaseURL != nil {
		add(*k.own.BaseURL)
	}
	return origins
}

// mayGo reports whether the address in force is among the key's, and notes why
// the key is withheld when it is not.
func (k *keyFinder) mayGo(origins []string, what string) bool {
	if slices.Contains(origins, k.base) {
		return true
	}
	k.withheld = fmt.Sprintf("%s is meant for %s and is not sent to %s (%s); give a key for this run or pin the address in settings",
		what, strings.Join(origins, ", "), k.base, k.in.Resolved.BaseURL.Origin)
	return false
}
