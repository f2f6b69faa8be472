package msp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReader(t *testing.T) {
	big := strings.Repeat("x", FrameCap)
	overID := `{"id":7,"params":"` + big + `"}`
	lateID := `{"params":"` + big + `","id":7}`
	exact := `"` + strings.Repeat("y", FrameCap-2) + `"`
	tests := []struct {
		name, in string
		want     []string // frames, or "over:<id>"
	}{
		{"nothing", "", nil},
		{"one", "{}\n", []string{"{}"}},
		{"blank lines are passed over", "\n\r\n  \n{}\n\n[]\n", []string{"{}", "[]"}},
		{"carriage returns are dropped", "{}\r\n[]\r\n", []string{"{}", "[]"}},
		{"only one carriage return", "{}\r\r\n", []string{"{}\r"}},
		{"no line feed at the end", "{}\n[1]", []string{"{}", "[1]"}},
		{"a frame of exactly the cap", exact + "\n{}\n", []string{exact, "{}"}},
		{"the cap does not count the line end", exact + "\r\n{}\n", []string{exact, "{}"}},
		{"one byte above the cap", exact + " \n{}\n", []string{"over:null", "{}"}},
		{"the id is found", overID + "\n{}\n", []string{"over:7", "{}"}},
		{"a textual id is found", `{"jsonrpc":"2.0","id":"a\u0062","x":"` + big + "\"}\n", []string{`over:"ab"`}},
		{"an id behind the cap is lost", lateID + "\n{}\n", []string{"over:null", "{}"}},
		{"an id inside a member is not it", `{"params":{"id":7,"x":"` + big + "\"}}\n{}\n", []string{"over:null", "{}"}},
		{"a fraction is no id", `{"id":7.5,"x":"` + big + "\"}\n", []string{"over:null"}},
		{"no object has no id", `[7,"` + big + "\"]\n", []string{"over:null"}},
		{"too long without line feed", overID, []string{"over:7"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			r := NewReader(strings.NewReader(tt.in))
			for {
				frame, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				var over *OversizedError
				switch {
				case errors.As(err, &over):
					got = append(got, "over:"+over.ID.String())
				case err != nil:
					t.Fatal(err)
				default:
					got = append(got, string(frame))
				}
			}
			if len(got) != len(tt.want) {
				t.Fatalf("%d frames, want %d", len(got), len(tt.want))
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("frame %d is %.80q, want %.80q", i, got[i], tt.want[i])
				}
			}
		})
	}
}

func TestReaderKeepsErrorsAndFrames(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("{\"a\":1}\n{\"b\":2}\n"), iotest.ErrReader(broken)))
	first, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("error %v, want the stream's", err)
	}
	if string(first) != `{"a":1}` {
		t.Errorf("a frame changed after it was returned: %q", first)
	}
}

func TestOversizedRefusal(t *testing.T) {
	with := (&OversizedError{ID: IntID(3), Limit: FrameCap}).Refusal()
	if with.Code != -32002 || with.Kind() != ErrorKindInputTooLarge || with.Data.LimitBytes == nil || *with.Data.LimitBytes != FrameCap {
		t.Errorf("with an id: %+v", with)
	}
	if without := (&OversizedError{Limit: FrameCap}).Refusal(); without.Code != -32700 || without.Kind() != ErrorKindParseError {
		t.Errorf("without an id: %+v", without)
	}
}

// FuzzReader holds that however a stream is cut into reads, the frames are the
// lines of it that are not blank, and that reading ends.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"", "{}\n", "\r\n{}\r\n\n", "{\"id\":1}\n[", "\x00\n\xff\xfe\n", "  \n\t\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var want [][]byte
		for line := range bytes.SplitSeq(in, []byte("\n")) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			if len(bytes.TrimSpace(line)) > 0 {
				want = append(want, line)
			}
		}
		r := NewReader(iotest.OneByteReader(bytes.NewReader(in)))
		for i := 0; ; i++ {
			frame, err := r.Next()
			if errors.Is(err, io.EOF) {
				if i != len(want) {
					t.Fatalf("%d frames, want %d", i, len(want))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if i >= len(want) || !bytes.Equal(frame, want[i]) {
				t.Fatalf("frame %d is %q", i, frame)
			}
		}
	})
}

// FuzzIDOfPrefix holds that an id is never invented: what is found in a prefix
// is what the whole frame says.
func FuzzIDOfPrefix(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":12,"method":"x"}`), 20)
	f.Add([]byte(`{"id":"a","params":{}}`), 9)
	f.Add([]byte(`{"id":123456}`), 8)
	f.Fuzz(func(t *testing.T, frame []byte, cut int) {
		whole := idOfPrefix(frame)
		if cut < 0 || cut > len(frame) {
			return
		}
		if got := idOfPrefix(frame[:cut]); !got.IsNull() && got != whole {
			t.Fatalf("%q cut at %d has id %s, whole %s", frame, cut, got, whole)
		}
	})
}
