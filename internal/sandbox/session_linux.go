package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/openmuse/muse/internal/sandbox/helper"
	"github.com/openmuse/muse/internal/sandbox/layout"
	"github.com/openmuse/muse/internal/sandbox/proc"
)

// launcher makes the boundary in one way.
type launcher interface {
	name() LauncherName
	// prepare returns the process that ends up as the helper inside.
	prepare(ctx context.Context, s *Session, plan *layout.Plan, env []string) (*exec.Cmd, error)
}

// system is what a session keeps on Linux.
type system struct {
	keeping
	host     []uint64 // the host's namespaces, 0 for shared ones
	helper   string   // the helper's program, out of reach of every command
	helperID proc.ProgramID

	choose   sync.Mutex
	launcher launcher // nil until one has passed its check
}

func (s *Session) open() error {
	if err := errors.Join(s.openKeeping(), s.prepareHost()); err != nil {
		return also(err, s.close())
	}
	cache := cachePath
	if !isRealDir(runDir) {
		cache = filepath.Join("/tmp", ".cache")
	}
	proxy := ""
	if s.spec.Network == ProxyOnly {
		proxy = proxyAddress()
	}
	s.settings = s.buildSettings(cache, "/tmp", proxy)
	return nil
}

// proxyAddress is where a command finds the gate. Every command has a loopback
// of its own.
func proxyAddress() string { return "127.0.0.1:" + strconv.Itoa(helper.ProxyPort) }

// prepareHost notes what the host looks like, to tell the inside from it.
func (s *Session) prepareHost() (err error) {
	if s.host, err = proc.Namespaces("/proc/self"); err != nil {
		return err
	}
	if s.spec.Network == Enabled {
		s.host[len(s.host)-1] = 0
	}
	if s.helperID, err = proc.ProgramAt("/proc/self/exe"); err != nil {
		return err
	}
	s.helper, err = os.Executable()
	if err != nil {
		return fmt.Errorf("find our own program: %w", err)
	}
	return nil
}

// Confirm finds a launcher whose boundary holds, by starting the helper once
// without a command. Later calls return at once. The error satisfies
// ErrUnavailable.
func (s *Session) Confirm(ctx context.Context) (LauncherName, error) {
	l, err := s.chosen(ctx)
	if err != nil {
		return "", unavailable(err)
	}
	return l.name(), nil
}

// candidates are the launchers to try, in order, and why one is not among
// them.
func (s *Session) candidates() (all []launcher, missing error) {
	switch s.spec.Launcher {
	case Seatbelt:
		return nil, errors.New("the seatbelt launcher is for macOS")
	case Native:
		return []launcher{native{}}, nil
	case Auto:
		all = append(all, native{})
	}
	program, err := findBubblewrap(os.Getenv("PATH"), s.spec.roots)
	if err != nil {
		return all, err
	}
	return append(all, bubblewrap{program}), nil
}

// chosen is the first launcher that passes its check. One that has passed is
// kept; failures are not, since their cause may be mended.
func (s *Session) chosen(ctx context.Context) (launcher, error) {
	s.choose.Lock()
	defer s.choose.Unlock()
	if s.launcher != nil {
		return s.launcher, nil
	}
	candidates, missing := s.candidates()
	var causes []error
	for _, l := range candidates {
		err := s.try(ctx, l)
		if err == nil {
			s.launcher = l
			s.notify("launcher", "", "commands run inside the %s sandbox", l.name())
			return l, nil
		}
		if len(causes) > 0 && errors.Unwrap(causes[0]).Error() == err.Error() {
			return nil, err // not the launchers' fault
		}
		causes = append(causes, fmt.Errorf("%s: %w", l.name(), err))
	}
	if missing != nil {
		causes = append(causes, missing)
	}
	all := causes[0]
	for _, err := range causes[1:] {
		all = fmt.Errorf("%w; %w", all, err)
	}
	return nil, all
}

// try confirms a boundary made by l and starts nothing in it.
func (s *Session) try(ctx context.Context, l launcher) error {
	r := &run{session: s, platform: platform{l}, command: Command{Dir: "/", Path: "/", Args: []string{"none"}}, trial: true}
	if err := s.enter(r); err != nil {
		return err
	}
	cmd, err := r.prepare(ctx)
	if err != nil {
		return errors.Join(err, r.finish())
	}
	stderr := &tail{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		return errors.Join(explainStart(l, err), r.drop())
	}
	waited := cmd.Wait()
	err = r.finish()
	if err == nil {
		return nil
	}
	if line := stderr.last(); line != "" {
		return fmt.Errorf("%w: %s", plain(err), explainBubblewrap(line))
	}
	if waited != nil {
		return fmt.Errorf("%w (%w)", plain(err), waited)
	}
	return plain(err)
}

// explainStart says what a failed start usually means.
func explainStart(l launcher, err error) error {
	if l.name() == Native && (errors.Is(err, os.ErrPermission) || isNamespaceLimit(err)) {
		return fmt.Errorf("make namespaces: %w (%s)", err, namespaceRemedy())
	}
	return fmt.Errorf("start the sandbox: %w", err)
}
