package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/config/atomicfile"
	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/tui"
)

// signIn is how a model is set up in the UI.
func (r *tuiRun) signIn() *tui.SignIn {
	s := &tui.SignIn{Key: r.keepKey, Served: servedModels, Server: r.keepServer, Forget: r.forgetKey}
	if missing := r.setup.loggedOut; missing != nil {
		s.Missing = "no key for " + missing.Provider
		if missing.Withheld != "" {
			s.Missing += " (" + missing.Withheld + ")"
		}
		s.Services = append(s.Services, r.service(missing.Provider))
	}
	for _, id := range []string{"meta", "openai", "anthropic", "openrouter"} {
		if len(s.Services) == 0 || s.Services[0].ID != id {
			s.Services = append(s.Services, r.service(id))
		}
	}
	return s
}

// service is a provider with the model that is used of it.
func (r *tuiRun) service(id string) tui.Service {
	label := map[string]string{"meta": "Meta", "openai": "OpenAI", "openai-chat": "OpenAI (Chat Completions)", "anthropic": "Anthropic", "openrouter": "OpenRouter"}[id]
	if label == "" {
		label = id
	}
	s := tui.Service{ID: id, Label: label}
	if resolved, err := r.resolveAs(id, ""); err == nil {
		s.Model = resolved.Model.V
	}
	return s
}

// resolveAs resolves the settings for a provider and a model of it, "" for the
// one that they name.
func (r *tuiRun) resolveAs(provider, model string) (config.Resolved, error) {
	in, err := loadConfig(r.env)
	if err != nil {
		return config.Resolved{}, err
	}
	in.Flags = r.opts.configFlags()
	if !r.opts.given("provider") || r.opts.provider != provider {
		// What was named is for another provider.
		in.Flags.Model, in.Flags.BaseURL = nil, nil
	}
	in.Flags.Provider = &provider
	if model != "" {
		in.Flags.Model = &model
	}
	return config.Resolve(in)
}

// keepKey keeps a key as `muse auth set` does, and has sessions begin with its
// service from now on.
func (r *tuiRun) keepKey(ctx context.Context, service, key, model string) (tui.Chosen, error) {
	resolved, err := r.resolveAs(service, model)
	if err != nil {
		return tui.Chosen{}, err
	}
	set := authSetOptions{provider: service, stdin: true}
	if r.opts.given("base-url") && r.setup.Endpoint.ID == service {
		set.baseURL = r.opts.baseURL
	}
	env := *r.env
	env.Stdin = strings.NewReader(key)
	if err := runAuthSet(ctx, &env, set); err != nil {
		return tui.Chosen{}, err
	}
	return r.begin(ctx, service, resolved.Model.V, nil)
}

// begin makes new sessions begin with a model, in settings.json unless they do
// already; change is what else the file is to say.
func (r *tuiRun) begin(ctx context.Context, provider, model string, change func(*jsondoc.Document) error) (tui.Chosen, error) {
	now, err := newServeSetup(ctx, r.env, r.opts.configFlags())
	if err != nil {
		return tui.Chosen{}, err
	}
	if change != nil || now.Endpoint.ID != provider || now.Model.V != model {
		path := r.setup.paths.SettingsFile()
		err := atomicfile.Update(ctx, path, 0o600, func(old []byte) ([]byte, error) {
			if len(old) == 0 {
				old = []byte("{\n  \"schema_version\": 1\n}\n")
			}
			doc, err := jsondoc.Parse(path, old)
			if err != nil {
				return nil, err
			}
			if change != nil {
				if err := change(doc); err != nil {
					return nil, err
				}
			}
			for key, value := range map[string]string{"provider": provider, "model": model} {
				text, err := jsontext.AppendQuote(nil, value)
				if err != nil {
					return nil, fmt.Errorf("%s %q: %w", key, value, err)
				}
				if err := doc.Set(text, key); err != nil {
					return nil, err
				}
			}
			if _, err := config.ParseSettings(path, doc.Bytes()); err != nil {
				return nil, err
			}
			return doc.Bytes(), nil
		})
		if err != nil {
			return tui.Chosen{}, fmt.Errorf("keep the choice in settings.json: %w", err)
		}
		if now, err = newServeSetup(ctx, r.env, r.opts.configFlags()); err != nil {
			return tui.Chosen{}, err
		}
	}
	r.useSetup(now)
	return tui.Chosen{Provider: provider, Model: model, Select: now.Endpoint.ID != provider || now.Model.V != model}, nil
}

// keepServer keeps a server of the person's own as a provider of settings.json.
func (r *tuiRun) keepServer(ctx context.Context, address, model string) (tui.Chosen, error) {
	settings, err := config.ReadSettings(r.setup.paths.SettingsFile())
	if err != nil {
		return tui.Chosen{}, err
	}
	id := "local"
	for n := 2; ; n++ {
		base := settings.Node("openmuse", "providers", id, "base_url")
		if settings.Node("openmuse", "providers", id) == nil {
			break
		}
		if base != nil {
			if at, err := base.Text(); err == nil && at == address {
				break
			}
		}
		id = fmt.Sprintf("local-%d", n)
	}
	return r.begin(ctx, id, model, func(doc *jsondoc.Document) error {
		for key, value := range map[string]string{"wire": "openai-chat", "base_url": address, "default_model": model} {
			text, err := jsontext.AppendQuote(nil, value)
			if err != nil {
				return fmt.Errorf("%s %q: %w", key, value, err)
			}
			if err := doc.Set(text, "openmuse", "providers", id, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// forgetKey removes what is kept for a provider, as `muse auth logout` does.
func (r *tuiRun) forgetKey(ctx context.Context, service string) error {
	return runAuthLogout(ctx, r.env, authLogoutOptions{provider: service})
}

// Bounds of the question which models a server has.
const (
	servedLimit = 5 * time.Second
	servedBytes = 4 << 20
)

// serverAddress is an address in full: a scheme, a host, and the path that
// servers of Chat Completions have when none is given.
func serverAddress(typed string) (string, error) {
	full := strings.TrimSpace(typed)
	if !strings.Contains(full, "://") {
		host := full
		if i := strings.IndexByte(host, '/'); i >= 0 {
			host = host[:i]
		}
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		scheme := "https://"
		if ip := net.ParseIP(strings.Trim(host, "[]")); strings.EqualFold(host, "localhost") || ip != nil && (ip.IsLoopback() || ip.IsPrivate()) {
			scheme = "http://"
		}
		full = scheme + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is not the address of a server: want http://HOST:PORT/v1", typed)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1"
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// servedModels asks a server which models it has. A server that does not say is
// no fault; one that does not answer is.
func servedModels(ctx context.Context, typed string) (string, []string, error) {
	full, err := serverAddress(typed)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, full+"/models", nil)
	if err != nil {
		return "", nil, fmt.Errorf("ask %s: %w", full, err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		var reason *url.Error
		if errors.As(err, &reason) {
			err = reason.Err
		}
		return "", nil, fmt.Errorf("no server answers at %s: %w", full, err)
	}
	defer res.Body.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(res.Body, servedBytes))
	if err != nil || res.StatusCode != http.StatusOK {
		return full, nil, nil
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(data, &list) != nil {
		return full, nil, nil
	}
	var ids []string
	for _, m := range list.Data {
		if m.ID != "" && len(m.ID) < 200 && len(ids) < 1000 {
			ids = append(ids, m.ID)
		}
	}
	return full, ids, nil
}

// otherModels are the models of the providers beside the one that is set up
// which there is a key for, or which settings.json names: what a session can
// change to. Nothing is asked over the network, and no program is started.
func (r *tuiRun) otherModels(present string) []tui.Model {
	in, err := loadConfig(r.env)
	if err != nil {
		return nil // what is wrong there was told when the UI opened
	}
	var out []tui.Model
	for _, id := range config.ProviderNames(in.Settings) {
		if id == present {
			continue
		}
		resolved, err := r.resolveAs(id, "")
		if err != nil || resolved.Endpoint.Offline || !r.usable(in, resolved.Endpoint) {
			continue // no model is named for it, or it is not allowed
		}
		table := models.TableOf(resolved.BaseURL.V)
		if table == "" {
			table = resolved.ModelInfo.Table
		}
		ids := models.IDs(table)
		if m := resolved.Model.V; !slices.Contains(ids, m) {
			ids = append([]string{m}, ids...)
		}
		for _, model := range ids {
			m := models.Lookup(table, model)
			out = append(out, tui.Model{ID: model, Provider: id, Label: cmp.Or(m.Label, model), Efforts: m.Efforts, Trains: m.Contributor})
		}
	}
	return out
}

// usable reports whether there is what a provider needs.
func (r *tuiRun) usable(in config.Inputs, e config.Endpoint) bool {
	if e.Custom || e.KeyEnv != "" && r.env.Getenv(e.KeyEnv) != "" {
		return true
	}
	entry := in.Auth.Entry(e.ID)
	return entry != nil && entry.HasKey()
}
