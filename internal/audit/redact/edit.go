package redact

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// editor removes secrets from one line. In the first pass it only learns them.
type editor struct {
	secrets *secrets
	literal *matcher // values looked for everywhere; nil while learning
	report  func(path, rule string, s *secret, length int)
	number  int64 // of the line being edited
}

// replacement is a part of the line that is replaced.
type replacement struct {
	start, end int
	text       []byte
}

// line is the line without its secrets; it is the same slice when nothing is
// removed. A line that is no JSON is edited as text.
func (e *editor) line(line []byte) []byte {
	if !jsonline.Valid(line) {
		out, _ := e.text(line, "")
		return out
	}
	return e.value(line, "", 0)
}

// maxNested bounds JSON in strings in JSON.
const maxNested = 8

func (e *editor) value(raw []byte, path string, nested int) []byte {
	var edits []replacement
	e.walk(raw, 0, path, false, nested, &edits)
	return apply(raw, edits)
}

func apply(raw []byte, edits []replacement) []byte {
	if len(edits) == 0 {
		return raw
	}
	slices.SortFunc(edits, func(a, b replacement) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, r := range edits {
		out = append(append(out, raw[at:r.start]...), r.text...)
		at = r.end
	}
	return append(out, raw[at:]...)
}

// walk collects the edits of the value raw, which lies at offset base of the
// line. Under a secret key every text and number goes.
func (e *editor) walk(raw []byte, base int, path string, secret bool, nested int, edits *[]replacement) {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	base += len(raw) - len(trimmed)
	raw = bytes.TrimRight(trimmed, " \t\r\n")
	if len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '{':
		for f := jsonline.Members(raw); f.Next(); {
			key := jsonline.Text(f.Key)
			hidden := secret || e.hides(key, f.Val)
			if out, changed := e.text(key, path); changed { // a secret can stand in a name
				at := base + cap(raw) - cap(f.Key)
				*edits = append(*edits, replacement{at, at + len(f.Key), jsonline.AppendQuoted(nil, out)})
				key = out
			}
			at := base + cap(raw) - cap(f.Val)
			e.walk(f.Val, at, join(path, string(key)), hidden, nested, edits)
		}
	case '[':
		i := 0
		for it := jsonline.Elements(raw); it.Next(); i++ {
			e.walk(it.Val, base+cap(raw)-cap(it.Val), join(path, strconv.Itoa(i)), secret, nested, edits)
		}
	case '"':
		e.string(raw, base, path, secret, nested, edits)
	default:
		if secret && raw[0] != 't' && raw[0] != 'f' && raw[0] != 'n' {
			s := e.take(path, "key", string(raw))
			*edits = append(*edits, replacement{base, base + len(raw), quoted(s.placeholder)})
		}
	}
}

// hides reports whether a member is secret. Counts of tokens are numbers.
func (e *editor) hides(key, val []byte) bool {
	if !secretKey(key) {
		return false
	}
	val = bytes.TrimLeft(val, " \t\r\n")
	number := len(val) > 0 && (val[0] == '-' || val[0] >= '0' && val[0] <= '9')
	return !number || !bytes.Contains(bytes.ToLower(key), []byte("token"))
}

func (e *editor) string(raw []byte, base int, path string, secret bool, nested int, edits *[]replacement) {
	lit, _ := jsonline.Literal(raw)
	if len(lit) == 0 {
		return
	}
	text := jsonline.Text(lit)
	if secret {
		if len(text) == 0 || placeholder(text) {
			return
		}
		s := e.take(path, "key", string(text))
		*edits = append(*edits, replacement{base, base + len(raw), quoted(s.placeholder)})
		return
	}
	var out []byte
	if inner := bytes.TrimSpace(text); nested < maxNested && len(inner) > 1 && (inner[0] == '{' || inner[0] == '[') && jsonline.Valid(inner) {
		out = e.value(text, path, nested+1)
	} else {
		out, _ = e.text(text, path)
	}
	if !same(out, text) {
		*edits = append(*edits, replacement{base, base + len(raw), quoted(string(out))})
	}
}

// same reports whether the editor handed back what it was given.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// text is a text without its secrets.
func (e *editor) text(text []byte, path string) ([]byte, bool) {
	spans := find(text)
	if e.literal != nil {
		for _, m := range e.literal.find(text) {
			spans = addSpan(spans, m)
		}
	}
	if len(spans) == 0 {
		return text, false
	}
	var out []byte
	at := 0
	for _, sp := range spans {
		s := e.take(path, sp.rule, string(text[sp.start:sp.end]))
		out = append(append(out, text[at:sp.start]...), s.placeholder...)
		at = sp.end
	}
	return append(out, text[at:]...), true
}

// take gives a secret its placeholder and notes where it was.
func (e *editor) take(path, rule, value string) *secret {
	s := e.secrets.of(value, rule)
	if e.report != nil {
		s.count++
		e.report(path, rule, s, len(value))
	}
	return s
}

func quoted(s string) []byte {
	return append(jsonline.AppendQuoted([]byte{'"'}, []byte(s)), '"')
}

// join adds a step to a path. Names come from the evidence and can be long.
func join(path, name string) string {
	if len(name) > 80 {
		name = name[:80] + "…"
	}
	name = strings.ToValidUTF8(name, "\ufffd")
	if path == "" {
		return name
	}
	if len(path) > 400 {
		return path
	}
	return path + "." + name
}
