package msp

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Mismatch says where and how JSON differs from the type it should have. Path
// is empty for the whole, otherwise "input[0].type".
type Mismatch struct {
	Path   string
	Detail string
}

func (m *Mismatch) Error() string {
	if m.Path == "" {
		return m.Detail
	}
	return m.Path + ": " + m.Detail
}

// under puts a step before the path.
func (m *Mismatch) under(step string) *Mismatch {
	switch {
	case m == nil:
		return nil
	case m.Path == "" || m.Path[0] == '[':
		m.Path = step + m.Path
	default:
		m.Path = step + "." + m.Path
	}
	return m
}

func mismatch(format string, args ...any) *Mismatch {
	return &Mismatch{Detail: fmt.Sprintf(format, args...)}
}

// checker compares one JSON text with a shape.
type checker struct {
	// strict is how our own frames are held: no unknown members, no unknown
	// words. A reader is lenient: it ignores unknown members and bears unknown
	// words of open lists (MSP.md 2 and 13).
	strict bool
}

// check compares raw, which is one JSON value, with s.
func (c checker) check(raw jsontext.Value, s *shape) *Mismatch {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if m := c.value(dec, s, false); m != nil {
		return m
	}
	if _, err := dec.ReadToken(); err == nil {
		return mismatch("has more after its end")
	}
	return nil
}

func (c checker) value(dec *jsontext.Decoder, s *shape, nullable bool) *Mismatch {
	kind := dec.PeekKind()
	if kind == 'n' && nullable {
		return skip(dec)
	}
	switch s.form {
	case formAny:
		return skip(dec)
	case formAnyObject:
		return c.scalar(dec, kind == '{', "an object")
	case formText:
		return c.text(dec, s, kind)
	case formBool:
		return c.scalar(dec, kind == 't' || kind == 'f', "true or false")
	case formNumber:
		return c.scalar(dec, kind == '0', "a number")
	case formInteger:
		return c.integer(dec, s, kind)
	case formWords:
		return c.word(dec, s, kind)
	case formID:
		return c.id(dec)
	case formEither:
		return c.either(dec, s, kind)
	case formList:
		return c.list(dec, s, kind)
	case formDictionary:
		return c.dictionary(dec, s, kind)
	case formObject:
		return c.object(dec, s, kind)
	}
	panic("msp: form without a check")
}

func skip(dec *jsontext.Decoder) *Mismatch {
	if err := dec.SkipValue(); err != nil {
		return unreadable(err)
	}
	return nil
}

func unreadable(err error) *Mismatch { return mismatch("is not JSON: %v", err) }

func (c checker) scalar(dec *jsontext.Decoder, fits bool, want string) *Mismatch {
	kind := dec.PeekKind()
	if m := skip(dec); m != nil {
		return m
	}
	if !fits {
		return wrongKind(kind, want)
	}
	return nil
}

func (c checker) text(dec *jsontext.Decoder, s *shape, kind jsontext.Kind) *Mismatch {
	if kind != '"' || !s.notEmpty {
		return c.scalar(dec, kind == '"', "a string")
	}
	token, err := dec.ReadToken()
	if err != nil {
		return unreadable(err)
	}
	if token.String() == "" {
		return mismatch("must not be empty")
	}
	return nil
}

func wrongKind(kind jsontext.Kind, want string) *Mismatch {
	if kind == 'n' {
		return mismatch("must be %s and not null", want)
	}
	return mismatch("must be %s", want)
}

func (c checker) integer(dec *jsontext.Decoder, s *shape, kind jsontext.Kind) *Mismatch {
	raw, err := dec.ReadValue()
	if err != nil {
		return unreadable(err)
	}
	if kind != '0' {
		return wrongKind(kind, "an integer")
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case err != nil:
		return mismatch("must be an integer of 64 bits")
	case s.low != nil && n < *s.low:
		return mismatch("must be at least %d", *s.low)
	case s.high != nil && n > *s.high:
		return mismatch("must be at most %d", *s.high)
	}
	return nil
}

func (c checker) word(dec *jsontext.Decoder, s *shape, kind jsontext.Kind) *Mismatch {
	if kind != '"' {
		return c.scalar(dec, false, "a string")
	}
	token, err := dec.ReadToken()
	if err != nil {
		return unreadable(err)
	}
	if (s.words.open && !c.strict) || slices.Contains(s.words.words, token.String()) {
		return nil
	}
	return mismatch("must be one of %s", strings.Join(s.words.words, ", "))
}

func (c checker) id(dec *jsontext.Decoder) *Mismatch {
	raw, err := dec.ReadValue()
	if err != nil {
		return unreadable(err)
	}
	if _, err := ParseRequestID(raw); err != nil {
		return mismatch("must be a string or an integer")
	}
	return nil
}

// either takes the arm that the kind of the value tells.
func (c checker) either(dec *jsontext.Decoder, s *shape, kind jsontext.Kind) *Mismatch {
	for _, arm := range s.either {
		if arm.form == formList && kind == '[' || arm.form == formWords && kind == '"' {
			return c.value(dec, arm, false)
		}
	}
	return c.scalar(dec, false, "a list or a word")
}

func (c checker) list(dec *jsontext.Decoder, s *shape, kind jsontext.Kind) *Mismatch {
	if kind != '[' {
		return c.scalar(dec, false, "a list")
	}
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	n := 0
	for ; dec.PeekKind() != ']'; n++ {
		if m := c.value(dec, s.elem, s.nullElem); m != nil {
			return m.under("[" + strconv.Itoa(n) + "]")
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	if n < s.minItems {
		return mismatch("must have at least %d element", s.minItems)
	}
	return nil
}

func (c checker) dictionary(dec *jsontext.Decoder, s *shape, kind jsontext.Kind) *Mismatch {
	if kind != '{' {
		return c.scalar(dec, false, "an object")
	}
	return eachMember(dec, func(name string) *Mismatch { return c.value(dec, s.elem, false) })
}

// eachMember reads an object; read must take the value of the member.
func eachMember(dec *jsontext.Decoder, read func(name string) *Mismatch) *Mismatch {
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return unreadable(err)
		}
		name := token.String()
		if m := read(name); m != nil {
			return m.under(name)
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return unreadable(err)
	}
	return nil
}

func (c checker) object(dec *jsontext.Decoder, s *shape, kind jsontext.Kind) *Mismatch {
	if kind != '{' {
		return c.scalar(dec, false, "an object")
	}
	if s.variants != nil {
		return c.varied(dec, s)
	}
	seen := make(map[string]bool, len(s.members))
	m := eachMember(dec, func(name string) *Mismatch {
		seen[name] = true
		return c.memberValue(dec, s, name)
	})
	if m != nil {
		return m
	}
	for _, m := range s.members {
		if m.required && !seen[m.name] {
			return mismatch("is missing").under(m.name)
		}
	}
	return nil
}

func (c checker) memberValue(dec *jsontext.Decoder, s *shape, name string) *Mismatch {
	m, known := s.member(name)
	switch {
	case known:
		return c.value(dec, m.shape, m.nullable)
	case c.strict, slices.Contains(s.refused, name):
		return mismatch("must not be there")
	default:
		return skip(dec)
	}
}

// varied reads an object whose arm a member tells, wherever that member stands.
func (c checker) varied(dec *jsontext.Decoder, s *shape) *Mismatch {
	values := make(map[string]jsontext.Value)
	m := eachMember(dec, func(name string) *Mismatch {
		raw, err := dec.ReadValue()
		if err != nil {
			return unreadable(err)
		}
		values[name] = raw.Clone()
		return nil
	})
	if m != nil {
		return m
	}
	key := s.variants[0].key
	raw, ok := values[key]
	if !ok {
		return mismatch("is missing").under(key)
	}
	keyMember, _ := s.member(key)
	if m := c.check(raw, keyMember.shape); m != nil {
		return m.under(key)
	}
	word, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return unreadable(err).under(key)
	}
	for _, arm := range s.variants {
		if arm.word == string(word) || arm.word == "" {
			return c.arm(values, s, arm)
		}
	}
	return nil // an open list has grown
}

func (c checker) arm(values map[string]jsontext.Value, s *shape, arm variant) *Mismatch {
	for _, name := range arm.required {
		if _, ok := values[name]; !ok {
			return mismatch("is missing").under(name)
		}
	}
	for _, m := range s.members {
		// A member of another arm means nothing, but it must be readable.
		raw, ok := values[m.name]
		if !ok || m.name == arm.key {
			continue
		}
		if typ, ok := arm.types[m.name]; ok {
			m.shape = shapeOf(typ)
		}
		if m.nullable && raw.Kind() == 'n' {
			continue
		}
		if bad := c.check(raw, m.shape); bad != nil {
			return bad.under(m.name)
		}
	}
	if !c.strict {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name != arm.key && !slices.Contains(arm.members, name) {
			return mismatch("must not be there").under(name)
		}
	}
	return nil
}

// Check compares raw with the wire type of T as strictly as the host holds
// itself: no undeclared member, no unknown word. It is for tests and for readers
// of one's own output.
func Check[T any](raw jsontext.Value) error {
	return CheckType(raw, reflect.TypeFor[T]())
}

// CheckType is Check for a type that is known only at run time. The error is a
// *Mismatch.
func CheckType(raw jsontext.Value, t reflect.Type) error {
	if m := (checker{strict: true}).check(raw, shapeOf(t)); m != nil {
		return m
	}
	return nil
}
