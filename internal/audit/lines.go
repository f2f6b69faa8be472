package audit

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Line is one line of a log as it stands in the file.
type Line struct {
	Data    []byte // without the line feed; valid during the call
	Number  int64  // from 1
	Offset  int64  // of its first byte
	TooLong int64  // bytes of a line of which Data is only the start
	Torn    bool   // the file ends without a line feed behind it
}

// EachLine calls fn for each line of r in order. Memory does not grow with the
// stream. An error of fn ends the reading and is returned as it is.
func EachLine(r io.Reader, fn func(l Line) error) error {
	c := newChunker(r, 256<<10, &sync.Pool{})
	for {
		ch, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if ch.tooLong > 0 {
			if err := fn(Line{Data: ch.data, Number: ch.line, Offset: ch.offset, TooLong: ch.tooLong, Torn: ch.torn}); err != nil {
				return err
			}
			continue
		}
		var failed error
		end := ch.offset + int64(len(ch.data))
		ch.lines(func(data []byte, number, offset int64) {
			if failed == nil {
				last := ch.torn && offset+int64(len(data)) == end
				failed = fn(Line{Data: data, Number: number, Offset: offset, Torn: last})
			}
		})
		if failed != nil {
			return failed
		}
		c.recycle(ch)
	}
}

// OpenBeside opens a file of the same input by its path in it.
func (f *File) OpenBeside(name string) (io.ReadCloser, error) { return f.store.open(name) }

// ListBeside names the entries of a directory of the same input; the name of a
// directory ends in a slash.
func (f *File) ListBeside(dir string) ([]string, error) { return f.store.list(dir) }

// SizeBeside is the size of a regular file of the same input.
func (f *File) SizeBeside(name string) (int64, error) { return f.store.size(name) }

// SameInput reports whether both files came from the same directory or
// archive, so that their Dirs can be compared.
func (f *File) SameInput(g *File) bool { return f.store == g.store }
