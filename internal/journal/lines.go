package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
)

// MaxLine is the longest line that is loaded, in bytes. No record comes near
// it; a longer line is damage or an attack and is skipped with a diagnostic.
const MaxLine = 256 << 20

// blockSize is how much is read at a time. It bounds the memory of a reader
// together with the few blocks in flight and the longest line.
const blockSize = 1 << 20

// rawLine is one line of a file as it lies there.
type rawLine struct {
	bytes  []byte // without the line feed, valid until the next line; nil when too long
	offset int64  // of the first byte
	number int64  // from 1
	size   int64  // without the line feed
	ended  bool   // a line feed follows
}

func (l rawLine) tooLong() bool { return l.bytes == nil && l.size > 0 }

// splitter cuts a stream into lines in bounded memory and hashes it on a
// second core.
type splitter struct {
	maxLine int
	block   int     // bytes read at a time, blockSize when 0
	hasher  *hasher // nil when the stream is not hashed

	carry  []byte // start of a line whose end is in a later block
	size   int64  // bytes of that line so far, also those not kept
	start  int64  // its offset
	number int64
}

// run calls fn for each line. An unterminated last line is handed over too.
func (s *splitter) run(r io.Reader, fn func(rawLine) error) (total int64, err error) {
	free := make(chan []byte, 4)
	for range cap(free) {
		free <- nil // allocated on first use
	}
	if s.hasher != nil {
		s.hasher.begin(free)
		defer s.hasher.end()
	}
	size := s.block
	if size == 0 {
		size = blockSize
	}
	for {
		block := <-free
		if block == nil {
			block = make([]byte, size)
		}
		n, readErr := io.ReadFull(r, block)
		if n > 0 {
			if err := s.cut(block[:n], total, fn); err != nil {
				return total, err
			}
			total += int64(n)
		}
		if s.hasher != nil && n > 0 {
			s.hasher.send(block[:n], s.start)
		} else {
			free <- block
		}
		if readErr == io.EOF || errors.Is(readErr, io.ErrUnexpectedEOF) {
			break
		}
		if readErr != nil {
			return total, readErr
		}
	}
	if s.size > 0 {
		l := rawLine{offset: s.start, number: s.number + 1, size: s.size}
		if s.size <= int64(s.maxLine) {
			l.bytes = s.carry
		}
		if err := fn(l); err != nil {
			return total, err
		}
	}
	if s.hasher != nil && len(s.hasher.checks) > 0 {
		s.hasher.send(nil, s.start) // a checkpoint in an unterminated line
	}
	return total, nil
}

// cut hands over the lines that end in b, which starts at offset base.
func (s *splitter) cut(b []byte, base int64, fn func(rawLine) error) error {
	at := 0
	for {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			s.keep(b[at:])
			return nil
		}
		s.number++
		l := rawLine{offset: s.start, number: s.number, size: s.size + int64(n), ended: true}
		switch {
		case l.size > int64(s.maxLine):
		case s.size == 0:
			l.bytes = b[at : at+n : at+n]
		default:
			s.keep(b[at : at+n])
			l.bytes = s.carry
		}
		if err := fn(l); err != nil {
			return err
		}
		if cap(s.carry) > 4*blockSize {
			s.carry = nil // one huge line must not pin its memory
		}
		s.carry, s.size = s.carry[:0], 0
		at += n + 1
		s.start = base + int64(at)
	}
}

// keep adds part to the line that is being put together, as long as the line
// may be loaded at all.
func (s *splitter) keep(part []byte) {
	s.size += int64(len(part))
	if s.size > int64(s.maxLine) {
		s.carry = nil
		return
	}
	if need := int(s.size); need > cap(s.carry) {
		grown := make([]byte, len(s.carry), min(max(2*cap(s.carry), need, 64<<10), max(need, s.maxLine)))
		copy(grown, s.carry)
		s.carry = grown
	}
	s.carry = append(s.carry, part...)
}

// check asks for a comparison: the bytes before offset hash to digest.
type check struct {
	offset int64
	digest string
	failed func()
}

// hasher computes SHA-256 beside the splitter. A checkpoint that is found in a
// line speaks of the bytes before that line, so the hasher runs one block
// behind and remembers the sum at the start of the line a block ends in.
type hasher struct {
	state  hash.Hash
	hashed int64

	pendingAt int64     // offset of the line the last block ended in
	pending   hash.Hash // over the bytes before it

	checks []check // of the block being split
	blocks chan hashBlock
	done   chan struct{}
}

type hashBlock struct {
	data   []byte
	tail   int64 // offset of the line the block ends in
	checks []check
}

func newHasher() *hasher { return &hasher{state: sha256.New()} }

// begin starts the second goroutine; blocks go back to free when hashed.
func (h *hasher) begin(free chan<- []byte) {
	h.pending = cloneHash(h.state)
	h.blocks = make(chan hashBlock, cap(free))
	h.done = make(chan struct{})
	go func() {
		defer close(h.done)
		for b := range h.blocks {
			h.block(b)
			if b.data != nil {
				free <- b.data[:cap(b.data)]
			}
		}
	}()
}

// expect notes a checkpoint found in the block that is being split.
func (h *hasher) expect(c check) { h.checks = append(h.checks, c) }

func (h *hasher) send(data []byte, tail int64) {
	h.blocks <- hashBlock{data, tail, h.checks}
	h.checks = nil
}

// end waits until everything sent is hashed.
func (h *hasher) end() {
	close(h.blocks)
	<-h.done
}

func (h *hasher) block(b hashBlock) {
	base := h.hashed
	upTo := func(offset int64) {
		if offset > h.hashed {
			h.state.Write(b.data[h.hashed-base : offset-base])
			h.hashed = offset
		}
	}
	for _, c := range b.checks {
		sum := h.pending
		if c.offset != h.pendingAt {
			upTo(c.offset)
			sum = h.state
		}
		if digest(sum) != c.digest {
			c.failed()
		}
	}
	if b.tail >= base && b.tail != h.pendingAt {
		upTo(b.tail)
		h.pendingAt, h.pending = b.tail, cloneHash(h.state)
	}
	upTo(base + int64(len(b.data)))
}

// cloneHash copies a running hash.
func cloneHash(h hash.Hash) hash.Hash {
	c, err := h.(hash.Cloner).Clone()
	if err != nil {
		panic("sha256 state cannot be copied: " + err.Error()) // the standard library's always can
	}
	return c
}
