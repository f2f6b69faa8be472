package timeline

import (
	"bytes"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// Transcript writes rows for reading: who and when on a line, the text below
// it, indented. Nothing in a text can act on the terminal.
type Transcript struct {
	w    io.Writer
	main string // the session whose rows need no name
	max  int    // lines shown of a text; 0 shows all
	day  string
	buf  []byte
}

// NewTranscript writes to w the rows of a session and its subagents, with at
// most max lines of each text.
func NewTranscript(w io.Writer, session string, max int) *Transcript {
	return &Transcript{w: w, main: session, max: max}
}

// Write adds a row.
func (t *Transcript) Write(r *Row) error {
	b := t.buf[:0]
	stamp := "        "
	if r.Timed {
		at := time.UnixMicro(r.At).UTC()
		if day := at.Format("2006-01-02"); day != t.day {
			t.day = day
			b = fmt.Appendf(b, "-- %s (UTC)\n", day)
		}
		stamp = at.Format("15:04:05")
	}
	b = append(append(b, stamp...), ' ', ' ')
	if r.Session != t.main && r.Session != "" {
		b = append(b, "[subagent "...)
		b = appendShown(b, []byte(r.Session[:min(8, len(r.Session))]))
		b = append(b, "] "...)
	}
	b = append(b, who(r)...)
	if r.Tool != "" {
		b = appendShown(append(b, ' '), []byte(r.Tool))
	}
	b = append(b, '\n')
	if r.Kind == ToolCall {
		b = t.arguments(b, r)
	} else {
		b = t.text(b, r.Text.Append(nil))
	}
	t.buf = b
	if _, err := t.w.Write(b); err != nil {
		return fmt.Errorf("write transcript: %w", err)
	}
	return nil
}

func who(r *Row) string {
	switch {
	case r.Kind == Asked, r.Kind == Decided, r.Kind == Reviewed:
		return "approval"
	case r.Type == ToolUse:
		return "tool"
	case r.Type == ToolOutput:
		return "result"
	}
	return string(r.Type)
}

// arguments shows a call: its one argument as it is, several by name.
func (t *Transcript) arguments(b []byte, r *Row) []byte {
	text := r.Text.Append(nil)
	n := 0
	for f := jsonline.Members(r.Raw); f.Next(); {
		n++
	}
	if n < 2 || r.Tool == userShell {
		return t.text(b, text)
	}
	for f := jsonline.Members(r.Raw); f.Next(); {
		lit, isText := jsonline.Literal(f.Val)
		val := jsonline.Text(lit)
		if !isText {
			val = jsonline.AppendCompact(nil, f.Val)
		}
		b = append(b, "  "...)
		b = appendShown(b, jsonline.Text(f.Key))
		if bytes.IndexByte(val, '\n') < 0 && len(val) < 200 {
			b = append(appendShown(append(b, ": "...), val), '\n')
			continue
		}
		b = append(b, ":\n"...)
		b = t.indented(b, val, "    ")
	}
	return b
}

func (t *Transcript) text(b, text []byte) []byte { return t.indented(b, text, "  ") }

func (t *Transcript) indented(b, text []byte, indent string) []byte {
	text = bytes.TrimRight(text, "\n")
	if len(text) == 0 {
		return b
	}
	n := 0
	for line := range bytes.Lines(text) {
		if n++; t.max > 0 && n > t.max {
			rest := bytes.Count(text, []byte{'\n'}) + 1 - t.max
			return fmt.Appendf(b, "%s... %d more lines\n", indent, rest)
		}
		b = append(b, indent...)
		b = appendShown(b, bytes.TrimRight(line, "\r\n"))
		b = append(b, '\n')
	}
	return b
}

// appendShown appends text as a terminal can show it.
func appendShown(b, text []byte) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == '\t':
			b = append(b, '\t')
		case r < 0x100 && jsonline.Unsafe(r):
			b = fmt.Appendf(b, `\x%02x`, r)
		case jsonline.Unsafe(r):
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
		i += n
	}
	return b
}

// Close implements [Writer]; everything is written already.
func (t *Transcript) Close() error { return nil }
