package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

const helperVariable = "MUSE_TEST_LOOP"

// helperOrder tells the helper process which loop to run and where to stop.
type helperOrder struct {
	Binary, Workspace, State, Until, Temp, Gate string
	Env                                         []string
	Point                                       string // stop at the n-th visit of it
	Visit                                       int
	Place                                       string // of the gate
	Prompt, Provider                            string
	Extra                                       []string
	Iterations                                  int
}

// TestLoopHelper is the loop that the tests below kill.
func TestLoopHelper(t *testing.T) {
	text := os.Getenv(helperVariable)
	if text == "" {
		t.Skip("only run by the kill tests")
	}
	var order helperOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		t.Fatal(err)
	}
	root, err := muse.OpenTempRoot(order.Temp)
	if err != nil {
		t.Fatal(err)
	}
	visits := 0
	_, err = Loop(context.Background(), LoopOptions{
		Turn: TurnOptions{
			Binary: order.Binary, Workspace: order.Workspace, Prompt: order.Prompt, Provider: order.Provider, Extra: order.Extra, Env: order.Env, Temp: root,
		},
		Until: order.Until, State: order.State, MaxIterations: order.Iterations,
		at: func(point string) {
			if point != order.Point {
				return
			}
			if visits++; visits == order.Visit {
				musetest.Wait(order.Gate, order.Place) // for ever
			}
		},
	})
	t.Logf("the loop was not killed: %v", err)
}

// killedAt runs a loop in a process of its own and kills that when arrived
// returns; it reports false when the loop came to its end instead.
func killedAt(t *testing.T, order helperOrder, arrived func()) bool {
	t.Helper()
	if order.Prompt == "" {
		order.Prompt = "fix the test"
	}
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestLoopHelper$")
	cmd.Env = append(os.Environ(), helperVariable+"="+string(text))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, there := make(chan struct{}), make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed or ended: the channel tells
		close(ended)
	}()
	go func() {
		arrived()
		close(there)
	}()
	select {
	case <-ended:
		return false
	case <-there:
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		return true
	}
}

// TestLoopKilled kills a loop at instants of every kind, several times in a
// row, in a seeded random order: it always goes on, and no attempt is lost,
// repeated or run twice at once.
func TestLoopKilled(t *testing.T) {
	first := []string{"begun#1", "attempt#1", "attempt#2", "started#1", "started#2", "checking#1", "checking#2", "check started#1", "step#1", "step#2", "step#3"}
	later := []string{"recovered#1", "attempt#1", "started#1", "checking#1", "check started#1", "step#1"}
	seed := uint64(20261130)
	random := rand.New(rand.NewPCG(seed, seed))
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			// Attempts leave 1, 2, 3 … whichever of them are killed.
			var calls []musetest.Call
			for n := 1; n <= 20; n++ {
				calls = append(calls, step(n))
			}
			r, o := newLoopRig(t, atLeast(5), calls...)
			o.MaxIterations = 20
			order := helperOrder{
				Binary: o.Turn.Binary, Workspace: o.Turn.Workspace, State: o.State, Until: o.Until, Temp: filepath.Join(t.TempDir(), "tmp"),
				Gate: r.gate.Addr(), Env: o.Turn.Env,
			}
			var at []string
			for try := range 3 {
				order.Place = fmt.Sprint("killed here ", try)
				points := first
				if try > 0 {
					points = later
				}
				point := points[random.IntN(len(points))]
				order.Point, order.Visit = point[:len(point)-2], int(point[len(point)-1]-'0')
				place := order.Place
				if !killedAt(t, order, func() { r.gate.Arrived(place) }) {
					t.Fatalf("killed at %v, then done before %s", at, point)
				}
				at = append(at, point)
			}
			t.Logf("killed at %v", at)
			res := loopOnce(t, o)
			if !res.OK {
				t.Fatalf("killed at %v: %s: %s", at, res.Stop, res.Reason)
			}
			started := 0
			for i, it := range res.Iterations {
				if it.N != i+1 || it.Phase != phaseOver {
					t.Errorf("killed at %v: attempt %d is numbered %d, phase %s", at, i+1, it.N, it.Phase)
				}
				if _, err := os.Stat(filepath.Join(it.Dir, filePrompt)); err == nil {
					started++
				}
			}
			if made := len(musetest.Calls(t, r.env)); made > started {
				t.Errorf("killed at %v: %d agents were started, %d attempts are recorded", at, made, started)
			}
			if left, err := filepath.Glob(filepath.Join(o.State, "*", ".tmp-*")); err != nil || len(left) > 1 {
				t.Errorf("killed at %v: left %v %v", at, left, err)
			}
		})
	}
}

// TestLoopKilledWhileAgentRuns kills only the loop: its agent lives on. The
// next start ends it before it begins an attempt of its own, and tells the
// new attempt what the old one had written.
func TestLoopKilledWhileAgentRuns(t *testing.T) {
	hanging := with(step(1), func(c *musetest.Call) {
		c.Deltas, c.Gates, c.IgnoreSignals, c.Grandchild = []string{"half of the work"}, []string{"delta"}, true, ""
	})
	r, o := newLoopRig(t, atLeast(1), hanging, step(1))
	order := helperOrder{
		Binary: o.Turn.Binary, Workspace: o.Turn.Workspace, State: o.State, Until: o.Until, Temp: filepath.Join(t.TempDir(), "tmp"), Gate: r.gate.Addr(), Env: o.Turn.Env,
	}
	arrived := func() {
		r.gate.Arrived("delta")
		// The fragment has left the agent; the loop keeps it as it reads it.
		live := filepath.Join(o.State, "001", "iterations", "001", fileLiveReply)
		for {
			if text, err := os.ReadFile(live); err == nil && strings.Contains(string(text), "half of the work") {
				return
			}
			runtime.Gosched()
		}
	}
	if !killedAt(t, order, arrived) {
		t.Fatal("the loop ended by itself")
	}
	agent := musetest.Calls(t, r.env)[0].Pid
	if muse.ProcessStart(agent) == "" {
		t.Fatalf("the agent %d is gone already", agent)
	}
	res := loopOnce(t, o)
	if muse.ProcessStart(agent) != "" {
		t.Errorf("the agent %d still runs", agent)
	}
	if !res.OK || !res.Resumed || len(res.Iterations) != 2 {
		t.Fatalf("result %+v", res)
	}
	first := res.Iterations[0]
	if first.Class != muse.ClassInterrupted || !strings.Contains(first.Reply, "half of the work") || len(first.Notes) == 0 || !strings.Contains(first.Notes[0], "1 processes") {
		t.Errorf("first attempt %+v", first)
	}
	if prompt := musetest.Calls(t, r.env)[1].Prompt; !strings.Contains(prompt, "cut off in the middle") || !strings.Contains(prompt, "half of the work") {
		t.Errorf("second prompt:\n%s", prompt)
	}
}

// TestLoopKilledAfterTurn kills the loop when a turn has ended but its result
// is not in the state: the turn is not repeated.
func TestLoopKilledAfterTurn(t *testing.T) {
	r, o := newLoopRig(t, atLeast(1), step(1))
	store, st, err := openLoop(o.State, false, r.clock.Now)
	if err != nil || st != nil {
		t.Fatalf("%v %v", st, err)
	}
	l := &loop{o: o, store: store}
	if err := l.o.fill(); err != nil {
		t.Fatal(err)
	}
	if err := l.begin(context.Background()); err != nil {
		t.Fatal(err)
	}
	it := Iteration{N: 1, Phase: phaseAgent, Dir: store.iterationDir(1), Started: r.clock.Now()}
	turn := l.o.Turn
	turn.Artifacts = it.Dir
	if _, err := Turn(context.Background(), turn); err != nil {
		t.Fatal(err)
	}
	l.st.Iterations = append(l.st.Iterations, it)
	if err := l.save("killed"); err != nil {
		t.Fatal(err)
	}
	if err := store.close(); err != nil {
		t.Fatal(err)
	}
	res := loopOnce(t, o)
	if !res.OK || len(res.Iterations) != 1 || res.Iterations[0].Class != muse.ClassCompleted || len(musetest.Calls(t, r.env)) != 1 {
		t.Errorf("result %+v", res)
	}
}

func TestCooldownSurvives(t *testing.T) {
	r, o := newLoopRig(t, atLeast(1), musetest.Call{Terminal: "failed", Reason: "429 rate limit", Extra: map[string]any{"reset_at": "2026-11-30T13:00:00Z"}, Exit: 1}, step(1))
	ctx, cancel := context.WithCancel(context.Background())
	o.at = func(point string) {
		if point == "cooling" {
			cancel()
		}
	}
	res, err := Loop(ctx, o)
	if err != nil || res.Stop != StopInterrupted || len(res.Iterations) != 1 {
		t.Fatalf("result %+v %v", res, err)
	}
	var said []string
	o.at, o.Turn.Say = nil, func(s string) { said = append(said, s) }
	r.skip(time.Hour)
	if res = loopOnce(t, o); !res.OK || len(res.Iterations) != 2 {
		t.Errorf("result %+v", res)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "until 2026-11-30T13:00:00Z") {
		t.Errorf("said:\n%s", all)
	}
}
