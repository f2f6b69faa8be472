package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A confined thread cannot be freed again, so the test runs in a process of
// its own: this binary, with the directories as arguments.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "confined" {
		if err := confined(os.Args[2], os.Args[3]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ok")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func confined(inside, outside string) error {
	runtime.LockOSThread()
	file := filepath.Join(outside, "file")
	before, err := os.Open(file)
	if err != nil {
		return err
	}
	defer before.Close()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	version, err := Restrict([]string{inside})
	if err != nil {
		return err
	}
	if version != Version() {
		return fmt.Errorf("version %d is in force, the kernel has %d", version, Version())
	}
	for name, try := range map[string]func() error{
		"overwrite":        func() error { return os.WriteFile(file, nil, 0o644) },
		"make":             func() error { return os.WriteFile(filepath.Join(outside, "new"), nil, 0o644) },
		"make a directory": func() error { return os.Mkdir(filepath.Join(outside, "d"), 0o755) },
		"remove":           func() error { return os.Remove(file) },
		"link":             func() error { return os.Symlink("x", filepath.Join(outside, "l")) },
		// A descriptor from before, opened again by its name in /proc: no
		// mount stands in its way.
		"open again": func() error { return os.WriteFile(fmt.Sprintf("/proc/self/fd/%d", before.Fd()), nil, 0o644) },
	} {
		if err := try(); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s outside: %v", name, err)
		}
	}
	sub := filepath.Join(inside, "a", "b")
	return errors.Join(os.MkdirAll(sub, 0o755), os.WriteFile(filepath.Join(sub, "f"), []byte("x"), 0o644),
		os.Rename(filepath.Join(sub, "f"), filepath.Join(inside, "f")), os.Remove(filepath.Join(inside, "f")))
}

func TestRestrict(t *testing.T) {
	if Version() < minimum {
		t.Skip("this kernel has no useful Landlock")
	}
	inside, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "confined", inside, outside).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("%v: %s", err, out)
	}
}
