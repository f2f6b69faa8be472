package peerhistory

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/bench/biglog"
	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// longSession writes a session of many turns and some compactions, and returns
// its directory and log.
func longSession(t testing.TB, size int64) (dir, log string) {
	t.Helper()
	dir = place(t, nil)
	log = filepath.Join(dir, "session.jsonl")
	grow(t, log, size)
	return dir, log
}

func grow(t testing.TB, log string, size int64) {
	t.Helper()
	stats, err := biglog.Extend(log, biglog.Options{
		Session: session, Provider: "openai", Model: "mock-1", Size: size, Seed: uint64(size),
		Corpus: []byte(strings.Repeat("func main() { fmt.Println(\"héllo\\n\") }\n", 1<<16)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Compactions == 0 {
		t.Fatalf("nothing was summarised: %+v", stats)
	}
}

// said is the conversation that lines give, and how many records each run has.
type said struct {
	conversation *agent.Conversation
	runs         map[string]int64
	lines        int
}

func (s *said) line(t testing.TB, line record.Line) {
	t.Helper()
	s.lines++
	if line.Envelope == nil {
		return
	}
	if h, err := record.ReadLogHead(line.Envelope); err == nil && h.Kind == "run" {
		s.runs[h.Run]++
	}
	e, known, err := record.DecodeLog(line.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	if known {
		s.conversation.Apply(event.Recorded{Event: e, ID: line.Envelope.ID, Sequence: line.Envelope.Sequence, At: line.Envelope.RecordedAt})
	}
}

func newSaid() *said { return &said{conversation: agent.NewConversation(), runs: map[string]int64{}} }

// compare checks that the kept lines of an index give what the whole log
// gives, and that its position is that of a reader of the whole log.
func compare(t *testing.T, dir, log string) {
	t.Helper()
	whole := newSaid()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := journal.ReadFrom(f, journal.ReadOptions{Verify: true}, func(line record.Line, _ int64) error {
		whole.line(t, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, dir)
	kept := newSaid()
	if err := h.Replay(t.Context(), f, func(raw []byte, _ int64) error {
		line, err := record.ParseLine(raw)
		if err == nil {
			kept.line(t, line)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if kept.conversation.Runs() != whole.conversation.Runs() || kept.conversation.SummarisedThrough() != whole.conversation.SummarisedThrough() {
		t.Errorf("%d runs of %d", kept.conversation.Runs(), whole.conversation.Runs())
	}
	if d := cmp.Diff(whole.conversation.Items(nil), kept.conversation.Items(nil)); d != "" {
		t.Errorf("another conversation (-whole +kept):\n%.2000s", d)
	}
	if kept.lines*2 > whole.lines {
		t.Errorf("%d of %d lines are kept", kept.lines, whole.lines)
	}
	runs, err := h.Runs(t.Context())
	if err != nil || !maps.Equal(runs, whole.runs) {
		t.Errorf("runs have %v records, not %v, %v", runs, whole.runs, err)
	}
	p, err := h.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state := sha256.New()
	if err := state.(encoding.BinaryUnmarshaler).UnmarshalBinary(p.Hash); err != nil {
		t.Fatal(err)
	}
	if got := "sha256:" + hex.EncodeToString(state.Sum(nil)); got != report.Digest {
		t.Errorf("digest %s, not %s", got, report.Digest)
	}
	got := journal.Report{Bytes: p.Bytes, Lines: p.Lines, Records: p.Records, LastSequence: p.LastSequence, LastRecorded: p.LastRecorded,
		Sealed: p.Sealed, Checkpoints: report.Checkpoints, Digest: report.Digest}
	if d := cmp.Diff(report, got); d != "" {
		t.Errorf("position (-reader +index):\n%s", d)
	}
	if p.CheckpointEnd != report.Bytes || p.CheckpointRecords != report.Records { // the sealing one is the last line
		t.Errorf("last checkpoint at %+v", p)
	}
}

// TestReplay: the lines that are kept give the same conversation as all lines,
// however often the index was brought up to date on the way.
func TestReplay(t *testing.T) {
	dir, log := longSession(t, 3<<20)
	refresh(t, dir)
	compare(t, dir, log)
	grow(t, log, 6<<20)
	refresh(t, dir)
	refresh(t, dir)
	compare(t, dir, log)
}

// TestReplayOfAnEditedLog: a line that was edited where the index does not look
// is noticed when it is read.
func TestReplayOfAnEditedLog(t *testing.T) {
	dir, log := longSession(t, 3<<20)
	refresh(t, dir)
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(data[8<<10:]), `"kind":"started","prompt":"`, `"kind":"started","prompt":#`, 1)
	put(t, dir, append(data[:8<<10:8<<10], edited...))
	h := open(t, dir)
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := h.Replay(t.Context(), f, func([]byte, int64) error { return nil }); !errors.Is(err, ErrStale) {
		t.Fatalf("replayed: %v", err)
	}
}

func BenchmarkReplay(b *testing.B) {
	dir, log := longSession(b, 64<<20)
	refresh(b, dir)
	for b.Loop() {
		h, err := Open(b.Context(), dir)
		if err != nil {
			b.Fatal(err)
		}
		f, err := os.Open(log)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		if err := h.Replay(b.Context(), f, func(raw []byte, _ int64) error { n += len(raw); return nil }); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n), "bytes-read")
		f.Close()
		h.Close()
	}
}

func BenchmarkUpdateOfALongSession(b *testing.B) {
	dir, log := longSession(b, 64<<20)
	info, err := os.Stat(log)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		refresh(b, dir)
		b.StopTimer()
		os.Remove(filepath.Join(dir, fileName))
		b.StartTimer()
	}
}
