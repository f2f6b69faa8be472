package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func spillInto(dir string) func() (*os.File, error) {
	return func() (*os.File, error) { return os.Create(filepath.Join(dir, "spill")) }
}

// Whatever is written in whatever pieces, the beginning and the end are kept,
// and the spill file has all of it.
func TestOutputKeepsBothEnds(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(2, 40).Draw(t, "limit")
		o := NewOutput(limit, spillInto(dir), nil)
		var all []byte
		for _, piece := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 50), 0, 8).Draw(t, "pieces") {
			all = append(all, piece...)
			if n, err := o.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		k := o.Take()
		if k.Total != int64(len(all)) {
			t.Fatalf("total %d of %d", k.Total, len(all))
		}
		if len(all) <= limit {
			if !bytes.Equal(k.Head, all) || len(k.Tail) != 0 || k.File != nil {
				t.Fatalf("%q became %q and %q", all, k.Head, k.Tail)
			}
			return
		}
		if !bytes.HasPrefix(all, k.Head) || !bytes.HasSuffix(all, k.Tail) ||
			len(k.Head) != limit/2 || len(k.Tail) != limit-limit/2 {
			t.Fatalf("limit %d: %q became %q and %q", limit, all, k.Head, k.Tail)
		}
		if _, err := k.File.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		spilled, err := io.ReadAll(k.File)
		if err != nil || !bytes.Equal(spilled, all) || k.FileBytes != int64(len(all)) {
			t.Fatalf("spilled %q of %q, %v", spilled, all, err)
		}
		if err := k.File.Close(); err != nil {
			t.Fatal(err)
		}
		if again := o.Take(); again.Total != 0 || again.File != nil {
			t.Fatalf("after Take: %+v", again)
		}
	})
}

func TestOutputWithoutSpillFile(t *testing.T) {
	o := NewOutput(4, func() (*os.File, error) { return nil, errors.New("no space") }, nil)
	_, _ = o.Write([]byte("0123456789")) // never fails
	if k := o.Take(); k.FileErr == nil || string(k.Head)+string(k.Tail) != "0189" {
		t.Errorf("got %+v", k)
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		p := NewProgress(func(s string) { got = append(got, s) })
		p.Add([]byte("a"))
		p.Add([]byte("b"))
		time.Sleep(progressDelay + time.Millisecond)
		p.Add([]byte("c\xc3")) // half a character
		time.Sleep(progressDelay + time.Millisecond)
		p.Add([]byte("\xa4d"))
		time.Sleep(progressDelay + time.Millisecond)
		p.Add(bytes.Repeat([]byte("x"), maxProgress+10))
		time.Sleep(progressDelay + time.Millisecond)
		p.Add([]byte("dropped"))
		p.Stop()
		time.Sleep(time.Hour)
		p.Add([]byte("late"))
		time.Sleep(time.Hour)
		if len(got) != 4 || got[0] != "ab" || got[1] != "c" || got[2] != "äd" ||
			!strings.HasPrefix(got[3], "[10 bytes not shown]\nxxx") || len(got[3]) > maxProgress+40 {
			t.Errorf("got %d pieces: %.60q", len(got), got)
		}
	})
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain ä": "plain ä", "a\xffb": "a\uFFFDb", "a\x00b": "a\uFFFDb", "a\r\nb": "a\r\nb",
	} {
		if got := Text([]byte(in)); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	if got := TerminalText([]byte("a\r\nb\r")); got != "a\nb\r" {
		t.Errorf("terminal text %q", got)
	}
}
