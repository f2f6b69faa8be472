//go:build !unix

package cli

// isReadOnly adds nothing here: writing to such a place is refused as any
// other that is not allowed.
func isReadOnly(error) bool { return false }
