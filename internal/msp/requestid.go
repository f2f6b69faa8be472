package msp

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// errRequestID is what reading anything but a string or an integer says.
var errRequestID = errors.New("id is neither a string nor an integer")

// RequestId pairs a response with its request: a string or an integer, and 1 is
// not "1" (MSP.md 2). It is comparable, so it can key a map, and it is written
// exactly as it was read. The zero RequestId is null, which only responses to
// unreadable requests carry.
type RequestId struct {
	raw string // JSON text; canonical for strings, "" for null
}

// IntID is a numeric id; the host numbers its own requests with it.
func IntID(n int64) RequestId { return RequestId{strconv.FormatInt(n, 10)} }

// StringID is a textual id.
func StringID(s string) RequestId {
	raw, err := jsontext.AppendQuote(nil, s)
	if err != nil { // s was not UTF-8: AppendQuote has replaced what is not
		return RequestId{string(raw)}
	}
	return RequestId{string(raw)}
}

// ParseRequestID reads the JSON text of an id. It refuses null, fractions and
// exponents.
func ParseRequestID(v jsontext.Value) (RequestId, error) {
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return RequestId{}, errRequestID
		}
		return StringID(string(text)), nil
	case '0':
		for i, c := range v {
			if (c < '0' || c > '9') && (c != '-' || i != 0) {
				return RequestId{}, errRequestID
			}
		}
		return RequestId{string(v)}, nil
	}
	return RequestId{}, errRequestID
}

// IsNull says that there is no id.
func (id RequestId) IsNull() bool { return id.raw == "" }

// String is the JSON text of the id.
func (id RequestId) String() string {
	if id.raw == "" {
		return "null"
	}
	return id.raw
}

// Int returns the number of a numeric id that fits.
func (id RequestId) Int() (int64, bool) {
	n, err := strconv.ParseInt(id.raw, 10, 64)
	return n, err == nil
}

// MarshalJSONTo writes the id as it was read.
func (id RequestId) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(id.String()))
}

// UnmarshalJSONFrom reads an id or null.
func (id *RequestId) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == 'n' {
		*id = RequestId{}
		return nil
	}
	*id, err = ParseRequestID(v)
	return err
}
