//go:build !unix

package trust

import "io/fs"

// errNotDir is what looking below a file gives.
var errNotDir error = fs.ErrNotExist
