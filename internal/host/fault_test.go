package host_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/provider/script"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/tool"
	"github.com/openmuse/muse/internal/view/stream"
)

// fullDisk is a log file whose n-th write or sync fails. A failing write puts
// half of its bytes down first, as a full disk does.
type fullDisk struct {
	journal.File
	left *int
}

func (f fullDisk) fails() bool { *f.left--; return *f.left == 0 }

func (f fullDisk) WriteAt(p []byte, off int64) (int, error) {
	if f.fails() {
		n, err := f.File.WriteAt(p[:len(p)/2], off)
		return n, errors.Join(syscall.ENOSPC, err)
	}
	return f.File.WriteAt(p, off)
}

func (f fullDisk) Sync() error {
	if f.fails() {
		return syscall.EIO
	}
	return f.File.Sync()
}

const faultScript = `{"schema_version":1,"replies":[
	{"reasoning":"look","tool_calls":[{"name":"act","args":{"n":1}},{"name":"act","args":{"n":2}}]},
	{"text":"half way","tool_calls":[{"name":"act","args":{"n":3}}]},
	{"text":"done"},{"text":"done"},{"text":"done"},{"text":"done"}]}`

// acts is a set of one tool with effects that also shows progress.
type acts struct{}

func (acts) Specs() []tool.Spec { return nil }
func (acts) Prepare(string, string) (tool.Tool, jsontext.Value, *tool.Result) {
	return acts{}, jsontext.Value("{}"), nil
}
func (acts) Spec() tool.Spec { return tool.Spec{Name: "act", Effects: true} }
func (acts) Run(_ context.Context, c tool.Call) tool.Result {
	c.Progress("working\n")
	return tool.Result{Text: "acted"}
}

type attempt struct {
	out agent.Outcome
	err error
	// shown is what stdout got.
	shown []byte
}

// runOnce opens the session, runs one turn and closes it.
func runOnce(t *testing.T, data, session string, openLog func(string, int, os.FileMode) (journal.File, error)) (a attempt) {
	t.Helper()
	f, err := script.Parse([]byte(faultScript))
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := host.Open(host.Options{
		DataRoot: data, Workspace: data, SessionID: session, Provider: "script", Model: "m", Program: "test", Now: time.Now, OpenLog: openLog,
	})
	if err != nil {
		a.err = err
		return a
	}
	var out bytes.Buffer
	view := stream.New(&out, s.ID(), s.Turn(), false)
	s.Watch(view.Show, nil)
	loop := s.Loop(agent.Config{
		Provider: script.New(f, script.Options{}), Model: agent.Model{ID: "m"}, Tools: acts{}, Retry: once{},
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if a.err = s.Begin(); a.err == nil {
		a.out, a.err = s.Submit(context.Background(), loop, host.Input{Text: "go"}, nil)
	}
	if err := s.Close("clean"); a.err == nil {
		a.err = err
	}
	a.shown = out.Bytes()
	return a
}

// kept lists the ids of the records and markers of a log, which must be valid.
func kept(t *testing.T, path string) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := journal.ReadFrom(f, journal.ReadOptions{Verify: true}, func(l record.Line, _ int64) error {
		switch {
		case l.Envelope != nil:
			ids[l.Envelope.ID] = true
		case l.Marker != nil:
			ids[l.Marker.ID] = true
		}
		return nil
	})
	if err != nil || len(report.Diagnostics) != 0 {
		t.Fatalf("log: %v, findings %v", err, report.Diagnostics)
	}
	return ids
}

// shownAreKept: every durable record that stdout showed is in the log.
func shownAreKept(t *testing.T, shown []byte, ids map[string]bool) {
	t.Helper()
	for raw := range bytes.Lines(shown) {
		l, err := record.ParseLine(bytes.TrimSuffix(raw, []byte("\n")))
		if err != nil {
			t.Fatalf("stdout: %v", err)
		}
		if l.Envelope.Durability == record.Durable && !ids[l.Envelope.ID] {
			t.Errorf("stdout showed a %s that is not in the log", l.Envelope.PayloadType)
		}
	}
}

func logOf(t *testing.T, data string) string {
	t.Helper()
	var found string
	walk(t, data, func(path string) {
		if strings.HasSuffix(path, "/session.jsonl") {
			found = path
		}
	})
	return found
}

func walk(t *testing.T, dir string, visit func(string)) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := dir + "/" + e.Name()
		if e.IsDir() {
			walk(t, path, visit)
			continue
		}
		visit(path)
	}
}

// TestFullDiskAtEveryWrite fails each write and sync of a run in turn. The run
// ends with that error, the log stays valid and holds all that was shown, and
// the run can be finished afterwards.
func TestFullDiskAtEveryWrite(t *testing.T) {
	for at := 1; ; at++ {
		data, session := t.TempDir(), ident.V4()
		left := at
		a := runOnce(t, data, session, func(path string, flag int, perm os.FileMode) (journal.File, error) {
			f, err := os.OpenFile(path, flag, perm)
			if err != nil {
				return nil, err
			}
			return fullDisk{f, &left}, nil
		})
		if left > 0 {
			if a.err != nil || a.out.Text != "done" {
				t.Fatalf("run without a fault: %+v", a)
			}
			if at < 60 {
				t.Fatalf("only %d writes and syncs in a whole run", at)
			}
			return
		}
		if !errors.Is(a.err, syscall.ENOSPC) && !errors.Is(a.err, syscall.EIO) {
			t.Fatalf("fault %d: error %v", at, a.err)
		}
		if path := logOf(t, data); path != "" {
			shownAreKept(t, a.shown, kept(t, path))
		}
		again := runOnce(t, data, session, nil)
		if again.err != nil || again.out.Terminal != "completed" {
			t.Fatalf("fault %d: continuing gives %+v", at, again)
		}
		shownAreKept(t, again.shown, kept(t, logOf(t, data)))
	}
}
