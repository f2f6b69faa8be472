package journal

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/openmuse/muse/internal/record"
)

// longestLine is more than any line of the test has.
const longestLine = 150_000

// TestSeekLosesNothing: from where Seek says, every record after the one asked
// for is read, whatever lies between the records, and few of those before it.
func TestSeekLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := t.TempDir() + "/session.jsonl"
		defer os.Remove(path)
		j, err := Create(path, Options{Stream: record.Stream{Kind: record.StreamSession, ID: "s"}})
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(0, 60).Draw(rt, "records") {
			size := rapid.SampledFrom([]int{1, 100, 5_000, 70_000}).Draw(rt, "size")
			payload := []byte(fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", size)))
			switch rapid.IntRange(0, 9).Draw(rt, "kind") {
			case 0:
				err = j.AppendMarker(&record.Marker{ID: "0198f0aa-1111-7000-8000-0000000000aa"})
			case 1:
				_, err = j.AppendFrame([]record.Envelope{{PayloadType: "a", PayloadSchemaVersion: 1, Payload: payload}, {PayloadType: "b", PayloadSchemaVersion: 1, Payload: payload}})
			default:
				err = j.Append(&record.Envelope{PayloadType: "a", PayloadSchemaVersion: 1, Payload: payload})
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		last := j.Sequence()
		if err := j.Close(); err != nil {
			rt.Fatal(err)
		}
		log, err := os.ReadFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		damaged := rapid.Bool().Draw(rt, "damaged") && len(log) > 0
		if damaged {
			at := rapid.IntRange(0, len(log)-1).Draw(rt, "at")
			log[at] ^= 0x20
		}
		from := int64(rapid.IntRange(0, int(last)+2).Draw(rt, "from"))
		at, err := Seek(bytes.NewReader(log), int64(len(log)), from)
		if err != nil {
			rt.Fatal(err)
		}
		if at > 0 && log[at-1] != '\n' {
			rt.Fatalf("byte %d is in the middle of a line", at)
		}
		after := func(begin int64) (all []string, first int64) {
			first = int64(len(log))
			_, err := ReadFrom(bytes.NewReader(log[begin:]), ReadOptions{}, func(l record.Line, offset int64) error {
				was := len(all)
				switch {
				case l.Envelope != nil && l.Envelope.Sequence > from:
					all = append(all, l.Envelope.ID)
				case l.Marker != nil && l.Marker.Sequence > from:
					all = append(all, fmt.Sprint(l.Marker.Sequence))
				case l.Frame != nil:
					for _, c := range l.Frame.Children {
						if e, err := c.Envelope(); err == nil && e.Sequence > from {
							all = append(all, e.ID)
						}
					}
				}
				if was == 0 && len(all) > 0 {
					first = begin + offset
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			return all, first
		}
		want, first := after(0)
		got, _ := after(at)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("from byte %d of %d after record %d: %d records, want %d", at, len(log), from, len(got), len(want))
		}
		// The last look may have been into a line, and the line before a record.
		if !damaged && first-at > seekStop+4*longestLine {
			rt.Fatalf("byte %d is %d bytes too early", at, first-at)
		}
	})
}
