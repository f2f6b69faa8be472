//go:build unix

package plainfile

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe: "is a named pipe", link: "is a device", "/dev/null": "is a device", dir: "is a directory",
	} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path+" "+want+", not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
	// A socket cannot even be opened.
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no sockets here: ", err)
	}
	defer l.Close()
	if _, err := Read(socket); err == nil {
		t.Error("a socket was read")
	}
}
