package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/provider"
)

// resolveBaseURL decides the address. endpoint_transport in a file is about
// the provider that file selects: it never redirects another provider's
// requests, which would carry that provider's key to the wrong host.
func (r *resolver) resolveBaseURL() error {
	e := &r.out.Endpoint
	if e.Offline {
		return nil
	}
	v := Value[string]{e.BaseURL, Origin{Name: e.ID}}
	if e.Custom {
		v.Origin = r.in.Settings.Origin("openmuse", "providers", e.ID, "base_url")
	}
	for _, s := range []*Settings{r.in.Defaults, r.in.Settings} {
		if s != nil && s.EndpointTransport.BaseURL != nil && r.transportApplies(s) {
			v = Value[string]{*s.EndpointTransport.BaseURL, s.Origin("endpoint_transport", "base_url")}
		}
	}
	if r.own != nil && r.own.BaseURL != nil {
		v = Value[string]{*r.own.BaseURL, r.in.Settings.Origin("openmuse", "providers", e.ID, "base_url")}
	}
	if e.BaseEnv != "" && r.getenv(e.BaseEnv) != "" {
		v = env(strings.TrimSpace(r.getenv(e.BaseEnv)), e.BaseEnv)
		if problem := checkAddress(v.V, "http", "https"); problem != "" {
			return fmt.Errorf("%s: %s; want http:// or https:// and a host", e.BaseEnv, problem)
		}
	}
	if r.in.Flags.BaseURL != nil {
		v = flag(*r.in.Flags.BaseURL, "base-url")
		if problem := checkAddress(v.V, "http", "https"); problem != "" {
			return &FlagError{"--base-url", "invalid value for --base-url: " + problem + "; want http:// or https:// and a host"}
		}
	}
	if v.Origin.Layer == BuiltIn && !r.explicitKey() {
		entry := r.in.Auth.entryFor(*e)
		switch {
		case entry == nil || entry.APIBaseURL == "" || !entry.HasKey():
		case checkAddress(entry.APIBaseURL, "http", "https") != "":
			r.warn("the address stored with the key of %s (%s) is not usable and is ignored", e.ID, entry.Origin("api_base_url").place())
		default:
			v = Value[string]{entry.APIBaseURL, entry.Origin("api_base_url")}
		}
	}
	v.V = strings.TrimRight(v.V, "/")
	if err := r.checkOpenAI(v); err != nil {
		return err
	}
	r.out.BaseURL, e.BaseURL = v, v.V
	return nil
}

// transportApplies reports whether the endpoint_transport of a file is about
// the provider in force.
func (r *resolver) transportApplies(s *Settings) bool {
	return settingsProvider(s) == r.out.Provider.V
}

// explicitKey reports whether this run was given a key of its own, which an
// address stored with another key does not concern.
func (r *resolver) explicitKey() bool {
	if r.in.Flags.APIKeyStdin {
		return true
	}
	for _, name := range r.keyVariables() {
		if r.getenv(name) != "" {
			return true
		}
	}
	return false
}

func (r *resolver) keyVariables() []string {
	return keyVariables(r.out.Endpoint, r.own)
}

// keyVariables names the variables that may hold the endpoint's key, the
// person's own choice first.
func keyVariables(e Endpoint, own *ProviderSettings) []string {
	var names []string
	if own != nil && own.APIKeyEnv != nil {
		names = append(names, *own.APIKeyEnv)
	}
	if e.KeyEnv != "" {
		names = append(names, e.KeyEnv)
	}
	return names
}

// checkOpenAI refuses to speak Meta's wire to OpenAI's hosts unless
// endpoint_transport.allow_openai says so: it cannot work and would hand a
// Meta key to another company.
func (r *resolver) checkOpenAI(base Value[string]) error {
	if r.out.Endpoint.Wire != "meta" {
		return nil
	}
	u, err := url.Parse(base.V)
	if err != nil {
		return fmt.Errorf("base URL (%s) cannot be read", base.Origin)
	}
	host := strings.ToLower(u.Hostname())
	if host != "openai.com" && !strings.HasSuffix(host, ".openai.com") {
		return nil
	}
	allow := layered(r, false, func(s *Settings) *bool { return s.EndpointTransport.AllowOpenAI }, "endpoint_transport", "allow_openai")
	if allow.V {
		return nil
	}
	return fmt.Errorf("the base URL (%s) is OpenAI's but the provider is %s: use --provider openai, or set endpoint_transport.allow_openai", base.Origin, r.out.Provider.V)
}

func (r *resolver) resolveTransport() error {
	t := &r.out.Transport
	t.Auth = builtin("bearer")
	if r.out.Endpoint.Offline {
		t.Auth = builtin("none")
		return nil
	}
	t.Proxy = layered(r, "", func(s *Settings) *string { return s.EndpointTransport.Proxy }, "endpoint_transport", "proxy")
	t.CABundle = r.file(layered(r, "", func(s *Settings) *string { return s.EndpointTransport.CABundle }, "endpoint_transport", "ca_bundle"))
	for _, s := range []*Settings{r.in.Defaults, r.in.Settings} {
		if s == nil {
			continue
		}
		e := s.EndpointTransport
		if !r.transportApplies(s) {
			if s == r.in.Settings && (e.BaseURL != nil || e.Auth != nil || e.ClientCert != nil || len(e.Headers) > 0) {
				r.warn("endpoint_transport in settings (%s) is about provider %s: its address, auth, headers and client certificate are not used for %s; set openmuse.providers.%s instead",
					s.Origin("endpoint_transport").place(), settingsProvider(s), r.out.Provider.V, r.out.Provider.V)
			}
			continue
		}
		if e.Auth != nil {
			t.Auth = Value[string]{*e.Auth, s.Origin("endpoint_transport", "auth")}
		}
		if e.ClientCert != nil && e.ClientKey != nil {
			t.ClientCert = r.file(Value[string]{*e.ClientCert, s.Origin("endpoint_transport", "client_cert")})
			t.ClientKey = r.file(Value[string]{*e.ClientKey, s.Origin("endpoint_transport", "client_key")})
		}
		r.addHeaders(e.Headers, s, "endpoint_transport")
	}
	if r.own != nil {
		if r.own.Auth != nil {
			t.Auth = Value[string]{*r.own.Auth, r.in.Settings.Origin("openmuse", "providers", r.own.ID, "auth")}
		}
		r.addHeaders(r.own.Headers, r.in.Settings, "openmuse", "providers", r.own.ID)
	}
	if t.Proxy.V != "" && t.ClientCert.V != "" {
		return fmt.Errorf("a proxy (%s) and a client certificate (%s) exclude each other: keep one of the two", t.Proxy.Origin, t.ClientCert.Origin)
	}
	custom, err := parseCustomHeaders(r.getenv("MUSE_CUSTOM_HEADERS"))
	if err != nil {
		return err
	}
	for _, h := range custom {
		r.setHeader(env(h, "MUSE_CUSTOM_HEADERS"))
	}
	return nil
}

// addHeaders takes the headers of a settings object; those whose variable is
// not set are left out.
func (r *resolver) addHeaders(list []HeaderSetting, s *Settings, path ...string) {
	at := func(keys ...string) Origin { return s.Origin(append(append([]string{}, path...), keys...)...) }
	for _, h := range list {
		if h.Env == "" {
			r.setHeader(Value[Header]{Header{h.Name, h.Value}, at("http_headers", h.Name)})
			continue
		}
		value := strings.TrimSpace(r.getenv(h.Env))
		origin := at("env_http_headers", h.Name)
		switch {
		case value == "":
			r.warn("the header %s (%s) is not sent: the variable %s is not set", h.Name, origin, h.Env)
		case checkHeader(h.Name, value, true) != "":
			r.warn("the header %s (%s) is not sent: the variable %s has a control character or a line break", h.Name, origin, h.Env)
		default:
			r.setHeader(Value[Header]{Header{h.Name, value}, origin})
		}
	}
}

// setHeader replaces a header of the same name.
func (r *resolver) setHeader(h Value[Header]) {
	list := r.out.Transport.Headers
	for i := range list {
		if strings.EqualFold(list[i].V.Name, h.V.Name) {
			list[i] = h
			return
		}
	}
	r.out.Transport.Headers = append(list, h)
}

// file makes a path of a settings file absolute: "~/" is the home directory,
// other relative paths start at the file's directory.
func (r *resolver) file(v Value[string]) Value[string] {
	rest, tilde := strings.CutPrefix(v.V, "~/")
	switch {
	case v.V == "" || filepath.IsAbs(v.V):
	case tilde && r.in.Paths.Home != "":
		v.V = filepath.Join(r.in.Paths.Home, rest)
	case v.Origin.File != "":
		v.V = filepath.Join(filepath.Dir(v.Origin.File), v.V)
	}
	return v
}

func (r *resolver) resolveRetry() error {
	retry := &r.out.Retry
	policy := provider.DefaultPolicy()
	retry.MaxAttempts = builtin(policy.MaxAttempts)
	for _, s := range []*Settings{r.in.Defaults, r.in.Settings} {
		switch {
		case s == nil:
		case s.ProviderRetry.MaxAttempts != nil:
			retry.MaxAttempts = Value[int]{int(*s.ProviderRetry.MaxAttempts), s.Origin("provider_retry", "max_attempts")}
		case s.ProviderRetry.MaxRetries != nil:
			retry.MaxAttempts = Value[int]{int(*s.ProviderRetry.MaxRetries) + 1, s.Origin("provider_retry", "max_retries")}
		}
	}
	base := layered(r, policy.Base.Milliseconds(), func(s *Settings) *int64 { return s.ProviderRetry.BaseDelayMS }, "provider_retry", "base_delay_ms")
	after := layered(r, policy.RetryAfterCap.Milliseconds(), func(s *Settings) *int64 { return s.ProviderRetry.RetryAfterCapMS }, "provider_retry", "retry_after_cap_ms")
	retry.BaseDelay = Value[time.Duration]{time.Duration(base.V) * time.Millisecond, base.Origin}
	retry.RetryAfterCap = Value[time.Duration]{time.Duration(after.V) * time.Millisecond, after.Origin}
	return nil
}

func (r *resolver) resolveStream() error {
	var err error
	if r.out.Stream.FirstEvent, err = r.seconds("TBH_STREAM_FIRST_EVENT_TIMEOUT_SECS", defaultFirstEvent); err != nil {
		return err
	}
	r.out.Stream.Idle, err = r.seconds("TBH_STREAM_IDLE_TIMEOUT_SECS", defaultIdle)
	return err
}

// seconds reads a variable with a whole number of seconds; 0 is no limit.
func (r *resolver) seconds(name string, def time.Duration) (Value[time.Duration], error) {
	text := strings.TrimSpace(r.getenv(name))
	if text == "" {
		return builtin(def), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1_000_000 {
		return builtin(def), fmt.Errorf("%s is %q; want a whole number of seconds, 0 for no limit", name, text)
	}
	return env(time.Duration(n)*time.Second, name), nil
}
