//go:build !unix

package collect

import "io/fs"

// owner is not known without Unix ids.
func owner(fs.FileInfo) (uid, gid *uint32) { return nil, nil }
