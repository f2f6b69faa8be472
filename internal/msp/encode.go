package msp

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrFrameTooLarge says that a frame would exceed the cap and must not be sent.
var ErrFrameTooLarge = errors.New("the frame exceeds the cap")

// EncodeRequest makes a line of a request. params may be nil.
func EncodeRequest(id RequestId, method string, params any) ([]byte, error) {
	raw, err := encodeParams(method, params)
	if err != nil {
		return nil, err
	}
	return encodeLine(Request{JSONRPC: JsonRpcVersion20, ID: id, Method: method, Params: raw})
}

// EncodeNotification makes a line of a notification. params may be nil; a zero
// emitted leaves the time out, as clients do.
func EncodeNotification(method string, params any, emitted time.Time) ([]byte, error) {
	raw, err := encodeParams(method, params)
	if err != nil {
		return nil, err
	}
	n := Notification{JSONRPC: JsonRpcVersion20, Method: method, Params: raw}
	if !emitted.IsZero() {
		n.EmittedAtMs = new(emitted.UnixMilli())
	}
	return encodeLine(n)
}

// EncodeResult makes a line of a successful response. A nil result is the empty
// object, because a result is always one.
func EncodeResult(id RequestId, result any) ([]byte, error) {
	if result == nil {
		result = struct{}{}
	}
	raw, err := json.Marshal(result, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the result of request %s: %w", id, err)
	}
	return encodeLine(SuccessResponse{JSONRPC: JsonRpcVersion20, ID: id, Result: raw})
}

// EncodeError makes a line of a refusal. A null id is for frames whose id could
// not be read.
func EncodeError(id RequestId, e *Error) ([]byte, error) {
	return encodeLine(ErrorResponse{JSONRPC: JsonRpcVersion20, ID: id, Error: e.Object()})
}

func encodeParams(method string, params any) (jsontext.Value, error) {
	if params == nil {
		return nil, nil
	}
	raw, err := json.Marshal(params, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the params of %s: %w", method, err)
	}
	return raw, nil
}

// encodeLine writes a frame and its line feed. JSON text holds no line feed of
// its own: those inside strings are escaped.
func encodeLine(frame any) ([]byte, error) {
	line, err := json.Marshal(frame, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode a frame: %w", err)
	}
	if len(line) > FrameCap {
		return nil, fmt.Errorf("%d bytes: %w", len(line), ErrFrameTooLarge)
	}
	return append(line, '\n'), nil
}
