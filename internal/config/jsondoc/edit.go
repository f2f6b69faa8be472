package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Set gives the member at path the value, leaving every byte outside it as it
// was. Missing objects on the way are made; a member that is new goes behind
// its siblings, spaced as they are. Setting a value that is already there
// changes nothing. Nodes taken from the document before are stale afterwards.
func (d *Document) Set(value jsontext.Value, path ...string) error {
	if len(path) == 0 {
		return errors.New("set a JSON value: no path")
	}
	if !value.IsValid() {
		return fmt.Errorf("set %s: the new value is not valid JSON", joinPath(path))
	}
	at, rest := d.root, path
	for len(rest) > 0 {
		if at.kind != '{' {
			return at.Errorf("make it an object or remove it", "cannot hold the key %q: it is not an object", rest[0])
		}
		next := at.Get(rest[0])
		if next == nil {
			break
		}
		at, rest = next, rest[1:]
	}
	if len(rest) == 0 {
		if sameValue(at.Raw(), value) {
			return nil
		}
		return d.splice(at.start, at.end, d.format(value, d.lineIndent(at.start)))
	}
	for i := len(rest) - 1; i > 0; i-- {
		key, err := jsontext.AppendQuote(nil, rest[i])
		if err != nil {
			return fmt.Errorf("set %s: %w", joinPath(path), err)
		}
		value = jsontext.Value("{" + string(key) + ":" + string(value) + "}")
	}
	return d.insert(at, rest[0], value)
}

// Delete removes the member at path; a path that leads nowhere is no error.
func (d *Document) Delete(path ...string) error {
	n := d.root.Get(path...)
	if n == nil || n == d.root {
		return nil
	}
	kids := n.parent.kids
	i := 0
	for kids[i] != n {
		i++
	}
	switch {
	case len(kids) == 1:
		return d.splice(n.parent.start+1, n.parent.end-1, nil)
	case i == len(kids)-1:
		return d.splice(kids[i-1].end, n.end, nil)
	default:
		return d.splice(n.keyStart, kids[i+1].keyStart, nil)
	}
}

func joinPath(path []string) string {
	quoted := make([]string, len(path))
	for i, key := range path {
		quoted[i] = QuoteKey(key)
	}
	return strings.Join(quoted, ".")
}

// sameValue compares two valid values without regard to spacing.
func sameValue(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	if a.Compact() != nil || b.Compact() != nil {
		return false
	}
	return bytes.Equal(a, b)
}

// insert adds a member behind the last one of the object n.
func (d *Document) insert(n *Node, key string, value jsontext.Value) error {
	quoted, err := jsontext.AppendQuote(nil, key)
	if err != nil {
		return fmt.Errorf("set %s: %w", QuoteKey(key), err)
	}
	if len(n.kids) == 0 {
		outer := d.lineIndent(n.start)
		inner := outer + d.indentUnit()
		if n.parent != nil && !d.multiline() {
			return d.splice(n.start, n.end, []byte("{"+string(quoted)+": "+string(d.format(value, ""))+"}"))
		}
		nl := d.newline()
		return d.splice(n.start, n.end, []byte("{"+nl+inner+string(quoted)+": "+string(d.format(value, inner))+nl+outer+"}"))
	}
	last := n.kids[len(n.kids)-1]
	space := d.spaceBefore(last.keyStart)
	colon := string(d.text[last.keyEnd():last.start])
	if space == "" && len(n.kids) == 1 && strings.HasSuffix(colon, " ") {
		space = " "
	}
	indent := ""
	if i := strings.LastIndexByte(space, '\n'); i >= 0 {
		// The distance to the line above is kept, blank lines between are not.
		indent = lineStart(space[i+1:])
		space = d.newline() + indent
	}
	text := "," + space + string(quoted) + colon + string(d.format(value, indent))
	return d.splice(last.end, last.end, []byte(text))
}

// keyEnd is the offset behind the member's quoted key.
func (n *Node) keyEnd() int {
	text := n.doc.text
	for i := n.keyStart + 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// spaceBefore is the white space that ends at offset.
func (d *Document) spaceBefore(offset int) string {
	trimmed := bytes.TrimRight(d.text[:offset], " \t\r\n")
	return string(d.text[len(trimmed):offset])
}

// lineIndent is the white space that begins the line of offset.
func (d *Document) lineIndent(offset int) string {
	line := d.text[bytes.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// indentUnit is one level of the document's indentation.
func (d *Document) indentUnit() string {
	if d.root.kind == '{' && len(d.root.kids) > 0 {
		space := d.spaceBefore(d.root.kids[0].keyStart)
		if i := strings.LastIndexByte(space, '\n'); i >= 0 {
			if unit := lineStart(space[i+1:]); unit != "" {
				return unit
			}
		}
	}
	return "  "
}

// lineStart is the part of white space that can begin a line: JSON allows
// carriage returns anywhere between tokens, an indentation has none.
func lineStart(space string) string {
	return space[strings.LastIndexByte(space, '\r')+1:]
}

func (d *Document) multiline() bool {
	return bytes.IndexByte(bytes.TrimSpace(d.text), '\n') >= 0
}

func (d *Document) newline() string {
	if i := bytes.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// format lays a new value out the way the document is: indented below indent
// when the document has lines, on one line otherwise.
func (d *Document) format(value jsontext.Value, indent string) []byte {
	value = value.Clone()
	single := !d.multiline() && len(d.root.kids) > 0
	scalars := value.Kind() == '[' && !bytes.ContainsAny(value[1:], "[{") && len(value) <= 80
	if single || scalars {
		// Spacing of a value that was checked cannot fail.
		_ = value.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true), jsontext.PreserveRawStrings(true))
		return value
	}
	_ = value.Indent(jsontext.WithIndentPrefix(indent), jsontext.WithIndent(d.indentUnit()), jsontext.PreserveRawStrings(true))
	return bytes.ReplaceAll(value, []byte("\n"), []byte(d.newline()))
}

// splice replaces text[from:to] and reads the result again: an edit that would
// not be read back is refused and leaves the document as it was.
func (d *Document) splice(from, to int, with []byte) error {
	next := &Document{name: d.name, bom: d.bom}
	next.text = append(next.text, d.text[:from]...)
	next.text = append(next.text, with...)
	next.text = append(next.text, d.text[to:]...)
	if err := next.parse(); err != nil {
		return fmt.Errorf("edit %s: %w", d.name, err)
	}
	*d = Document{name: d.name, bom: d.bom, text: next.text}
	return d.parse()
}
