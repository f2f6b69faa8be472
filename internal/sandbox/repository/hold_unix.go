//go:build unix

package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Judgement is what became of a new repository.
type Judgement struct {
	Place Place
	// Why says what the repository could run; "" for one that runs nothing
	// and was left alone.
	Why string
	// Renamed and To are the file that was renamed so that git does not see
	// the repository, relative to the root; "" for none.
	Renamed, To string
}

// suffix is added to the name of a held file.
const suffix = ".held-by-muse"

// maxRead bounds the files that are read while judging.
const maxRead = 1 << 20

// Judge looks at a repository that appeared below root while a command ran,
// and at the ones kept inside it, and holds those that could run a program.
// Everything is reached through root, so that no link leads the look or the
// rename elsewhere. The first result is about p itself.
func Judge(root *os.Root, p Place) ([]Judgement, error) {
	switch p.Shape {
	case Pointer:
		return hold(root, p, judgePointer(root, p.Path), p.Path)
	case Link:
		return hold(root, p, "it is a symbolic link", p.Path)
	}
	// git needs no right to list a directory, we do.
	if err := ownerRights(root, p.Path); err != nil {
		return nil, fmt.Errorf("look into the new repository %s: %w", p.Path, err)
	}
	if p.Path == "." {
		// A scan searches the root anyway.
		return hold(root, p, judgeDir(root, p.Path), path.Join(p.Path, headName))
	}
	inner, link, complete := insides(root, p.Path)
	why := judgeDir(root, p.Path)
	if why == "" && link != "" {
		why = "its " + link + " is a symbolic link, and git writes through it"
	}
	all, err := hold(root, p, why, path.Join(p.Path, headName))
	if !complete {
		more, e := hold(root, p, "it has too many directories to look at", path.Join(p.Path, headName))
		return append(all, more...), errors.Join(err, e)
	}
	for _, dir := range inner {
		more, e := hold(root, Place{Path: dir, Shape: Bare}, judgeDir(root, dir), path.Join(dir, headName))
		all, err = append(all, more...), errors.Join(err, e)
	}
	return all, err
}

// hold sets file aside when there is a reason why.
func hold(root *os.Root, p Place, why, file string) ([]Judgement, error) {
	j := Judgement{Place: p, Why: why}
	if why == "" {
		return []Judgement{j}, nil
	}
	to, err := setAside(root, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.Why = "" // held by an earlier look
		return []Judgement{j}, nil
	case err != nil:
		return []Judgement{j}, fmt.Errorf("hold the new repository %s (%s): %w", p.Path, why, err)
	}
	j.Renamed, j.To = file, to
	return []Judgement{j}, nil
}

// maxInside bounds the directories of one new repository.
const maxInside = 20000

// insides returns the directories below dir that git would take for
// repositories: submodules, worktrees, and whatever was put there. link is a
// symbolic link in it, "" for none: git makes none, and a commit of the user's
// would follow it out of the workspace.
func insides(root *os.Root, dir string) (found []string, link string, complete bool) {
	pending, seen := []string{dir}, 0
	for len(pending) > 0 {
		at := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		_ = ownerRights(root, at) // what stays closed to us is closed to git
		if seen++; seen > maxInside {
			return found, link, false
		}
		f, err := root.Open(at)
		if err != nil {
			continue // git cannot read it either
		}
		entries, _ := f.ReadDir(-1) // what cannot be listed here git cannot list
		_ = f.Close()               // opened for reading
		var shape insideNames
		for _, e := range entries {
			if e.IsDir() {
				pending = append(pending, path.Join(at, e.Name()))
			}
			if e.Type()&fs.ModeSymlink != 0 {
				link = strings.TrimPrefix(path.Join(at, e.Name()), dir+"/")
			}
			shape.add(e.Name())
		}
		if shape.repository() && at != dir {
			found = append(found, at)
		}
	}
	return found, link, true
}

// judgeDir judges the inside of a repository.
func judgeDir(root *os.Root, dir string) (why string) {
	if _, err := root.Lstat(path.Join(dir, headName)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "" // git does not take it for a repository
		}
		return "its HEAD cannot be looked at"
	}
	if why := judgeCommonDir(root, dir); why != "" {
		return why
	}
	config, err := readFile(root, path.Join(dir, "config"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "its configuration cannot be read"
	default:
		if why := dangerous(config); why != "" {
			return why
		}
	}
	return judgeHooks(root, path.Join(dir, "hooks"))
}

// judgeCommonDir accepts a worktree of the repository that it is kept in.
func judgeCommonDir(root *os.Root, dir string) string {
	text, err := readFile(root, path.Join(dir, commonDir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err == nil && strings.TrimSpace(text) == "../.." && path.Base(path.Dir(dir)) == "worktrees":
		return ""
	}
	return "its configuration is kept elsewhere"
}

// judgeHooks accepts the samples that git puts into every new repository.
func judgeHooks(root *os.Root, dir string) string {
	info, err := root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil || !info.IsDir():
		return "its hooks cannot be looked at"
	}
	names, err := list(root, dir)
	if err != nil {
		return "its hooks cannot be listed"
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sample") {
			return "it has the hook " + name
		}
	}
	return ""
}

// judgePointer accepts a file that leads to a repository inside the root,
// which is found and judged by itself.
func judgePointer(root *os.Root, file string) string {
	text, err := readFile(root, file)
	if err != nil {
		return "it cannot be read"
	}
	target, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
	if !ok {
		return "" // git refuses it as well
	}
	if path.IsAbs(target) {
		rel, ok := strings.CutPrefix(path.Clean(target), strings.TrimRight(root.Name(), "/")+"/")
		if !ok {
			return "it leads to a repository outside the workspace"
		}
		target = rel
	} else {
		target = path.Join(path.Dir(file), target)
	}
	if target == ".." || strings.HasPrefix(target, "../") {
		return "it leads to a repository outside the workspace"
	}
	if why := judgeDir(root, target); why != "" {
		return "of the repository it leads to: " + why
	}
	return ""
}

// list returns the names in a directory, sorted.
func list(root *os.Root, dir string) ([]string, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// readFile reads a regular file of reasonable size.
func readFile(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRead {
		return "", fmt.Errorf("%s is not a small file", name)
	}
	text, err := root.ReadFile(name)
	return string(text), err
}

// setAside renames name within its directory and returns the new name.
func setAside(root *os.Root, name string) (string, error) {
	if err := ownerRights(root, path.Dir(name)); err != nil {
		return "", err
	}
	to := name + suffix
	for n := 2; ; n++ {
		if _, err := root.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if n > 1000 {
			to = fmt.Sprintf("%s%s-%d", name, suffix, time.Now().UnixNano())
			break
		}
		to = fmt.Sprintf("%s%s-%d", name, suffix, n)
	}
	return to, root.Rename(name, to)
}

// ownerRights gives the owner every right on a directory.
func ownerRights(root *os.Root, dir string) error {
	info, err := root.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	return root.Chmod(dir, info.Mode().Perm()|0o700)
}
