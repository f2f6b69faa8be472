package process

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// window is the shortest time over which other processes' work is judged: the
// system counts it in hundredths of a second.
const window = 300 * time.Millisecond

// Noise watches what the machine does beside the runs that are measured.
type Noise struct {
	read  func() (reading, error)
	taken []reading // the newest, back to the one that ends the window
}

// reading is how much processor time was used up to a moment.
type reading struct {
	at   time.Time
	busy time.Duration // by the whole machine
	own  time.Duration // by this process and all it waited for
}

// NewNoise starts watching. On systems that do not tell, [Noise.Foreign] is
// never known.
func NewNoise() *Noise {
	n := &Noise{read: readUse}
	n.mark()
	return n
}

// Foreign is how many processors others kept busy, on average, since the last
// call but at least over the newest part of a second. ok is false where that
// is not known.
func (n *Noise) Foreign() (cores float64, ok bool) {
	if !n.mark() {
		return 0, false
	}
	last := n.taken[len(n.taken)-1]
	from := len(n.taken) - 2
	for from > 0 && last.at.Sub(n.taken[from].at) < window {
		from--
	}
	if from < 0 {
		return 0, false
	}
	n.taken = n.taken[from:]
	first := n.taken[0]
	wall := last.at.Sub(first.at)
	if wall < window/10 {
		return 0, false
	}
	return max(0, float64((last.busy-first.busy)-(last.own-first.own))/float64(wall)), true
}

func (n *Noise) mark() bool {
	r, err := n.read()
	if err != nil {
		return false
	}
	n.taken = append(n.taken, r)
	return true
}

// parseStat reads the time that all processors were busy out of /proc/stat
// (proc(5)). Time that a hypervisor gave to others counts: it is lost to the
// run just the same.
func parseStat(text string, tick time.Duration) (time.Duration, error) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, fmt.Errorf("unknown form of processor times: %q", line)
	}
	var busy time.Duration
	for i, name := range f[1:9] {
		if i == 3 || i == 4 { // idle, iowait
			continue
		}
		n, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor times: %w", err)
		}
		busy += time.Duration(n) * tick
	}
	return busy, nil
}
