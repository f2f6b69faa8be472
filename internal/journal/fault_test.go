package journal

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/openmuse/muse/internal/record"
)

// work appends, commits and seals until something fails. It returns the
// payloads that were acknowledged.
func work(j *Journal) (acked []string, err error) {
	put := func(n int) error {
		e := fact(n)
		if err := j.Append(e); err != nil {
			if e.Sequence != 0 || e.ID != "" {
				return errors.New("a refused record was filled in")
			}
			return err
		}
		acked = append(acked, string(e.Payload))
		return nil
	}
	for n := range 12 {
		if err := put(n); err != nil {
			return acked, err
		}
		switch n % 4 {
		case 1:
			if err := j.Commit(); err != nil {
				return acked, err
			}
		case 2:
			if err := j.AppendMarker(&record.Marker{}); err != nil {
				return acked, err
			}
		case 3:
			if _, err := j.AppendFrame([]record.Envelope{*fact(n * 100)}); err != nil {
				return acked, err
			}
		}
	}
	return acked, j.Seal()
}

// TestFailureAtEveryStep fails each write, sync and truncate in turn, once or
// from then on, cleanly or half way. What was acknowledged is in the log, the
// log is whole after it is opened again, and nothing is accepted in between.
func TestFailureAtEveryStep(t *testing.T) {
	for _, mode := range []*faults{{}, {half: true}, {sticky: true}, {sticky: true, half: true}} {
		for n := 1; ; n++ {
			path := filepath.Join(t.TempDir(), "session.jsonl")
			fs := &faults{fail: n, sticky: mode.sticky, half: mode.half}
			opts := testOptions()
			opts.OpenFile, opts.SyncDir = fs.open, fs.syncDir
			opts.CheckpointRecords = 4
			j, err := Create(path, opts)
			if err != nil {
				if n != 1 || !errors.Is(err, errInjected) {
					t.Fatal(err)
				}
				continue
			}
			acked, err := work(j)
			if err == nil {
				if n < 20 {
					t.Errorf("only %d steps: %v", n-1, fs.log)
				}
				break
			}
			if !errors.Is(err, errInjected) || !errors.Is(err, ErrFailed) {
				t.Fatalf("step %d: %v", n, err)
			}
			size := len(readFile(t, path))
			if err := j.Append(fact(1)); !errors.Is(err, ErrFailed) || !errors.Is(err, errInjected) {
				t.Errorf("step %d: append to a failed log: %v", n, err)
			}
			if err := j.Commit(); !errors.Is(err, ErrFailed) {
				t.Errorf("step %d: commit of a failed log: %v", n, err)
			}
			if err := j.Close(); !errors.Is(err, ErrFailed) {
				t.Errorf("step %d: close of a failed log: %v", n, err)
			}
			if got := len(readFile(t, path)); got != size {
				t.Errorf("step %d: a failed log grew", n)
			}
			if !mode.sticky {
				checkLog(t, path) // the failed record was cut off at once
			}
			again, _, err := Open(path, testOptions())
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			checkLog(t, path)
			data := readFile(t, path)
			for _, payload := range acked {
				if !bytes.Contains(data, []byte(payload)) {
					t.Errorf("step %d (%v): %s was acknowledged and is lost", n, fs.log[len(fs.log)-1], payload)
				}
			}
		}
	}
}
