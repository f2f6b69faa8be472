package search

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxIgnoreFile bounds what is read of a .gitignore.
const maxIgnoreFile = 1 << 20

// level is the ignore rules of one directory, linked to those above it.
type level struct {
	up      *level
	ignore  *ruleFile // .ignore
	git     *ruleFile // .gitignore
	exclude *ruleFile // .git/info/exclude
	isTop   bool      // the directory holds .git
	inGit   bool      // this directory or one above holds .git
	id      fs.FileInfo
}

// judge applies the rules of a directory and those above it: .ignore before
// .gitignore before .git/info/exclude, deeper before higher, as ripgrep does.
// .gitignore counts only inside a working tree and up to its top.
func (lv *level) judge(full, name string, dir bool) verdict {
	var git, exclude verdict
	sawTop := false
	for at := lv; at != nil; at = at.up {
		if at.ignore != nil {
			if v := at.ignore.judge(full, name, dir); v != unsaid {
				return v
			}
		}
		if sawTop || !lv.inGit {
			continue
		}
		if git == unsaid && at.git != nil {
			git = at.git.judge(full, name, dir)
		}
		if exclude == unsaid && at.exclude != nil {
			exclude = at.exclude.judge(full, name, dir)
		}
		sawTop = at.isTop
	}
	if git != unsaid {
		return git
	}
	return exclude
}

// holds reports whether the directory is one that the level is in.
func (lv *level) holds(id fs.FileInfo) bool {
	for at := lv; at != nil; at = at.up {
		if at.id != nil && os.SameFile(at.id, id) {
			return true
		}
	}
	return false
}

// enter returns the rules that hold in a directory. entries is its listing,
// nil when it was not read. Without rules of its own it has its parent's.
func (w *walker) enter(dir string, up *level, entries []fs.DirEntry) *level {
	if w.opt.NoIgnore {
		return up
	}
	read := func(name string) (string, bool) {
		if entries != nil {
			if _, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, n string) int {
				return strings.Compare(e.Name(), n)
			}); !ok {
				return "", false
			}
		}
		return w.readSmall(dir + name)
	}
	own := level{up: up, inGit: up != nil && up.inGit}
	if text, ok := read(".ignore"); ok {
		own.ignore = parseRules(text, w.prefix+dir)
	}
	if text, ok := read(".gitignore"); ok {
		own.git = parseRules(text, w.prefix+dir)
	}
	if w.hasGit(dir, entries) {
		own.isTop, own.inGit = true, true
		if text, ok := w.readSmall(dir + ".git/info/exclude"); ok {
			own.exclude = parseRules(text, w.prefix+dir)
		}
	}
	if own.ignore == nil && own.git == nil && !own.isTop {
		return up
	}
	return &own
}

func (w *walker) hasGit(dir string, entries []fs.DirEntry) bool {
	if entries != nil {
		_, ok := slices.BinarySearchFunc(entries, ".git", func(e fs.DirEntry, n string) int {
			return strings.Compare(e.Name(), n)
		})
		return ok
	}
	_, err := os.Lstat(filepath.Join(w.opt.Dir, filepath.FromSlash(dir), ".git"))
	return err == nil
}

func (w *walker) readSmall(rel string) (string, bool) {
	f, err := w.tree.openFile(rel)
	if err != nil {
		return "", false
	}
	defer f.close()
	data, err := io.ReadAll(io.LimitReader(readerOf{f}, maxIgnoreFile))
	return string(data), err == nil
}

// readerOf is an open file as an io.Reader.
type readerOf struct{ c content }

func (r readerOf) Read(p []byte) (int, error) { return r.c.read(p) }

// levelsAbove reads the rules of the directories above Dir, up to the working
// tree's top, and sets prefix.
func (w *walker) levelsAbove() *level {
	if w.opt.NoIgnore {
		return nil
	}
	var above []string // from Dir's parent upwards
	for at := filepath.Dir(w.opt.Dir); ; at = filepath.Dir(at) {
		above = append(above, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			break
		}
		if filepath.Dir(at) == at {
			return nil // in no working tree: nothing above counts
		}
	}
	top := above[len(above)-1]
	if rel, err := filepath.Rel(top, w.opt.Dir); err == nil {
		w.prefix = filepath.ToSlash(rel) + "/"
	}
	var lv *level
	for _, at := range slices.Backward(above) {
		base := ""
		if rel, err := filepath.Rel(top, at); err == nil && rel != "." {
			base = filepath.ToSlash(rel) + "/"
		}
		lv = &level{up: lv, inGit: true, isTop: at == top,
			ignore: rulesIn(filepath.Join(at, ".ignore"), base),
			git:    rulesIn(filepath.Join(at, ".gitignore"), base)}
		if at == top {
			lv.exclude = rulesIn(filepath.Join(at, ".git", "info", "exclude"), base)
		}
	}
	return lv
}

// rulesIn reads a rule file above the tree.
func rulesIn(name, base string) *ruleFile {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil // unreadable rules hide nothing
	}
	return parseRules(string(data), base)
}

func orDot(rel string) string {
	if rel == "" {
		return "."
	}
	return rel
}
