package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/provider"
)

// setup is what a run is set to, resolved from the command line, the
// environment and the files of the config root.
type setup struct {
	env   *Env
	paths config.Paths
	config.Resolved
	key config.Key
	// loggedOut says why there is no key, where a host goes on without one.
	loggedOut *config.MissingKeyError
}

// newServeSetup is newSetup for a host that serves: without a key sessions can
// be opened and read all the same, and each turn says what is missing.
func newServeSetup(ctx context.Context, env *Env, flags config.Flags) (*setup, error) {
	s, err := newSetup(ctx, env, flags, nil)
	if err != nil && s != nil && errors.As(err, &s.loggedOut) {
		return s, nil
	}
	return s, err
}

// newSetup resolves everything but the model provider. Warnings go to stderr
// at once. A *config.FlagError becomes a usage error.
func newSetup(ctx context.Context, env *Env, flags config.Flags, stdinKey *string) (*setup, error) {
	in, err := loadConfig(env)
	if err != nil {
		return nil, err
	}
	in.Flags = flags
	s := &setup{env: env, paths: in.Paths}
	s.Resolved, err = config.Resolve(in)
	if err != nil {
		var flag *config.FlagError
		if errors.As(err, &flag) {
			return nil, execUsage("%s", flag.Error())
		}
		return nil, err
	}
	s.warn(in.Auth.Warnings...)
	s.warn(s.Warnings...)
	key, warnings, err := config.ResolveKey(ctx, config.KeyInputs{
		Resolved: &s.Resolved, Stdin: stdinKey, Getenv: env.Getenv, Environ: env.Environ(),
		Settings: in.Settings, Defaults: in.Defaults, Auth: in.Auth, Now: env.Now(),
	})
	s.warn(warnings...)
	if err != nil {
		return s, err
	}
	s.key = key
	return s, nil
}

// warn prints warnings in the documented form.
func (s *setup) warn(lines ...string) {
	for _, l := range lines {
		fmt.Fprintf(s.env.Stderr, "muse: warning: %s\n", oneLine(strings.TrimSpace(l), 2000))
	}
}

// model is the model as the loop knows it.
func (s *setup) model(id string) agent.Model {
	m := agent.Model{ID: id, ContextLimit: s.Compaction.ContextLimit.V, Images: s.ModelInfo.Images}
	if price := s.ModelInfo.Price; price != nil {
		m.Cost = func(u provider.Usage) (int64, bool) { return price.Cost(u).Micros(), true }
	}
	return m
}

// retry is the retry policy as the loop knows it.
func (s *setup) retry() agent.Waiter {
	p := provider.DefaultPolicy()
	p.MaxAttempts = s.Retry.MaxAttempts.V
	p.Base = s.Retry.BaseDelay.V
	p.RetryAfterCap = s.Retry.RetryAfterCap.V
	return policy{p}
}

type policy struct{ provider.Policy }

func (p policy) Attempts() int { return max(1, p.MaxAttempts) }

func (p policy) Delay(attempt int, err *provider.Error) time.Duration {
	return p.Policy.Delay(attempt, err, rand.Float64)
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// priced reports whether the model's price is known, which a cost budget
// needs.
func (s *setup) priced() bool { return s.ModelInfo.Price != nil }

// credentialBackend says where the key was found, in the log's words.
func (s *setup) credentialBackend() string {
	switch {
	case s.key.Value == "":
		return "none"
	case s.key.Source.Layer == config.Stored:
		return "file"
	case s.key.Source.Layer == config.Environment:
		return "environment"
	}
	return "other"
}
