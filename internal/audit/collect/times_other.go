//go:build !linux

package collect

import (
	"io/fs"
	"time"
)

// accessTime stands in for the access time, which has a form of its own on
// every system, with the modification time.
func accessTime(info fs.FileInfo) time.Time { return info.ModTime() }
