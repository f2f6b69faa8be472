package transport

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/provider"
)

// Encode is v as a request body. A conversation's body is a little longer every
// time: room for it is made at once, from the length of the one before.
func (c *Client) Encode(v any) ([]byte, error) {
	last := int(c.bodySize.Load())
	buf := bytes.NewBuffer(make([]byte, 0, last+last/8+4096))
	if err := json.MarshalWrite(buf, v); err != nil {
		return nil, &provider.Error{Class: provider.InvalidRequest, Message: fmt.Sprintf("the request cannot be encoded: %v", err), Err: err}
	}
	c.bodySize.Store(int64(buf.Len()))
	return buf.Bytes(), nil
}
