package term

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	xterm "golang.org/x/term"
)

// Line is a line that was typed and sent with Enter, on a terminal that is read
// line by line.
type Line struct{ Text string }

func (Line) event() {}

// Lines is a terminal that is left as it is: it is read line by line and only
// text is written to it. It is for screen readers and for terminals that
// understand no sequences.
type Lines struct {
	out    io.Writer
	fd     int
	events chan Event
	ended  chan error
}

// maxLine bounds a line that is typed.
const maxLine = 4 << 20

// OpenLines reads lines. The reader ends with its input.
func OpenLines(in io.Reader, out *os.File) *Lines {
	l := &Lines{out: out, fd: int(out.Fd()), events: make(chan Event, 16), ended: make(chan error, 1)}
	go func() {
		s := bufio.NewScanner(in)
		s.Buffer(nil, maxLine)
		for s.Scan() {
			l.events <- Line{strings.ToValidUTF8(s.Text(), "\uFFFD")}
		}
		err := s.Err()
		if err == nil {
			err = io.EOF
		}
		l.ended <- err
	}()
	return l
}

// Events are the lines.
func (l *Lines) Events() <-chan Event { return l.events }

// Resized never happens: what is written is not drawn again.
func (l *Lines) Resized() <-chan struct{} { return nil }

// Ended gives the error that ended the input.
func (l *Lines) Ended() <-chan error { return l.ended }

// Size is the width for wrapping.
func (l *Lines) Size() (width, height int) {
	w, h, err := xterm.GetSize(l.fd)
	if err != nil || w < 1 || h < 1 {
		return 80, 24
	}
	return w, h
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) { return l.out.Write(p) }

// Lend is not possible beside a reader that waits for a line.
func (l *Lines) Lend(func() error) error {
	return errors.New("not available in plain mode")
}

// Suspend is left to the terminal.
func (l *Lines) Suspend() error { return nil }
