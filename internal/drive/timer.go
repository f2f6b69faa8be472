package drive

import (
	"fmt"
	"io"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// Timer shows how long one waits, on one line that is rewritten each second.
// It is for terminals only: whoever pipes gets nothing.
type Timer struct {
	W     io.Writer
	Clock muse.Clock
	Label string
}

// Start begins the line; the returned function ends and removes it. The
// writer's errors do not matter to anybody.
func (t Timer) Start() (stop func()) {
	quit, gone := make(chan struct{}), make(chan struct{})
	start := t.Clock.Now()
	go func() {
		defer close(gone)
		for {
			fmt.Fprintf(t.W, "\r\x1b[KWaiting for %s  %s", t.Label, elapsed(t.Clock.Now().Sub(start)))
			select {
			case <-quit:
				fmt.Fprint(t.W, "\r\x1b[K")
				return
			case <-t.Clock.After(time.Second):
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}

// elapsed is 7s, 1m07s or 2h01m07s.
func elapsed(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh%02dm%02ds", s/3600, s/60%60, s%60)
	}
}
