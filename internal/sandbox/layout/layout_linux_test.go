package layout

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestBubblewrapOptions(t *testing.T) {
	p := &Plan{Mounts: []Mount{
		{Devices, "", "/dev"}, {Processes, "", "/proc"}, {Fresh, "", "/run"},
		{Writable, "/s/tmp", "/tmp"}, {ReadOnly, "/w/.git", "/w/.git"}, {Seal, "", "/run"},
	}}
	got := strings.Join(p.Bubblewrap(), " ")
	want := "--ro-bind / / --dev /dev --proc /proc --remount-ro /proc --tmpfs /run --bind /s/tmp /tmp --ro-bind /w/.git /w/.git --remount-ro /run"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCheckRefusesPaths(t *testing.T) {
	for _, m := range []Mount{
		{Writable, "relative", "/w"}, {Writable, "/w", "w"}, {Writable, "/w/../x", "/w"}, {ReadOnly, "", "/w"}, {Fresh, "", "/a/"},
	} {
		if (&Plan{Mounts: []Mount{m}}).Check() == nil {
			t.Errorf("%+v was accepted", m)
		}
	}
}

// table is a mount table as the kernel writes it, with one more line.
func table(line string) string {
	return `21 1 254:0 / / ro,nosuid,nodev - ext4 /dev/root rw
22 21 0:30 / /dev rw,nosuid - tmpfs tmpfs rw
23 22 0:6 /null /dev/null rw,nosuid - devtmpfs devtmpfs rw
24 21 0:31 / /proc ro,nosuid - proc proc rw
25 21 254:0 /s/tmp /tmp rw,nosuid - ext4 /dev/root rw
26 21 254:0 /home/u/w /home/u/w rw,nosuid - ext4 /dev/root rw
27 26 254:0 /home/u/w/.git /home/u/w/.git ro,nosuid - ext4 /dev/root rw
` + line + "\n"
}

func TestVerifyTable(t *testing.T) {
	p := &Plan{Writable: []string{"/tmp", "/home/u/w"}, Protected: []string{"/home/u/w/.git"}}
	tests := []struct {
		name, line string
		holds      bool
	}{
		{"as planned", "28 21 0:40 / /sys ro - sysfs sysfs rw", true},
		{"a mount below the workspace", "28 26 0:40 / /home/u/w/data rw - ext4 x rw", true},
		{"another writable mount", "28 21 0:40 / /data rw,noatime - ext4 x rw", false},
		{"a writable home", "28 21 0:40 / /home/u rw - ext4 x rw", false},
		{"a sibling by prefix", "28 21 0:40 / /home/u/w2 rw - ext4 x rw", false},
		{"a writable mount on a protected path", "28 26 0:40 / /home/u/w/.git rw - ext4 x rw", false},
		{"and below one", "28 26 0:40 / /home/u/w/.git/hooks rw - ext4 x rw", false},
		{"a second root", "28 21 0:40 / / rw - ext4 x rw", false},
		{"an escaped name outside", `28 21 0:40 / /home/u/w\0402 rw - ext4 x rw`, false},
		{"an escaped name inside", `28 26 0:40 / /home/u/w/a\040b rw - ext4 x rw`, true},
		{"only the file system is read-only", "28 21 0:40 / /data rw - ext4 x ro", false},
		{"proc", "28 21 0:40 / /proc rw - proc proc rw", false},
		{"cut short", "28 21", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := p.verifyTable(strings.NewReader(table(tt.line)))
			if (err == nil) != tt.holds {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := p.verifyTable(strings.NewReader("")); err == nil {
		t.Error("an empty table was accepted")
	}
}

// On the host itself nothing is confined, and Verify must say so.
func TestVerifyOnTheHost(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verifyHidden(file); !errors.Is(err, ErrExposed) {
		t.Errorf("a readable file: %v", err)
	}
	if err := verifyHidden(dir); !errors.Is(err, ErrExposed) {
		t.Errorf("a readable directory: %v", err)
	}
	if err := verifyReadOnly(dir); !errors.Is(err, ErrExposed) {
		t.Errorf("a writable directory: %v", err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		t.Fatal(err)
	}
	if err := verifyIdentity(Identity{dir, st.Dev, st.Ino}); err != nil {
		t.Errorf("the same directory: %v", err)
	}
	if err := verifyIdentity(Identity{dir, st.Dev, st.Ino + 1}); !errors.Is(err, ErrExposed) {
		t.Errorf("another directory: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := verifyIdentity(Identity{link, st.Dev, st.Ino}); !errors.Is(err, ErrExposed) {
		t.Errorf("a link to the directory: %v", err)
	}
	if err := (&Plan{}).Verify(); !errors.Is(err, ErrExposed) {
		t.Errorf("the host's own mount table: %v", err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verifyHidden(empty); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`/a\040b`: "/a b", `/a\011\012\134c`: "/a\t\n\\c", `/plain`: "/plain", `/end\04`: `/end\04`} {
		if got := unescape(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestDeviceNames(t *testing.T) {
	for _, bad := range []string{"mem", "kmem", "sda", "kvm", "fuse", "console", "port", "input"} {
		if slices.Contains(deviceNames(), bad) {
			t.Errorf("%s is shown", bad)
		}
	}
}
