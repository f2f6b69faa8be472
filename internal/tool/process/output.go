package process

import (
	"fmt"
	"os"
	"sync"
)

// Output takes what a command prints and keeps a bounded part of it: the
// beginning and the end. As soon as something has to be left out, everything
// printed goes to a spill file as well. Safe for concurrent use.
type Output struct {
	limit int                      // bytes kept in memory
	spill func() (*os.File, error) // opens the spill file; nil = none
	tap   func(p []byte)           // sees each piece; may be nil

	mu      sync.Mutex
	head    []byte // the first limit bytes, then the first half of that
	tail    []byte // ring of the last bytes once head is full
	at      int    // next write position in tail
	wrapped bool
	total   int64
	file    *os.File
	fileErr error
	spilled int64
	arrived chan struct{} // holds a token when data came since the last look
}

// maxSpill bounds one spill file on disk; a command that prints for ever must
// not fill it.
const maxSpill = 256 << 20

// NewOutput keeps at most limit bytes (at least 2) in memory. tap, when not
// nil, is called with every piece in order and must not keep it.
func NewOutput(limit int, spill func() (*os.File, error), tap func(p []byte)) *Output {
	return &Output{limit: max(limit, 2), spill: spill, tap: tap, arrived: make(chan struct{}, 1)}
}

// Write never fails: a spill file that cannot be written is reported by Take.
func (o *Output) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	o.mu.Lock()
	o.keep(p)
	tap := o.tap
	o.mu.Unlock()
	select {
	case o.arrived <- struct{}{}:
	default:
	}
	if tap != nil {
		tap(p)
	}
	return len(p), nil
}

// Arrived delivers a value when something was written since the last receive.
func (o *Output) Arrived() <-chan struct{} { return o.arrived }

// SetTap replaces the function that watches the output.
func (o *Output) SetTap(tap func(p []byte)) {
	o.mu.Lock()
	o.tap = tap
	o.mu.Unlock()
}

func (o *Output) keep(p []byte) {
	before := o.total
	o.total += int64(len(p))
	if o.total <= int64(o.limit) {
		o.head = append(o.head, p...)
		return
	}
	if before <= int64(o.limit) { // the first byte too many
		o.overflow()
	}
	o.toFile(p)
	o.ring(p)
}

// overflow moves the second half of what is in memory to the ring and starts
// the spill file with all of it.
func (o *Output) overflow() {
	o.toFile(o.head)
	half := o.limit / 2
	o.tail = make([]byte, o.limit-half)
	if len(o.head) > half {
		rest := o.head[half:]
		o.head = o.head[:half:half]
		o.ring(rest)
	}
}

func (o *Output) ring(p []byte) {
	if missing := o.limit/2 - len(o.head); missing > 0 {
		n := min(missing, len(p))
		o.head = append(o.head, p[:n]...)
		p = p[n:]
	}
	if len(p) >= len(o.tail) {
		copy(o.tail, p[len(p)-len(o.tail):])
		o.at, o.wrapped = 0, true
		return
	}
	n := copy(o.tail[o.at:], p)
	copy(o.tail, p[n:])
	if o.at += len(p); o.at >= len(o.tail) {
		o.at -= len(o.tail)
		o.wrapped = true
	}
}

func (o *Output) toFile(p []byte) {
	if o.spill == nil || o.fileErr != nil || o.spilled >= maxSpill {
		return
	}
	if o.file == nil {
		o.file, o.fileErr = o.spill()
		if o.fileErr != nil {
			return
		}
	}
	p = p[:min(int64(len(p)), maxSpill-o.spilled)]
	n, err := o.file.Write(p)
	o.spilled += int64(n)
	if err != nil {
		o.fileErr = fmt.Errorf("write spill file: %w", err)
	}
}

// Kept is what an Output holds of the bytes written to it.
type Kept struct {
	// Head and Tail are the beginning and the end. When nothing was left out
	// Tail is empty.
	Head, Tail []byte
	Total      int64 // bytes written
	// File holds everything written (up to a limit of 256 MB), nil when nothing
	// was left out or no file could be written. The caller owns it.
	File      *os.File
	FileBytes int64
	FileErr   error
}

// Omitted is the number of bytes between Head and Tail.
func (k Kept) Omitted() int64 { return k.Total - int64(len(k.Head)) - int64(len(k.Tail)) }

// Take returns what came since the last Take and starts afresh.
func (o *Output) Take() Kept {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := Kept{Head: o.head, Total: o.total, File: o.file, FileBytes: o.spilled, FileErr: o.fileErr}
	switch {
	case o.wrapped:
		k.Tail = append(append(make([]byte, 0, len(o.tail)), o.tail[o.at:]...), o.tail[:o.at]...)
	case o.tail != nil:
		k.Tail = o.tail[:o.at]
	}
	o.head, o.tail, o.at, o.wrapped = nil, nil, 0, false
	o.total, o.spilled, o.file, o.fileErr = 0, 0, nil, nil
	select {
	case <-o.arrived:
	default:
	}
	return k
}
