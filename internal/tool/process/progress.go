package process

import (
	"fmt"
	"sync"
	"time"
	"unicode/utf8"
)

// progressDelay is how long output is gathered before it is passed on. A
// command that ends sooner shows its result only.
const progressDelay = 100 * time.Millisecond

// maxProgress bounds what one delivery holds; of more, the end is shown.
const maxProgress = 8 << 10

// Progress passes output on to somebody who watches, in few pieces and as
// valid text. It wakes up only when there is something to pass on.
type Progress struct {
	emit func(string)

	mu      sync.Mutex
	pending []byte
	skipped int64
	timer   *time.Timer
	stopped bool
}

// NewProgress returns a Progress that calls emit from one goroutine at a time.
func NewProgress(emit func(string)) *Progress { return &Progress{emit: emit} }

// Add takes a piece of output.
func (p *Progress) Add(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.pending = append(p.pending, data...)
	if over := len(p.pending) - maxProgress; over > 0 {
		p.skipped += int64(over)
		p.pending = append(p.pending[:0], p.pending[over:]...)
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(progressDelay, p.flush)
	}
}

// Stop ends the deliveries; what is pending is dropped, since the result
// carries it. After Stop emit is not called again.
func (p *Progress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (p *Progress) flush() {
	p.mu.Lock()
	defer p.mu.Unlock() // held during emit, so that Stop waits for it
	p.timer = nil
	if p.stopped {
		return
	}
	n := len(p.pending) - partialRune(p.pending)
	if n == 0 {
		return // the rest of the character will bring a new timer
	}
	text := Text(p.pending[:n])
	if p.skipped > 0 {
		text = fmt.Sprintf("[%d bytes not shown]\n%s", p.skipped, text)
	}
	p.skipped = 0
	p.pending = append(p.pending[:0], p.pending[n:]...)
	p.emit(text)
}

// partialRune is the number of bytes at the end that begin a character whose
// rest has not come yet.
func partialRune(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(b)); i++ {
		c := b[len(b)-i]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return i
			}
			return 0
		}
	}
	return 0
}
