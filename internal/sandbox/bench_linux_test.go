package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// series reports the median and the least of the times taken: on a machine
// that others use too the mean says little.
type series struct {
	began time.Time
	taken []time.Duration
}

func (s *series) start() { s.began = time.Now() }
func (s *series) stop()  { s.taken = append(s.taken, time.Since(s.began)) }

func (s *series) report(b *testing.B) {
	slices.Sort(s.taken)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(s.taken[len(s.taken)/2]), "median-ms")
	b.ReportMetric(ms(s.taken[0]), "least-ms")
}

// BenchmarkStep is one command inside an open session, from Command to
// release, beside the same command without a sandbox and inside a bare
// bubblewrap. Build with CGO_ENABLED=0, as the product is.
func BenchmarkStep(b *testing.B) {
	b.Run("unconfined", func(b *testing.B) {
		times := &series{}
		for b.Loop() {
			times.start()
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
			times.stop()
		}
		times.report(b)
	})
	if program, err := findBubblewrap("", nil); err == nil {
		b.Run("bare-bubblewrap", func(b *testing.B) {
			times := &series{}
			for b.Loop() {
				times.start()
				if err := exec.Command(program, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/sh", "-c", "true").Run(); err != nil {
					b.Fatal(err)
				}
				times.stop()
			}
			times.report(b)
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
			times := &series{}
			for b.Loop() {
				times.start()
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
				times.stop()
			}
			times.report(b)
		})
	}
}
