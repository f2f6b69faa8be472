package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

func TestAppendNumbersAndDates(t *testing.T) {
	path := newLog(t, 3)
	j, report, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if report.LastSequence != 6 || report.Records != 6 || report.Lines != 5 || report.Tail != nil {
		t.Errorf("report %+v", report)
	}
	env := fact(9)
	env.CausationID = "run-1"
	if err := j.Append(env); err != nil {
		t.Fatal(err)
	}
	if env.Sequence != 7 || env.RecordedAt != report.LastRecorded+1 || env.ID == "" || env.Stream.ID != sessionID {
		t.Errorf("filled in %+v", env)
	}
	f, err := j.AppendFrame([]record.Envelope{*fact(10), *fact(11)})
	if err != nil {
		t.Fatal(err)
	}
	if f.Ordinal != 7 {
		t.Errorf("frame on line 7 has ordinal %d", f.Ordinal)
	}
	m := record.Marker{}
	if err := j.AppendMarker(&m); err != nil {
		t.Fatal(err)
	}
	if m.Sequence != 10 {
		t.Errorf("marker has sequence %d", m.Sequence)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := checkLog(t, path); got.LastSequence != 10 {
		t.Errorf("last sequence %d", got.LastSequence)
	}
	if err := j.Append(fact(0)); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
}

func TestFirstFrame(t *testing.T) {
	f, err := FirstFrame([]record.Envelope{*fact(1), *fact(2)}, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, append(f.Append(nil), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	j, report, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if report.LastSequence != 2 || f.Ordinal != 1 {
		t.Errorf("report %+v, ordinal %d", report, f.Ordinal)
	}
}

func TestAppendRefusesWhatIsNoPayload(t *testing.T) {
	path := newLog(t, 1)
	j, _, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, payload := range []string{``, `[]`, `"x"`, `{"a":1,"a":2}`, `{"a":`, "{\"a\":\"\xff\"}"} {
		env := &record.Envelope{PayloadType: "x", Payload: jsontext.Value(payload)}
		if err := j.Append(env); err == nil || env.Sequence != 0 {
			t.Errorf("payload %q: error %v, sequence %d", payload, err, env.Sequence)
		}
	}
	env := &record.Envelope{PayloadType: "x", Payload: jsontext.Value("{\n \"a\" : \"b\\n\"\r\n}")}
	if err := j.Append(env); err != nil {
		t.Fatal(err)
	}
	if string(env.Payload) != `{"a":"b\n"}` {
		t.Errorf("payload %s", env.Payload)
	}
	if got := checkLog(t, path); got.LastSequence != 4 {
		t.Errorf("last sequence %d", got.LastSequence)
	}
}

func TestConcurrentAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	opts := testOptions()
	opts.CheckpointRecords = 16
	j, err := Create(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				if err := j.Append(fact(g*1000 + i)); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if err := j.Commit(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := j.Seal(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	report := checkLog(t, path)
	if report.Records-report.Checkpoints != 200 || report.Checkpoints < 2 || !report.Sealed {
		t.Errorf("report %+v", report)
	}
}

func TestCheckpoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	opts := testOptions()
	opts.CheckpointRecords = 4
	j, err := Create(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := j.Append(fact(i)); err != nil {
			t.Fatal(err)
		}
		if err := j.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Seal(); err != nil {
		t.Fatal(err)
	}
	size := j.Size()
	if err := j.Seal(); err != nil || j.Size() != size {
		t.Errorf("sealing a sealed log: %v, grew by %d", err, j.Size()-size)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	report := checkLog(t, path)
	if report.Checkpoints != 3 || !report.Sealed {
		t.Errorf("%d checkpoints, sealed %v; want 3, true", report.Checkpoints, report.Sealed)
	}

	// A changed byte is found by every checkpoint behind it, and only by those.
	data := readFile(t, path)
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, line := range lines {
		at := bytes.Index(line, []byte("zeile"))
		if at < 0 {
			continue
		}
		behind := 0
		for _, l := range lines[i+1:] {
			if bytes.Contains(l, []byte(CheckpointType)) {
				behind++
			}
		}
		changed := bytes.Clone(data)
		changed[bytes.Index(data, line)+at] = 'Z'
		got, err := ReadFrom(bytes.NewReader(changed), ReadOptions{Verify: true}, ignore)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Diagnostics) != behind || behind > 0 && got.Diagnostics[0].Class != CheckpointMismatch {
			t.Errorf("byte changed in line %d: %v, want %d mismatches", i+1, got.Diagnostics, behind)
		}
	}

	// The log goes on after the seal, and growth since is counted right.
	j, opened, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	if !opened.Sealed {
		t.Error("log does not open as sealed")
	}
	for i := range 4 {
		if err := j.Append(fact(100 + i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if report := checkLog(t, path); report.Checkpoints != 4 || report.Sealed {
		t.Errorf("%d checkpoints, sealed %v; want 4, false", report.Checkpoints, report.Sealed)
	}
}

func TestCheckpointByBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	opts := testOptions()
	opts.CheckpointBytes = 1000
	j, err := Create(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	big := &record.Envelope{PayloadType: "x", Payload: jsontext.Value(`{"t":"` + strings.Repeat("x", 1000) + `"}`)}
	if err := j.Append(big); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if report := checkLog(t, path); report.Checkpoints != 0 {
		t.Error("closing alone wrote a checkpoint")
	}
	j, _, err = Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if report := checkLog(t, path); report.Checkpoints != 1 {
		t.Errorf("%d checkpoints after the commit, want 1", report.Checkpoints)
	}
}

func TestForeignChangeIsNotOverwritten(t *testing.T) {
	path := newLog(t, 2)
	j, _, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	foreign := []byte("{\"not\":\"ours\"}\n")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(foreign); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(fact(5)); !errors.Is(err, ErrFailed) {
		t.Errorf("append to a file that changed: %v", err)
	}
	if got := readFile(t, path); !bytes.HasSuffix(got, foreign) {
		t.Error("the foreign line is gone")
	}
}

func TestLineLimit(t *testing.T) {
	path := newLog(t, 1)
	opts := testOptions()
	opts.MaxLine = 4096
	j, _, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	big := &record.Envelope{PayloadType: "x", Payload: jsontext.Value(`{"t":"` + strings.Repeat("x", 5000) + `"}`)}
	if err := j.Append(big); err == nil || errors.Is(err, ErrFailed) {
		t.Errorf("too long a record: %v", err)
	}
	if err := j.Append(fact(1)); err != nil {
		t.Errorf("the journal must go on: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Open(filepath.Join(dir, "none"), testOptions()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, _, err := Open(dir, testOptions()); err == nil {
		t.Error("a directory was opened")
	}
	path := newLog(t, 1)
	link := filepath.Join(dir, "session.jsonl")
	if err := os.Symlink(path, link); err != nil {
		t.Skip("no symlinks here:", err)
	}
	if noFollow != 0 {
		if _, _, err := Open(link, testOptions()); err == nil {
			t.Error("a symlink was followed")
		}
	}
	if _, err := Create(path, testOptions()); !errors.Is(err, os.ErrExist) {
		t.Errorf("create over a log: %v", err)
	}
}

func ignore(record.Line, int64) error { return nil }

func TestOnLineErrorStopsOpen(t *testing.T) {
	path := newLog(t, 3)
	before := readFile(t, path)
	opts := testOptions()
	stop := errors.New("stop")
	n := 0
	opts.OnLine = func(record.Line, int64) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	}
	if _, _, err := Open(path, opts); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(before, readFile(t, path)) {
		t.Error("log changed")
	}
	if got := fmt.Sprint(n); got != "2" {
		t.Errorf("OnLine was called %s times", got)
	}
}
