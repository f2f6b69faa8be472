//go:build !unix

package permission

import (
	"os"
	"path/filepath"
)

// bashPaths names the places where Git for Windows installs its bash.
func bashPaths() []string {
	var out []string
	for _, name := range []string{"ProgramFiles", "ProgramW6432", "LocalAppData"} {
		if dir := os.Getenv(name); dir != "" {
			out = append(out, filepath.Join(dir, "Git", "bin", "bash.exe"), filepath.Join(dir, "Programs", "Git", "bin", "bash.exe"))
		}
	}
	return out
}
