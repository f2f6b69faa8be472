package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"github.com/openmuse/muse/internal/sandbox/helper"
	"github.com/openmuse/muse/internal/sandbox/repository"
	"github.com/openmuse/muse/internal/sandbox/seatbelt"
	"github.com/openmuse/muse/internal/sandbox/talk"
)

// system is what a session keeps on macOS.
type system struct {
	keeping
	helper string

	choose    sync.Mutex
	confirmed bool
}

// sandboxExec is the system's own program. Another one in PATH is not used.
const sandboxExec = "/usr/bin/sandbox-exec"

func (s *Session) open() error {
	if s.spec.Launcher != Auto && s.spec.Launcher != Seatbelt {
		return fmt.Errorf("the launcher %s is for Linux", s.spec.Launcher)
	}
	if err := s.openKeeping(); err != nil {
		return also(err, s.close())
	}
	var err error
	if s.helper, err = os.Executable(); err != nil {
		return also(fmt.Errorf("find our own program: %w", err), s.close())
	}
	for _, root := range s.spec.roots {
		if inside(s.helper, root) {
			return also(fmt.Errorf("our own program %s is inside the workspace, where commands could replace it", s.helper), s.close())
		}
	}
	s.settings = s.buildSettings(s.cacheDir(), s.state.tmp(), "")
	return nil
}

func (s *Session) cacheDir() string {
	return filepath.Join(workspaceDir(s.spec.StateDir, s.spec.Workspace), "cache")
}

// Confirm starts the helper inside once, without a command.
func (s *Session) Confirm(ctx context.Context) (LauncherName, error) {
	s.choose.Lock()
	defer s.choose.Unlock()
	if s.confirmed {
		return Seatbelt, nil
	}
	if err := s.try(ctx); err != nil {
		return "", unavailable(err)
	}
	s.confirmed = true
	s.notify("launcher", "", "commands run inside the %s sandbox", Seatbelt)
	return Seatbelt, nil
}

func (s *Session) try(ctx context.Context) error {
	r := &run{session: s, command: Command{Dir: "/", Path: "/", Args: []string{"none"}}, trial: true}
	if err := s.enter(r); err != nil {
		return err
	}
	cmd, err := r.prepare(ctx)
	if err != nil {
		return also(err, r.finish())
	}
	if err := cmd.Start(); err != nil {
		_ = r.finish() // says only that it was not confirmed
		return fmt.Errorf("start %s: %w", sandboxExec, err)
	}
	_ = cmd.Wait() // its exit code says nothing
	if err := r.finish(); err != nil {
		return plain(err)
	}
	return nil
}

// platform is what a run keeps on macOS.
type platform struct{ listener net.Listener }

func (r *run) ready(ctx context.Context) error {
	if r.trial {
		return nil
	}
	_, err := r.session.Confirm(ctx)
	return err
}

// build writes the profile and makes the process. The gate listens on a port
// of this command alone, the only one that the profile opens.
func (r *run) build(_ context.Context, names held) (*exec.Cmd, error) {
	s := r.session
	env := s.environment(r.command.Env, r.command.Dir, s.inNoRepository(names))
	port := 0
	if s.spec.Network == ProxyOnly {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("open the proxy socket: %w", err)
		}
		r.listener = l
		port = l.Addr().(*net.TCPAddr).Port
		env = append(env, proxySettings(l.Addr().String())...)
		r.serve(l)
	}
	b, err := s.boundary(names, r.before)
	if err != nil {
		return nil, err
	}
	b.ProxyPort = port
	r.order = &talk.Order{Launcher: string(Seatbelt), Refused: append(append([]string{}, b.Protected...), s.spec.StateDir)}
	args := append([]string{sandboxExec}, seatbelt.Write(b).Args()...)
	return &exec.Cmd{Path: sandboxExec, Args: append(args, s.helper, helper.Verb), Env: env, Dir: "/"}, nil
}

// vouch has nothing to ask: the profile is the kernel's, and the helper, which
// runs under it, has tried it.
func (r *run) vouch(talk.Message, []int) (talk.Permit, error) {
	return talk.Permit{Start: true, NewSession: true}, nil
}

// boundary is the profile's input for what exists now.
func (s *Session) boundary(names held, found []rootFound) (seatbelt.Boundary, error) {
	b := seatbelt.Boundary{
		Writable:       append(slices.Clone(s.spec.roots), s.state.tmp(), s.cacheDir()),
		ProtectedNames: s.spec.Protected,
		Network:        s.spec.Network == Enabled, UnixSockets: s.spec.UnixSockets,
	}
	for _, n := range names.roots {
		b.Protected = append(b.Protected, n.Path)
	}
	if s.git != nil {
		fixed, err := s.git.fixed(names.git)
		if err != nil {
			return b, err
		}
		b.Protected = append(b.Protected, fixed...)
		b.Writable = append(b.Writable, s.git.added()...)
		if s.git.shared != "" {
			b.Writable = append(b.Writable, s.git.dir)
		} else {
			b.ProtectedNames = slices.DeleteFunc(slices.Clone(b.ProtectedNames), func(n string) bool { return n == ".git" })
		}
	}
	pin := func(root, path string) {
		for dir := filepath.Dir(path); dir != root && inside(dir, root); dir = filepath.Dir(dir) {
			b.Pinned = append(b.Pinned, dir)
		}
	}
	for _, f := range found {
		for _, place := range f.places {
			if place.Path == "." {
				continue
			}
			abs := filepath.Join(f.root, filepath.FromSlash(place.Path))
			if place.Shape != repository.Link {
				b.Protected = append(b.Protected, abs)
			}
			pin(f.root, abs)
		}
	}
	for _, m := range append([]string{s.spec.StateDir}, s.spec.Masks...) {
		if _, err := os.Lstat(m); err != nil {
			continue // not there; nobody inside can make it
		}
		path, err := resolve(m)
		if err != nil || path == "/" {
			continue // leads nowhere
		}
		for _, root := range s.spec.dirs() {
			if inside(root, path) {
				return b, fmt.Errorf("the workspace %s is inside the masked path %s", root, path)
			}
			if inside(path, root) {
				pin(root, path)
			}
		}
		b.Masked = append(b.Masked, path)
	}
	// The session's own directories lie below the masked state.
	b.Visible = append(b.Visible, s.state.tmp(), s.cacheDir())
	for _, v := range s.spec.Visible {
		if path, err := resolve(v); err == nil {
			b.Visible = append(b.Visible, path)
		}
	}
	return b, nil
}

// examineLaunchers tries the one there is.
func (r *CheckReport) examineLaunchers(ctx context.Context, s *Session) {
	name := "launcher-" + string(Seatbelt)
	l, err := s.Confirm(ctx)
	if err != nil {
		r.add(name, StatusFailed, plain(err).Error(), "see the cause")
		return
	}
	r.Launcher = l
	r.add(name, StatusOK, "confirmed from inside", "")
}

func (r *CheckReport) examineSystem() {
	if _, err := os.Stat(sandboxExec); err != nil {
		r.add("sandbox-exec", StatusFailed, err.Error(), "it is part of macOS")
		return
	}
	r.add("sandbox-exec", StatusOK, sandboxExec, "")
}
