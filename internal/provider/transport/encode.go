package transport

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/provider"
)

// Encode is v as a request body.
func (c *Client) Encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, &provider.Error{Class: provider.InvalidRequest, Message: fmt.Sprintf("the request cannot be encoded: %v", err), Err: err}
	}
	return body, nil
}
