package muse

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// awaitExit waits for the leader without reaping it: as long as it is a
// zombie, its id and its group's id are not reused.
func (g *processGroup) awaitExit(*exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, g.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return // another error leaves the waiting to Wait
		}
	}
}

// procStat is the part of /proc/<pid>/stat used here.
type procStat struct {
	pid, ppid, pgrp int
	state           byte
	start           string // start time in clock ticks: tells a reused id
}

func readStat(pid int) (procStat, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, false
	}
	// The command name may hold blanks and parentheses: the fields begin after
	// the last one.
	end := bytes.LastIndexByte(data, ')')
	fields := strings.Fields(string(data[end+1:]))
	if end < 0 || len(fields) < 20 {
		return procStat{}, false
	}
	ppid, err1 := strconv.Atoi(fields[1])
	pgrp, err2 := strconv.Atoi(fields[2])
	if err1 != nil || err2 != nil {
		return procStat{}, false
	}
	return procStat{pid: pid, ppid: ppid, pgrp: pgrp, state: fields[0][0], start: fields[19]}, true
}

// allStats lists the processes that can be seen.
func allStats() []procStat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil // without /proc nothing can be told
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []procStat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // not a process
		}
		if st, ok := readStat(pid); ok {
			all = append(all, st)
		}
	}
	return all
}

// identity is one process, safe against reuse of its id.
type identity struct {
	pid   int
	start string
}

func (d identity) kill() error {
	if st, ok := readStat(d.pid); !ok || st.start != d.start {
		return nil // gone
	}
	if err := unix.Kill(d.pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill descendant %d: %w", d.pid, err)
	}
	return nil
}

// descendants lists the processes below pid that left its group.
func descendants(pid int) []identity {
	all := allStats()
	below := map[int]bool{pid: true}
	for grew := true; grew; {
		grew = false
		for _, st := range all {
			if below[st.ppid] && !below[st.pid] {
				below[st.pid], grew = true, true
			}
		}
	}
	var found []identity
	for _, st := range all {
		if below[st.pid] && st.pid != pid && st.pgrp != pid {
			found = append(found, identity{st.pid, st.start})
		}
	}
	return found
}

// groupMembers counts the living processes of a group, the leader excluded.
func groupMembers(pgid int) int {
	n := 0
	for _, st := range allStats() {
		if st.pgrp == pgid && st.pid != pgid && st.state != 'Z' {
			n++
		}
	}
	return n
}

// ProcessStart identifies a running process beyond its id; empty when it is
// not running or the platform cannot tell.
func ProcessStart(pid int) string {
	st, ok := readStat(pid)
	if !ok || st.state == 'Z' {
		return ""
	}
	return st.start
}

// KillRun ends the processes that a killed supervisor left behind: those that
// carry the run's mark in their environment. It returns how many there were,
// when they are gone.
func KillRun(runID string, _ int, _ string) (int, error) {
	if runID == "" {
		return 0, nil
	}
	mark := []byte(RunVariable + "=" + runID)
	killed := map[identity]bool{}
	// A process may start another between listing and killing: repeat until a
	// pass finds nobody new.
	for range 20 {
		fresh := 0
		for _, st := range allStats() {
			id := identity{st.pid, st.start}
			if st.pid == os.Getpid() || st.state == 'Z' || killed[id] || !hasMark(st.pid, mark) {
				continue
			}
			if err := id.end(); err != nil {
				return len(killed), err
			}
			killed[id] = true
			fresh++
		}
		if fresh == 0 {
			break
		}
	}
	return len(killed), nil
}

// goneTimeout bounds the wait for a killed process, in milliseconds. Only one
// that hangs inside the kernel takes longer.
const goneTimeout = 5000

// end kills a process and waits until it is gone.
func (d identity) end() error {
	fd, err := unix.PidfdOpen(d.pid, 0)
	if err != nil {
		return d.kill() // gone already, or a kernel without process descriptors
	}
	defer unix.Close(fd)
	// The descriptor was opened first, so it is of the process that the check
	// in kill finds, or of none that is killed.
	if err := d.kill(); err != nil {
		return err
	}
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, goneTimeout)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait for process %d to end: %w", d.pid, err)
		case n == 0:
			return fmt.Errorf("process %d does not end", d.pid)
		}
		return nil
	}
}

func hasMark(pid int, mark []byte) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false // another user's, or gone
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(entry, mark) {
			return true
		}
	}
	return false
}
