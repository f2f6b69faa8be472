package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

// TestMain turns the test binary into the processes that some tests need.
func TestMain(m *testing.M) {
	switch os.Getenv("JOURNAL_TEST_CHILD") {
	case "append":
		childAppend(os.Getenv("JOURNAL_TEST_PATH"))
	case "lease":
		childLease(os.Getenv("JOURNAL_TEST_PATH"))
	default:
		os.Exit(m.Run())
	}
}

// child starts this test binary in the given role; it is killed when the test
// ends.
func child(t *testing.T, role, path string) (*exec.Cmd, *bufio.Reader, io.WriteCloser) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_CHILD="+role, "JOURNAL_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out), in
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(3)
}

// childAppend appends to the log at path without end and says each sequence
// after it is in the log.
func childAppend(path string) {
	opts := Options{Stream: record.Stream{Kind: record.StreamSession, ID: sessionID}, CheckpointRecords: 8}
	j, _, err := Open(path, opts)
	if errors.Is(err, os.ErrNotExist) {
		j, err = Create(path, opts)
	}
	if err != nil {
		fatal(err)
	}
	text := strings.Repeat("x", 3000)
	for n := 0; ; n++ {
		var said int64
		switch n % 7 {
		case 3:
			m := record.Marker{}
			err, said = j.AppendMarker(&m), m.Sequence
		case 5:
			_, err = j.AppendFrame([]record.Envelope{*fact(n), *fact(n)})
			said = j.Sequence()
		default:
			e := record.Envelope{PayloadType: "t", Payload: jsontext.Value(`{"text":"` + text[:n*37%len(text)] + `"}`)}
			err = j.Append(&e)
			said = e.Sequence
		}
		if err == nil && n%5 == 4 {
			err = j.Commit()
		}
		if err != nil {
			fatal(err)
		}
		fmt.Println(said)
	}
}

// TestKill kills a process that appends at 30 random instants, each time to
// the same log. Every sequence it had said is in the log, the log is whole
// after a repair, and the next process goes on.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	var highest int64
	for round := range 30 {
		cmd, out, _ := child(t, "append", path)
		var said int64
		read := func() error { _, err := fmt.Fscanln(out, &said); return err }
		for range random.IntN(40) { // lines seen before the kill
			if err := read(); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for read() == nil { // what it had still said
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		j, report, err := Open(path, testOptions())
		if errors.Is(err, os.ErrNotExist) && said == 0 {
			continue
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		for _, d := range report.Diagnostics {
			if d.Class != TornTail {
				t.Errorf("round %d: %v", round, d)
			}
		}
		whole := checkLog(t, path)
		if whole.LastSequence < max(said, highest) {
			t.Errorf("round %d: %d was said, the log ends at %d", round, said, whole.LastSequence)
		}
		if whole.LastSequence < highest {
			t.Errorf("round %d: the log went back from %d to %d", round, highest, whole.LastSequence)
		}
		highest = whole.LastSequence
	}
	if highest == 0 {
		t.Error("no round wrote anything")
	}
}

// childLease takes the lease at path, says so, and holds it until its input
// ends or it is killed.
func childLease(path string) {
	lease, err := Acquire(path, sessionID, Self("muse test", time.Now()))
	if err != nil {
		fmt.Println(err)
		os.Exit(4)
	}
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		fatal(err)
	}
	if err := lease.Release(); err != nil {
		fatal(err)
	}
}

func TestLeaseAcrossProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".session.lock")
	me := Self("muse exec", time.Now())

	holder, out, in := child(t, "lease", path)
	if line, err := out.ReadString('\n'); line != "held\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	_, err := Acquire(path, sessionID, me)
	var inUse *InUseError
	if !errors.As(err, &inUse) {
		t.Fatalf("a second writer: %v", err)
	}
	want := fmt.Sprintf("session %s is in use by pid %d (muse test, since ", sessionID, holder.Process.Pid)
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("refused with %q, want %q…", err, want)
	}

	// An orderly end frees it and leaves nothing to misread.
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	if data := readFile(t, path); len(data) != 0 {
		t.Errorf("lock file still says %q", data)
	}

	// So does a kill, although the note stays.
	holder, out, _ = child(t, "lease", path)
	if line, err := out.ReadString('\n'); line != "held\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	if data := readFile(t, path); len(data) == 0 {
		t.Error("the killed process left no note to ignore")
	}
	lease, err := Acquire(path, sessionID, me)
	if err != nil {
		t.Fatalf("after a kill: %v", err)
	}

	// And the other way round: the child is refused and names this process.
	cmd, out, _ := child(t, "lease", path)
	line, _ := out.ReadString('\n')
	if want := fmt.Sprintf("in use by pid %d (muse exec, since ", os.Getpid()); !strings.Contains(line, want) {
		t.Errorf("child said %q, want %q", line, want)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child was not refused")
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestLeaseOfOneProcess(t *testing.T) {
	dir := t.TempDir()
	me := Self("muse exec", time.Now())
	lease, err := Acquire(filepath.Join(dir, "admission"), sessionID, me)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Add(filepath.Join(dir, "session")); err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	if _, err := Acquire(filepath.Join(dir, "session"), sessionID, me); !errors.As(err, &inUse) || inUse.Holder != me {
		t.Errorf("the process itself is no exception: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if lease, err = Acquire(filepath.Join(dir, "session"), sessionID, me); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestLeaseOfAnotherProgram stands for a program that locks the file and
// leaves no note, or whose note is of an earlier process.
func TestLeaseOfAnotherProgram(t *testing.T) {
	for _, note := range []string{"", "garbage", `{"pid":2147483646,"program":"muse exec","host":"HOST"}`} {
		host, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), ".session.lock")
		if err := os.WriteFile(path, []byte(strings.Replace(note, "HOST", host, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tryLock(f); err != nil {
			t.Fatal(err)
		}
		_, err = Acquire(path, "s", Self("muse exec", time.Now()))
		if err == nil || err.Error() != "session s is in use by another process" {
			t.Errorf("note %q: %v", note, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
