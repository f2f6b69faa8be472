//go:build linux || darwin

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func isRealDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// enclosing is the nearest directory at or above dir that holds a repository.
func enclosing(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// gitDirectories are the directories that the .git file of a worktree or
// submodule leads to: its own and the shared one.
func gitDirectories(root string) []string {
	text, err := readSmall(filepath.Join(root, ".git"))
	if err != nil {
		return nil // a directory, or none: nothing leads elsewhere
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
	if !ok {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // leads nowhere
	}
	found := []string{dir}
	text, err = readSmall(filepath.Join(dir, "commondir"))
	if err != nil {
		return found
	}
	shared := strings.TrimSpace(text)
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(dir, shared)
	}
	if shared, err = filepath.EvalSymlinks(shared); err == nil {
		found = append(found, shared)
	}
	return found
}

// readSmall reads a regular file of at most a few kilobytes.
func readSmall(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 4096 {
		return "", fmt.Errorf("%s is not a small file", path)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}
