package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestPatientWriterKeepsOrderAndReportsErrors(t *testing.T) {
	var out bytes.Buffer
	p := newPatientWriter(context.Background(), &out, time.Hour)
	for _, s := range []string{"a\n", "b\n", "c\n"} {
		if _, err := io.WriteString(p, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil || out.String() != "a\nb\nc\n" {
		t.Errorf("%q, %v", out.String(), err)
	}

	closed, w := io.Pipe()
	closed.Close()
	p = newPatientWriter(context.Background(), w, time.Hour)
	if _, err := io.WriteString(p, "x"); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

// TestPatientWriterGivesUpAfterTheEnd: a pipe that nobody reads holds a run up
// only until its context ends.
func TestPatientWriterGivesUpAfterTheEnd(t *testing.T) {
	_, unread := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := newPatientWriter(ctx, unread, time.Millisecond)
	cancel()
	var err error
	for err == nil { // the queue takes a few
		_, err = io.WriteString(p, strings.Repeat("x", 100))
	}
	if !errors.Is(err, errUnread) {
		t.Errorf("error %v", err)
	}
	if err := p.Close(); !errors.Is(err, errUnread) {
		t.Errorf("close: %v", err)
	}
}
