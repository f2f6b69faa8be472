package process

import (
	"bufio"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const text = "cpu  100 1 20 5000 30 2 3 4 50 60\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
	got, err := parseStat(text, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	// user + nice + system + irq + softirq + steal; guest time is in user.
	if want := (100 + 1 + 20 + 2 + 3 + 4) * 10 * time.Millisecond; got != want {
		t.Errorf("busy for %s, want %s", got, want)
	}
	for _, bad := range []string{"", "cpu  1 2 3\n", "intr 1 2 3 4 5 6 7 8 9\n", "cpu 1 2 x 4 5 6 7 8 9\n"} {
		if _, err := parseStat(bad, time.Second); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// clock is a machine whose processor times the test sets.
type clock struct {
	reading
	fail bool
}

func (c *clock) read() (reading, error) {
	if c.fail {
		return reading{}, errors.New("not known")
	}
	return c.reading, nil
}

// pass lets time pass, in milliseconds: of the machine's and of our own work.
func (c *clock) pass(wall, busy, own int) {
	c.at = c.at.Add(time.Duration(wall) * time.Millisecond)
	c.busy += time.Duration(busy) * time.Millisecond
	c.own += time.Duration(own) * time.Millisecond
}

func TestForeign(t *testing.T) {
	c := &clock{reading: reading{at: time.Unix(1000, 0)}}
	n := &Noise{read: c.read}
	n.mark()
	check := func(what string, want float64) {
		t.Helper()
		got, ok := n.Foreign()
		if !ok || got < want-0.001 || got > want+0.001 {
			t.Errorf("%s: %v cores (known: %v), want %v", what, got, ok, want)
		}
	}
	c.pass(1000, 1500, 500)
	check("a long run beside one busy processor", 1)
	c.pass(1000, 700, 700)
	check("a long quiet run", 0)
	c.pass(10, 10, 0)
	check("a short run is judged with the time before it", 10.0/1010)
	c.pass(400, 200, 0)
	check("a run longer than the window stands alone", 0.5)
	c.pass(500, 0, 10)
	check("more of our own than the machine counted is none", 0)
	c.fail = true
	if _, ok := n.Foreign(); ok {
		t.Error("known although the system does not tell")
	}
}

func TestParseTrace(t *testing.T) {
	const text = `100 execve("/opt/muse", [...], 0x7ffd /* 9 vars */) = 0
100 clone(child_stack=0xc000, flags=CLONE_VM|CLONE_FS|CLONE_THREAD|CLONE_SYSVSEM) = 101
101 clone(child_stack=NULL, flags=CLONE_VM|CLONE_VFORK|CLONE_PIDFD|SIGCHLD <unfinished ...>
102 execve("/usr/local/bin/bash", [...], 0xc000 /* 9 vars */) = -1 ENOENT (No such file or directory)
102 execve("/usr/bin/bash", [...], 0xc000 /* 9 vars */ <unfinished ...>
101 <... clone resumed>, parent_tid=[7]) = 102
102 <... execve resumed>) = 0
102 vfork( <unfinished ...>
103 execve("/usr/bin/git", [...], 0xc000 /* 9 vars */) = 0
102 <... vfork resumed>) = 103
103 exit_group(0)                     = ?
103 +++ exited with 0 +++
101 fsync(13) = 0
101 fdatasync(13 <unfinished ...>
101 <... fdatasync resumed>) = 0
101 clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD}, 88) = 104
`
	got, err := parseTrace(bufio.NewScanner(strings.NewReader(strings.Replace(text, "103 exit_group(0)                     = ?\n", "", 1))))
	if err != nil {
		t.Fatal(err)
	}
	want := Trace{Processes: 3, Programs: map[string]int{"muse": 1, "bash": 1, "git": 1}, Syncs: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
}

func TestTraceMinus(t *testing.T) {
	long := Trace{Processes: 14, Programs: map[string]int{"muse": 1, "bash": 11, "git": 2}, Syncs: 25}
	short := Trace{Processes: 4, Programs: map[string]int{"muse": 1, "bash": 1, "git": 2}, Syncs: 5}
	want := Trace{Processes: 10, Programs: map[string]int{"bash": 10}, Syncs: 20}
	if diff := cmp.Diff(want, long.Minus(short)); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
}
