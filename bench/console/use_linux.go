package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc (proc(5): USER_HZ).
const tick = 10 * time.Millisecond

// usage reads what a process and its descendants used.
func usage(pid int) (Use, error) {
	var u Use
	for _, p := range tree(pid) {
		cpu, err := cpuOf(p)
		if err != nil {
			if p == pid {
				return u, err
			}
			continue // it has ended meanwhile
		}
		rss, err := residentOf(p)
		if err != nil {
			continue // likewise
		}
		u.Processes++
		u.CPU += cpu
		u.Resident += rss
		u.Largest = max(u.Largest, rss)
	}
	if u.Processes == 0 {
		return u, fmt.Errorf("process %d is gone", pid)
	}
	return u, nil
}

// tree is a process with its descendants. Those that left the tree, as servers
// that put themselves into the background do, are not in it.
func tree(pid int) []int {
	out := []int{pid}
	for i := 0; i < len(out); i++ {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", out[i]))
		if err != nil {
			continue // the pattern is well formed
		}
		for _, l := range lists {
			text, err := os.ReadFile(l)
			if err != nil {
				continue // the thread has ended
			}
			for _, f := range strings.Fields(string(text)) {
				if p, err := strconv.Atoi(f); err == nil {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// cpuOf is the processor time of a process and of its children that were waited
// for.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read what the process used: %w", err)
	}
	// The name in brackets may hold anything.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	f := strings.Fields(rest)
	if len(f) < 15 {
		return 0, fmt.Errorf("read what the process used: unknown form %q", text)
	}
	var total time.Duration
	for _, s := range f[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read what the process used: %w", err)
		}
		total += time.Duration(n) * tick
	}
	return total, nil
}

func residentOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("read what the process holds: %w", err)
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0, fmt.Errorf("read what the process holds: unknown form %q", text)
	}
	n, err := strconv.ParseInt(f[1], 10, 64)
	return n * int64(os.Getpagesize()), err
}
