package config

import (
	"net/url"
	"strings"
)

// Endpoint is a place that models are called at: a wire, an address and the
// variables that name a key and another address for it.
type Endpoint struct {
	ID      string
	Wire    string // "meta", "openai", "openai-chat", "anthropic", "echo", "script"
	BaseURL string
	KeyEnv  string // "META_API_KEY"
	BaseEnv string // "META_BASE_URL"
	// DefaultModel is the model when nobody names one, "" when the service has
	// none that fits everybody. It is never one that trains on its input.
	DefaultModel string
	// Offline endpoints need no address and no key.
	Offline bool
	// KeyOptional endpoints work without a key when none is found.
	KeyOptional bool
	// Custom endpoints come from openmuse.providers.
	Custom bool
}

// builtinEndpoints are the providers that need no settings. The variable names
// are those of CLI.md 3.
func builtinEndpoints() []Endpoint {
	return []Endpoint{
		{ID: "meta", Wire: "meta", BaseURL: "https://api.meta.ai/v1", KeyEnv: "META_API_KEY", BaseEnv: "META_BASE_URL", DefaultModel: "muse-wonder-1.0"},
		{ID: "openai", Wire: "openai", BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", BaseEnv: "OPENAI_BASE_URL"},
		{ID: "openai-chat", Wire: "openai-chat", BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", BaseEnv: "OPENAI_BASE_URL"},
		{ID: "anthropic", Wire: "anthropic", BaseURL: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY", BaseEnv: "ANTHROPIC_BASE_URL"},
		{ID: "openrouter", Wire: "openai-chat", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY", BaseEnv: "OPENROUTER_BASE_URL"},
		{ID: "ollama", Wire: "openai-chat", BaseURL: "http://127.0.0.1:11434/v1", KeyOptional: true},
		{ID: "echo", Wire: "echo", Offline: true},
		{ID: "script", Wire: "script", Offline: true},
	}
}

func builtinEndpoint(id string) (Endpoint, bool) {
	for _, e := range builtinEndpoints() {
		if e.ID == id {
			return e, true
		}
	}
	return Endpoint{}, false
}

// endpoint finds a provider by its id, with what settings say about it.
func endpoint(id string, s *Settings) (Endpoint, *ProviderSettings, bool) {
	e, known := builtinEndpoint(id)
	for i := range providersOf(s) {
		p := &s.Providers[i]
		if p.ID != id {
			continue
		}
		if !known && p.Wire != nil && p.BaseURL != nil {
			e = Endpoint{ID: id, Wire: *p.Wire, BaseURL: *p.BaseURL, KeyOptional: true, Custom: true}
			known = true
		}
		return e, p, known
	}
	return e, nil, known
}

func providersOf(s *Settings) []ProviderSettings {
	if s == nil {
		return nil
	}
	return s.Providers
}

// ProviderNames lists the providers that can be named, the built-in ones
// first.
func ProviderNames(s *Settings) []string {
	var names []string
	for _, e := range builtinEndpoints() {
		names = append(names, e.ID)
	}
	for _, p := range providersOf(s) {
		if _, builtIn := builtinEndpoint(p.ID); !builtIn {
			names = append(names, p.ID)
		}
	}
	return names
}

// OriginOf is the scheme, host and port of a URL in the form keys are bound
// to: lower case, with the port unless it is the scheme's own, such as
// "https://api.meta.ai" or "http://127.0.0.1:11434". It is "" for text that is
// no URL with a host. The scheme is part of it: a key meant for HTTPS is not
// sent over plain HTTP to the same name.
func OriginOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return originOf(u)
}

func originOf(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if scheme == "" || host == "" {
		return ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && !(scheme == "https" && port == "443") && !(scheme == "http" && port == "80") {
		host += ":" + port
	}
	return scheme + "://" + host
}
