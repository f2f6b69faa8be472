package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/provider"
)

// factoryOf makes a factory as serve does, with settings and variables.
func factoryOf(t *testing.T, settings string, vars map[string]string) (*factory, string) {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	config := filepath.Join(home, ".config", "muse")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &Env{
		Stderr: &bytes.Buffer{}, Now: time.Now, Environ: func() []string { return nil },
		Getwd: func() (string, error) { return work, nil },
		Getenv: func(name string) string {
			switch name {
			case "HOME", "USERPROFILE":
				return home
			case "XDG_CONFIG_HOME":
				return filepath.Join(home, ".config")
			case "XDG_DATA_HOME":
				return filepath.Join(home, ".local", "share")
			}
			return vars[name]
		},
	}
	opts := &execOptions{given: func(string) bool { return false }}
	base, err := newServeSetup(t.Context(), env, opts.configFlags())
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFactory(env, opts, base)
	if err != nil {
		t.Fatal(err)
	}
	return f, work
}

func planOf(t *testing.T, f *factory, w host.Wanted) *plan {
	t.Helper()
	p, err := f.Plan(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.(*plan).release)
	return p.(*plan)
}

func TestPlansOfSessions(t *testing.T) {
	f, work := factoryOf(t, `{"schema_version":1,"provider":"echo"}`, nil)
	p := planOf(t, f, host.Wanted{Workspace: work})
	if p.Mode() != permission.Untrusted {
		t.Errorf("a session that is watched starts with %s", p.Mode())
	}
	var o host.Options
	p.Fill(&o)
	if o.Provider != "echo" || o.Posture.Approval != "untrusted" || o.Posture.Sandbox != "enabled" {
		t.Errorf("got %+v", o)
	}
	for _, mode := range []permission.Mode{permission.Never, permission.OnRequest, permission.DenyUnmatched} {
		if p := planOf(t, f, host.Wanted{Workspace: work, Mode: mode}); p.Mode() != mode {
			t.Errorf("got %s, want %s", p.Mode(), mode)
		}
		if grant, _, err := p.regrant(mode); err != nil || grant.Mode() != mode || !grant.Sandboxed() {
			t.Errorf("%s: %v", mode, err)
		}
	}
	_, err := f.Plan(t.Context(), host.Wanted{Workspace: work, Provider: "nobody"})
	var r *host.Refusal
	if !errors.As(err, &r) || r.Reason != host.ReasonConfiguration {
		t.Errorf("an unknown provider gives %v", err)
	}
	selected, err := p.selectModel(t.Context(), "", "another")
	if err != nil || selected.Model.ID != "another" || selected.Provider.ID() != "echo" {
		t.Errorf("got %+v, %v", selected, err)
	}
	if _, err := p.selectModel(t.Context(), "nobody", "x"); err == nil {
		t.Error("a model of nobody was opened")
	}
}

// TestPlansWithoutAKey: a session can be opened, and what a turn says tells
// what is missing.
func TestPlansWithoutAKey(t *testing.T) {
	f, work := factoryOf(t, `{"schema_version":1}`, nil)
	p := planOf(t, f, host.Wanted{Workspace: work})
	err := p.provider.Stream(context.Background(), &provider.Request{}, func(provider.Part) error { return nil })
	var failure *provider.Error
	if !errors.As(err, &failure) || failure.Class != provider.Authentication || !strings.Contains(err.Error(), "not logged in") {
		t.Errorf("got %v", err)
	}
	if p.modelID == "" || p.provider.ID() != "meta" {
		t.Errorf("got model %q of %s", p.modelID, p.provider.ID())
	}
	// With a key that was stored meanwhile the next session has a model.
	auth := filepath.Join(f.base.paths.Config, "auth.json")
	if err := os.WriteFile(auth, []byte(`{"schema_version":1,"providers":{"meta":{"api_key":"k-123"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := planOf(t, f, host.Wanted{Workspace: work}); p.setup.loggedOut != nil {
		t.Error("the key that was stored is not seen")
	}
}
