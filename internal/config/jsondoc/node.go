package jsondoc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is '{', '[', '"', '0', 't', 'f' or 'n'.
func (n *Node) Kind() jsontext.Kind { return n.kind }

// Key is the member's name when the node is one of an object's members.
func (n *Node) Key() string { return n.key }

// Raw is the value's text as the file has it.
func (n *Node) Raw() jsontext.Value { return jsontext.Value(n.doc.text[n.start:n.end]).Clone() }

// Members are the members of an object or the items of an array, in the
// file's order; none for other kinds.
func (n *Node) Members() []*Node { return n.kids }

// Get follows keys from an object to a member; nil when one is missing or a
// value on the way is no object. A nil node gives nil.
func (n *Node) Get(keys ...string) *Node {
	for _, key := range keys {
		if n == nil || n.kind != '{' {
			return nil
		}
		var found *Node
		for _, kid := range n.kids {
			if kid.key == key {
				found = kid
				break
			}
		}
		n = found
	}
	return n
}

// Path names the value from the root: "presets.fast.model",
// `model_catalog[2].model_id`, `"my key".x`. The root's path is "".
func (n *Node) Path() string {
	if n.parent == nil {
		return ""
	}
	above := n.parent.Path()
	if n.parent.kind == '[' {
		return above + "[" + strconv.Itoa(n.index) + "]"
	}
	key := QuoteKey(n.key)
	if above == "" {
		return key
	}
	return above + "." + key
}

// QuoteKey is a key as paths spell it: plain when it is made of letters,
// digits, "_", "-" and "/", quoted otherwise.
func QuoteKey(key string) string {
	plain := key != "" && strings.IndexFunc(key, func(r rune) bool {
		return !(r == '_' || r == '-' || r == '/' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) < 0
	if plain {
		return key
	}
	return strconv.Quote(key)
}

// Pos is the 1-based line and column of the value, or of its key when it is
// an object's member.
func (n *Node) Pos() (line, col int) {
	if n.parent != nil && n.parent.kind == '{' {
		return n.doc.lineCol(n.keyStart)
	}
	return n.doc.lineCol(n.start)
}

// ValuePos is the 1-based line and column of the value itself.
func (n *Node) ValuePos() (line, col int) { return n.doc.lineCol(n.start) }

// Errorf is an error at the value's place. mend says what to do about it.
func (n *Node) Errorf(mend, format string, args ...any) *Error {
	line, col := n.ValuePos()
	return &Error{File: n.doc.name, Line: line, Column: col, Path: n.Path(), Problem: fmt.Sprintf(format, args...), Mend: mend}
}

// Mismatch is the error of a value that is not what was wanted, for example
// "a whole number".
func (n *Node) Mismatch(want string) *Error {
	return n.Errorf("", "wanted %s, found %s", want, n.describe())
}

func (n *Node) describe() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 'n':
		return "null"
	}
	raw := string(n.doc.text[n.start:n.end])
	if len(raw) > 40 {
		raw = strings.ToValidUTF8(raw[:37], "") + "…"
	}
	if n.kind == '"' {
		return "the text " + raw
	}
	return raw
}

// Text is the value of a JSON string.
func (n *Node) Text() (string, error) {
	if n.kind != '"' {
		return "", n.Mismatch("text in quotes")
	}
	b, err := jsontext.AppendUnquote(nil, n.doc.text[n.start:n.end])
	if err != nil {
		return "", n.Errorf("", "not a JSON string: %v", err)
	}
	return string(b), nil
}

// Bool is the value of true or false.
func (n *Node) Bool() (bool, error) {
	switch n.kind {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return false, n.Mismatch("true or false")
}

// Int is the value of a number without fraction or exponent.
func (n *Node) Int() (int64, error) {
	if n.kind != '0' {
		return 0, n.Mismatch("a whole number")
	}
	v, err := strconv.ParseInt(string(n.doc.text[n.start:n.end]), 10, 64)
	if err != nil {
		return 0, n.Mismatch("a whole number")
	}
	return v, nil
}

// Float is the value of a number.
func (n *Node) Float() (float64, error) {
	if n.kind != '0' {
		return 0, n.Mismatch("a number")
	}
	v, err := strconv.ParseFloat(string(n.doc.text[n.start:n.end]), 64)
	if err != nil {
		return 0, n.Mismatch("a number")
	}
	return v, nil
}

// Number is the text of a number, for readers that need it exact.
func (n *Node) Number() (string, error) {
	if n.kind != '0' {
		return "", n.Mismatch("a number")
	}
	return string(n.doc.text[n.start:n.end]), nil
}
