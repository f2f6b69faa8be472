package msp

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// form is the kind of JSON that a shape stands for.
type form int

const (
	formText form = iota
	formBool
	formInteger
	formNumber
	formAny        // whatever
	formAnyObject  // an object of whatever
	formWords      // a text out of a list
	formList       // of elem
	formDictionary // from texts to elem
	formObject     // with members
	formEither     // one of either
	formID         // RequestId
)

// shape is what a Go type looks like on the wire. It is the one source of the
// params decoder, the validator, the JSON Schema and the TypeScript. Shapes are
// shared and never changed once made; recursive types refer to themselves.
type shape struct {
	form form
	name string // of the type, for what is worth a definition of its own

	words enumeration // formWords

	elem     *shape // formList, formDictionary
	nullElem bool   // elements may be null
	minItems int

	members  []member  // formObject
	refused  []string  // members that must not be there
	variants []variant // arms that narrow members

	either []*shape // formEither

	low, high *int64 // formInteger
	notEmpty  bool   // formText
}

// member is one member of an object.
type member struct {
	name     string
	required bool
	nullable bool
	// mayLack is set for a member that we always write and a reader must not
	// insist on.
	mayLack bool
	shape   *shape
}

func (s *shape) member(name string) (member, bool) {
	for _, m := range s.members {
		if m.name == name {
			return m, true
		}
	}
	return member{}, false
}

// refuser is a struct that refuses members although others are ignored.
type refuser interface{ refused() []string }

// nullable is Nullable of any type.
type nullable interface{ element() reflect.Type }

func (Nullable[T]) element() reflect.Type { return reflect.TypeFor[T]() }

// shapes makes shapes and keeps them.
type shapes struct {
	mu   sync.Mutex
	made map[reflect.Type]*shape
}

var allShapes = sync.OnceValue(func() *shapes { return &shapes{made: make(map[reflect.Type]*shape)} })

// shapeOf returns the shape of t. It panics for a type that cannot cross the
// wire, which is a fault of this package that its tests find.
func shapeOf(t reflect.Type) *shape {
	s := allShapes()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(t)
}

func (s *shapes) of(t reflect.Type) *shape {
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem())
	}
	if known, ok := s.made[t]; ok {
		return known
	}
	made := new(shape)
	s.made[t] = made // before its members, which may lead back to it
	s.fill(made, t)
	return made
}

func (s *shapes) fill(made *shape, t reflect.Type) {
	zero := reflect.Zero(t)
	switch t {
	case reflect.TypeFor[RequestId]():
		*made = shape{form: formID, name: t.Name()}
		return
	case reflect.TypeFor[ModelReasoningEffortVariants]():
		*made = shape{form: formEither, name: t.Name(), either: []*shape{
			s.of(reflect.TypeFor[[]ReasoningEffort]()), s.of(reflect.TypeFor[UnknownModelReasoningEffortVariants]()),
		}}
		return
	case reflect.TypeFor[jsontext.Value]():
		made.form = formAny
		return
	}
	switch t.Kind() {
	case reflect.String:
		if w, ok := zero.Interface().(enumerated); ok {
			*made = shape{form: formWords, name: t.Name(), words: w.values()}
		}
	case reflect.Bool:
		made.form = formBool
	case reflect.Int64:
		made.form, made.low = formInteger, new(int64)
	case reflect.Float64:
		made.form = formNumber
	case reflect.Slice:
		made.form, made.elem = formList, s.of(t.Elem())
		made.nullElem = t.Elem().Kind() == reflect.Pointer
	case reflect.Map:
		made.form, made.elem = formDictionary, s.of(t.Elem())
	case reflect.Struct:
		s.fillStruct(made, t)
	default:
		panic(fmt.Sprintf("msp: no shape for %v", t))
	}
}

func (s *shapes) fillStruct(made *shape, t reflect.Type) {
	zero := reflect.Zero(t).Interface()
	made.form, made.name = formObject, t.Name()
	s.addMembers(made, t)
	if r, ok := zero.(refuser); ok {
		made.refused = r.refused()
	}
	v, ok := zero.(varied)
	if !ok {
		return
	}
	made.variants = v.variants()
	for _, arm := range made.variants {
		for _, extra := range arm.types {
			s.of(extra)
		}
	}
}

func (s *shapes) addMembers(made *shape, t reflect.Type) {
	for f := range t.Fields() {
		if f.Anonymous {
			s.addMembers(made, f.Type)
			continue
		}
		if f.IsExported() {
			made.members = append(made.members, s.memberOf(t, f))
		}
	}
}

func (s *shapes) memberOf(t reflect.Type, f reflect.StructField) member {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	optional := slices.Contains(strings.Split(options, ","), "omitzero")
	m := member{name: name, required: !optional, nullable: !optional && f.Type.Kind() == reflect.Pointer}
	typ := f.Type
	if n, ok := reflect.Zero(typ).Interface().(nullable); ok {
		typ, m.nullable = n.element(), true
	}
	marks := strings.Split(f.Tag.Get("msp"), ",")
	if slices.Contains(marks, "view") { // an interface; the arms narrow it
		typ = reflect.TypeFor[UnframedViewNotificationParams]()
	}
	m.shape = s.of(typ)
	for _, mark := range marks {
		s.mark(&m, t, mark)
	}
	return m
}

// mark applies one word of an msp tag.
func (s *shapes) mark(m *member, t reflect.Type, mark string) {
	key, value, _ := strings.Cut(mark, "=")
	own := func() *shape { // a copy that only this member has
		c := *m.shape
		m.shape = &c
		return m.shape
	}
	number := func() int64 {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("msp: tag %q of %v.%s: %v", mark, t, m.name, err))
		}
		return n
	}
	switch key {
	case "", "view":
	case "nullable":
		m.nullable = true
	case "optional":
		m.required, m.mayLack = false, true
	case "object":
		own().form = formAnyObject
	case "signed":
		own().low = nil
	case "min":
		own().low = new(number())
	case "max":
		own().high = new(number())
	case "notEmpty":
		own().notEmpty = true
	case "minItems":
		own().minItems = int(number())
	default:
		panic(fmt.Sprintf("msp: unknown tag %q of %v.%s", mark, t, m.name))
	}
}
