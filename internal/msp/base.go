package msp

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Position says where an event stands in the view of its session. Cursors are
// opaque to clients and rise within a session (MSP.md 6).
type Position struct {
	SessionID  string `json:"sessionId"`
	ViewCursor string `json:"viewCursor"`
}

// At gives access to the position of any view event.
func (p *Position) At() *Position { return p }

// Durable are the members of an event that was folded from the log.
type Durable struct {
	Position

	SourceRange SourceRange `json:"sourceRange"`
}

// MaybeDurable are the members of an event that may also come from a streamed,
// unlogged record; then it has no source range and is never paged.
type MaybeDurable struct {
	Position

	SourceRange *SourceRange `json:"sourceRange,omitzero"`
}

// View is the params of a notification that has a cursor in the view of a
// session.
type View interface {
	At() *Position
}

// UnframedViewNotificationParams are the members that every paged event has.
// The other members are those of the notification that Method names.
type UnframedViewNotificationParams struct {
	Durable
}

// UnframedViewNotification is a view event as view/page serves it: without
// envelope and emission time. Reading one gives Params the type that the
// notification has in the table; an unknown method reads only what all events
// share.
type UnframedViewNotification struct {
	Method string `json:"method"`
	Params View   `json:"params" msp:"view"`
}

// variants has an arm for every event that can be paged, which item/delta
// cannot (MSP.md 7.3).
func (UnframedViewNotification) variants() []variant {
	arm := func(method string, params reflect.Type) variant {
		return variant{key: "method", word: method, members: []string{"params"}, required: []string{"params"}, types: map[string]reflect.Type{"params": params}}
	}
	var out []variant
	for _, n := range notificationTable() {
		if n.params != nil && n.Name != NoteItemDelta && isView(n.params) {
			out = append(out, arm(n.Name, n.params))
		}
	}
	return append(out, arm("", reflect.TypeFor[UnframedViewNotificationParams]()))
}

// isView says that the params of a notification have a position in a view.
func isView(params reflect.Type) bool {
	return reflect.PointerTo(params).Implements(reflect.TypeFor[View]())
}

// UnmarshalJSONFrom reads Params by the type that Method has.
func (n *UnframedViewNotification) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var raw struct {
		Method string         `json:"method"`
		Params jsontext.Value `json:"params"`
	}
	if err := json.UnmarshalDecode(dec, &raw); err != nil {
		return err
	}
	typ := reflect.TypeFor[UnframedViewNotificationParams]()
	if spec, ok := LookupNotification(raw.Method); ok && spec.params != nil && isView(spec.params) {
		typ = spec.params
	}
	v := reflect.New(typ)
	if err := json.Unmarshal(raw.Params, v.Interface()); err != nil {
		return fmt.Errorf("read the params of %s: %w", raw.Method, err)
	}
	n.Method = raw.Method
	n.Params = v.Interface().(View)
	return nil
}
