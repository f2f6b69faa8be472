package msp

import (
	"cmp"
	"reflect"
	"slices"
	"sync"
)

// surface is what a schema describes: tables and every type they lead to.
type surface struct {
	experimental bool
	methods      []MethodSpec
	defs         []*shape // by name
}

// stable and all are the two surfaces. All has the stable one and what a client
// gets with experimentalApi.
func stable() *surface { return stableSurface() }

func all() *surface { return allSurface() }

func surfaceOf(experimental bool) *surface {
	if experimental {
		return all()
	}
	return stable()
}

var stableSurface = sync.OnceValue(func() *surface { return newSurface(false) })

var allSurface = sync.OnceValue(func() *surface { return newSurface(true) })

func newSurface(experimental bool) *surface {
	s := &surface{experimental: experimental, methods: Methods()}
	if experimental {
		s.methods = append(s.methods, ExperimentalMethods()...)
	}
	found := make(map[string]*shape)
	collect := func(t reflect.Type) {
		if t != nil {
			collectDefs(found, shapeOf(t))
		}
	}
	for _, t := range frameTypes() {
		collect(t)
	}
	for _, m := range s.methods {
		collect(m.params)
		collect(m.result)
	}
	for _, n := range notificationTable() {
		collect(n.params)
	}
	for _, r := range serverRequestTable() {
		collect(r.params)
		collect(r.result)
	}
	for _, def := range found {
		s.defs = append(s.defs, def)
	}
	slices.SortFunc(s.defs, func(a, b *shape) int { return cmp.Compare(a.name, b.name) })
	return s
}

// frameTypes are the four shapes of a line (MSP.md 2).
func frameTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[Request](), reflect.TypeFor[Notification](),
		reflect.TypeFor[SuccessResponse](), reflect.TypeFor[ErrorResponse](),
	}
}

func collectDefs(found map[string]*shape, s *shape) {
	if s == nil {
		return
	}
	if s.name != "" {
		if found[s.name] != nil {
			return
		}
		found[s.name] = s
	}
	collectDefs(found, s.elem)
	for _, m := range s.members {
		collectDefs(found, m.shape)
	}
	for _, e := range s.either {
		collectDefs(found, e)
	}
	for _, arm := range s.variants {
		for _, t := range arm.types {
			collectDefs(found, shapeOf(t))
		}
	}
}
