package chat

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// calls gathers the tool calls of one reply.
type calls struct {
	list []*building
}

// building is a call of which pieces have come.
type building struct {
	index    int // -1 on servers that send none
	id, name string
	args     strings.Builder
}

// add takes one piece.
func (cs *calls) add(d *callDelta) {
	c := cs.target(d)
	if c == nil {
		c = &building{index: -1}
		if d.Index != nil {
			c.index = *d.Index
		}
		cs.list = append(cs.list, c)
	}
	if c.id == "" {
		c.id = d.ID
	}
	switch {
	case d.Function.Name == "" || d.Function.Name == c.name:
		// Nothing new: some servers repeat the name with every piece.
	case c.args.Len() == 0:
		c.name += d.Function.Name // a name can come in pieces too
	}
	if v := d.Function.Arguments; v.Kind() == '"' {
		c.args.WriteString(readText(v))
	} else if v.Kind() == '{' {
		c.args.Write(v)
	}
}

// target is the call that a piece belongs to, nil when it begins a new one.
func (cs *calls) target(d *callDelta) *building {
	var c *building
	for i := len(cs.list) - 1; i >= 0 && c == nil; i-- {
		switch have := cs.list[i]; {
		case d.Index != nil && have.index == *d.Index:
			c = have
		case d.Index == nil && (d.ID == "" || d.ID == have.id):
			c = have
		}
		if d.Index == nil && d.ID == "" {
			break // without any mark only the last call can go on
		}
	}
	switch {
	case c == nil:
		return nil
	case d.Function.Name == "":
		return c
	case d.ID != "" && c.id != "" && d.ID != c.id:
		return nil // every call has index 0 on some servers
	case d.Index == nil && d.ID == "" && c.whole():
		return nil
	}
	return c
}

// whole reports whether the call cannot take any more.
func (c *building) whole() bool {
	return c.name != "" && c.args.Len() > 0 && jsontext.Value(c.args.String()).IsValid()
}
