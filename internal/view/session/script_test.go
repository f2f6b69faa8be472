package session

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
	"github.com/openmuse/muse/internal/record"
)

const testSession = "0198f0aa-1111-7000-8000-0000000000aa"

// script writes the events of a session as a host records them.
type script struct {
	events []event.Recorded
	seq    int64
	at     int64
	run    string
	ids    int
}

func newScript() *script { return &script{at: 1_754_590_940_000_000} }

func (s *script) id(prefix string) string {
	s.ids++
	return fmt.Sprintf("%s-%d", prefix, s.ids)
}

// add records bodies for the run under way.
func (s *script) add(bodies ...event.Body) *script {
	for _, b := range bodies {
		s.seq++
		s.at += 1000
		e := event.Event{Body: b}
		switch event.FamilyOf(e) {
		case event.TaskEvent, event.RunEvent, event.ApprovalEvent:
			e.Run = s.run
		}
		switch t := b.(type) {
		case event.EffectStarted, event.EffectTerminal:
			e.Run = s.run
		case event.TaskScheduled:
			e.Task = t.TaskID
		case event.TaskOutput:
			e.Task = t.TaskID
		case event.TaskOutputRef:
			e.Task = t.TaskID
		case event.TaskFailed:
			e.Task = t.TaskID
		case event.TaskCancelled:
			e.Task = t.TaskID
		case event.TaskCompleted:
			e.Task = t.TaskID
		}
		s.events = append(s.events, event.Recorded{Event: e, ID: fmt.Sprintf("rec-%04d", s.seq), Sequence: s.seq, At: s.at})
	}
	return s
}

// of makes what follows belong to a run.
func (s *script) of(run string) *script {
	s.run = run
	return s
}

// live adds events that are shown and not kept; those of a task leave a marker.
func (s *script) live(bodies ...event.Body) *script {
	for _, b := range bodies {
		s.at += 1000
		r := event.Recorded{Event: event.Event{Run: s.run, Body: b}, ID: s.id("live"), At: s.at}
		if p, ok := b.(event.TaskProgress); ok {
			s.seq++
			r.Sequence, r.Task = s.seq, p.TaskID
		}
		s.events = append(s.events, r)
	}
	return s
}

// begin opens a session.
func (s *script) begin(resume bool) *script {
	return s.add(
		event.PermissionProfile{Snapshot: event.PermissionSnapshot{Approval: "untrusted"}, Cause: "new_session_default"},
		event.Metadata{ModelID: "muse-large-2", ProviderID: "muse", WorkspaceRoot: "/home/me/src/proj"},
		event.SessionOpened{Resume: resume, SessionID: testSession},
	)
}

// turn starts a turn of the person.
func (s *script) turn(id, prompt string) *script {
	s.run = id
	return s.add(intentOf(id, prompt), event.RunStarted{Prompt: prompt})
}

func intentOf(id, prompt string) event.IntentAccepted {
	return event.IntentAccepted{IntentID: id, SemanticKind: event.Kinded{Kind: "chat"}, ModelMessages: []event.IntentMessage{
		{Content: []event.ContentBlock{{Kind: "text", Text: prompt}}}}}
}

// start opens the effect of a call.
func (s *script) start(call, task, tool string) *script {
	return s.add(
		event.TaskProposed{TaskID: task, TaskKind: "tool." + tool},
		event.TaskScheduled{TaskID: task, IdempotencyKey: "tool:" + call},
		event.EffectStarted{CallID: call, TaskID: task, ToolName: tool},
		event.TaskStarted{TaskID: task},
	)
}

// finish closes it.
func (s *script) finish(call, task, text string, failed bool) *script {
	outcome, terminal := "completed", "completed"
	end := event.Body(event.TaskCompleted{TaskID: task})
	if failed {
		outcome, terminal = "failed", "failed"
		end = event.TaskFailed{TaskID: task, Reason: text}
		text = failedPrefix + text
	}
	return s.add(event.TaskOutput{TaskID: task, Chunk: text, Final: true}, end, event.EffectTerminal{
		CallID: call, TaskID: task, Outcome: event.EffectOutcome{
			Kind: outcome, TaskCompletion: event.TaskCompletion{Terminal: event.Kinded{Kind: terminal}}},
	})
}

// end ends the turn.
func (s *script) end(terminal string) *script {
	s.add(event.RunTerminal{Terminal: terminal, DurationMS: 1300})
	s.run = ""
	return s
}

// durable are the events that a replay of the log has.
func (s *script) durable() []event.Recorded {
	var out []event.Recorded
	for _, r := range s.events {
		if event.FamilyOf(r.Event) != event.LiveOnly {
			out = append(out, r)
		}
	}
	return out
}

// throughLog sends the kept events through the log's dialect and back, so that
// nothing is folded that a log does not hold.
func throughLog(t testing.TB, in []event.Recorded) []event.Recorded {
	t.Helper()
	out := make([]event.Recorded, 0, len(in))
	for _, r := range in {
		if _, frame := r.Body.(event.PermissionProfile); frame {
			out = append(out, r)
			continue
		}
		b, err := record.EncodeLog(r.Event, record.RunPosition{ID: "pos", Sequence: 1})
		if err != nil {
			t.Fatal(err)
		}
		e, known, err := record.DecodeLog(&record.Envelope{PayloadType: b.PayloadType, Payload: b.Payload})
		if err != nil || !known {
			t.Fatalf("%T: known=%v, %v", r.Body, known, err)
		}
		r.Event = e
		out = append(out, r)
	}
	return out
}

// fold applies events and holds every notification against the schema and
// against what a client may expect (msptest.Fold).
func fold(t testing.TB, f *Fold, events []event.Recorded) []Note {
	t.Helper()
	var out []Note
	client := msptest.NewFold()
	last := int64(0)
	for _, r := range events {
		for _, n := range f.Apply(r) {
			if n.Number <= last {
				t.Fatalf("%s has number %d after %d", n.Method, n.Number, last)
			}
			last = n.Number
			check(t, n)
			for _, err := range client.Apply(n.Params) {
				if p, ok := n.Params.(*msp.ItemUpdatedParams); ok && p.Item.Retracted {
					continue // a prompt that was taken back had come to its end before
				}
				t.Errorf("%s: %v", n.Method, err)
			}
			out = append(out, n)
		}
	}
	return out
}

// check holds one notification against the wire.
func check(t testing.TB, n Note) {
	t.Helper()
	spec, ok := msp.LookupNotification(n.Method)
	if !ok {
		t.Fatalf("unknown notification %s", n.Method)
	}
	k, err := n.Keep()
	if err != nil {
		t.Fatal(err)
	}
	params := spec.Params()
	if err := msp.CheckType(k.Params, typeOf(params)); err != nil {
		t.Errorf("%s: %v in %s", n.Method, err, k.Params)
	}
	at := n.Params.At()
	if at.SessionID != testSession || at.ViewCursor != Cursor(testSession, n.Number) {
		t.Errorf("%s is at %+v, want number %d", n.Method, at, n.Number)
	}
	if err := json.Unmarshal(k.Params, params); err != nil {
		t.Error(err)
	}
}

// words are the methods of notifications, with the status of items.
func words(notes []Note) []string {
	out := make([]string, 0, len(notes))
	for _, n := range notes {
		w := n.Method
		switch p := n.Params.(type) {
		case *msp.ItemStartedParams:
			w += " " + string(p.Item.Kind)
		case *msp.ItemUpdatedParams:
			w += " " + string(p.Item.Kind)
		case *msp.ItemCompletedParams:
			w += " " + string(p.Item.Kind) + " " + string(p.Item.Status)
		case *msp.TurnCompletedParams:
			w += " " + string(p.Terminal)
		}
		if n.Live {
			w += " (live)"
		}
		out = append(out, w)
	}
	return out
}

// find is the last params of a type.
func find[P any](t testing.TB, notes []Note) *P {
	t.Helper()
	for i := len(notes) - 1; i >= 0; i-- {
		if p, ok := any(notes[i].Params).(*P); ok {
			return p
		}
	}
	t.Fatalf("no %T among %q", *new(P), words(notes))
	return nil
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	out := jsontext.Value(raw)
	if err := out.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(out)
}
