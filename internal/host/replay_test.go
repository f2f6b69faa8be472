package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/tool"
)

type oneTry struct{}

func (oneTry) Attempts() int                            { return 1 }
func (oneTry) Delay(int, *provider.Error) time.Duration { return 0 }

// talks is a set of one tool that prints much.
type talks struct{}

func (talks) Specs() []tool.Spec { return nil }
func (talks) Prepare(string, string) (tool.Tool, jsontext.Value, *tool.Result) {
	return talks{}, jsontext.Value("{}"), nil
}
func (talks) Spec() tool.Spec { return tool.Spec{Name: "talk"} }
func (talks) Run(context.Context, tool.Call) tool.Result {
	return tool.Result{Text: strings.Repeat("words and words\n", 200)}
}

// calling is a model that calls the tool once a turn and then answers.
type calling struct{}

func (calling) ID() string { return "script" }

func (calling) Stream(_ context.Context, req *provider.Request, emit func(provider.Part) error) error {
	last := req.Items[len(req.Items)-1]
	part := provider.Part{TextDelta: "said"}
	switch {
	case len(req.Tools) == 0 && strings.HasPrefix(req.Instructions, "You write the handoff"):
		part = provider.Part{TextDelta: "what was done"}
	case last.User != nil:
		part = provider.Part{ToolCall: &provider.ToolCall{CallID: ident.Call(time.Now()), Name: "talk", Args: "{}"}}
	}
	if err := emit(part); err != nil {
		return err
	}
	return emit(provider.Part{Completed: &provider.Completed{Finish: provider.FinishStop}})
}

// TestReplayOfAShortenedSession continues a session that was summarised many
// times: what was put off and dropped makes no difference to what the model is
// told, and many prompts do not fill the prompt for ever.
func TestReplayOfAShortenedSession(t *testing.T) {
	data, session := t.TempDir(), ident.V4()
	options := Options{DataRoot: data, Workspace: data, SessionID: session, Provider: "script", Model: "m", Program: "test", Now: time.Now}
	compactions := 0
	for i := range 30 {
		s, _, err := Open(options)
		if err != nil {
			t.Fatal(err)
		}
		s.Watch(func(r event.Recorded) error {
			if _, ok := r.Body.(event.CompactionInstalled); ok {
				compactions++
			}
			return nil
		}, nil)
		loop := s.Loop(agent.Config{
			Provider: calling{}, Model: agent.Model{ID: "m", ContextLimit: 6000}, Tools: talks{}, Retry: oneTry{},
			Compaction: agent.Compaction{Soft: 0.5, Hard: 0.6},
			Sleep:      func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		})
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		out, err := s.Submit(context.Background(), loop, Input{Text: fmt.Sprintf("prompt %d %s", i, strings.Repeat("please ", 100))}, nil)
		if err != nil || out.Terminal != "completed" {
			t.Fatalf("turn %d: %+v, %v", i, out, err)
		}
		if err := s.Close("clean"); err != nil {
			t.Fatal(err)
		}
	}
	if compactions < 3 {
		t.Fatalf("%d compactions", compactions)
	}

	s, _, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Abandon(); err != nil {
			t.Error(err)
		}
	}()
	sameAsEager(t, s)
	if s.Turn() != 31 {
		t.Errorf("the next turn is %d, want 31", s.Turn())
	}
}

// sameAsEager compares a session with one that applies every record.
func sameAsEager(t *testing.T, s *Session) {
	t.Helper()
	eager, runs, epoch := agent.NewConversation(), map[string]int64{}, int64(0)
	_, err := journal.Read(s.LogPath(), func(line record.Line, _ int64) error {
		if line.Frame != nil {
			epoch++
		}
		if line.Envelope == nil {
			return nil
		}
		h, err := record.ReadLogHead(line.Envelope)
		if err == nil && h.Kind == "run" {
			runs[h.Run]++
		}
		e, known, err := record.DecodeLog(line.Envelope)
		if known {
			eager.Apply(event.Recorded{Event: e, ID: line.Envelope.ID, Sequence: line.Envelope.Sequence, At: line.Envelope.RecordedAt})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want, got := eager.Items(nil), s.conv.Items(nil)
	if !reflect.DeepEqual(want, got) {
		t.Errorf("replay gives %d items, applying every record gives %d", len(got), len(want))
	}
	if !reflect.DeepEqual(runs, s.rec.runs) || epoch != s.epoch {
		t.Errorf("replay counts %d runs and epoch %d, the log has %d and %d", len(s.rec.runs), s.epoch, len(runs), epoch)
	}
}

// TestContinueWithTheLineIndex continues sessions with an index that covers
// all of the log, a part of it, or another log.
func TestContinueWithTheLineIndex(t *testing.T) {
	data, session := t.TempDir(), ident.V4()
	options := Options{DataRoot: data, Workspace: data, SessionID: session, Provider: "script", Model: "m", Program: "test", Now: time.Now, IndexFrom: 1}
	turn := func(i int, indexFrom int64) {
		t.Helper()
		options.IndexFrom = indexFrom
		s, _, err := Open(options)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			sameAsEager(t, s)
			if want := indexFrom == 1; s.indexed != want {
				t.Errorf("turn %d: continued with the index: %v, want %v", i, s.indexed, want)
			}
		}
		loop := s.Loop(agent.Config{
			Provider: calling{}, Model: agent.Model{ID: "m", ContextLimit: 6000}, Tools: talks{}, Retry: oneTry{},
			Compaction: agent.Compaction{Soft: 0.5, Hard: 0.6},
			Sleep:      func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		})
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		if out, err := s.Submit(context.Background(), loop, Input{Text: fmt.Sprintf("prompt %d", i)}, nil); err != nil || out.Terminal != "completed" {
			t.Fatalf("turn %d: %+v, %v", i, out, err)
		}
		if err := s.Close("clean"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		indexFrom := int64(1)
		if i%3 == 2 {
			indexFrom = 1 << 40 // the index stays behind
		}
		turn(i, indexFrom)
	}
	// Another log in the same place: the index counts for nothing.
	s, _, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	path := s.LogPath()
	if err := s.Abandon(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := journal.ReadFrom(bytes.NewReader(log), journal.ReadOptions{Verify: true}, func(record.Line, int64) error { return nil }); err != nil ||
		len(report.Diagnostics) != 0 || report.Checkpoints < 12 || !report.Sealed {
		t.Errorf("the log: %v, %d checkpoints, sealed %v, findings %v", err, report.Checkpoints, report.Sealed, report.Diagnostics)
	}
	changed := bytes.Replace(log, []byte("prompt 3"), []byte("prompt X"), -1)
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	options.IndexFrom = 1
	s, _, err = Open(options)
	if err != nil {
		t.Fatal(err)
	}
	sameAsEager(t, s)
	if s.indexed {
		t.Error("an index of another log was believed")
	}
	if err := s.Abandon(); err != nil {
		t.Error(err)
	}
}
