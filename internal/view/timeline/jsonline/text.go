package jsonline

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Literal is the raw text between the quotes of a string value; ok is false
// for other values.
func Literal(val []byte) (lit []byte, ok bool) {
	if len(val) >= 2 && val[0] == '"' {
		return val[1 : len(val)-1], true
	}
	return nil, false
}

// AppendText appends the text that a string literal stands for, in valid
// UTF-8: what is not becomes U+FFFD, as do halves of surrogate pairs.
func AppendText(dst, lit []byte) []byte {
	for {
		i := bytes.IndexByte(lit, '\\')
		if i < 0 {
			return appendValid(dst, lit)
		}
		dst = appendValid(dst, lit[:i])
		if i+1 >= len(lit) {
			return dst
		}
		c := lit[i+1]
		lit = lit[i+2:]
		switch c {
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
			r, rest := escape(lit)
			dst = utf8.AppendRune(dst, r)
			lit = rest
		default:
			dst = append(dst, c)
		}
	}
}

// escape reads the digits after \u, and the second half of a pair.
func escape(lit []byte) (rune, []byte) {
	hi, ok := hex4(lit)
	if !ok {
		return utf8.RuneError, lit[min(4, len(lit)):]
	}
	lit = lit[4:]
	if !utf16.IsSurrogate(hi) {
		return hi, lit
	}
	if len(lit) >= 6 && lit[0] == '\\' && lit[1] == 'u' {
		if lo, ok := hex4(lit[2:]); ok {
			if r := utf16.DecodeRune(hi, lo); r != utf8.RuneError {
				return r, lit[6:]
			}
		}
	}
	return utf8.RuneError, lit
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case isHex(c):
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func appendValid(dst, b []byte) []byte {
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

// Text is AppendText without an arena: it returns lit itself when there is
// nothing to resolve.
func Text(lit []byte) []byte {
	if bytes.IndexByte(lit, '\\') < 0 && utf8.Valid(lit) {
		return lit
	}
	return AppendText(make([]byte, 0, len(lit)), lit)
}

// Int reads a whole number; ok is false for everything else. A number written
// with a fraction or an exponent is cut to its whole part.
func Int(val []byte) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(val), 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(val), 64)
	if err != nil || f != f || f >= 1<<63 || f < -1<<63 || len(val) > 0 && (val[0] == 'N' || val[0] == 'I') {
		return 0, false
	}
	return int64(f), true
}
