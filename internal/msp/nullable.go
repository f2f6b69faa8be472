package msp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Nullable is a member that may be absent, null or a value. The zero Nullable
// is absent.
type Nullable[T any] struct {
	present bool
	value   *T
}

// Null is a member that is there and null.
func Null[T any]() Nullable[T] { return Nullable[T]{present: true} }

// Some is a member with a value.
func Some[T any](v T) Nullable[T] { return Nullable[T]{present: true, value: &v} }

// SomeOrNull is a member that is there: null when v is nil.
func SomeOrNull[T any](v *T) Nullable[T] { return Nullable[T]{present: true, value: v} }

// IsZero says that the member is absent.
func (n Nullable[T]) IsZero() bool { return !n.present }

// Get returns the value, or nil for null and absence.
func (n Nullable[T]) Get() *T { return n.value }

// MarshalJSONTo writes the value or null; an absent member is left out by its
// struct.
func (n Nullable[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, n.value)
}

// UnmarshalJSONFrom notes that the member was there.
func (n *Nullable[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	n.value = nil
	if err := json.UnmarshalDecode(dec, &n.value); err != nil {
		return err
	}
	n.present = true
	return nil
}
