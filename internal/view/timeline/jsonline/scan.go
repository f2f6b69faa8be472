// Package jsonline takes lines of logs apart at the speed of memory, and says
// of a line that cannot be read why.
//
// It checks every byte, because a reader of evidence must know a good line
// from a bad one, but is lenient where the writer of a log is strict: a key
// twice in an object, bytes that are not UTF-8, halves of surrogate pairs and
// the words NaN and Infinity are let through. Nothing is copied: values are
// parts of the line.
package jsonline

import (
	"encoding/binary"
	"math/bits"
)

// MaxDepth bounds nesting. A real record is a dozen deep.
const MaxDepth = 10_000

// Valid reports whether b is one JSON value with nothing but space around it.
func Valid(b []byte) bool {
	i := value(b, space(b, 0), 0)
	return i >= 0 && space(b, i) == len(b)
}

// Object calls field for each member of the object that is b, checking all of
// it. key is the raw text between the quotes, val the raw value. It reports
// whether b is a well-formed object with nothing but space around it; fields
// before a fault have been handed out.
func Object(b []byte, field func(key, val []byte)) bool {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return space(b, i+1) == len(b)
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return false
		}
		k := text(b, i+1)
		if k < 0 {
			return false
		}
		key := b[i+1 : k-1]
		if i = space(b, k); i >= len(b) || b[i] != ':' {
			return false
		}
		i = space(b, i+1)
		end := value(b, i, 1)
		if end < 0 {
			return false
		}
		field(key, b[i:end])
		if i = space(b, end); i >= len(b) {
			return false
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case '}':
			return space(b, i+1) == len(b)
		default:
			return false
		}
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// value checks the value at i and returns the index after it, or -1.
func value(b []byte, i, depth int) int {
	if i >= len(b) || depth > MaxDepth {
		return -1
	}
	switch b[i] {
	case '"':
		return text(b, i+1)
	case '{':
		return object(b, i, depth)
	case '[':
		return array(b, i, depth)
	case 't':
		return word(b, i, "true")
	case 'f':
		return word(b, i, "false")
	case 'n':
		return word(b, i, "null")
	case 'N':
		return word(b, i, "NaN")
	case 'I':
		return word(b, i, "Infinity")
	}
	return number(b, i)
}

func object(b []byte, i, depth int) int {
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		if i = text(b, i+1); i < 0 {
			return -1
		}
		if i < len(b) && b[i] != ':' {
			i = space(b, i)
		}
		if i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = value(b, space(b, i+1), depth+1); i < 0 {
			return -1
		}
		if i = space(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

func array(b []byte, i, depth int) int {
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = value(b, i, depth+1); i < 0 {
			return -1
		}
		if i = space(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

func word(b []byte, i int, w string) int {
	if len(b)-i >= len(w) && string(b[i:i+len(w)]) == w {
		return i + len(w)
	}
	return -1
}

func number(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		if i++; i < len(b) && b[i] == 'I' {
			return word(b, i, "Infinity")
		}
	}
	switch {
	case i >= len(b):
		return -1
	case b[i] == '0':
		i++
	case b[i] >= '1' && b[i] <= '9':
		i = digits(b, i)
	default:
		return -1
	}
	if i+1 < len(b) && b[i] == '.' && isDigit(b[i+1]) {
		i = digits(b, i+1)
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		j := i + 1
		if j < len(b) && (b[j] == '+' || b[j] == '-') {
			j++
		}
		if j < len(b) && isDigit(b[j]) {
			i = digits(b, j)
		}
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func digits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

// Masks for looking at eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stops marks in w the lowest byte that ends a run of plain text: a quote, a
// backslash or a control character. Bytes above a marked one may be marked
// wrongly, so only the lowest mark counts.
func stops(w uint64) uint64 {
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((w-ones*0x20)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// text checks the string whose first character is at i and returns the index
// after its closing quote, or -1.
func text(b []byte, i int) int {
	for {
		for len(b)-i >= 8 {
			m := stops(le64(b[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
			break
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
			i++
		}
		if i >= len(b) || b[i] < 0x20 {
			return -1
		}
		if b[i] == '"' {
			return i + 1
		}
		if i+1 >= len(b) {
			return -1
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if len(b)-i < 6 || !isHex(b[i+2]) || !isHex(b[i+3]) || !isHex(b[i+4]) || !isHex(b[i+5]) {
				return -1
			}
			i += 6
		default:
			return -1
		}
	}
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
