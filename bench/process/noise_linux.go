package process

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of /proc/stat, USER_HZ, which is 100 on every architecture
// that Go runs on.
const tick = time.Second / 100

func readUse() (reading, error) {
	r := reading{at: time.Now()}
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return r, err
	}
	if r.busy, err = parseStat(string(b), tick); err != nil {
		return r, err
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			return r, err
		}
		r.own += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return r, nil
}

// LoadAverage is the number of runnable processes over 1, 5 and 15 minutes, ""
// where that is not known.
func LoadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b))
	return strings.Join(f[:min(3, len(f))], " ")
}
