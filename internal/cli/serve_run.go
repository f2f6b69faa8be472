package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/openmuse/muse/internal/buildinfo"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/serve"
	"github.com/openmuse/muse/internal/store/index"
	"github.com/openmuse/muse/internal/view/session"
)

// idleUnload is how long a session that nobody watches and that does nothing
// stays loaded.
const idleUnload = 5 * time.Minute

// runServe carries out `muse serve`.
func runServe(ctx context.Context, env *Env, opts *serveOptions) error {
	ctx, stop := withSignals(ctx)
	defer stop()
	setup, err := newServeSetup(ctx, env, opts.configFlags())
	if err != nil {
		var usage *UsageError
		if errors.As(err, &usage) {
			return &UsageError{Command: "muse serve", Message: usage.Message}
		}
		if code, ended := signalCode(ctx); ended {
			return &ExitError{Code: code, Err: context.Cause(ctx)}
		}
		return &ExitError{Code: exitConfig, Err: fmt.Errorf("muse: configuration: %w", err)}
	}
	root, _, err := opts.workspaceRoot(env)
	if err != nil {
		return &ExitError{Code: exitConfig, Err: err}
	}
	factory, err := newFactory(env, &opts.execOptions, setup)
	if err != nil {
		return &ExitError{Code: exitConfig, Err: err}
	}
	s := &serving{env: env, opts: opts, setup: setup}
	hubOpts := host.HubOptions{
		DataRoot: setup.paths.Data, Workspace: root, Ephemeral: opts.noSessionLog, Program: "muse serve",
		Build:   event.Build{SemVer: buildinfo.Release(), SHA: buildinfo.Commit()},
		Factory: factory, Now: env.Now, IdleUnload: idleUnload,
		Cursor: func(id string, sequence int64) string { return session.Cursor(id, session.LastOf(sequence)) },
	}
	if !opts.noSessionLog {
		if s.store, err = openSessions(env); err != nil {
			return &ExitError{Code: exitConfig, Err: err}
		}
		hubOpts.Names = nameClaims{s.store, env}
		s.others = newAnnouncer(env, s.store, hubOpts.Program, s.note)
		hubOpts.Presence = presence{s.others}
	}
	if opts.noSessionLog {
		// What other hosts keep is still listed; nothing is written for it.
		s.list = index.New(index.Options{Root: setup.paths.Data, Memory: true, Now: env.Now})
		defer s.list.Close() // it is in memory
	}
	var server *serve.Server
	hubOpts.Closed = func(id, reason string, head int64) { server.Unloaded(id, reason, head) }
	server = s.newServer(host.NewHub(hubOpts))
	err = server.Serve(ctx, untilDone(ctx, env.Stdin), env.Stdout)
	if s.store != nil {
		s.others.close()
		err = errors.Join(err, s.store.close())
	}
	if code, ended := signalCode(ctx); ended {
		return &ExitError{Code: code, Err: errors.Join(context.Cause(ctx), err)}
	}
	if err != nil {
		return &ExitError{Code: 1, Err: fmt.Errorf("muse: %w", err)}
	}
	return nil
}

// serving is what a host consists of.
type serving struct {
	env   *Env
	opts  *serveOptions
	setup *setup
	// store and others are nil on a host that keeps nothing.
	store  *sessionStore
	others *announcer
	list   *index.Index // of a host that keeps nothing
}

// note says something to people that no frame says.
func (s *serving) note(format string, args ...any) {
	fmt.Fprintf(s.env.Stderr, "muse: %s\n", oneLine(fmt.Sprintf(format, args...), 4000))
}

func (s *serving) newServer(hub *host.Hub) *serve.Server {
	o := serve.Options{
		Host: hubHost{hub}, Models: modelRows{s.setup}, MuseHome: s.setup.paths.Data, Ephemeral: s.opts.noSessionLog,
		Name: "openmuse", Version: buildinfo.Version,
		UserAgent:   fmt.Sprintf("openmuse/%s (%s; %s)", buildinfo.Version, runtime.GOOS, runtime.GOARCH),
		Now:         s.env.Now,
		Note:        s.note,
		Fingerprint: msp.ServedFingerprint,
	}
	if s.list != nil {
		o.List = &sessionRows{s.list}
	}
	if s.store != nil {
		o.List = &sessionRows{s.store.index}
		o.Views = session.Cache{Dir: filepath.Join(s.setup.paths.Data, "sessions", ".msp-view-v1")}
	}
	return serve.New(o)
}

// nameClaims gives names to sessions of the host.
type nameClaims struct {
	store *sessionStore
	env   *Env
}

// Claim implements host.Names. The host records the name at once; a claim
// whose record is never written is found by the next change of the name.
func (n nameClaims) Claim(ctx context.Context, sessionID, name string) error {
	change, err := n.store.names.Claim(ctx, sessionID, name, ident.V7(n.env.Now()))
	if err != nil {
		return err
	}
	return n.store.names.Settle(ctx, change.Operation, true)
}

// Automatic implements host.Names.
func (n nameClaims) Automatic(ctx context.Context, sessionID string) (host.AutomaticName, func(context.Context) error, error) {
	change, err := n.store.names.Name(ctx, sessionID, ident.V7(n.env.Now()))
	if err != nil {
		return host.AutomaticName{}, nil, err
	}
	written := func(ctx context.Context) error { return n.store.names.Settle(ctx, change.Operation, true) }
	return host.AutomaticName{Name: change.Name, OperationID: change.Operation, AuthorityID: change.Authority}, written, nil
}

// hubHost is the hub as the connection sees it.
type hubHost struct{ hub *host.Hub }

var _ serve.Host = hubHost{}

func loaded(l *host.Live, err error) (serve.Session, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (h hubHost) Start(ctx context.Context, c host.Command, r host.StartRequest) (serve.Session, error) {
	return loaded(h.hub.Start(ctx, c, r))
}

func (h hubHost) Resume(ctx context.Context, c host.Command, id string) (serve.Session, error) {
	return loaded(h.hub.Resume(ctx, c, id))
}

func (h hubHost) Fork(ctx context.Context, c host.Command, id, lastTurnID string) (serve.Session, error) {
	return loaded(h.hub.Fork(ctx, c, id, lastTurnID))
}

func (h hubHost) SideChat(ctx context.Context, c host.Command, id string) (serve.Session, error) {
	return loaded(h.hub.SideChat(ctx, c, id))
}

func (h hubHost) Loaded(id string) (serve.Session, error) { return loaded(h.hub.Loaded(id)) }

func (h hubHost) Stored(id string) (host.Facts, error) { return h.hub.Stored(id) }

func (h hubHost) Replay(ctx context.Context, id string, from int64, yield func(event.Recorded) error) error {
	return h.hub.Replay(ctx, id, from, yield)
}

func (h hubHost) Close(ctx context.Context) error { return h.hub.Close(ctx) }

// untilDone is in, with its end brought about by the end of ctx: a read that
// waits for a client that says nothing more must not hold up the way out.
func untilDone(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(io.EOF) })
	go func() {
		defer stop()
		_, err := io.Copy(w, in)
		if errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
			err = nil
		}
		w.CloseWithError(err)
	}()
	return r
}
