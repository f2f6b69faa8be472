// Package paths knows which places a command or a file tool may write and which
// it should not read: the workspace, its protected names in every spelling, the
// places that hold secrets. It is shared by the shell review and by the
// decisions about file tools, so that both draw the same boundary.
//
// Paths are judged by their text first. When a Space is given Links, a path is
// judged a second time where its links lead; the text alone never makes a place
// more open than the disk does.
package paths

import (
	"path"
	"strings"
)

// Space is what paths are judged against. All paths are absolute and clean.
type Space struct {
	// Workspace is the root that may be written.
	Workspace string
	// Home is the user's home directory, Temp the private temporary directory
	// of the sandbox.
	Home, Temp string
	// Scratch are the temporary directories that the sandbox keeps private; nil
	// stands for /tmp and /var/tmp.
	Scratch []string
	// Links resolves the links of an absolute path as far as it exists; nil
	// judges paths by their text alone.
	Links func(string) (string, error)
	// Masks are further files and directories that hold secrets.
	Masks []string
}

// Area says what a path belongs to when it is written.
type Area uint8

const (
	// Inside is an ordinary place in the workspace.
	Inside Area = iota
	// Scratch is a temporary directory that the sandbox keeps private.
	Scratch
	// Device is a harmless device such as /dev/null.
	Device
	// Guarded is a file of the workspace that a program of the user runs or
	// obeys unasked: editor tasks, .envrc, other agents' settings.
	Guarded
	// Protected is below .git, .muse or .agents.
	Protected
	// Outside is everything else.
	Outside
	// Unknown is a path that cannot be told before the command runs.
	Unknown
)

// String names the area in reasons.
func (a Area) String() string {
	switch a {
	case Inside:
		return "inside the workspace"
	case Scratch:
		return "in a temporary directory"
	case Device:
		return "a device"
	case Guarded:
		return "a file that other programs obey"
	case Protected:
		return "a protected name of the workspace"
	case Outside:
		return "outside the workspace"
	}
	return "not known"
}

// Write says which area an absolute path belongs to when it is written.
func (s *Space) Write(p string) Area {
	area := s.write(path.Clean(p))
	if s.Links == nil || area > Guarded {
		return area
	}
	real, err := s.Links(p)
	if err != nil {
		return Unknown
	}
	return max(area, s.write(real))
}

func (s *Space) write(p string) Area {
	if a, ok := device(p); ok {
		return a
	}
	if s.Workspace != "" {
		if rest, ok := below(p, s.Workspace); ok {
			return inWorkspace(rest)
		}
	}
	if s.Temp != "" && s.Temp != "/" {
		if _, ok := below(p, s.Temp); ok {
			return Scratch
		}
	}
	scratch := s.Scratch
	if scratch == nil {
		scratch = defaultScratch
	}
	for _, t := range scratch {
		if _, ok := below(p, t); ok {
			return Scratch
		}
	}
	return Outside
}

var defaultScratch = []string{"/tmp", "/var/tmp"}

// inWorkspace judges a path relative to the workspace.
func inWorkspace(rel string) Area {
	area := Inside
	for i, name := range strings.Split(rel, "/") {
		switch kind := nameArea(name, i == 0); kind {
		case Protected:
			return Protected
		case Guarded:
			area = Guarded
		}
	}
	return area
}

// ProtectedPath reports whether a path relative to the workspace passes through
// a name that file tools never write (THREATS.md 6): ".git" anywhere, ".muse"
// and ".agents" at the root, in any spelling a file system takes for them.
func ProtectedPath(rel string) bool {
	return inWorkspace(strings.ReplaceAll(path.Clean("/" + strings.ReplaceAll(rel, `\`, "/"))[1:], "//", "/")) == Protected
}

// MayWrite reports whether an absolute path lies in the workspace or in a
// temporary directory, whatever its names are.
func (s *Space) MayWrite(p string) bool {
	switch s.Write(p) {
	case Inside, Scratch, Guarded, Protected:
		return true
	}
	return false
}

// In reports whether an absolute path lies in the workspace or is its root.
func (s *Space) In(p string) bool {
	if s.Workspace == "" {
		return false
	}
	if _, ok := below(path.Clean(p), s.Workspace); !ok {
		return false
	}
	if s.Links == nil {
		return true
	}
	real, err := s.Links(p)
	if err != nil {
		return false
	}
	root, err := s.Links(s.Workspace)
	if err != nil {
		return false
	}
	if _, ok := below(real, s.Workspace); ok {
		return true
	}
	_, ok := below(real, root)
	return ok
}

// below gives p relative to dir, "" for dir itself.
func below(p, dir string) (string, bool) {
	if p == dir {
		return "", true
	}
	if dir == "/" {
		return p[1:], true
	}
	if len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir {
		return p[len(dir)+1:], true
	}
	return "", false
}

func device(p string) (Area, bool) {
	if !strings.HasPrefix(p, "/dev/") {
		return 0, false
	}
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/random", "/dev/urandom":
		return Device, true
	}
	if rest, ok := strings.CutPrefix(p, "/dev/fd/"); ok && !strings.Contains(rest, "/") {
		return Device, true
	}
	if _, ok := below(p, "/dev/shm"); ok {
		return Scratch, true
	}
	return Outside, true
}
