package collect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// copyPiece is how much the kernel copies at a time while the piece before is
// hashed.
const copyPiece = 8 << 20

// copyFiles copies a large file the fastest way the system has, which on Linux
// does not bring the bytes into the process, and hashes the copy as it is
// read back: the hash is of what was written. dst is open for both.
func copyFiles(ctx context.Context, dst, src *os.File, tap func([]byte)) (copied, error) {
	pieces := make(chan int64, 4)
	type outcome struct {
		sum string
		err error
	}
	hashed := make(chan outcome, 1)
	go func() {
		h := sha256.New()
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		var at int64
		var failed error
		for end := range pieces {
			for at < end && failed == nil {
				n, err := dst.ReadAt((*buf)[:min(int64(len(*buf)), end-at)], at)
				h.Write((*buf)[:n])
				if tap != nil {
					tap((*buf)[:n])
				}
				at += int64(n)
				if err != nil && at < end {
					failed = fmt.Errorf("read copy back: %w", err)
				}
			}
		}
		hashed <- outcome{hex.EncodeToString(h.Sum(nil)), failed}
	}()
	var c copied
	var writeErr error
	for {
		n, err := dst.ReadFrom(io.LimitReader(src, copyPiece))
		c.bytes += n
		pieces <- c.bytes
		if err != nil {
			if outputFailed(err) {
				writeErr = fmt.Errorf("write copy: %w", err)
			} else {
				c.readErr = fmt.Errorf("%w: %w", errRead, err)
			}
		} else {
			writeErr = ctx.Err()
		}
		if n < copyPiece || writeErr != nil || c.readErr != nil {
			break
		}
	}
	close(pieces)
	o := <-hashed
	c.sha256 = o.sum
	if writeErr == nil {
		writeErr = o.err
	}
	return c, writeErr
}

// outputFailed tells errors of the output from those of the evidence, which
// one call for both does not: what a full or read-only file system says.
func outputFailed(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EFBIG, os.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
