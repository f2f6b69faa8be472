// Package subject is the programs that are measured and how each is made to do
// the same work: the muse binary on its wires, a floor that does the least, and
// other agents that are found on PATH. None of them sees the person's own
// settings, keys or sessions.
package subject

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Prompt is what every run is asked.
const Prompt = "Run the steps"

// Key is the key every program is given; the mock service takes any.
const Key = "dummy"

// Place is where a program runs.
type Place struct {
	Home string // its own home directory
	Work string // a Git repository, its current directory
	URL  string // root of the model service
	// Session is the id to give a session, or to continue, for programs that
	// take one; "" lets the program choose.
	Session string
}

// Subject is one program.
type Subject struct {
	Name    string
	Program string // absolute
	Wire    string // of the service it talks to
	Peer    bool   // not ours: its failures are news, not errors
	// Version are the arguments that print the version.
	Version []string
	// Run are the arguments of a new session, Continue those of going on with
	// the session of the place, or its newest one; nil where it cannot.
	Run, Continue func(Place) []string
	// Env is what the environment holds beside the basics.
	Env func(Place) []string
	// Configure writes what the program reads before it starts.
	Configure func(Place) error
	// Logs are where it keeps its sessions.
	Logs Files
	// UI is how it is used on a terminal, nil for what has no such thing.
	UI *UI
	// Limit ends a run that hangs.
	Limit time.Duration
}

// Environ is the whole environment of a run.
func (s *Subject) Environ(p Place) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.Home, "USERPROFILE=" + p.Home, "LANG=C.UTF-8", "TERM=dumb", "SHELL=/bin/bash",
		"XDG_CONFIG_HOME=" + filepath.Join(p.Home, ".config"), "XDG_DATA_HOME=" + filepath.Join(p.Home, ".local", "share"),
		"XDG_STATE_HOME=" + filepath.Join(p.Home, ".local", "state"), "XDG_CACHE_HOME=" + filepath.Join(p.Home, ".cache"),
	}
	if root := os.Getenv("SYSTEMROOT"); root != "" {
		env = append(env, "SYSTEMROOT="+root)
	}
	if s.Env != nil {
		env = append(env, s.Env(p)...)
	}
	return env
}

// Files are the files of one kind below a directory.
type Files struct {
	InWork bool   // below Place.Work instead of Place.Home
	Dir    string // slash-separated
	Match  string // pattern of the base name (path/filepath.Match)
}

// Bytes is the size of all of them. A directory that is not there has none.
func (f Files) Bytes(p Place) (int64, error) {
	total := int64(0)
	err := f.walk(p, func(_ string, info fs.FileInfo) { total += info.Size() })
	return total, err
}

// Newest is the file that was changed last, "" when there is none.
func (f Files) Newest(p Place) (string, error) {
	newest, at := "", time.Time{}
	err := f.walk(p, func(path string, info fs.FileInfo) {
		if info.ModTime().After(at) {
			newest, at = path, info.ModTime()
		}
	})
	return newest, err
}

func (f Files) walk(p Place, fn func(path string, info fs.FileInfo)) error {
	if f.Dir == "" {
		return nil
	}
	root := p.Home
	if f.InWork {
		root = p.Work
	}
	root = filepath.Join(root, filepath.FromSlash(f.Dir))
	if _, err := os.Stat(root); err != nil {
		return nil // it keeps nothing yet
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if ok, err := filepath.Match(f.Match, d.Name()); err != nil || !ok {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fn(path, info)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("measure %s: %w", root, err)
	}
	return nil
}
