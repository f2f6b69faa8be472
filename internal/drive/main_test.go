package drive

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

func TestMain(m *testing.M) {
	if musetest.Active() {
		os.Exit(musetest.Main())
	}
	code := m.Run()
	if builtDir != "" {
		_ = os.RemoveAll(builtDir) // a temporary directory: the verdict does not depend on it
	}
	os.Exit(code)
}

// rig is a stand-in with its surroundings.
type rig struct {
	t         *testing.T
	env       string
	gate      *musetest.Gate
	clock     *musetest.Clock
	artifacts string
	said      []string
	opts      TurnOptions
}

func newRig(t *testing.T, calls ...musetest.Call) *rig {
	t.Helper()
	r := &rig{t: t, gate: musetest.NewGate(t), clock: musetest.NewClock(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)), artifacts: filepath.Join(t.TempDir(), "artifacts")}
	bin, env := musetest.Install(t, musetest.Plan{Calls: calls, Gate: r.gate.Addr()})
	r.env = env
	root, err := muse.OpenTempRoot(filepath.Join(t.TempDir(), "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.opts = TurnOptions{
		Binary: bin, BinaryFound: "option", Workspace: workspace, Prompt: "fix the test", Artifacts: r.artifacts,
		Select: muse.Selection{Model: "muse-spark-1.3", Via: "name"}, Continuations: DefaultContinuations, Retries: DefaultRetries,
		Env: append(os.Environ(), env, "XDG_DATA_HOME="+t.TempDir()), Temp: root, Clock: r.clock,
		Watch: muse.WatchOptions{Interval: 37 * time.Second}, // unlike every pause
		Say:   func(s string) { r.said = append(r.said, s) },
	}
	return r
}

// skip makes pauses of these lengths pass at once.
func (r *rig) skip(pauses ...time.Duration) {
	r.clock.Auto(func(d time.Duration) bool { return slices.Contains(pauses, d) })
}

// read returns an artifact's text; empty when it does not exist.
func (r *rig) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.artifacts, name))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return string(data)
}
