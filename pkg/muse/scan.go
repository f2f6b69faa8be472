package muse

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of one line. It equals the limit of the strict
// decoder, so both modes accept the same documents.
const maxDepth = 10000

var (
	errUnexpectedEnd = errors.New("unexpected end of JSON")
	errSyntax        = errors.New("invalid JSON")
	errDepth         = errors.New("JSON nested too deeply")
)

// jsonKind is what a scanned value is. The zero value means that a field was
// absent.
type jsonKind byte

const (
	absent      jsonKind = iota
	kindString           // raw holds the text between the quotes, free of escapes
	kindEscaped          // as kindString, but raw still has its escapes
	kindNumber
	kindTrue
	kindFalse
	kindNull
	kindObject
	kindArray
)

// value is one scanned JSON value; raw points into the scanned line.
type value struct {
	raw  []byte
	kind jsonKind
}

func (v value) isString() bool { return v.kind == kindString || v.kind == kindEscaped }

// text returns the decoded string, allocating once.
func (v value) text() string {
	switch v.kind {
	case kindString:
		return string(v.raw)
	case kindEscaped:
		return string(unescape(nil, v.raw))
	default:
		return ""
	}
}

// integer returns the value of a JSON integer that fits an int64.
func (v value) integer() (int64, bool) {
	if v.kind != kindNumber {
		return 0, false
	}
	digits, neg := v.raw, false
	if digits[0] == '-' {
		neg, digits = true, digits[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// scanner validates one line of JSON in a single forward pass and hands out
// views of it. It allocates nothing.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// atEnd reports whether only white space is left.
func (s *scanner) atEnd() bool {
	s.space()
	return s.pos == len(s.data)
}

// open consumes an opening brace.
func (s *scanner) open() bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == '{' {
		s.pos++
		return true
	}
	return false
}

// key advances to the next member of an object and stops at its value. At the
// closing brace, which it consumes, more is false.
func (s *scanner) key(first bool) (name value, more bool, err error) {
	s.space()
	if s.pos >= len(s.data) {
		return value{}, false, errUnexpectedEnd
	}
	switch c := s.data[s.pos]; {
	case c == '}':
		s.pos++
		return value{}, false, nil
	case first:
	case c == ',':
		s.pos++
		s.space()
	default:
		return value{}, false, errSyntax
	}
	if s.pos >= len(s.data) {
		return value{}, false, errUnexpectedEnd
	}
	if s.data[s.pos] != '"' {
		return value{}, false, errSyntax
	}
	if name, err = s.str(); err != nil {
		return value{}, false, err
	}
	if name.kind == kindEscaped {
		name = value{raw: unescape(nil, name.raw), kind: kindString}
	}
	s.space()
	if s.pos >= len(s.data) {
		return value{}, false, errUnexpectedEnd
	}
	if s.data[s.pos] != ':' {
		return value{}, false, errSyntax
	}
	s.pos++
	return name, true, nil
}

// value scans any value, validating all of it.
func (s *scanner) value(depth int) (value, error) {
	s.space()
	if s.pos >= len(s.data) {
		return value{}, errUnexpectedEnd
	}
	start := s.pos
	switch c := s.data[s.pos]; c {
	case '"':
		return s.str()
	case '{', '[':
		if depth >= maxDepth {
			return value{}, errDepth
		}
		if c == '{' {
			if err := s.object(depth + 1); err != nil {
				return value{}, err
			}
			return value{s.data[start:s.pos], kindObject}, nil
		}
		if err := s.array(depth + 1); err != nil {
			return value{}, err
		}
		return value{s.data[start:s.pos], kindArray}, nil
	case 't':
		return s.literal("true", kindTrue)
	case 'f':
		return s.literal("false", kindFalse)
	case 'n':
		return s.literal("null", kindNull)
	default:
		return s.number()
	}
}

func (s *scanner) object(depth int) error {
	s.pos++
	for first := true; ; first = false {
		_, more, err := s.key(first)
		if err != nil || !more {
			return err
		}
		if _, err := s.value(depth); err != nil {
			return err
		}
	}
}

func (s *scanner) array(depth int) error {
	s.pos++
	for first := true; ; first = false {
		s.space()
		if s.pos >= len(s.data) {
			return errUnexpectedEnd
		}
		switch c := s.data[s.pos]; {
		case c == ']':
			// A comma before the bracket was refused by value below.
			s.pos++
			return nil
		case first:
		case c == ',':
			s.pos++
		default:
			return errSyntax
		}
		if _, err := s.value(depth); err != nil {
			return err
		}
	}
}

func (s *scanner) literal(word string, kind jsonKind) (value, error) {
	rest := s.data[s.pos:]
	if len(rest) < len(word) {
		return value{}, errUnexpectedEnd
	}
	if string(rest[:len(word)]) != word {
		return value{}, errSyntax
	}
	s.pos += len(word)
	return value{rest[:len(word)], kind}, nil
}

func (s *scanner) number() (value, error) {
	start := s.pos
	if s.data[s.pos] == '-' {
		s.pos++
	}
	switch {
	case s.pos >= len(s.data):
		return value{}, errUnexpectedEnd
	case s.data[s.pos] == '0':
		s.pos++
	default:
		if err := s.digits(); err != nil {
			return value{}, err
		}
	}
	if s.pos < len(s.data) && s.data[s.pos] == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return value{}, err
		}
	}
	if s.pos < len(s.data) && s.data[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
			s.pos++
		}
		if err := s.digits(); err != nil {
			return value{}, err
		}
	}
	return value{s.data[start:s.pos], kindNumber}, nil
}

// digits consumes one or more decimal digits.
func (s *scanner) digits() error {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	if s.pos > start {
		return nil
	}
	if s.pos >= len(s.data) {
		return errUnexpectedEnd
	}
	return errSyntax
}

// str scans a string that starts at the current quote. Eight bytes at a time
// are tested for the three things that end a plain run: a quote, a backslash
// and a control character.
func (s *scanner) str() (value, error) {
	s.pos++
	start, kind, data := s.pos, kindString, s.data
	for {
		for s.pos+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[s.pos:])
			if hit := special(w); hit != 0 {
				s.pos += bits.TrailingZeros64(hit) / 8
				break
			}
			s.pos += 8
		}
		for s.pos < len(data) && data[s.pos] >= 0x20 && data[s.pos] != '"' && data[s.pos] != '\\' {
			s.pos++
		}
		if s.pos >= len(data) {
			return value{}, errUnexpectedEnd
		}
		switch data[s.pos] {
		case '"':
			raw := data[start:s.pos]
			s.pos++
			return value{raw, kind}, nil
		case '\\':
			kind = kindEscaped
			if err := s.escape(); err != nil {
				return value{}, err
			}
		default:
			return value{}, errSyntax // a raw control character
		}
	}
}

// special marks (high bit of) the first byte of w that is a quote, a backslash
// or below 0x20. Bytes after the first mark may be marked falsely.
func special(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote := w ^ (ones * '"')
	slash := w ^ (ones * '\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
}

// escape consumes one escape sequence.
func (s *scanner) escape() error {
	if s.pos+1 >= len(s.data) {
		return errUnexpectedEnd
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
		for i := 2; i < 6; i++ {
			if s.pos+i >= len(s.data) {
				return errUnexpectedEnd
			}
			if _, ok := hexDigit(s.data[s.pos+i]); !ok {
				return errSyntax
			}
		}
		s.pos += 6
		return nil
	default:
		return errSyntax
	}
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	default:
		return 0, false
	}
}

// unescape appends the decoded form of a validated string body to dst. A
// surrogate without its partner becomes U+FFFD.
func unescape(dst, raw []byte) []byte {
	if dst == nil {
		dst = make([]byte, 0, len(raw))
	}
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		switch c = raw[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(raw[i+2:])
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if len(raw) >= i+12 && raw[i+6] == '\\' && raw[i+7] == 'u' {
					low = hex4(raw[i+8:])
				}
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					dst = utf8.AppendRune(dst, pair)
					i += 12
					continue
				}
				r = utf8.RuneError
			}
			dst = utf8.AppendRune(dst, r)
			i += 6
			continue
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

// hex4 reads four validated hex digits.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		d, _ := hexDigit(c) // validated by escape
		r = r<<4 | d
	}
	return r
}
