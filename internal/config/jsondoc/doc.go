// Package jsondoc reads JSON files that people edit by hand: settings,
// credentials, trust. It keeps the text, so that every value knows its line
// and column, and so that a change to one key leaves all other bytes as they
// were: order, spacing, line ends and keys that this program does not know.
//
// The reader is strict where silence would hide a mistake: a key given twice,
// invalid UTF-8, comments and trailing commas are errors that say where and
// how to mend it. A UTF-8 byte order mark is accepted and kept.
package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBytes is the largest file Parse takes. Settings are a few kilobytes; a
// larger file is a wrong path.
const MaxBytes = 16 << 20

// maxDepth bounds nesting, so that hostile input cannot exhaust the stack.
const maxDepth = 200

const bom = "\ufeff"

// Document is one parsed file and its text. It is not safe for concurrent use
// while it is edited.
type Document struct {
	name string
	bom  bool
	text []byte // without the byte order mark
	root *Node
}

// Node is one value in a document.
type Node struct {
	doc        *Document
	kind       jsontext.Kind
	start, end int // bounds of the value's text
	parent     *Node
	key        string // name of an object's member
	keyStart   int
	index      int // position in an array
	kids       []*Node
}

// Parse reads data; name is the file's path as error messages show it.
// A failure is an *Error, or several joined.
func Parse(name string, data []byte) (*Document, error) {
	if len(data) > MaxBytes {
		return nil, &Error{File: name, Problem: fmt.Sprintf("the file has %d bytes", len(data)), Mend: fmt.Sprintf("at most %d are read", MaxBytes)}
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, &Error{File: name, Line: 1, Column: 1, Problem: "the file is UTF-16", Mend: "save it as UTF-8"}
	}
	d := &Document{name: name, text: data}
	if rest, ok := bytes.CutPrefix(data, []byte(bom)); ok {
		d.bom, d.text = true, rest
	}
	d.text = bytes.Clone(d.text)
	if err := d.parse(); err != nil {
		return nil, err
	}
	return d, nil
}

// Name is the path the document was read from.
func (d *Document) Name() string { return d.name }

// Root is the outermost value.
func (d *Document) Root() *Node { return d.root }

// Bytes is the file's content, with its byte order mark if it had one.
func (d *Document) Bytes() []byte {
	if d.bom {
		return append([]byte(bom), d.text...)
	}
	return bytes.Clone(d.text)
}

func (d *Document) parse() error {
	if len(bytes.TrimSpace(d.text)) == 0 {
		return &Error{File: d.name, Line: 1, Column: 1, Problem: "the file is empty", Mend: "delete it or write a JSON object"}
	}
	dec := jsontext.NewDecoder(bytes.NewReader(d.text),
		// Found here instead, where both places are known.
		jsontext.AllowDuplicateNames(true))
	p := parser{doc: d, dec: dec}
	root := &Node{doc: d}
	if err := p.value(root, 0); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			line, col := d.lineCol(root.end)
			return &Error{File: d.name, Line: line, Column: col, Problem: "there is text after the end of the JSON value", Mend: "remove it"}
		}
		return p.syntax(err)
	}
	d.root = root
	return errors.Join(p.errs...)
}

type parser struct {
	doc  *Document
	dec  *jsontext.Decoder
	errs []error // duplicate keys: reading goes on, to report all of them
}

// next reads one token and gives the bounds of its text.
func (p *parser) next() (tok jsontext.Token, start, end int, err error) {
	tok, err = p.dec.ReadToken()
	if err != nil {
		return tok, 0, 0, p.syntax(err)
	}
	end = int(p.dec.InputOffset())
	start = end - 1
	switch tok.Kind() {
	case '"', '0', 'n', 't', 'f':
		start = p.tokenStart(end)
	}
	return tok, start, end, nil
}

// tokenStart finds where the literal that ends at end begins.
func (p *parser) tokenStart(end int) int {
	text := p.doc.text
	if text[end-1] == '"' {
		for i := end - 2; i >= 0; i-- {
			if text[i] != '"' {
				continue
			}
			slashes := 0
			for j := i - 1; j >= 0 && text[j] == '\\'; j-- {
				slashes++
			}
			if slashes%2 == 0 {
				return i
			}
		}
		return 0
	}
	i := end
	for i > 0 && !strings.ContainsRune(" \t\r\n,:[]{}\"", rune(text[i-1])) {
		i--
	}
	return i
}

// value reads the next value into n.
func (p *parser) value(n *Node, depth int) error {
	tok, start, end, err := p.next()
	if err != nil {
		return err
	}
	n.kind, n.start, n.end = tok.Kind(), start, end
	if depth > maxDepth {
		return n.Errorf("nest less deeply", "more than %d levels of nesting", maxDepth)
	}
	switch tok.Kind() {
	case '{':
		return p.members(n, depth)
	case '[':
		return p.items(n, depth)
	}
	return nil
}

func (p *parser) members(n *Node, depth int) error {
	seen := map[string]*Node{}
	for {
		if p.dec.PeekKind() == '}' {
			_, _, end, err := p.next()
			n.end = end
			return err
		}
		tok, keyStart, _, err := p.next()
		if err != nil {
			return err
		}
		key := tok.String()
		kid := &Node{doc: p.doc, parent: n, key: key, keyStart: keyStart}
		if err := p.value(kid, depth+1); err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
		if first, twice := seen[key]; twice {
			line, col := p.doc.lineCol(first.keyStart)
			l2, c2 := p.doc.lineCol(keyStart)
			p.errs = append(p.errs, &Error{File: p.doc.name, Line: l2, Column: c2, Path: kid.Path(),
				Problem: fmt.Sprintf("the key is given twice (first at %d:%d)", line, col), Mend: "remove one of the two"})
			continue
		}
		seen[key] = kid
	}
}

func (p *parser) items(n *Node, depth int) error {
	for {
		if p.dec.PeekKind() == ']' {
			_, _, end, err := p.next()
			n.end = end
			return err
		}
		kid := &Node{doc: p.doc, parent: n, index: len(n.kids)}
		if err := p.value(kid, depth+1); err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
}
