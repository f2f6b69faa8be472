package host_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/provider"
)

// eager is a model that runs one command a turn, which leaves the prompt in
// the file effects, and then says that it is done.
type eager struct{}

func (eager) ID() string { return "script" }

func (eager) Stream(_ context.Context, req *provider.Request, emit func(provider.Part) error) error {
	last := req.Items[len(req.Items)-1]
	if last.User == nil {
		return finish(emit, provider.Part{TextDelta: "done"})
	}
	args, err := json.Marshal(map[string]any{"command": "echo " + last.User.Text + " >> effects"})
	if err != nil {
		return err
	}
	return finish(emit, provider.Part{ToolCall: &provider.ToolCall{CallID: ident.Call(time.Now()), Name: "bash", Args: string(args)}})
}

// eagerStage is a stage whose sessions have that model.
type eagerStage struct{ *stage }

type eagerPlan struct{ host.Plan }

func (s eagerStage) Plan(ctx context.Context, w host.Wanted) (host.Plan, error) {
	p, err := s.stage.Plan(ctx, w)
	return eagerPlan{p}, err
}

func (p eagerPlan) Equip(s *host.Session, people host.People) (*host.Equipment, error) {
	gear, err := p.Plan.Equip(s, people)
	if err == nil {
		gear.Loop.Provider, gear.Loop.Model = eager{}, agent.Model{ID: "m"}
	}
	return gear, err
}

// load is the commands of one session, the same in every process.
const loadTurns = 8

func loadCommand(seed, n int) host.Command {
	id := fmt.Sprintf("0198f0aa-%04d-7000-8000-%012d", seed, n)
	method := "turn/start"
	if n == 0 {
		method = "session/start"
	}
	return host.Command{ID: id, Method: method, Digest: fmt.Sprint("digest ", n), Client: "load"}
}

func loadTurn(n int) host.TurnRequest {
	return host.TurnRequest{Text: fmt.Sprint("turn-", n), IfBusy: []string{host.Queue, host.Steer, host.Queue}[n%3]}
}

// say tells the parent process something.
type told struct {
	Command int           `json:"command,omitempty"`
	Ack     *host.TurnAck `json:"ack,omitempty"`
	Event   string        `json:"event,omitempty"`
}

// TestUnderLoad is the process that TestKilledHosts kills.
func TestUnderLoad(t *testing.T) {
	data := os.Getenv("OPENMUSE_TEST_LOAD_DATA")
	if data == "" {
		t.Skip("it is a part of TestKilledHosts")
	}
	var seed int
	if _, err := fmt.Sscan(os.Getenv("OPENMUSE_TEST_LOAD_SEED"), &seed); err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, data: data, work: os.Getenv("OPENMUSE_TEST_LOAD_WORK"), timers: make(chan time.Time)}
	hub := host.NewHub(host.HubOptions{DataRoot: s.data, Workspace: s.work, Program: "load", Factory: eagerStage{s}, Now: time.Now})
	tell := func(v told) {
		line, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(os.Stdout, "@%s\n", line)
	}
	l, err := hub.Start(t.Context(), loadCommand(seed, 0), host.StartRequest{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ended := 0
	go func() {
		done <- l.Watch(t.Context(), 0, func(r event.Recorded) error {
			if r.Sequence != 0 {
				tell(told{Event: r.ID})
			}
			switch b := r.Body.(type) {
			case event.Approval:
				go allow(l, b)
			case event.RunTerminal:
				if ended++; ended == loadTurns {
					return errors.New("enough")
				}
			}
			return nil
		})
	}()
	for n := 1; n <= loadTurns; n++ {
		ack, err := l.Submit(t.Context(), loadCommand(seed, n), loadTurn(n))
		if err != nil {
			t.Fatal(err)
		}
		tell(told{Command: n, Ack: &ack})
	}
	<-done
}

// allow answers an approval.
func allow(l *host.Live, a event.Approval) {
	var f struct {
		ID string `json:"pending_action_id"`
	}
	if a.Kind != "requested" || json.Unmarshal(a.Fields, &f) != nil {
		return
	}
	// That the turn ended meanwhile is no trouble of the test.
	_, _ = l.Decide(context.Background(), host.Command{ID: ident.V7(time.Now()), Method: "approval/decide", Digest: f.ID},
		host.Decision{ApprovalID: f.ID, RequirementID: f.ID, ChoiceID: "allow_once"})
}

// TestKilledHosts kills hosts under load with SIGKILL at random instants. A
// new host resumes at once: it answers every command as the dead one did, the
// log has every event that was shown, and no command of a tool ran twice.
func TestKilledHosts(t *testing.T) {
	onUnix(t)
	kills := 12
	if testing.Short() {
		kills = 3
	}
	if n := os.Getenv("OPENMUSE_TEST_KILLS"); n != "" {
		if _, err := fmt.Sscan(n, &kills); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	for i := range kills {
		within := 500 // after the first word
		if i%3 == 2 {
			within = 150 // after the process was started
		}
		killed(t, i, i%3 == 2, time.Duration(random.IntN(within))*time.Millisecond)
	}
}

func killed(t *testing.T, seed int, early bool, within time.Duration) {
	t.Helper()
	s := newStage(t)
	s.close()
	said := runLoad(t, s, seed, early, within)
	orphansEnd(t, s.work)

	s.hub = host.NewHub(host.HubOptions{DataRoot: s.data, Workspace: s.work, Program: "again", Factory: eagerStage{s}, Now: time.Now})
	defer s.close()
	began := time.Now()
	l, err := s.hub.Start(t.Context(), loadCommand(seed, 0), host.StartRequest{})
	if r := (*host.Refusal)(nil); errors.As(err, &r) && len(said) == 0 && r.Reason == host.ReasonAbandoned {
		return // it died while it started the session
	}
	if err != nil {
		t.Fatalf("kill %d: %v", seed, err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("kill %d: resuming took %v", seed, took)
	}
	before := effects(t, s)
	inLog := map[string]bool{}
	if err := s.hub.Replay(t.Context(), l.Facts().SessionID, 0, func(r event.Recorded) error { inLog[r.ID] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, v := range said {
		switch {
		case v.Event != "" && !inLog[v.Event]:
			t.Errorf("kill %d: event %s was shown and is not in the log", seed, v.Event)
		case v.Ack != nil:
			got, err := l.Submit(t.Context(), loadCommand(seed, v.Command), loadTurn(v.Command))
			var r *host.Refusal
			deferred := errors.As(err, &r) && r.Reason == host.ReasonDeferredStart
			if (err != nil || got != *v.Ack) && !(deferred && v.Ack.Disposition != host.Steered) {
				t.Errorf("kill %d: command %d was answered %+v and then %+v, %v", seed, v.Command, *v.Ack, got, err)
			}
		}
	}
	if now := effects(t, s); now != before {
		t.Errorf("kill %d: repeated commands had effects:\n%s", seed, now)
	}
	w := watch(t, l, l.Head())
	ack, err := l.Submit(t.Context(), s.cmd("turn/start"), host.TurnRequest{Text: "afterwards"})
	if err != nil || ack.Disposition == host.Steered {
		t.Fatalf("kill %d: %+v, %v", seed, ack, err)
	}
	go func() {
		// From the beginning: a turn that waited for an answer still does.
		_ = l.Watch(t.Context(), 0, func(r event.Recorded) error {
			if a, ok := r.Body.(event.Approval); ok {
				allow(l, a)
			}
			return nil
		})
	}()
	if end := until(w, terminalOf(ack.TurnID)); end.Terminal != "completed" {
		t.Errorf("kill %d: afterwards %+v", seed, end)
	}
	after := effects(t, s)
	for n := 1; n <= loadTurns; n++ {
		if strings.Count(after, fmt.Sprintf("turn-%d\n", n)) > 1 {
			t.Errorf("kill %d: turn %d ran twice:\n%s", seed, n, after)
		}
	}
}

// orphansEnd waits for the commands that a dead host had started: what they
// still write was begun before anything is repeated. Without /proc nothing can
// be waited for.
func orphansEnd(t *testing.T, work string) {
	t.Helper()
	for range 2000 {
		links, err := filepath.Glob("/proc/[0-9]*/cwd")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(links, func(link string) bool {
			dir, err := os.Readlink(link)
			return err == nil && dir == work
		}) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("processes in %s go on", work)
}

// runLoad runs the load in a process, kills it and returns what it had said.
func runLoad(t *testing.T, s *stage, seed int, early bool, after time.Duration) []told {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestUnderLoad$")
	cmd.Env = append(os.Environ(), "OPENMUSE_TEST_LOAD_DATA="+s.data, "OPENMUSE_TEST_LOAD_WORK="+s.work, fmt.Sprint("OPENMUSE_TEST_LOAD_SEED=", seed))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) }
	if early {
		kill()
	}
	var said []told
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		raw, ok := bytes.CutPrefix(lines.Bytes(), []byte("@"))
		if !ok {
			continue
		}
		var v told
		if json.Unmarshal(raw, &v) != nil {
			continue // the line that the kill cut
		}
		if len(said) == 0 && !early {
			kill()
		}
		said = append(said, v)
	}
	_ = cmd.Wait() // it was killed
	return said
}

func effects(t *testing.T, s *stage) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.work, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}
