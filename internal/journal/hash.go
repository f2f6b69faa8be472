package journal

import (
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"hash"
)

// check asks for a comparison: the bytes before offset hash to digest.
type check struct {
	offset int64
	digest string
	failed func()
}

// hasher computes SHA-256 on a goroutine of its own, behind the reading. A
// checkpoint that is found in a line speaks of the bytes before that line, so
// the hasher remembers the sum at the start of the line a block ends in.
type hasher struct {
	state  hash.Hash
	hashed int64

	pendingAt int64     // offset of the line the last block ended in
	pending   hash.Hash // over the bytes before it

	checks []check // found since the last send
	blocks chan hashBlock
	done   chan struct{}
}

type hashBlock struct {
	data    []byte
	tail    int64 // offset of the line that data ends in
	checks  []check
	release func()
}

func newHasher() *hasher {
	h := &hasher{state: sha256.New(), blocks: make(chan hashBlock, 2), done: make(chan struct{})}
	h.pending = cloneHash(h.state)
	return h
}

// goOn takes the hasher to where an earlier one stood behind n bytes.
func (h *hasher) goOn(state []byte, n int64) error {
	u, ok := h.state.(encoding.BinaryUnmarshaler)
	if !ok {
		return errors.New("the hash of the log cannot be continued")
	}
	if err := u.UnmarshalBinary(state); err != nil {
		return fmt.Errorf("continue the hash of the log: %w", err)
	}
	h.hashed, h.pendingAt, h.pending = n, n, cloneHash(h.state)
	return nil
}

func (h *hasher) run() {
	defer close(h.done)
	for b := range h.blocks {
		h.block(b)
		b.release()
	}
}

// expect notes a checkpoint found in the data that is sent next.
func (h *hasher) expect(c check) { h.checks = append(h.checks, c) }

// send hands over the next part of the stream, which ends in a line that
// starts at offset tail. The part is released when it is hashed.
func (h *hasher) send(data []byte, tail int64, release func()) {
	h.blocks <- hashBlock{data, tail, h.checks, release}
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
