package process

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// killMarked kills every process whose environment holds the marker: those
// that left the group by starting a session of their own. A process can fork
// while the list is read, so the list is read again until nothing is found. One
// that is just becoming another program shows nothing for a moment, and is
// waited for; one that never shows anything has cleared its environment.
func killMarked(marker string) {
	if marker == "" {
		return
	}
	const passes, pause = 12, 2 * time.Millisecond
	for range passes {
		found, changing := false, false
		eachProcess(func(pid int) {
			switch {
			case hasMarker(pid, marker):
				found = unix.Kill(pid, unix.SIGKILL) == nil || found
			case showsNothing(pid):
				changing = true
			}
		})
		switch {
		case found:
		case changing:
			time.Sleep(pause)
		default:
			return
		}
	}
}

// showsNothing reports a running program without a readable environment.
// Threads of the kernel and zombies have no program.
func showsNothing(pid int) bool {
	base := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(base + "/environ")
	if err != nil || len(env) > 0 {
		return false
	}
	_, err = os.Readlink(base + "/exe")
	return err == nil
}

// groupHasMarker reports whether a member of the process group carries it.
func groupHasMarker(group int, marker string) bool {
	found := false
	eachProcess(func(pid int) {
		if found {
			return
		}
		if id, err := unix.Getpgid(pid); err == nil && id == group && hasMarker(pid, marker) {
			found = true
		}
	})
	return found
}

func eachProcess(visit func(pid int)) {
	dir, err := os.Open("/proc")
	if err != nil {
		return // no /proc: the group is all that can be reached
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return
	}
	self := os.Getpid()
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 && pid != self {
			visit(pid)
		}
	}
}

// hasMarker reads the environment a process was started with. Those of other
// users cannot be read and are not ours. A zombie's is empty.
func hasMarker(pid int, marker string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for len(env) > 0 {
		entry, rest, _ := bytes.Cut(env, []byte{0})
		if string(entry) == marker {
			return true
		}
		env = rest
	}
	return false
}
