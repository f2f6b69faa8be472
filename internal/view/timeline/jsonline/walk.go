package jsonline

import "bytes"

// Fields iterates over the members of an object that was found well-formed.
// Use: for f := Members(raw); f.Next(); { f.Key, f.Val }.
type Fields struct {
	Key, Val []byte // raw: the text between the quotes, the value
	b        []byte
	i        int
}

// Members starts the iteration; for a value that is no object there is
// nothing to iterate over.
func Members(raw []byte) Fields {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return Fields{i: len(raw)}
	}
	return Fields{b: raw, i: i + 1}
}

// Next goes to the next member.
func (f *Fields) Next() bool {
	b, i := f.b, f.i
	for i < len(b) && b[i] != '"' {
		if b[i] == '}' {
			return false
		}
		i++
	}
	if i >= len(b) {
		return false
	}
	end := textEnd(b, i+1)
	f.Key = b[i+1 : end-1]
	i = end
	for b[i] != ':' {
		i++
	}
	i = space(b, i+1)
	end = skip(b, i)
	f.Val = b[i:end]
	f.i = end
	return true
}

// Items iterates over the elements of an array that was found well-formed.
type Items struct {
	Val []byte
	b   []byte
	i   int
}

// Elements starts the iteration; for a value that is no array there is nothing
// to iterate over.
func Elements(raw []byte) Items {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return Items{i: len(raw)}
	}
	return Items{b: raw, i: i + 1}
}

// Next goes to the next element.
func (e *Items) Next() bool {
	b, i := e.b, e.i
	for i < len(b) && (b[i] == ',' || b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	if i >= len(b) || b[i] == ']' {
		return false
	}
	end := skip(b, i)
	e.Val = b[i:end]
	e.i = end
	return true
}

// Get is the value of a member of a well-formed object, the last if there are
// several, or nil.
func Get(raw []byte, key string) []byte {
	var val []byte
	for f := Members(raw); f.Next(); {
		if string(f.Key) == key {
			val = f.Val
		}
	}
	return val
}

// textEnd is the index after the closing quote of a well-formed string whose
// first character is at i.
func textEnd(b []byte, i int) int {
	for {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return len(b)
		}
		k += i
		s := k
		for s > i && b[s-1] == '\\' {
			s--
		}
		if (k-s)&1 == 0 {
			return k + 1
		}
		i = k + 1
	}
}

// skip is the index after the well-formed value at i.
func skip(b []byte, i int) int {
	switch b[i] {
	case '"':
		return textEnd(b, i+1)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = textEnd(b, i+1)
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
		return i
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}
