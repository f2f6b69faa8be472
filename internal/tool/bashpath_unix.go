//go:build unix

package tool

const bashName = "bash"

// bashPaths are where systems keep bash.
var bashPaths = [...]string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"}
