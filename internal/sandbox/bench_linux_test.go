package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStep is one command inside an open session, from Command to
// release, beside the same command without a sandbox and inside a bare
// bubblewrap. Build with CGO_ENABLED=0, as the product is.
func BenchmarkStep(b *testing.B) {
	b.Run("unconfined", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	if program, err := findBubblewrap("", nil); err == nil {
		b.Run("bare-bubblewrap", func(b *testing.B) {
			for b.Loop() {
				if err := exec.Command(program, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/sh", "-c", "true").Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, l := range []LauncherName{Native, Bubblewrap} {
		b.Run(string(l), func(b *testing.B) {
			dir := b.TempDir()
			for _, d := range []string{"ws", "home"} {
				if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
					b.Fatal(err)
				}
			}
			home := filepath.Join(dir, "home")
			s, err := Open(Spec{
				Workspace: filepath.Join(dir, "ws"), Home: home, Masks: DefaultMasks(home), StateDir: filepath.Join(dir, "state"), Launcher: l,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Confirm(b.Context()); err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				cmd, release, err := s.Command(b.Context(), Command{Path: "/bin/sh", Args: []string{"sh", "-c", "true"}})
				if err != nil {
					b.Fatal(err)
				}
				if err := cmd.Run(); err != nil {
					b.Fatal(err, release())
				}
				if err := release(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
