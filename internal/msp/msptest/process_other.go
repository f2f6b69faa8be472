//go:build !unix

package msptest

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func signalOf(*os.ProcessState) string { return "" }
