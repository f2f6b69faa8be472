package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openmuse/muse/internal/record"
)

// TestSplitter compares the splitter with bytes.Split for any content, block
// size and line limit.
func TestSplitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(rapid.StringOf(rapid.RuneFrom([]rune("ab\n"))).Draw(t, "data"))
		block := rapid.IntRange(1, 9).Draw(t, "block")
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		type got struct {
			Text                 string
			Offset, Number, Size int64
			Ended, Long          bool
		}
		var want []got
		offset := int64(0)
		for i, part := range bytes.SplitAfter(data, []byte("\n")) {
			body, ended := bytes.CutSuffix(part, []byte("\n"))
			if len(part) == 0 {
				continue
			}
			w := got{string(body), offset, int64(i + 1), int64(len(body)), ended, len(body) > limit}
			if w.Long {
				w.Text = ""
			}
			want = append(want, w)
			offset += int64(len(part))
		}
		var have []got
		s := splitter{maxLine: limit}
		add := func(l rawLine) {
			have = append(have, got{string(l.bytes), l.offset, l.number, l.size, l.ended, l.long})
		}
		for part := range slices.Chunk(data, block) {
			s.cut(part, add)
		}
		s.rest(add)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestHasher reads any content in blocks of any size: the sums over the whole
// and over the ended lines are right.
func TestHasher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(rapid.StringOf(rapid.RuneFrom([]rune("ab\n"))).Draw(t, "data"))
		p := pass{fn: records(ignore), block: rapid.IntRange(1, 9).Draw(t, "block"), hasher: newHasher()}
		if err := p.run(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		all, ended := sha256.New(), sha256.New()
		all.Write(data)
		ended.Write(data[:bytes.LastIndexByte(data, '\n')+1])
		if p.report.Bytes != int64(len(data)) || digest(all) != p.report.Digest {
			t.Fatalf("read %d bytes with digest %s", p.report.Bytes, p.report.Digest)
		}
		if digest(ended) != digest(p.hasher.pending) {
			t.Fatal("the sum before the unfinished line is wrong")
		}
	})
}

// TestVerifyAcrossBlocks puts checkpoints at every place of a block.
func TestVerifyAcrossBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	opts := testOptions()
	opts.CheckpointRecords = 1
	j, err := Create(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if err := j.Append(fact(i)); err != nil {
			t.Fatal(err)
		}
		if err := j.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	data := readFile(t, path)
	for _, cut := range []int{len(data), len(data) - 1} { // with and without the last line feed
		for block := 1; block < 1200; block += 7 {
			for _, broken := range []bool{false, true} {
				in := bytes.Clone(data[:cut])
				want := 0
				if broken {
					in[bytes.Index(in, []byte("zeile"))] = 'Z'
					want = 12
				}
				p := pass{fn: records(ignore), block: block, hasher: newHasher()}
				if err := p.run(bytes.NewReader(in)); err != nil {
					t.Fatal(err)
				}
				if p.report.Checkpoints != 12 || len(p.report.Diagnostics) != want {
					t.Fatalf("blocks of %d, broken %v: %d checkpoints, findings %v", block, broken, p.report.Checkpoints, p.report.Diagnostics)
				}
			}
		}
	}
}

func TestReadSkipsLongLines(t *testing.T) {
	path := newLog(t, 2)
	lines := bytes.SplitAfter(readFile(t, path), []byte("\n"))
	long := []byte(`{"x":"` + strings.Repeat("y", 3<<20) + "\"}\n")
	data := bytes.Join([][]byte{lines[0], long, lines[1], lines[2], lines[3], long[:2<<20]}, nil)
	var offsets []int64
	report, err := ReadFrom(bytes.NewReader(data), ReadOptions{MaxLine: 1 << 20, Verify: true}, func(_ record.Line, off int64) error {
		offsets = append(offsets, off)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(offsets) != 4 || offsets[1] != int64(len(lines[0])+len(long)) {
		t.Errorf("offsets %v", offsets)
	}
	if len(report.Diagnostics) != 2 || report.Diagnostics[0].Class != LongLine || report.Diagnostics[0].Line != 2 ||
		report.Diagnostics[1].Class != TornTail || report.Tail == nil || report.Tail.Whole {
		t.Errorf("findings %v, tail %+v", report.Diagnostics, report.Tail)
	}
}

func TestReadEntries(t *testing.T) {
	path := newLog(t, 1)
	frame, rest, _ := bytes.Cut(readFile(t, path), []byte("\n"))
	broken := bytes.Replace(frame, []byte(`\"sequence\":2`), []byte(`\"sequence\":\"2\"`), 1)
	data := slices.Concat(frame, []byte("\n"), rest, broken, []byte("\n{bad}\n"), rest[:20])
	var got []string
	report, err := ReadEntries(bytes.NewReader(data), ReadOptions{}, func(e Entry) error {
		got = append(got, fmt.Sprintf("%d %v %v %v", e.Number, e.Kind, e.Err == nil, e.Ended))
		if e.Offset < 0 || string(data[e.Offset:e.Offset+e.Size]) != string(e.Raw) && e.Err == nil {
			t.Errorf("entry %d is not at %d", e.Number, e.Offset)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 retained_frame true true", "2 envelope true true", "3 retained_frame true true", "4 unknown false true", "5 unknown false false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var classes []string
	for _, d := range report.Diagnostics {
		classes = append(classes, d.Class)
	}
	if diff := cmp.Diff([]string{SequenceRepeat, BadChild, BadLine, TornTail}, classes); diff != "" {
		t.Error(diff)
	}
}

// TestPrepare checks that what is prepared in any order comes in order.
func TestPrepare(t *testing.T) {
	path := bigLog(t, 4<<20)
	opts := testOptions()
	opts.Prepare = func(l record.Line) any { return l.Envelope.Sequence * 2 }
	last := int64(0)
	opts.OnPrepared = func(l record.Line, prepared any, _ int64) error {
		if last++; l.Envelope.Sequence != last || prepared != last*2 {
			return fmt.Errorf("record %d came as number %d with %v", l.Envelope.Sequence, last, prepared)
		}
		return nil
	}
	j, report, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if last != report.Records || last < 1000 {
		t.Errorf("%d of %d records came", last, report.Records)
	}
}

func TestLinesMayBeKept(t *testing.T) {
	path := newLog(t, 50)
	var kept []record.Line
	if _, err := Read(path, func(l record.Line, _ int64) error { kept = append(kept, l); return nil }); err != nil {
		t.Fatal(err)
	}
	var again []byte
	for _, l := range kept {
		again = append(append(again, l.Raw...), '\n')
	}
	if !bytes.Equal(again, readFile(t, path)) {
		t.Error("kept lines changed")
	}
}

func TestReadStopsAtError(t *testing.T) {
	stop := errors.New("stop")
	report, err := Read(newLog(t, 5), func(record.Line, int64) error { return stop })
	if !errors.Is(err, stop) || report.Lines != 1 {
		t.Errorf("got %v after %d lines", err, report.Lines)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none"), ignore); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestDiagnosticsAreBounded(t *testing.T) {
	report, err := ReadFrom(strings.NewReader(strings.Repeat("x\n", 3000)), ReadOptions{}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Diagnostics) != maxDiagnostics || report.Omitted != 3000-maxDiagnostics {
		t.Errorf("%d listed, %d omitted", len(report.Diagnostics), report.Omitted)
	}
}

// bigLog writes a log of about size bytes with lines as a coding session has
// them and returns its path.
func bigLog(tb testing.TB, size int64) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "session.jsonl")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	text := strings.Repeat(`some output \"quoted\" and a line\n`, 200)
	buf := make([]byte, 0, 1<<20)
	for n, seq := int64(0), int64(1); n < size; seq++ {
		body := text[:35*(1+seq%7)]
		if seq%50 == 0 {
			body = text
		}
		e := record.Envelope{
			SchemaVersion: 1, ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", seq), Stream: record.Stream{Kind: "session", ID: sessionID},
			Sequence: seq, RecordedAt: 1790000000000000 + seq, RecordType: record.TypeEvent, Durability: record.Durable,
			PayloadType: "runtime.session", PayloadSchemaVersion: 1,
			Payload: []byte(`{"event":{"kind":"output","chunk":"` + body + `","final_result":true},"kind":"task","run_id":"0b7e6f5a-4c3d-4e2f-9a1b-2c3d4e5f6a7b"}`),
		}
		buf = append(e.Append(buf[:0]), '\n')
		m, err := f.Write(buf)
		if err != nil {
			tb.Fatal(err)
		}
		n += int64(m)
	}
	return path
}

// TestMemoryIsBounded reads a log of 64 MiB and looks at the live heap on the
// way: it must not grow with the log.
func TestMemoryIsBounded(t *testing.T) {
	path := bigLog(t, 64<<20)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak uint64
	n := 0
	opts := testOptions()
	opts.OnLine = func(record.Line, int64) error {
		if n++; n%20000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
		}
		return nil
	}
	j, _, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	// The blocks in flight, each with the records made of it.
	const bound = 3 * blocksInFlight * blockSize
	if grown := int64(peak) - int64(before.HeapAlloc); peak == 0 || grown > bound {
		t.Errorf("live heap grew by %d bytes over %d records", grown, n)
	}
}

func BenchmarkRead(b *testing.B) {
	path := bigLog(b, 256<<20)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, verify bool) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				f, err := os.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := ReadFrom(f, ReadOptions{Verify: verify}, ignore); err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("plain", false)
	run("verify", true)
}

func BenchmarkAppend(b *testing.B) {
	j, err := Create(filepath.Join(b.TempDir(), "session.jsonl"), Options{Stream: record.Stream{Kind: "session", ID: sessionID}})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	payload := fact(1).Payload
	for b.Loop() {
		if err := j.Append(&record.Envelope{PayloadType: "x", Payload: payload}); err != nil {
			b.Fatal(err)
		}
	}
}
