package msp

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeParams reads the params of a call. Absent or null params are an empty
// object. Members that T does not know are ignored; a missing member, a wrong
// type, a null that means nothing, a word that is not on a closed list or a
// number out of bounds is an *Error of kind invalidParams that names the member.
func DecodeParams[T any](params jsontext.Value) (T, error) {
	var out T
	if err := decode(params, reflect.TypeFor[T](), &out); err != nil {
		return *new(T), err
	}
	return out, nil
}

// DecodeInto is DecodeParams into what MethodSpec.Params or
// NotificationSpec.Params returned.
func DecodeInto(params jsontext.Value, into any) error {
	return decode(params, reflect.TypeOf(into).Elem(), into)
}

func decode(params jsontext.Value, t reflect.Type, into any) error {
	if len(params) == 0 || params.Kind() == 'n' {
		params = jsontext.Value("{}")
	}
	if params.Kind() != '{' {
		return InvalidParams("", "must be an object")
	}
	if m := (checker{}).check(params, shapeOf(t)); m != nil {
		return InvalidParams(m.Path, m.Detail)
	}
	if err := json.Unmarshal(params, into); err != nil {
		return InvalidParams("", err.Error())
	}
	return nil
}
