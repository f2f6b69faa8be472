//go:build !unix

package registry

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// sockets says that sessions cannot be asked here (CLI.md 13, Peer messages).
const sockets = false

// ownPrivate relies on the home's access list, which new directories inherit.
func ownPrivate(string, fs.FileInfo) error { return nil }

func privateTemp() string { return filepath.Join(os.TempDir(), "openmuse") }

func sameUser(*net.UnixConn) error { return ErrNoEndpoint }
