package provider

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxCount is far above any count of tokens, and sums of some stay in range.
const maxCount = 1 << 53

// Count is a number of tokens as a service writes it. A complete answer is
// worth more than its bookkeeping, so nothing in its place is an error: a
// fraction is rounded down, and what is negative or no number counts 0.
type Count int64

// UnmarshalJSONFrom reads any JSON value.
func (c *Count) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*c = 0
	if v.Kind() != '0' {
		return nil
	}
	// A number of JSON always parses; one that is too large becomes infinite.
	f, _ := strconv.ParseFloat(string(v), 64)
	*c = Count(min(max(f, 0), maxCount))
	return nil
}

// ReadUsage reads an object of counts into the struct that to points to. What
// is of another kind than the struct expects leaves zeros.
func ReadUsage(dec *jsontext.Decoder, to any) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == '{' {
		// Syntax is checked already: what is left are surprises in the counts.
		_ = json.Unmarshal(v, to, jsontext.AllowDuplicateNames(true))
	}
	return nil
}

// Counts is an object of counts within another: T is a struct. Some services
// write an empty list where they have none.
type Counts[T any] struct{ Of T }

// UnmarshalJSONFrom reads any JSON value.
func (c *Counts[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*c = Counts[T]{}
	return ReadUsage(dec, &c.Of)
}
