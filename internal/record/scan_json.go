package record

import (
	"bytes"
	"errors"
	"fmt"
)

// Members calls fn for each member of the JSON object in raw, in order, until
// fn returns false. The key has its escapes resolved; val is the raw value.
// Like [Scan] it finds its way and checks no more than that needs.
func Members(raw []byte, fn func(key, val []byte) bool) error {
	s := scanner{b: raw}
	for {
		key, val, err := s.next()
		if err != nil {
			return err
		}
		if val == nil || !fn(key, val) {
			return nil
		}
	}
}

// scanner walks through the members of the object in b. Space around tokens is
// allowed, anything after the object but space is not.
type scanner struct {
	b    []byte
	i    int
	more bool // a member was read
}

// next is the next member's key, its escapes resolved, and its raw value. A
// nil value without an error is the end of the object.
func (s *scanner) next() (key, val []byte, err error) {
	b := s.b
	i := skipSpace(b, s.i)
	switch {
	case !s.more:
		if i >= len(b) || b[i] != '{' {
			return nil, nil, errNotObject
		}
		i = skipSpace(b, i+1)
		if i < len(b) && b[i] == '}' {
			return nil, nil, onlySpace(b, i+1)
		}
	case i >= len(b):
		return nil, nil, broken(b, i)
	case b[i] == '}':
		return nil, nil, onlySpace(b, i+1)
	case b[i] == ',':
		i = skipSpace(b, i+1)
	default:
		return nil, nil, broken(b, i)
	}
	s.more = true
	if i >= len(b) || b[i] != '"' {
		return nil, nil, broken(b, i)
	}
	end := stringEnd(b, i)
	if end < 0 {
		return nil, nil, broken(b, len(b))
	}
	key = b[i+1 : end-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		key = unescape(key)
	}
	i = skipSpace(b, end)
	if i >= len(b) || b[i] != ':' {
		return nil, nil, broken(b, i)
	}
	i = skipSpace(b, i+1)
	end = valueEnd(b, i)
	if end <= i {
		return nil, nil, broken(b, i)
	}
	s.i = end
	return key, b[i:end], nil
}

func broken(b []byte, i int) error {
	if i >= len(b) {
		return errors.New("line ends inside a JSON value")
	}
	return fmt.Errorf("unexpected byte %q at offset %d", b[i], i)
}

func onlySpace(b []byte, i int) error {
	if i = skipSpace(b, i); i < len(b) {
		return broken(b, i)
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// stringEnd is the index after the string that starts at i, or -1.
func stringEnd(b []byte, i int) int {
	j := i + 1
	// Most strings are short, and calling for a search costs more than they do.
	for end := min(j+24, len(b)); j < end; j++ {
		if b[j] == '"' {
			return j + 1
		}
		if b[j] == '\\' {
			break
		}
	}
	for {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		k += j
		// The quote is escaped when an odd number of backslashes precedes it.
		s := k
		for s > j && b[s-1] == '\\' {
			s--
		}
		if (k-s)&1 == 0 {
			return k + 1
		}
		j = k + 1
	}
}

// valueEnd is the index after the value that starts at i, or -1.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return nestedEnd(b, i)
	case '}', ']', ',', ':':
		return -1
	}
	j := i
	for j < len(b) {
		switch b[j] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return j
		}
		j++
	}
	return j
}

// nestedEnd is the index after the object or array that starts at i, or -1. It
// counts brackets outside strings.
func nestedEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
