//go:build !unix

package plainfile

// quiet: opening does not block here.
const quiet = 0
