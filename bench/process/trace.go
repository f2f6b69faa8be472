package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Trace is what a run asked of the system, as strace shows it.
type Trace struct {
	Processes int            // started, threads not counted
	Programs  map[string]int // executed, by base name
	Syncs     int            // fsync and its like
}

// Minus is what t has beyond other.
func (t Trace) Minus(other Trace) Trace {
	d := Trace{Processes: t.Processes - other.Processes, Syncs: t.Syncs - other.Syncs, Programs: map[string]int{}}
	for name, n := range t.Programs {
		if n -= other.Programs[name]; n != 0 {
			d.Programs[name] = n
		}
	}
	return d
}

const traced = "execve,execveat,clone,clone3,fork,vfork,fsync,fdatasync,sync_file_range,msync,syncfs,sync"

// RunTraced runs a program under strace, which slows it: its cost means
// nothing. It fails with [exec.ErrNotFound] where there is no strace.
func RunTraced(ctx context.Context, s Spec, file string) (Trace, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return Trace{}, err
	}
	s.Args = append([]string{strace, "-f", "-qq", "-s", "0", "-e", "signal=none", "-e", "trace=" + traced, "-o", file}, s.Args...)
	c, err := Run(ctx, s)
	if err != nil {
		return Trace{}, err
	}
	if c.Exit != 0 || c.TimedOut {
		return Trace{}, fmt.Errorf("traced run failed with exit code %d", c.Exit)
	}
	f, err := os.Open(file)
	if err != nil {
		return Trace{}, err
	}
	defer f.Close()
	return parseTrace(bufio.NewScanner(f))
}

// traceLine takes a line of strace -f apart: the process, whether the line is
// the second half of a call, the call, its arguments, and its result, which a
// first half lacks.
var traceLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d+) +(<\.\.\. )?(\w+)(?:\(| resumed>)(.*?)(?:\) += (-?\d+|\?).*| <unfinished \.\.\.>)$`)
})

func parseTrace(lines *bufio.Scanner) (Trace, error) {
	t := Trace{Programs: map[string]int{}}
	lines.Buffer(nil, 1<<20)
	executing := map[string]string{} // program by process
	for lines.Scan() {
		m := traceLine().FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		pid, second, call, args, result := m[1], m[2] != "", m[3], m[4], m[5]
		switch call {
		case "execve", "execveat":
			if !second {
				executing[pid] = programOf(args)
			}
			if result == "0" {
				t.Programs[executing[pid]]++
			}
		case "clone", "clone3", "fork", "vfork":
			if !second && !strings.Contains(args, "CLONE_THREAD") {
				t.Processes++
			}
		default:
			if !second {
				t.Syncs++
			}
		}
	}
	return t, lines.Err()
}

// programOf is the base name of the first string among a call's arguments.
func programOf(args string) string {
	_, rest, _ := strings.Cut(args, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	return path.Base(name)
}
