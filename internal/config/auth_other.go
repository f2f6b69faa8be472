//go:build !unix

package config

import "io/fs"

// readableByOthers: files in a Windows profile are private to their user by
// inheritance, and the permission bits say nothing.
func readableByOthers(string) (fs.FileMode, bool) { return 0, false }
