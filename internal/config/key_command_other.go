//go:build !unix

package config

import "os/exec"

// ownGroup: there are no process groups here; the context ends the command
// alone.
func ownGroup(*exec.Cmd) {}
