package biglog

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// TestExtendWritesASoundLog makes a log, reads it back and folds it into a
// conversation as a continued session does.
func TestExtendWritesASoundLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	j, err := journal.Create(path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Session: ident.V4(), Provider: "openai", Model: "mock-1", Size: 8 << 20, Seed: 1,
		Corpus: []byte(strings.Repeat("func main() { fmt.Println(\"héllo\\n\") }\n", 1<<16)),
	}
	stats, err := Extend(path, o)
	if err != nil {
		t.Fatal(err)
	}
	conv := agent.NewConversation()
	unknown := 0
	report, err := journal.Read(path, func(line record.Line, _ int64) error {
		if line.Envelope == nil {
			return nil
		}
		e, known, err := record.DecodeLog(line.Envelope)
		if err != nil {
			return err
		}
		if !known && line.Envelope.PayloadType != journal.CheckpointType {
			unknown++
		}
		conv.Apply(event.Recorded{Event: e, ID: line.Envelope.ID, Sequence: line.Envelope.Sequence, At: line.Envelope.RecordedAt})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Diagnostics) > 0 || !report.Sealed || unknown > 0 {
		t.Errorf("findings %v, sealed %v, %d unknown records", report.Diagnostics, report.Sealed, unknown)
	}
	if report.Bytes != stats.Bytes || stats.Bytes < o.Size || report.LastSequence != stats.Records {
		t.Errorf("read %d bytes up to record %d, wrote %+v", report.Bytes, report.LastSequence, stats)
	}
	if conv.Runs() != stats.Turns || stats.Compactions < 2 {
		t.Errorf("%d turns, wrote %+v", conv.Runs(), stats)
	}
	said := 0
	for _, item := range conv.Items(nil) {
		if item.ToolResult != nil {
			said += len(item.ToolResult.Text)
		}
	}
	if said == 0 || said > roomBytes {
		t.Errorf("%d bytes of results are still in the conversation: compactions do not hold", said)
	}
}
