package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/helper"
	"github.com/openmuse/muse/internal/sandbox/layout"
)

// The rows of the fail-closed matrix (THREATS.md 8): whatever is wrong with
// the environment, no command starts, and the error says what it is.

// refusedRun starts a command that leaves a mark when it runs, and returns
// the error that must come instead.
func refusedRun(t *testing.T, s *Session, mark string) error {
	t.Helper()
	cmd, release, err := s.Command(t.Context(), Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo ran > " + mark}})
	if err == nil {
		started := cmd.Start()
		if started == nil {
			_ = cmd.Wait() // its exit code says nothing
		}
		err = release()
	}
	if _, e := os.Lstat(mark); e == nil {
		t.Errorf("the command ran; error: %v", err)
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("the error is not ErrUnavailable: %v", err)
	} else if !strings.HasPrefix(err.Error(), "environment failure: sandbox enforcement unavailable: ") {
		t.Errorf("the error reads %q", err)
	}
	return err
}

// fake is a program in bubblewrap's place.
func fake(t *testing.T, dir, script string) bubblewrap {
	t.Helper()
	path := filepath.Join(dir, "bwrap")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return bubblewrap{path}
}

func TestFakeBubblewrap(t *testing.T) {
	const run = `while [ "$1" != -- ]; do shift; done; shift`
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ script, cause string }{
		"runs the helper":      {run + "\nshift; exec " + self + " " + helper.Verb, "namespace is the host's"},
		"runs the command":     {"echo ran > ../ws/mark; exit 0\n", ""},
		"exits 0":              {"exit 0", "ended before it was confirmed"},
		"exits 1":              {"echo 'bwrap: No permissions' >&2; exit 1", "ended before it was confirmed"},
		"is killed":            {"kill -9 $$", "ended before it was confirmed"},
		"answers nonsense":     {"printf 'nonsense, and a lot of it' >&3", ""},
		"answers another size": {`printf '\377\377\377\377' >&3`, "cannot be read"},
		// A well-formed report ("no failure, no Landlock") from another program.
		"answers for the helper": {`printf '\002\000\000\000\000\000' >&3; sleep 5`, "is not the helper"},
		"is late":                {"sleep 30", "not confirmed within"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "runs the command" {
				t.Skip("a program that ignores its orders is the business of findBubblewrap: only the system's own is used")
			}
			h := newHouse(t)
			s := open(t, h.spec())
			s.launcher = fake(t, h.dir, tt.script)
			if tt.cause == "not confirmed within" {
				s.limit = 100 * time.Millisecond
				s.launcher = fake(t, h.dir, "exec sleep 1")
			}
			err := refusedRun(t, s, filepath.Join(h.ws, "mark"))
			if err == nil || !strings.Contains(err.Error(), tt.cause) {
				t.Errorf("got %v, want %q", err, tt.cause)
			}
		})
	}
}

func TestFindBubblewrap(t *testing.T) {
	dir := place(t)
	empty := t.TempDir()
	program := filepath.Join(dir, "bwrap")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		roots []string
		cause string
		prep  func() error
	}{
		"in the workspace":  {[]string{dir}, "commands can write it", nil},
		"writable by all":   {nil, "", func() error { return os.Chmod(program, 0o777) }},
		"in a shared place": {nil, "", func() error { return os.Chmod(dir, 0o777) }},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.prep != nil {
				if err := tt.prep(); err != nil {
					t.Fatal(err)
				}
			}
			why := distrust(program, tt.roots)
			if why == "" || !strings.Contains(why, tt.cause) {
				t.Errorf("got %q", why)
			}
		})
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(program, 0o755), os.Chown(program, 12345, 0)); err != nil {
			t.Fatal(err)
		}
		if why := distrust(program, nil); !strings.Contains(why, "does not belong to root") {
			t.Errorf("somebody else's: %q", why)
		}
	}
	if _, err := findBubblewrap(empty, nil); err != nil && !errors.Is(err, errNoBubblewrap) {
		t.Errorf("got %v", err)
	}
}

// Without any launcher there is no command.
func TestNoLauncher(t *testing.T) {
	h := newHouse(t)
	spec := h.spec()
	spec.Launcher = Bubblewrap
	s := open(t, spec)
	s.spec.roots = append(s.spec.roots, "/usr", "/bin", "/usr/local") // as if commands could write it
	t.Setenv("PATH", h.ws)
	err := refusedRun(t, s, filepath.Join(h.ws, "mark"))
	if err == nil || !strings.Contains(err.Error(), "bubblewrap not found") || !strings.Contains(err.Error(), "install") {
		t.Errorf("got %v", err)
	}
}

// altered is a launcher that changes something before the boundary is made.
type altered struct {
	launcher
	change func(plan *layout.Plan, cmd *exec.Cmd)
}

func (a altered) prepare(ctx context.Context, s *Session, plan *layout.Plan, env []string) (*exec.Cmd, error) {
	cmd, err := a.launcher.prepare(ctx, s, plan, env)
	if err == nil {
		a.change(plan, cmd)
	}
	return cmd, err
}

// real is the launcher l as it works here.
func real(t *testing.T, s *Session) launcher {
	t.Helper()
	l, err := s.chosen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A namespace that is the host's is noticed, one by one.
func TestSharedNamespace(t *testing.T) {
	for name, flag := range map[string]uintptr{"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "net": unix.CLONE_NEWNET} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			spec := h.spec()
			spec.Launcher = Native
			s := open(t, spec)
			s.launcher = altered{real(t, s), func(_ *layout.Plan, cmd *exec.Cmd) { cmd.SysProcAttr.Cloneflags &^= flag }}
			err := refusedRun(t, s, filepath.Join(h.ws, "mark"))
			if err == nil || !strings.Contains(err.Error(), name+" namespace is the host's") && !strings.Contains(err.Error(), "loopback") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A mount that is missing, or that bubblewrap did not make read-only, is
// noticed.
func TestMissingMount(t *testing.T) {
	h := newHouse(t)
	spec := h.spec()
	spec.Launcher = Bubblewrap
	s := open(t, spec)
	if _, err := s.Confirm(t.Context()); err != nil {
		t.Skip(err)
	}
	drop := func(option, target string) func(*layout.Plan, *exec.Cmd) {
		return func(_ *layout.Plan, cmd *exec.Cmd) {
			for i := 0; i+1 < len(cmd.Args); i++ {
				if cmd.Args[i] == option && (cmd.Args[i+1] == target || i+2 < len(cmd.Args) && cmd.Args[i+2] == target) {
					n := 3
					if cmd.Args[i+1] == target && option == "--remount-ro" {
						n = 2
					}
					cmd.Args = append(cmd.Args[:i:i], cmd.Args[i+n:]...)
					return
				}
			}
			t.Errorf("no %s %s in %q", option, target, cmd.Args)
		}
	}
	swap := func(from, to, target string) func(*layout.Plan, *exec.Cmd) {
		return func(_ *layout.Plan, cmd *exec.Cmd) {
			for i := range cmd.Args {
				if cmd.Args[i] == from && i+2 < len(cmd.Args) && cmd.Args[i+2] == target {
					cmd.Args[i] = to
					return
				}
			}
			t.Errorf("no %s %s in %q", from, target, cmd.Args)
		}
	}
	inner := s.launcher
	for name, tt := range map[string]struct {
		change func(*layout.Plan, *exec.Cmd)
		cause  string
	}{
		"writable root":         {swap("--ro-bind", "--bind", "/"), "is writable"},
		"writable .git":         {swap("--ro-bind", "--bind", filepath.Join(h.ws, ".git")), ".git"},
		"no .muse":              {drop("--ro-bind", filepath.Join(h.ws, ".muse")), ".muse is not read-only"},
		"no mask":               {drop("--ro-bind", h.secret), "is not masked"},
		"writable process list": {drop("--remount-ro", "/proc"), "/proc"},
		"writable /run":         {drop("--remount-ro", "/run"), "/run"},
	} {
		t.Run(name, func(t *testing.T) {
			s.launcher = altered{inner, tt.change}
			err := refusedRun(t, s, filepath.Join(h.ws, "mark"))
			if err == nil || !strings.Contains(err.Error(), tt.cause) {
				t.Errorf("got %v, want %q", err, tt.cause)
			}
		})
	}
}

// A directory above a nested repository is swapped for a link that leads
// outside, after the view was planned: nothing outside becomes writable.
func TestSwappedDirectory(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		write(t, filepath.Join(h.ws, "vendor", "lib", ".git", "config"), "")
		write(t, filepath.Join(h.outside, "lib", ".git", "config"), "")
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		vendor := filepath.Join(h.ws, "vendor")
		s.launcher = altered{real(t, s), func(*layout.Plan, *exec.Cmd) {
			if err := errors.Join(os.Rename(vendor, vendor+"-old"), os.Symlink("../outside", vendor)); err != nil {
				t.Error(err)
			}
		}}
		refusedRun(t, s, filepath.Join(h.outside, "mark"))
	})
}

// The proxy's socket must be there: a command without it would have another
// network than the one that was promised.
func TestListenerTaken(t *testing.T) {
	l, err := net.Listen("tcp", proxyAddress())
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	h := newHouse(t)
	spec := h.spec()
	spec.Launcher, spec.Network = Native, Enabled
	s := open(t, spec)
	if _, err := s.Confirm(t.Context()); err != nil {
		t.Skip(err)
	}
	s.spec.Network = ProxyOnly // asks for a socket in the host's network, where it is taken
	s.launcher = altered{s.launcher, func(_ *layout.Plan, cmd *exec.Cmd) { cmd.SysProcAttr.Cloneflags &^= unix.CLONE_NEWNET }}
	if err := refusedRun(t, s, filepath.Join(h.ws, "mark")); err == nil || !strings.Contains(err.Error(), "proxy socket") {
		t.Errorf("got %v", err)
	}
}

func TestWorkspacesThatAreRefused(t *testing.T) {
	h := newHouse(t)
	file := filepath.Join(h.dir, "file")
	write(t, file, "")
	for name, tt := range map[string]struct {
		change func(*Spec)
		cause  string
	}{
		"root":               {func(s *Spec) { s.Workspace = "/" }, "root directory"},
		"around home":        {func(s *Spec) { s.Workspace = h.dir }, "home directory"},
		"home itself":        {func(s *Spec) { s.Workspace = h.home }, "home directory"},
		"missing":            {func(s *Spec) { s.Workspace = filepath.Join(h.dir, "gone") }, "no such file"},
		"none":               {func(s *Spec) { s.Workspace = "" }, "no workspace"},
		"a file":             {func(s *Spec) { s.Workspace = file }, "not a directory"},
		"around the state":   {func(s *Spec) { s.StateDir = filepath.Join(h.ws, "state") }, "own state"},
		"in the state":       {func(s *Spec) { s.StateDir = h.dir; s.Home = "" }, "own state"},
		"tmp":                {func(s *Spec) { s.Workspace = "/tmp" }, "/tmp"},
		"usr":                {func(s *Spec) { s.Workspace = "/usr" }, "/usr"},
		"proc":               {func(s *Spec) { s.Workspace = "/proc/self" }, "/proc"},
		"a root of the list": {func(s *Spec) { s.Roots = []string{"/"} }, "root directory"},
		"unknown network":    {func(s *Spec) { s.Network = "open" }, "unknown network"},
		"unknown launcher":   {func(s *Spec) { s.Launcher = "none" }, "unknown sandbox launcher"},
		"a path as a name":   {func(s *Spec) { s.Protected = []string{"a/b"} }, "plain file name"},
		"no state":           {func(s *Spec) { s.StateDir = "" }, "no state directory"},
		"state is a file":    {func(s *Spec) { s.StateDir = file }, "state directory"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := h.spec()
			tt.change(&spec)
			s, err := Open(spec)
			if err == nil {
				s.Close()
				t.Fatal("accepted")
			}
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), tt.cause) {
				t.Errorf("got %v, want %q", err, tt.cause)
			}
		})
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(*house) error
		change  func(*house, *Spec)
		cause   string
	}{
		"linked .git": {
			prepare: func(h *house) error { return os.Symlink(h.outside, filepath.Join(h.ws, ".git")) },
			cause:   ".git is a symbolic link",
		},
		"dangling .muse": {
			prepare: func(h *house) error { return os.Symlink("nowhere", filepath.Join(h.ws, ".muse")) },
			cause:   ".muse is a symbolic link",
		},
		"a pipe in place of .agents": {
			prepare: func(h *house) error { return unix.Mkfifo(filepath.Join(h.ws, ".agents"), 0o644) },
			cause:   "neither a file nor a directory",
		},
		"masked workspace": {
			change: func(h *house, s *Spec) { s.Masks = []string{h.ws}; s.Home = "" },
			cause:  "inside the masked path",
		},
		"mask that is not empty": {
			prepare: func(h *house) error {
				dir := filepath.Join(h.dir, "state")
				return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "nothing"), []byte("x"), 0o644))
			},
			cause: "is not an empty file",
		},
		"mask that can be entered": {
			prepare: func(h *house) error { return os.MkdirAll(filepath.Join(h.dir, "state", "closed"), 0o755) },
			cause:   "nobody may enter",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			if tt.prepare != nil {
				if err := tt.prepare(h); err != nil {
					t.Fatal(err)
				}
			}
			spec := h.spec()
			if tt.change != nil {
				tt.change(h, &spec)
			}
			s, err := Open(spec)
			if err == nil {
				defer s.Close()
				err = refusedRun(t, s, filepath.Join(h.ws, "mark"))
			}
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), tt.cause) {
				t.Errorf("got %v, want %q", err, tt.cause)
			}
		})
	}
}

// A host on which the kernel refuses something is another process: what it
// loses it cannot get back.
func TestHosts(t *testing.T) {
	tests := map[string]struct {
		kind, cause string
		runs        bool
	}{
		"as it is":                    {"plain", "", true},
		"no user namespaces left":     {"no-namespaces", "user.max_user_namespaces", false},
		"a container's filter":        {"filtered", "", false},
		"hidden parts of /proc":       {"masked-proc", "proc", false},
		"no filters":                  {"no-seccomp", "system call filter", false},
		"no Landlock":                 {"no-landlock", "", true},
		"cancelled before the answer": {"cancelled", "ended before it was confirmed", false},
	}
	for name, tt := range tests {
		for _, l := range []LauncherName{Native, Bubblewrap} {
			t.Run(name+"/"+string(l), func(t *testing.T) {
				h := newHouse(t)
				spec := h.spec()
				spec.Launcher = l
				if _, err := open(t, spec).Confirm(t.Context()); err != nil {
					t.Skipf("the launcher does not work here: %v", err)
				}
				out := onHost(t, h, tt.kind, l)
				mark := filepath.Join(h.ws, "mark")
				_, err := os.Lstat(mark)
				cause := tt.cause
				if strings.Contains(out, errNoBubblewrap.Error()) && os.Geteuid() != 0 {
					cause = "" // in the test's user namespace nothing belongs to root
				}
				switch {
				case strings.Contains(out, "SKIP"):
					t.Skip(out)
				case tt.runs && (err != nil || !strings.HasPrefix(out, "ran")):
					t.Errorf("the command did not run: %s", out)
				case !tt.runs && err == nil:
					t.Errorf("the command ran: %s", out)
				case !tt.runs && (!strings.HasPrefix(out, "refused environment failure: sandbox enforcement unavailable: ") || !strings.Contains(out, cause)):
					t.Errorf("got %s, want %q", out, cause)
				}
			})
		}
	}
}

// onHost runs hostMain in a process of its own.
func onHost(t *testing.T, h *house, kind string, l LauncherName) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "host", kind, string(l), h.dir)
	if kind == "no-namespaces" || kind == "masked-proc" {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // a hang is a failure
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s (%v)", out, err)
	}
	return strings.TrimSpace(string(out))
}
