package cli

import (
	"net/http"
	"path/filepath"
	"time"

	"github.com/openmuse/muse/internal/buildinfo"
	"github.com/openmuse/muse/internal/demo"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/script"
	"github.com/openmuse/muse/internal/provider/transport"
	"github.com/openmuse/muse/internal/provider/wires"
)

// openProvider builds the model provider. Nothing is sent yet.
func (r *parts) openProvider() error {
	s := r.setup
	r.modelID = s.Model.V
	if s.Endpoint.Wire == wires.Script {
		return r.openScript()
	}
	if s.loggedOut != nil {
		r.provider = loggedOut{s.Endpoint.ID, s.loggedOut}
		return nil
	}
	opened, err := wires.Open(wires.Options{
		ID: s.Endpoint.ID, Wire: s.Endpoint.Wire, Transport: s.transport(),
		Efforts: efforts(s.ModelInfo.Efforts), NoReasoning: s.ModelInfo.NoReasoning,
		NoImages: !s.ModelInfo.Images && !s.ModelInfo.Assumed, MaxOutput: int(s.ModelInfo.OutputLimit),
		CataloguePath: filepath.Join(s.paths.Data, "model-catalog", s.Endpoint.ID+".json"),
		EchoDelay:     time.Duration(r.opts.echoDelay) * time.Millisecond,
	})
	if err != nil {
		return err
	}
	s.warn(opened.Notes...)
	r.provider, r.closers = opened.Provider, append(r.closers, opened.Close)
	if r.modelID == "" {
		r.modelID = s.Endpoint.ID
	}
	return nil
}

// transport is how the endpoint is reached. The key was already withheld from
// hosts it is not meant for.
func (s *setup) transport() transport.Options {
	t := s.Transport
	headers := http.Header{}
	for _, h := range t.Headers {
		headers.Set(h.V.Name, h.V.Value)
	}
	return transport.Options{
		BaseURL: s.BaseURL.V,
		Key:     transport.Key{Value: s.key.Value, From: s.key.Source.Short(), Origins: s.key.Origins},
		Auth:    transport.Auth(t.Auth.V), Headers: headers, Proxy: t.Proxy.V, Getenv: s.env.Getenv,
		CABundle: t.CABundle.V, ClientCert: t.ClientCert.V, ClientKey: t.ClientKey.V,
		FirstEvent: limit(s.Stream.FirstEvent.V), Idle: limit(s.Stream.Idle.V),
		UserAgent: "openmuse/" + buildinfo.Version, Now: s.env.Now,
	}
}

// limit turns the settings' "0 means no limit" into the transport's form.
func limit(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func efforts(names []string) []provider.Effort {
	var out []provider.Effort
	for _, n := range names {
		out = append(out, provider.Effort(n))
	}
	return out
}

// openScript plays --script, or the recorded model of the demo without one.
func (r *parts) openScript() error {
	name := r.opts.script
	var f *script.File
	var err error
	if name == "" {
		name = "the demo's recorded model"
		f, err = script.Parse(demo.Model())
	} else {
		f, err = script.Load(name)
	}
	if err != nil {
		return execUsage("%v", err)
	}
	if r.modelID == "" {
		r.modelID = f.Model
	}
	if r.modelID == "" {
		r.modelID = "script"
	}
	r.provider = script.New(f, script.Options{Name: name, Now: r.env.Now})
	return nil
}
