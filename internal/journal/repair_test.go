package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/openmuse/muse/internal/record"
)

// TestTornTail cuts a small log after every byte and opens it: the whole
// records before the cut stay, the rest of a line is moved aside byte for
// byte, and the log can be written again.
func TestTornTail(t *testing.T) {
	whole := readFile(t, newLog(t, 3))
	for cut := range len(whole) + 1 {
		path := filepath.Join(t.TempDir(), "session.jsonl")
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		opts := testOptions()
		opts.OpenFile, opts.SyncDir = openUnsynced, func(string) error { return nil }
		j, report, err := Open(path, opts)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		kept := whole[:bytes.LastIndexByte(whole[:cut], '\n')+1]
		torn := whole[len(kept):cut]
		switch {
		case len(torn) == 0:
			if report.TornFile != "" || report.AddedLineFeed || report.Tail != nil {
				t.Errorf("cut at %d: nothing to repair, but %+v", cut, report)
			}
		case whole[cut] == '\n':
			kept = append(bytes.Clone(whole[:cut]), '\n')
			if !report.AddedLineFeed || report.TornFile != "" {
				t.Errorf("cut at %d: a whole line, but %+v", cut, report)
			}
		default:
			if got := readFile(t, report.TornFile); !bytes.Equal(got, torn) {
				t.Errorf("cut at %d: set aside %q, want %q", cut, got, torn)
			}
			if report.Tail == nil || report.Tail.Offset != int64(len(kept)) || report.Tail.Size != int64(len(torn)) {
				t.Errorf("cut at %d: tail %+v", cut, report.Tail)
			}
			if len(report.Diagnostics) != 1 || report.Diagnostics[0].Class != TornTail {
				t.Errorf("cut at %d: findings %v", cut, report.Diagnostics)
			}
		}
		if got := readFile(t, path); !bytes.Equal(got, kept) {
			t.Errorf("cut at %d: log is %q, want %q", cut, got, kept)
		}
		if err := j.Append(fact(7)); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if err := j.Seal(); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if err := j.Close(); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
		checkLog(t, path)
		if t.Failed() {
			t.FailNow()
		}
	}
}

func TestTornTailOfZeros(t *testing.T) {
	path := newLog(t, 2)
	whole := readFile(t, path)
	zeros := make([]byte, 5000) // a file extended by a crash before its data came
	if err := os.WriteFile(path, append(bytes.Clone(whole), zeros...), 0o600); err != nil {
		t.Fatal(err)
	}
	j, report, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if !bytes.Equal(readFile(t, path), whole) || !bytes.Equal(readFile(t, report.TornFile), zeros) {
		t.Errorf("report %+v", report)
	}
}

func TestTornFileNamesDoNotClash(t *testing.T) {
	path := newLog(t, 1)
	whole := readFile(t, path)
	seen := map[string]bool{}
	for i := range 3 {
		if err := os.WriteFile(path, append(bytes.Clone(whole), `{"cut":`...), 0o600); err != nil {
			t.Fatal(err)
		}
		j, report, err := Open(path, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		if seen[report.TornFile] || report.TornFile == "" {
			t.Errorf("repair %d: torn file %q", i, report.TornFile)
		}
		seen[report.TornFile] = true
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBadLineStays puts damage in the middle of a log.
func TestBadLineStays(t *testing.T) {
	for _, bad := range []string{"{broken}\n", "\n", "null\n", "\x00\x00\x00\n", `{"schema_version":1}` + "\n", "\xff\xfe\n"} {
		path := newLog(t, 3)
		lines := bytes.SplitAfter(readFile(t, path), []byte("\n"))
		damaged := bytes.Join(append(append([][]byte{}, lines[:2]...), append([][]byte{[]byte(bad)}, lines[2:]...)...), nil)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		var seen int
		opts := testOptions()
		opts.OnLine = func(record.Line, int64) error { seen++; return nil }
		j, report, err := Open(path, opts)
		if err != nil {
			t.Fatal(err)
		}
		if seen != 5 || len(report.Diagnostics) != 1 || report.Diagnostics[0].Class != BadLine || report.Diagnostics[0].Line != 3 {
			t.Errorf("%q: %d records, findings %v", bad, seen, report.Diagnostics)
		}
		if err := j.Append(fact(1)); err != nil {
			t.Fatal(err)
		}
		if err := j.Seal(); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(readFile(t, path), damaged) {
			t.Errorf("%q: bytes changed", bad)
		}
	}
}

// TestNumbersAfterDamage checks that a lost record shows as a gap and that
// numbering goes on behind the highest number.
func TestNumbersAfterDamage(t *testing.T) {
	path := newLog(t, 4)
	lines := bytes.SplitAfter(readFile(t, path), []byte("\n"))
	lines = append(lines[:3:3], lines[4:]...)
	lines = append(lines, lines[1])
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	j, report, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var classes []string
	for _, d := range report.Diagnostics {
		classes = append(classes, d.Class)
	}
	if len(classes) != 2 || classes[0] != SequenceGap || classes[1] != SequenceRepeat {
		t.Errorf("findings %v", report.Diagnostics)
	}
	env := fact(1)
	if err := j.Append(env); err != nil {
		t.Fatal(err)
	}
	if env.Sequence != 8 {
		t.Errorf("sequence %d after a highest of 7", env.Sequence)
	}
}

// TestRepairFails lets every step of a repair fail: the torn bytes are in the
// log or in a file beside it at all times.
func TestRepairFails(t *testing.T) {
	whole := readFile(t, newLog(t, 2))
	torn := whole[:len(whole)-10]
	tail := torn[bytes.LastIndexByte(torn, '\n')+1:]
	for n := 1; ; n++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "session.jsonl")
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		fs := &faults{fail: n, sticky: true, half: true}
		opts := testOptions()
		opts.OpenFile, opts.SyncDir = fs.open, fs.syncDir
		j, _, err := Open(path, opts)
		if err == nil {
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			if n < 4 {
				t.Errorf("only %d steps: %v", n-1, fs.log)
			}
			return
		}
		if !errors.Is(err, errInjected) {
			t.Fatalf("step %d: %v", n, err)
		}
		aside, globErr := filepath.Glob(path + ".torn-*")
		if globErr != nil {
			t.Fatal(globErr)
		}
		inLog := bytes.Equal(readFile(t, path), torn)
		beside := len(aside) == 1 && bytes.Equal(readFile(t, aside[0]), tail)
		if !inLog && !beside {
			t.Errorf("step %d (%v): the torn bytes are lost", n, fs.log)
		}
	}
}
