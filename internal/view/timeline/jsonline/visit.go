package jsonline

// Visitor takes values out of a line while it is checked, so that a large line
// is looked at once.
type Visitor interface {
	// Member is called before the value of a member at depth (1 for the line's
	// own) is checked. It answers what to do with the value.
	Member(depth int, key []byte) Want
	// Value is called after the value was found well-formed, for a member that
	// was wanted.
	Value(depth int, key, val []byte)
}

// Want is what a visitor wants of a member.
type Want uint8

// The answers.
const (
	Skip  Want = iota // check it
	Take              // check it and hand it over
	Enter             // the same, and ask about its members if it is an object
)

// Visit checks that b is one object with nothing but space around it and shows
// v what it wants of it. Values before a fault have been handed out.
func Visit(b []byte, v Visitor) bool {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = visit(b, i, 1, v)
	return i >= 0 && space(b, i) == len(b)
}

// visit checks the object at i and returns the index after it, or -1.
func visit(b []byte, i, depth int, v Visitor) int {
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		start := i + 1
		if i = text(b, start); i < 0 {
			return -1
		}
		key := b[start : i-1]
		if i < len(b) && b[i] != ':' {
			i = space(b, i)
		}
		if i >= len(b) || b[i] != ':' {
			return -1
		}
		start = space(b, i+1)
		want := v.Member(depth, key)
		if want == Enter && start < len(b) && b[start] == '{' {
			i = visit(b, start, depth+1, v)
		} else {
			i = value(b, start, depth)
		}
		if i < 0 {
			return -1
		}
		if want != Skip {
			v.Value(depth, key, b[start:i])
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
