package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

const sessionID = "0190a000-0000-7000-8000-000000000001"

// testOptions has a clock that stands still, so that the journal alone keeps
// the order of times, and ids that count.
func testOptions() Options {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	n := 0
	return Options{
		Stream: record.Stream{Kind: record.StreamSession, ID: sessionID},
		Now:    func() time.Time { return start },
		NewID: func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		},
	}
}

func fact(n int) *record.Envelope {
	return &record.Envelope{
		PayloadType: "test.fact",
		Payload:     jsontext.Value(fmt.Sprintf(`{"kind":"fact","record":{"n":%d,"text":"zeile %d ä"}}`, n, n)),
	}
}

// newLog makes a log with a frame, a marker and n facts in all and closes it.
func newLog(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	j, err := Create(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.AppendFrame([]record.Envelope{*fact(-1), *fact(-2)}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if i == 1 {
			if err := j.AppendMarker(&record.Marker{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Append(fact(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkLog verifies that the log at path is whole: every line a record,
// numbers without gaps, times strictly increasing, checkpoints right.
func checkLog(t *testing.T, path string) Report {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var last int64
	report, err := ReadFrom(f, ReadOptions{Verify: true}, func(line record.Line, _ int64) error {
		if line.Kind == record.KindEnvelope {
			if line.Envelope.RecordedAt <= last {
				t.Errorf("sequence %d: recorded_at %d after %d", line.Envelope.Sequence, line.Envelope.RecordedAt, last)
			}
			last = line.Envelope.RecordedAt
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Tail != nil || len(report.Diagnostics) > 0 {
		t.Errorf("%s: tail %+v, findings %v", path, report.Tail, report.Diagnostics)
	}
	return report
}

var errInjected = errors.New("injected failure")

// faults is a file system whose n-th write, sync, truncate or stat fails.
type faults struct {
	mu   sync.Mutex
	ops  int
	fail int // number of the call that fails, from 1; 0 for none
	// sticky makes all later calls fail too, as on a full disk.
	sticky bool
	// half makes a failing write write half of its bytes.
	half bool
	log  []string
}

func (fs *faults) hit(op string) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.ops++
	fs.log = append(fs.log, op)
	return fs.ops == fs.fail || fs.sticky && fs.fail > 0 && fs.ops > fs.fail
}

func (fs *faults) open(path string, flag int, perm os.FileMode) (File, error) {
	if flag&os.O_CREATE != 0 && fs.hit("create") {
		return nil, errInjected
	}
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: f, fs: fs}, nil
}

type faultyFile struct {
	*os.File
	fs *faults
}

func (fs *faults) syncDir(string) error {
	if fs.hit("syncdir") {
		return errInjected
	}
	return nil
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if !f.fs.hit("write") {
		return f.File.WriteAt(p, off)
	}
	if !f.fs.half {
		return 0, errInjected
	}
	n, err := f.File.WriteAt(p[:len(p)/2], off)
	return n, errors.Join(errInjected, err)
}

func (f *faultyFile) Sync() error {
	if f.fs.hit("sync") {
		return errInjected
	}
	return f.File.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	if f.fs.hit("truncate") {
		return errInjected
	}
	return f.File.Truncate(size)
}

// openUnsynced opens files that are never synced: a test of thousands of
// repairs would only wait for the disk.
func openUnsynced(path string, flag int, perm os.FileMode) (File, error) {
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsynced{f}, nil
}

type unsynced struct{ *os.File }

func (unsynced) Sync() error { return nil }
