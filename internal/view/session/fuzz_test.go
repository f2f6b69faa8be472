package session

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/record"
)

// recorded reads the events of a log's lines, as a host does.
func recorded(log []byte) []event.Recorded {
	var out []event.Recorded
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line, err := record.ParseLine(lines.Bytes())
		if err != nil || line.Envelope == nil {
			continue
		}
		e, known, err := record.DecodeLog(line.Envelope)
		if err != nil || !known {
			continue
		}
		out = append(out, event.Recorded{Event: e, ID: line.Envelope.ID, Sequence: line.Envelope.Sequence, At: line.Envelope.RecordedAt})
	}
	return out
}

// encodeLog writes the kept events as lines.
func encodeLog(t testing.TB, in []event.Recorded) []byte {
	t.Helper()
	var out []byte
	for _, r := range in {
		if _, frame := r.Body.(event.PermissionProfile); frame {
			continue
		}
		b, err := record.EncodeLog(r.Event, record.RunPosition{ID: "p", Sequence: 1})
		if err != nil {
			t.Fatal(err)
		}
		env := record.Envelope{
			SchemaVersion: 1, ID: r.ID, Stream: record.Stream{Kind: "session", ID: testSession}, Sequence: r.Sequence, RecordedAt: r.At,
			RecordType: b.RecordType, Durability: b.Durability, PayloadType: b.PayloadType, PayloadSchemaVersion: b.SchemaVersion, Payload: b.Payload,
		}
		out = append(env.Append(out), '\n')
	}
	return out
}

// FuzzFold folds logs that nobody of ours wrote: whatever they hold, the fold
// comes to an end, cursors rise, and what it says fits the wire.
func FuzzFold(f *testing.F) {
	for _, s := range []*script{
		long(2), compacted(),
		newScript().begin(false).turn("t1", "x").add(event.ToolCalls{Calls: []event.ToolCall{{CallID: "call_9f21", Name: "bash", Args: "{}"}}},
			approvalOf(requested), approvalOf(decidedAbort)).start("call_9f21", "task-1", "bash").finish("call_9f21", "task-1", "x", true).end("failed"),
		newScript().add(event.UserShellCommand{CommandID: "c"}, event.UserShellResult{CommandID: "c"}, event.SideOpened{}, event.GoalChanged{}),
	} {
		f.Add(encodeLog(f, s.durable()))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		v := NewView(testSession, Limits{Window: 1 << 16, Answer: 1 << 16})
		last := int64(0)
		for _, r := range recorded(log) {
			if r.Sequence <= 0 || r.Sequence >= 1<<40 {
				continue // no log has such places; the journal refuses them
			}
			notes, err := v.Apply(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range notes {
				if n.Number <= last {
					t.Fatalf("%s has number %d after %d", n.Method, n.Number, last)
				}
				last = n.Number
				if _, err := n.Keep(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := v.History(HistoryRequest{}); err != nil {
			t.Fatal(err)
		}
		data, err := v.Save()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(data, Limits{}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFoldsRecordedLogs folds logs of Muse Code itself.
func TestFoldsRecordedLogs(t *testing.T) {
	shared := os.Getenv("OPENMUSE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(shared, "fixtures", "logs", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no shared fixtures here: set OPENMUSE_SHARED to fold recorded logs")
	}
	kinds := map[msp.ItemKind]int{}
	for _, name := range files {
		log, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range fold(t, New(testSession), recorded(log)) {
			if p, ok := n.Params.(*msp.ItemCompletedParams); ok {
				kinds[p.Item.Kind]++
			}
		}
	}
	for _, want := range []msp.ItemKind{msp.ItemKindUserMessage, msp.ItemKindToolCall} {
		if kinds[want] == 0 {
			t.Errorf("no %s item; got %v", want, kinds)
		}
	}
}
