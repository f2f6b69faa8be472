package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

type got struct{ name, data string }

func all(src io.Reader, limit int) (events []got, err error) {
	r := NewReader(src, limit)
	for {
		ev, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, got{ev.Name, string(ev.Data)})
	}
}

func TestNext(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, tt := range []struct {
		name, in string
		want     []got
		err      error
	}{
		{"nothing", "", nil, io.EOF},
		{"one", "data: a\n\n", []got{{"", "a"}}, io.EOF},
		{"two", "data: a\n\ndata: b\n\n", []got{{"", "a"}, {"", "b"}}, io.EOF},
		{"named", "event: ping\ndata: {}\n\n", []got{{"ping", "{}"}}, io.EOF},
		{"the name does not last", "event: a\ndata: 1\n\ndata: 2\n\n", []got{{"a", "1"}, {"", "2"}}, io.EOF},
		{"crlf", "event: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []got{{"e", "a"}, {"", "b"}}, io.EOF},
		{"cr", "data: a\r\rdata: b\r\r", []got{{"", "a"}, {"", "b"}}, io.EOF},
		{"mixed ends", "data: a\r\ndata: b\rdata: c\n\r\n", []got{{"", "a\nb\nc"}}, io.EOF},
		{"several data lines", "data: a\ndata:\ndata: b\n\n", []got{{"", "a\n\nb"}}, io.EOF},
		{"one space is dropped", "data:a\n\ndata:  b\n\n", []got{{"", "a"}, {"", " b"}}, io.EOF},
		{"field without colon", "data\n\n", []got{{"", ""}}, io.EOF},
		{"comments", ": keep-alive\n\n: again\ndata: a\n: in between\n\n", []got{{"", "a"}}, io.EOF},
		{"comment at the end", "data: a\n\n: bye\n", []got{{"", "a"}}, io.EOF},
		{"other fields", "id: 1\nretry: 5\nfoo: bar\ndata: a\n\n", []got{{"", "a"}}, io.EOF},
		{"an event without data", "event: ping\n\ndata: a\n\n", []got{{"", "a"}}, io.EOF},
		{"blank lines", "\n\n\ndata: a\n\n\n\n", []got{{"", "a"}}, io.EOF},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []got{{"", "a"}}, io.EOF},
		{"unicode", "data: é € 😀 \u2028\n\n", []got{{"", "é € 😀 \u2028"}}, io.EOF},
		{"long line", "data: " + long + "\n\ndata: b\n\n", []got{{"", long}, {"", "b"}}, io.EOF},
		{"cut in a line", "data: a\n\ndata: b", []got{{"", "a"}}, ErrTruncated},
		{"cut after a line", "data: a\n\ndata: b\n", []got{{"", "a"}}, ErrTruncated},
		{"cut after a name", "event: x\n", nil, ErrTruncated},
		{"cut in a field name", "da", nil, ErrTruncated},
		{"not utf-8", "data: a\n\ndata: \xff\n\n", []got{{"", "a"}}, ErrNotUTF8},
		{"half a rune", "data: \xe2\x82\n\n", nil, ErrNotUTF8},
		{"a name that is not utf-8", "event: \xff\ndata: a\n\n", nil, ErrNotUTF8},
		{"a rune split over lines", "data: \xe2\ndata: \x82\xac\n\n", nil, ErrNotUTF8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sources := map[string]io.Reader{
				"whole":    strings.NewReader(tt.in),
				"data+eof": iotest.DataErrReader(strings.NewReader(tt.in)),
			}
			if len(tt.in) < 1000 {
				sources["bytes"] = iotest.OneByteReader(strings.NewReader(tt.in))
			}
			for how, src := range sources {
				events, err := all(src, 0)
				if !errors.Is(err, tt.err) {
					t.Errorf("%s: error %v, want %v", how, err, tt.err)
				}
				if len(events) != len(tt.want) {
					t.Fatalf("%s: %d events, want %d: %.200q", how, len(events), len(tt.want), events)
				}
				for i := range events {
					if events[i] != tt.want[i] {
						t.Errorf("%s: event %d = %.100q, want %.100q", how, i, events[i], tt.want[i])
					}
				}
			}
		})
	}
}

func TestLimit(t *testing.T) {
	for name, in := range map[string]string{
		"endless line":  "data: " + strings.Repeat("x", 100_000),
		"endless lines": strings.Repeat("data: xxxxxxxx\n", 10_000),
		"comments":      strings.Repeat(": xxxxxxxx\n", 10_000),
	} {
		if _, err := all(strings.NewReader(in), 10_000); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSourceErrorIsKept(t *testing.T) {
	boom := errors.New("boom")
	r := NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(boom)), 0)
	if ev, err := r.Next(); err != nil || string(ev.Data) != "a" {
		t.Fatalf("first event: %q, %v", ev.Data, err)
	}
	if _, err := r.Next(); !errors.Is(err, boom) {
		t.Errorf("error = %v", err)
	}
	if r.BytesRead() != int64(len("data: a\n\ndata: b")) {
		t.Errorf("bytes read = %d", r.BytesRead())
	}
}

// An event must be handed out when its last byte is there, not when the next
// event begins: the next one may be minutes away.
func TestNoReadAhead(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		src, dst := io.Pipe()
		go func() { _, _ = dst.Write([]byte("data: a" + end)) }() // the test reads it or fails
		ev, err := NewReader(src, 0).Next()
		if err != nil || string(ev.Data) != "a" {
			t.Errorf("end %q: %q, %v", end, ev.Data, err)
		}
		_ = src.Close()
	}
}

func TestNoAllocationPerEvent(t *testing.T) {
	const one = "event: response.output_text.delta\ndata: {\"delta\":\"hello\"}\n\n"
	const n = 1000
	r := NewReader(strings.NewReader(strings.Repeat(one, n+1)), 0)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(n-1, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations an event", allocs)
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: x\r\ndata: {\"a\":1}\r\n\r\n", "data: a\rdata: b\r\r", ": c\n\n",
		"\xef\xbb\xbfdata: a\n\n", "data: \xff\n\n", "id: 1\nretry: 2\n\ndata", "data\n\n\n\n",
	} {
		f.Add([]byte(seed), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		whole, wholeErr := all(bytes.NewReader(in), 1<<20)
		split, splitErr := all(&chunks{b: in, size: int(size%17) + 1}, 1<<20)
		if !errors.Is(splitErr, wholeErr) {
			t.Fatalf("whole: %v, in pieces: %v", wholeErr, splitErr)
		}
		if len(whole) != len(split) {
			t.Fatalf("whole: %d events, in pieces: %d", len(whole), len(split))
		}
		for i := range whole {
			if whole[i] != split[i] {
				t.Fatalf("event %d: whole %q, in pieces %q", i, whole[i], split[i])
			}
			if strings.ContainsRune(whole[i].name, '\n') || strings.ContainsRune(whole[i].data, '\r') {
				t.Fatalf("event %d has a line end: %q", i, whole[i])
			}
		}
	})
}

// chunks returns its bytes a few at a time.
type chunks struct {
	b    []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(c.size, len(c.b))])
	c.b = c.b[n:]
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	stream := strings.Repeat("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hello there\"}\n\n", 1000)
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		r := NewReader(strings.NewReader(stream), 0)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
