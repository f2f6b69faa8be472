package host

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// TestReadingFromTheMiddle: what comes after a record is the same whether it is
// looked for or the whole log is read.
func TestReadingFromTheMiddle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	j, err := journal.Create(path, journal.Options{Stream: record.Stream{Kind: record.StreamSession, ID: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 600 {
		body := event.Body(event.NameChanged{NewName: strings.Repeat(fmt.Sprint("name ", n), 1+n%700)})
		if n%50 == 0 {
			if err := j.AppendMarker(&record.Marker{ID: "0198f0aa-1111-7000-8000-0000000000aa"}); err != nil {
				t.Fatal(err)
			}
		}
		b, err := record.EncodeLog(event.Event{Body: body}, record.RunPosition{})
		if err != nil {
			t.Fatal(err)
		}
		env := &record.Envelope{RecordType: b.RecordType, Durability: b.Durability, PayloadType: b.PayloadType, PayloadSchemaVersion: b.SchemaVersion, Payload: b.Payload}
		if err := j.Append(env); err != nil {
			t.Fatal(err)
		}
	}
	head := j.Sequence()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(from, to int64) []event.Recorded {
		t.Helper()
		var out []event.Recorded
		if err := readEvents(path, from, to, func(r event.Recorded) error { out = append(out, r); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	whole := read(0, all)
	if len(whole) != 600 {
		t.Fatalf("%d events of 600", len(whole))
	}
	for from := int64(0); from <= head+1; from += 7 {
		var want []string
		for _, r := range whole {
			if r.Sequence > from && r.Sequence <= head-3 {
				want = append(want, r.ID)
			}
		}
		var got []string
		for _, r := range read(from, head-3) {
			got = append(got, r.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("after record %d: %d events, want %d", from, len(got), len(want))
		}
	}
}
