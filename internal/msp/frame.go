package msp

import "github.com/go-json-experiment/json/jsontext"

// Request is a frame that asks for an answer. Params that are empty are left
// out, never null (MSP.md 2).
type Request struct {
	JSONRPC JsonRpcVersion `json:"jsonrpc"`
	ID      RequestId      `json:"id"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params,omitzero" msp:"object"`
	Trace   *TraceContext  `json:"trace,omitzero"`
}

// Notification is a frame that wants no answer. EmittedAtMs is set by the host
// and stands beside Params, never in them.
type Notification struct {
	JSONRPC     JsonRpcVersion `json:"jsonrpc"`
	Method      string         `json:"method"`
	Params      jsontext.Value `json:"params,omitzero" msp:"object"`
	EmittedAtMs *int64         `json:"emittedAtMs,omitzero"`
}

// SuccessResponse answers a request; Result is always an object.
type SuccessResponse struct {
	JSONRPC JsonRpcVersion `json:"jsonrpc"`
	ID      RequestId      `json:"id"`
	Result  jsontext.Value `json:"result" msp:"object"`
}

// ErrorResponse refuses a request. ID is null only for frames whose id could
// not be read.
type ErrorResponse struct {
	JSONRPC JsonRpcVersion `json:"jsonrpc"`
	ID      RequestId      `json:"id" msp:"nullable"`
	Error   ErrorObject    `json:"error"`
}
