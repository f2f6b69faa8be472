//go:build unix

package reserve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func names() []string { return []string{".git", ".muse", ".agents"} }

func acquire(t *testing.T, k *Keeper) []Name {
	t.Helper()
	held, err := k.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func release(t *testing.T, k *Keeper) {
	t.Helper()
	if err := k.Release(); err != nil {
		t.Fatal(err)
	}
}

// there are the protected names that exist in dir.
func there(t *testing.T, dir string) string {
	t.Helper()
	var found []string
	for _, n := range names() {
		if _, err := os.Lstat(filepath.Join(dir, n)); err == nil {
			found = append(found, n)
		}
	}
	return strings.Join(found, " ")
}

func TestPlaceholdersComeAndGo(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	k := New(dir, state, names())
	held := acquire(t, k)
	if len(held) != 3 || held[0].Placeholder || !held[1].Placeholder || !held[2].Placeholder {
		t.Errorf("held %+v", held)
	}
	info, err := os.Lstat(filepath.Join(dir, ".muse"))
	if err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("placeholder: %v %v", info, err)
	}
	acquire(t, k)
	release(t, k)
	if got := there(t, dir); got != ".git .muse .agents" {
		t.Errorf("while one command runs: %s", got)
	}
	release(t, k)
	if got := there(t, dir); got != ".git" {
		t.Errorf("afterwards: %s", got)
	}
}

// Two processes on one workspace: the first to end must not open a name that
// the second still has mounted. A second Keeper stands for the other process;
// the lock is on the open file, not on the process.
func TestTwoUsers(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	first, second := New(dir, state, names()), New(dir, state, names())
	acquire(t, first)
	held := acquire(t, second)
	if len(held) != 3 || !held[0].Placeholder {
		t.Errorf("the second one sees %+v", held)
	}
	release(t, first)
	if got := there(t, dir); got != ".git .muse .agents" {
		t.Errorf("after the first one's end: %s", got)
	}
	release(t, second)
	if got := there(t, dir); got != "" {
		t.Errorf("after the second one's end: %s", got)
	}
}

// A process that was killed leaves placeholders; the next one takes them over
// and away.
func TestLeftoversAreReclaimed(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	killed := New(dir, state, names())
	acquire(t, killed)
	if err := killed.lock.Close(); err != nil { // what the kernel does at the end
		t.Fatal(err)
	}
	next := New(dir, state, names())
	acquire(t, next)
	release(t, next)
	if got := there(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}

// What became real meanwhile, or was never ours, stays.
func TestOnlyPlaceholdersAreRemoved(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	own := filepath.Join(dir, ".agents")
	if err := os.Mkdir(own, 0o555); err != nil { // the user's, though it looks like one
		t.Fatal(err)
	}
	k := New(dir, state, names())
	acquire(t, k)
	muse := filepath.Join(dir, ".muse")
	if err := os.Chmod(muse, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(muse, "settings.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if gone := k.Disturbed(); len(gone) != 1 || gone[0] != muse {
		t.Errorf("disturbed: %v", gone)
	}
	release(t, k)
	if got := there(t, dir); got != ".muse .agents" {
		t.Errorf("left: %s", got)
	}
}

func TestUnprotectable(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"link":            func(p string) error { return os.Symlink("elsewhere", p) },
		"dangling link":   func(p string) error { return os.Symlink("/nowhere/at/all", p) },
		"link to a place": func(p string) error { return os.Symlink(os.TempDir(), p) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			if err := make(filepath.Join(dir, ".muse")); err != nil {
				t.Fatal(err)
			}
			k := New(dir, state, names())
			if _, err := k.Acquire(); !errors.Is(err, ErrUnprotectable) || !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("got %v", err)
			}
			if got := there(t, dir); got != ".muse" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k := New(dir, t.TempDir(), names())
	if held := acquire(t, k); held[0].Dir || held[0].Placeholder {
		t.Errorf("held %+v", held[0])
	}
	release(t, k)
}

// Where we cannot make a name, nobody with our rights can.
func TestReadOnlyRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	k := New(dir, t.TempDir(), names())
	if held := acquire(t, k); len(held) != 0 {
		t.Errorf("held %+v", held)
	}
	release(t, k)
}

func TestStateDirectoryMustWork(t *testing.T) {
	state := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(state, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := New(dir, state, names()).Acquire(); err == nil {
		t.Error("names were reserved without a lock")
	}
	if got := there(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}
