package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmuse/muse/internal/egress"
	"github.com/openmuse/muse/internal/sandbox/helper"
)

// Network says how much of the network a command reaches (CLI.md 7.3).
type Network string

// The network modes, as --sandbox-network spells them.
const (
	// ProxyOnly leaves one way out, through the gate. The default.
	ProxyOnly Network = "proxy-only"
	// Restricted leaves the command its own loopback.
	Restricted Network = "restricted"
	// Enabled is the host's network.
	Enabled Network = "enabled"
)

// ParseNetwork reads a mode; "" is the default. An unknown mode is an error,
// never a default that could be wider.
func ParseNetwork(s string) (Network, error) {
	switch n := Network(s); n {
	case "":
		return ProxyOnly, nil
	case ProxyOnly, Restricted, Enabled:
		return n, nil
	}
	return "", fmt.Errorf("unknown network mode %q: it is restricted, enabled or proxy-only", s)
}

// LauncherName chooses how the boundary is made.
type LauncherName string

// The launchers. Auto is the first one that passes its own check.
const (
	Auto       LauncherName = "auto"
	Native     LauncherName = helper.Native
	Bubblewrap LauncherName = "bubblewrap"
	Seatbelt   LauncherName = "seatbelt"
)

// ParseLauncher reads a launcher's name; "" is Auto.
func ParseLauncher(s string) (LauncherName, error) {
	switch l := LauncherName(s); l {
	case "":
		return Auto, nil
	case Auto, Native, Bubblewrap, Seatbelt:
		return l, nil
	}
	return "", fmt.Errorf("unknown sandbox launcher %q: it is auto, native or bubblewrap", s)
}

// Spec describes a boundary. Open checks it and never widens it.
type Spec struct {
	// Workspace is the directory that commands may write, and where they start.
	Workspace string
	// ReadOnly leaves the workspace as read-only as the rest of the machine.
	ReadOnly bool
	// Roots are further directories that commands may write.
	Roots []string
	// Protected are the names directly below each writable directory that
	// stay read-only. Nil means .git, .muse and .agents.
	Protected []string
	// GitWrite lets git commit in the workspace's own repository: objects,
	// references and the index become writable, while everything that names a
	// program (configuration, hooks, ...) stays read-only.
	GitWrite bool

	// Home is the user's home directory. Secrets in it are masked by default;
	// see DefaultMasks.
	Home string
	// Masks are paths that show nothing inside: files read empty, directories
	// cannot be entered. Paths that do not exist are skipped.
	Masks []string
	// Visible are paths below a mask that stay readable, such as the spilled
	// outputs of the session.
	Visible []string

	// StateDir is ours alone: temporary directories, private caches and locks
	// live in it. It must not be below a writable directory, and is masked.
	StateDir string

	Network Network
	// Gate decides about connections in ProxyOnly mode. Nil refuses all.
	Gate *egress.Gate
	// UnixSockets lets commands make Unix sockets. The host's own sockets in
	// /run stay out of sight.
	UnixSockets bool

	// Environ is the environment of the host process, of which commands get
	// the allowed names. Nil means none.
	Environ []string
	// PassEnv are further names of Environ, or of a command's Env, to let
	// through.
	PassEnv []string

	Launcher LauncherName
	// Notify is told what a person should know: the launcher that was chosen,
	// repositories that appeared, placeholders that went away. It may be
	// called from several goroutines. Nil drops the notices.
	Notify func(Notice)
}

// Notice is one thing to tell or to log.
type Notice struct {
	// Kind is "launcher", "repository-found", "repository-held",
	// "placeholder-removed", "placeholder-kept" or "scan-incomplete".
	Kind string
	// Text is a sentence for people.
	Text string
	// Path is the file concerned, absolute; may be empty.
	Path string
}

// DefaultProtected are the protected names (seed 003, "The sandbox fails
// closed").
func DefaultProtected() []string { return []string{".git", ".muse", ".agents"} }

// settled is a Spec whose paths are absolute, clean and free of links.
type settled struct {
	Spec
	roots []string // those that may be written, the workspace first
}

// dirs are the workspace and the other roots, writable or not.
func (s *settled) dirs() []string {
	if s.ReadOnly {
		return append([]string{s.Workspace}, s.roots...)
	}
	return s.roots
}

// settle resolves and checks the paths of s. Errors are faults of the
// environment or of the configuration, and no command runs with them.
func (s Spec) settle() (*settled, error) {
	out := &settled{Spec: s}
	if out.Protected == nil {
		out.Protected = DefaultProtected()
	}
	var err error
	if out.Network, err = ParseNetwork(string(s.Network)); err != nil {
		return nil, err
	}
	if out.Launcher, err = ParseLauncher(string(s.Launcher)); err != nil {
		return nil, err
	}
	for _, name := range out.Protected {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00\n") {
			return nil, fmt.Errorf("protected name %q is not a plain file name", name)
		}
	}
	if out.Home, err = resolve(s.Home); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("resolve the home directory: %w", err)
	}
	if s.StateDir == "" {
		return nil, errors.New("no state directory for the sandbox")
	}
	if err := os.MkdirAll(s.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the sandbox state directory: %w", err)
	}
	if out.StateDir, err = resolve(s.StateDir); err != nil {
		return nil, fmt.Errorf("resolve the sandbox state directory: %w", err)
	}
	for _, dir := range append([]string{s.Workspace}, s.Roots...) {
		root, err := out.settleRoot(dir)
		if err != nil {
			return nil, err
		}
		out.roots = append(out.roots, root)
	}
	out.Workspace = out.roots[0]
	if s.ReadOnly {
		if s.GitWrite {
			return nil, errors.New("commits were asked for in a workspace that is read-only")
		}
		out.roots = out.roots[1:]
	}
	return out, nil
}

// resolve is the absolute path without links. "" stays "".
func resolve(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// settleRoot refuses directories that would take the boundary with them.
func (s *settled) settleRoot(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no workspace for the sandbox")
	}
	root, err := resolve(dir)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	info, err := os.Stat(root)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	switch {
	case !info.IsDir():
		return "", fmt.Errorf("the workspace %s is not a directory", root)
	case root == string(filepath.Separator):
		return "", errors.New("the workspace is the root directory: nothing would be outside it")
	case s.Home != "" && inside(s.Home, root):
		return "", fmt.Errorf("the workspace %s contains the home directory", root)
	case inside(s.StateDir, root):
		return "", fmt.Errorf("the workspace %s contains the sandbox's own state %s", root, s.StateDir)
	case inside(root, s.StateDir):
		return "", fmt.Errorf("the workspace %s is inside the sandbox's own state", root)
	}
	return root, s.placeAllowed(root)
}

// inside reports whether path is dir or below it.
func inside(path, dir string) bool {
	sep := string(filepath.Separator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, sep)+sep)
}
