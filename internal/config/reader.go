package config

import (
	"math"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/models"
)

// reader turns nodes into typed values and collects what is wrong. A missing
// node and a JSON null both mean "not set".
type reader struct {
	errs    []error
	unknown []UnknownKey
}

func (r *reader) fail(err error) {
	r.errs = append(r.errs, err)
}

func absent(n *jsondoc.Node) bool { return n == nil || n.Kind() == 'n' }

// object reports whether n is an object to be read, and notes which of its
// keys are none of known. Without known names every key is fine.
func (r *reader) object(n *jsondoc.Node, known ...string) bool {
	if absent(n) {
		return false
	}
	if n.Kind() != '{' {
		r.fail(n.Mismatch("an object"))
		return false
	}
	for _, m := range n.Members() {
		if len(known) == 0 || contains(known, m.Key()) {
			continue
		}
		line, col := m.Pos()
		r.unknown = append(r.unknown, UnknownKey{Path: m.Path(), Line: line, Column: col, Near: Nearest(m.Key(), known)})
	}
	return true
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

func (r *reader) text(n *jsondoc.Node) *string {
	if absent(n) {
		return nil
	}
	v, err := n.Text()
	if err != nil {
		r.fail(err)
		return nil
	}
	return &v
}

// name is text that is not blank.
func (r *reader) name(n *jsondoc.Node) *string {
	v := r.text(n)
	if v != nil && strings.TrimSpace(*v) == "" {
		r.fail(n.Errorf("write a value or remove the key", "the text is empty"))
		return nil
	}
	return v
}

func (r *reader) oneOf(n *jsondoc.Node, choices ...string) *string {
	v := r.text(n)
	if v == nil {
		return nil
	}
	if !contains(choices, *v) {
		mend := "want one of " + strings.Join(choices, ", ")
		if near := Nearest(*v, choices); near != "" {
			mend = "did you mean " + strconv.Quote(near) + "? " + mend
		}
		r.fail(n.Errorf(mend, "%q is not a known value", *v))
		return nil
	}
	return v
}

func (r *reader) boolean(n *jsondoc.Node) *bool {
	if absent(n) {
		return nil
	}
	v, err := n.Bool()
	if err != nil {
		r.fail(err)
		return nil
	}
	return &v
}

func (r *reader) integer(n *jsondoc.Node, lowest, highest int64) *int64 {
	if absent(n) {
		return nil
	}
	v, err := n.Int()
	switch {
	case err != nil:
		r.fail(err)
		return nil
	case v < lowest:
		r.fail(n.Errorf("want at least "+strconv.FormatInt(lowest, 10), "%d is too small", v))
		return nil
	case v > highest:
		r.fail(n.Errorf("want at most "+strconv.FormatInt(highest, 10), "%d is too large", v))
		return nil
	}
	return &v
}

// fraction is a number strictly between 0 and 1.
func (r *reader) fraction(n *jsondoc.Node) *float64 {
	if absent(n) {
		return nil
	}
	v, err := n.Float()
	if err != nil {
		r.fail(err)
		return nil
	}
	if !(v > 0 && v < 1) || math.IsNaN(v) {
		r.fail(n.Errorf("want a fraction such as 0.8", "%s is not strictly between 0 and 1", string(n.Raw())))
		return nil
	}
	return &v
}

// texts is an array of texts that are not blank.
func (r *reader) texts(n *jsondoc.Node) *[]string {
	if absent(n) {
		return nil
	}
	if n.Kind() != '[' {
		r.fail(n.Mismatch("an array of texts"))
		return nil
	}
	list := []string{}
	for _, item := range n.Members() {
		if item.Kind() == 'n' {
			r.fail(item.Mismatch("text in quotes"))
			continue
		}
		if v := r.name(item); v != nil {
			list = append(list, *v)
		}
	}
	return &list
}

// rate is a price in US dollars for a million tokens.
func (r *reader) rate(n *jsondoc.Node) *models.Rate {
	if absent(n) {
		return nil
	}
	text, err := n.Number()
	if err != nil {
		r.fail(err)
		return nil
	}
	v, err := models.ParseRate(text)
	if err != nil {
		r.fail(n.Errorf("write US dollars for a million tokens, such as 1.25", "%v", err))
		return nil
	}
	return &v
}
