package audit

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// Sizes of what is read at once. A chunk is whole lines; a line that is longer
// than a chunk makes a larger one.
const (
	maxChunk = 1 << 20
	minChunk = 8 << 10
	maxLine  = 512 << 20 // a longer line is reported, not read
	shownOf  = 64 << 10  // how much of it is shown
)

// chunk is a run of whole lines of a log.
type chunk struct {
	data    []byte // without the last line feed
	line    int64  // number of the first line, from 1
	offset  int64  // of the first line in the file
	tooLong int64  // set when data is only the start of a line of that many bytes
	torn    bool   // the file ends without a line feed behind data
}

// chunker cuts a stream into chunks.
type chunker struct {
	r      io.Reader
	size   int
	pool   *sync.Pool
	rest   []byte // read, but not yet handed out
	line   int64
	offset int64
	err    error
}

func newChunker(r io.Reader, size int, pool *sync.Pool) *chunker {
	return &chunker{r: r, size: size, pool: pool, line: 1}
}

// next is the next chunk; io.EOF ends the stream, another error is a read
// error, after which what was read before it has been handed out.
func (c *chunker) next() (*chunk, error) {
	buf := append(c.buffer(len(c.rest)), c.rest...)
	c.rest = c.rest[:0]
	searched := 0
	for {
		for c.err == nil && len(buf) < cap(buf) {
			n, err := c.r.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			c.err = err
		}
		if i := bytes.LastIndexByte(buf[searched:], '\n'); i >= 0 {
			i += searched
			c.rest = append(c.rest, buf[i+1:]...)
			return c.cut(buf[:i], false), nil
		}
		searched = len(buf)
		switch {
		case c.err != nil && len(buf) > 0:
			return c.cut(buf, true), nil
		case c.err != nil:
			if errors.Is(c.err, io.EOF) {
				return nil, io.EOF
			}
			return nil, c.err
		case len(buf) >= maxLine:
			return c.overlong(buf)
		}
		grown := make([]byte, len(buf), 2*cap(buf))
		copy(grown, buf)
		buf = grown
	}
}

func (c *chunker) buffer(need int) []byte {
	if need <= c.size/2 {
		if b, ok := c.pool.Get().(*[]byte); ok && cap(*b) >= c.size {
			return (*b)[:0]
		}
		return make([]byte, 0, c.size)
	}
	return make([]byte, 0, 2*need)
}

// cut hands out data, which ends before a line feed, or at the end of the file
// when it is torn.
func (c *chunker) cut(data []byte, torn bool) *chunk {
	ch := &chunk{data: data, line: c.line, offset: c.offset, torn: torn}
	c.line += int64(bytes.Count(data, []byte{'\n'})) + 1
	c.offset += int64(len(data)) + 1
	return ch
}

// overlong passes over the rest of a line that no record can be.
func (c *chunker) overlong(start []byte) (*chunk, error) {
	length := int64(len(start))
	shown := append([]byte(nil), start[:shownOf]...)
	buf := start[:0]
	for c.err == nil {
		n, err := c.r.Read(buf[:cap(buf)])
		c.err = err
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			length += int64(i)
			c.rest = append(c.rest[:0], buf[i+1:n]...)
			break
		}
		length += int64(n)
	}
	ch := &chunk{data: shown, line: c.line, offset: c.offset, tooLong: length, torn: c.err != nil && len(c.rest) == 0}
	c.line++
	c.offset += length + 1
	return ch, nil
}

// recycle gives a chunk's memory back.
func (c *chunker) recycle(ch *chunk) {
	if cap(ch.data) >= c.size && cap(ch.data) <= 2*c.size {
		b := ch.data[:0]
		c.pool.Put(&b)
	}
}

// lines calls fn for each line of the chunk, with its number and offset.
func (ch *chunk) lines(fn func(line []byte, number, offset int64)) {
	data, number, offset := ch.data, ch.line, ch.offset
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			fn(data, number, offset)
			return
		}
		fn(data[:i], number, offset)
		data = data[i+1:]
		number++
		offset += int64(i) + 1
	}
}
