//go:build !unix

package trust

// inode is not known here: a directory is told by its path and content.
func inode(string) uint64 { return 0 }
