package collect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
)

// bufferSize is how much is read at once: large enough that system calls do
// not count, small enough to stay in a processor's cache.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}

// copied is the outcome of a copy. A read error is a fact about the evidence;
// a write error ends the collection.
type copied struct {
	bytes   int64
	sha256  string
	readErr error
}

// errRead marks errors of the evidence, for callers that must tell them from
// errors of the output.
var errRead = errors.New("read evidence")

// copyHash copies src to dst and hashes it on the way; tap, if any, sees every
// byte. A file of more than one buffer is hashed beside the writing.
func copyHash(ctx context.Context, dst io.Writer, src io.Reader, tap func([]byte)) (copied, error) {
	h := sha256.New()
	first := buffers.Get().(*[]byte)
	n, err := io.ReadFull(src, *first)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		defer buffers.Put(first)
		return finishSmall(h, dst, (*first)[:n], tap)
	}
	if err != nil {
		defer buffers.Put(first)
		c, werr := finishSmall(h, dst, (*first)[:n], tap)
		c.readErr = fmt.Errorf("%w: %w", errRead, err)
		return c, werr
	}
	return copyLarge(ctx, h, dst, src, first, tap)
}

func finishSmall(h hash.Hash, dst io.Writer, b []byte, tap func([]byte)) (copied, error) {
	h.Write(b)
	if tap != nil {
		tap(b)
	}
	if _, err := dst.Write(b); err != nil {
		return copied{}, fmt.Errorf("write copy: %w", err)
	}
	return copied{bytes: int64(len(b)), sha256: hex.EncodeToString(h.Sum(nil))}, nil
}

// copyLarge reads ahead while the earlier buffer is hashed and written.
func copyLarge(ctx context.Context, h hash.Hash, dst io.Writer, src io.Reader, first *[]byte, tap func([]byte)) (copied, error) {
	type part struct {
		buf *[]byte
		n   int
	}
	parts := make(chan part, 3)
	hashed := make(chan int64, 1)
	go func() {
		var total int64
		for p := range parts {
			h.Write((*p.buf)[:p.n])
			total += int64(p.n)
			buffers.Put(p.buf)
		}
		hashed <- total
	}()
	var c copied
	var writeErr error
	for buf, n := first, len(*first); ; {
		if tap != nil {
			tap((*buf)[:n])
		}
		if _, err := dst.Write((*buf)[:n]); err != nil {
			writeErr = fmt.Errorf("write copy: %w", err)
		}
		parts <- part{buf, n}
		if writeErr != nil || c.readErr != nil || n < bufferSize {
			break
		}
		if writeErr = ctx.Err(); writeErr != nil {
			break
		}
		buf = buffers.Get().(*[]byte)
		var err error
		n, err = io.ReadFull(src, *buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			c.readErr = fmt.Errorf("%w: %w", errRead, err)
		}
	}
	close(parts)
	c.bytes = <-hashed
	c.sha256 = hex.EncodeToString(h.Sum(nil))
	return c, writeErr
}
