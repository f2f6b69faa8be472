package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/openmuse/muse/internal/plainfile"
)

// Limits of what is looked at. A workspace beyond them cannot be trusted for
// good: what is not hashed could change unseen.
const (
	maxFiles = 5000
	maxBytes = 64 << 20
	maxLevel = 32
)

// gatedFiles are files of the root that take part in a session once it is
// trusted (seed 003; CLI.md 4, "Project", 6 and 7.4).
var gatedFiles = []string{
	"AGENTS.md", "CLAUDE.md", ".agents/AGENTS.md", ".claude/CLAUDE.md", ".mcp.json", ".muse/hooks.json", ".muse/permissions.json",
}

// gatedDirs are directories of which every file counts.
var gatedDirs = []string{
	".agents/agents", ".agents/skills", ".agents/workflows", ".agents/hooks", ".claude/agents", ".claude/skills", ".claude/workflows",
	".codex/workflows", ".codex/skills", ".muse/skills", ".muse/agents", ".muse/workflows", ".muse/plugins",
}

// Fingerprint is the content that a decision is bound to.
type Fingerprint struct {
	// Sum is "sha256:" and the hash over all names and contents.
	Sum string
	// Files are the gated files by path relative to the root, with the hash of
	// each, so that a question can say which ones changed.
	Files map[string]string
}

// Names lists the files in order.
func (f Fingerprint) Names() []string {
	out := make([]string, 0, len(f.Files))
	for n := range f.Files {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// Changed lists the files that differ between two fingerprints.
func (f Fingerprint) Changed(now Fingerprint) []string {
	var out []string
	for n, h := range now.Files {
		if f.Files[n] != h {
			out = append(out, n)
		}
	}
	for n := range f.Files {
		if _, ok := now.Files[n]; !ok {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// Take reads the gated files of a workspace. Rules files count at every level
// up to the root of the enclosing repository, as they load from there.
func Take(root string) (Fingerprint, error) {
	t := taking{root: root, out: Fingerprint{Files: map[string]string{}}}
	for _, name := range gatedFiles {
		if err := t.file(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return Fingerprint{}, err
		}
	}
	for _, name := range gatedDirs {
		if err := t.tree(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return Fingerprint{}, err
		}
	}
	for _, dir := range above(root) {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md", ".agents/AGENTS.md", ".claude/CLAUDE.md"} {
			if err := t.file(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return Fingerprint{}, err
			}
		}
	}
	h := sha256.New()
	for _, n := range t.out.Names() {
		fmt.Fprintf(h, "%d:%s=%s\n", len(n), n, t.out.Files[n])
	}
	t.out.Sum = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return t.out, nil
}

// above lists the directories over root up to the root of its repository.
func above(root string) []string {
	var out []string
	for dir := root; ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return out
		}
		up := filepath.Dir(dir)
		if up == dir || len(out) >= maxLevel {
			// There is no repository: nothing above counts.
			return nil
		}
		out, dir = append(out, up), up
	}
}

type taking struct {
	root    string
	out     Fingerprint
	bytes   int64
	visited int
}

// ErrTooMuch is returned for workspaces whose gated files are beyond the limits.
var ErrTooMuch = errors.New("too many gated files to vouch for")

// file adds a file if it is there. Links count by what they lead to and by
// where they lead.
func (t *taking) file(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at gated files: %w", err)
	}
	name, err := filepath.Rel(t.root, path)
	if err != nil {
		return fmt.Errorf("look at gated files: %w", err)
	}
	name = filepath.ToSlash(name)
	if _, seen := t.out.Files[name]; seen {
		return nil
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return fmt.Errorf("look at gated files: %w", err)
		}
		if info, err = os.Stat(path); err != nil {
			// A link to nothing loads nothing, but may later.
			t.out.Files[name] = "link:" + link
			return nil
		}
	}
	if info.IsDir() {
		return t.tree(path)
	}
	if !info.Mode().IsRegular() {
		t.out.Files[name] = "special:" + info.Mode().Type().String()
		return nil
	}
	if t.bytes += info.Size(); len(t.out.Files) >= maxFiles || t.bytes > maxBytes {
		return ErrTooMuch
	}
	sum, err := hashFile(path)
	if err != nil {
		return fmt.Errorf("read gated file: %w", err)
	}
	if link != "" {
		sum += " via " + link
	}
	t.out.Files[name] = sum
	return nil
}

func hashFile(path string) (sum string, err error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxBytes+1)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// tree adds every file below a directory.
func (t *taking) tree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at gated files: %w", err)
	}
	if t.visited++; t.visited > maxFiles {
		return ErrTooMuch
	}
	for _, e := range entries {
		if err := t.file(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
