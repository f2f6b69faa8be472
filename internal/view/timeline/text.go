package timeline

import (
	"unicode/utf8"

	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// Text is the text of a row before it is needed: a prefix, then either a JSON
// string literal as it stands in the log or text that is already resolved. A
// view that writes JSON passes a literal on without looking inside, which is
// what makes a timeline fast.
type Text struct {
	Prefix  string
	Literal []byte // the raw inside of a well-formed JSON string
	Plain   []byte // any bytes; used when Literal is nil
}

// PlainText is a Text of s.
func PlainText(s string) Text { return Text{Prefix: s} }

// Append appends the text in valid UTF-8.
func (t Text) Append(dst []byte) []byte {
	dst = append(dst, t.Prefix...)
	if t.Literal != nil {
		return jsonline.AppendText(dst, t.Literal)
	}
	return appendUTF8(dst, t.Plain)
}

func appendUTF8(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

// AppendJSON appends the text as the inside of a JSON string.
func (t Text) AppendJSON(dst []byte) []byte {
	if t.Prefix != "" {
		dst = jsonline.AppendQuoted(dst, []byte(t.Prefix))
	}
	if t.Literal != nil {
		return jsonline.AppendLiteral(dst, t.Literal)
	}
	return jsonline.AppendQuoted(dst, t.Plain)
}

// String is the text.
func (t Text) String() string { return string(t.Append(nil)) }

// IsEmpty reports whether there is no text. A literal is empty only when its
// text is: no escape stands for nothing.
func (t Text) IsEmpty() bool { return t.Prefix == "" && len(t.Literal) == 0 && len(t.Plain) == 0 }

// clone copies what the text shares with the buffer of a reader.
func (t Text) clone() Text {
	if t.Literal != nil {
		t.Literal = append(make([]byte, 0, len(t.Literal)), t.Literal...)
	}
	if t.Plain != nil {
		t.Plain = append(make([]byte, 0, len(t.Plain)), t.Plain...)
	}
	return t
}

func (t Text) size() int { return len(t.Prefix) + len(t.Literal) + len(t.Plain) }
