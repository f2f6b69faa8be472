package summary

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Sizes of what is read.
const (
	blockSize = 256 << 10
	maxLine   = 16 << 20 // longer lines say nothing
	// headBytes is how much of a large log's beginning a quick look reads until
	// it knows the first prompt, tailBytes how much of its end.
	headBytes = 1 << 20
	tailBytes = 128 << 10
	// Large is from which size on a log is worth a quick look first.
	Large = 2 << 20
)

// guard sizes: by these the part of a log that was read is recognised.
const (
	guardHead = 4 << 10
	guardTail = 512
)

// State is how far a log was read. The zero State is the beginning.
type State struct {
	Through int64 // offset behind the last whole line that was taken in
	// Head and Tail are SHA-256 over the first and the last bytes before
	// Through: a log that was replaced is not mistaken for one that grew.
	Head, Tail [32]byte
}

// Read takes in what a log of the given size has after st. When the log is
// not the one st speaks of, or is shorter, it begins again.
func Read(ctx context.Context, log io.ReaderAt, size int64, s Summary, st State) (Summary, State, error) {
	same, err := st.same(log, size)
	if err != nil {
		return s, st, fmt.Errorf("read log: %w", err)
	}
	if !same {
		s, st = Summary{ID: s.ID}, State{}
	}
	if st.Through == size {
		return s, st, nil
	}
	through, err := lines(ctx, log, st.Through, size, s.add)
	if err != nil {
		return s, st, fmt.Errorf("read log: %w", err)
	}
	next, err := mark(log, through)
	if err != nil {
		return s, st, fmt.Errorf("read log: %w", err)
	}
	return s, next, nil
}

// Quick is what the beginning and the end of a log say. Counts are of what
// was seen.
func Quick(ctx context.Context, log io.ReaderAt, size int64) (Summary, error) {
	var s Summary
	at := int64(0)
	for at < min(size, headBytes) && (s.FirstPrompt == "" || s.Root() == "") {
		next, err := lines(ctx, log, at, min(size, at+blockSize), s.add)
		if err != nil {
			return s, fmt.Errorf("read log: %w", err)
		}
		if next == at {
			break // a line longer than a block: what is behind it can wait
		}
		at = next
	}
	// The line that the end begins in is a part of one.
	from := max(at, size-tailBytes)
	first := from > at
	_, err := lines(ctx, log, from, size, func(line []byte) {
		if !first {
			s.add(line)
		}
		first = false
	})
	if err != nil {
		return s, fmt.Errorf("read log: %w", err)
	}
	return s, nil
}

// same reports whether log still begins with what was read.
func (st State) same(log io.ReaderAt, size int64) (bool, error) {
	if st.Through > size {
		return false, nil
	}
	now, err := mark(log, st.Through)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil // it shrinks right now
	}
	return now == st, err
}

// mark is the state of a log that was read up to through.
func mark(log io.ReaderAt, through int64) (State, error) {
	st := State{Through: through}
	if through == 0 {
		return st, nil
	}
	head := make([]byte, min(through, guardHead))
	if _, err := io.ReadFull(io.NewSectionReader(log, 0, through), head); err != nil {
		return st, err
	}
	n := min(through, guardTail)
	tail := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(log, through-n, n), tail); err != nil {
		return st, err
	}
	st.Head, st.Tail = sha256.Sum256(head), sha256.Sum256(tail)
	return st, nil
}

// lines hands over the whole lines of log between two offsets and returns the
// offset behind the last.
func lines(ctx context.Context, log io.ReaderAt, from, to int64, fn func(line []byte)) (int64, error) {
	r := io.NewSectionReader(log, from, to-from)
	buf := make([]byte, min(blockSize, to-from))
	var carry []byte
	through, at, skipping := from, from, false
	for {
		if err := ctx.Err(); err != nil {
			return through, err
		}
		n, err := r.Read(buf)
		part := buf[:n]
		for {
			i := bytes.IndexByte(part, '\n')
			if i < 0 {
				break
			}
			line := part[:i]
			if len(carry) > 0 {
				carry = append(carry, line...)
				line = carry
			}
			if !skipping && len(line) > 0 && len(line) <= maxLine {
				fn(line)
			}
			at += int64(i) + 1
			through, part, carry, skipping = at, part[i+1:], carry[:0], false
		}
		at += int64(len(part))
		if skipping = skipping || len(carry)+len(part) > maxLine; skipping {
			carry = nil
		} else {
			carry = append(carry, part...)
		}
		if errors.Is(err, io.EOF) {
			return through, nil
		}
		if err != nil {
			return through, err
		}
	}
}
