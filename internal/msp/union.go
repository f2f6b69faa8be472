package msp

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SessionMcpServerConfig is a tool server for one session. Transport says which
// members belong to it: stdio has Command, Args, Env and Framing;
// streamableHttp has URL and Headers (MSP.md 13).
type SessionMcpServerConfig struct {
	Transport SessionMcpTransport  `json:"transport"`
	Mode      SessionMcpServerMode `json:"mode,omitzero"`

	Command string                 `json:"command,omitzero" msp:"notEmpty"`
	Args    []string               `json:"args,omitzero"`
	Env     map[string]string      `json:"env,omitzero"`
	Framing SessionMcpStdioFraming `json:"framing,omitzero"`

	URL     string            `json:"url,omitzero" msp:"notEmpty"`
	Headers map[string]string `json:"headers,omitzero"`
}

// SessionMcpTransport is how a tool server is reached.
type SessionMcpTransport string

// The values of SessionMcpTransport.
const (
	SessionMcpTransportStdio          SessionMcpTransport = "stdio"
	SessionMcpTransportStreamableHTTP SessionMcpTransport = "streamableHttp"
)

func (SessionMcpTransport) values() enumeration {
	return closedValues(SessionMcpTransportStdio, SessionMcpTransportStreamableHTTP)
}

func (SessionMcpServerConfig) variants() []variant {
	return []variant{
		{key: "transport", word: string(SessionMcpTransportStdio), members: []string{"mode", "command", "args", "env", "framing"}, required: []string{"command"}},
		{key: "transport", word: string(SessionMcpTransportStreamableHTTP), members: []string{"mode", "url", "headers"}, required: []string{"url"}},
	}
}

// ToolReceipt says what a tool with lasting effects outside the conversation
// did. Details is a CronReceipt for the family cron, a CodeModeReceipt for
// codeMode and any object for another one.
type ToolReceipt struct {
	Family    string               `json:"family"`
	Operation ToolReceiptOperation `json:"operation"`
	Outcome   ToolReceiptOutcome   `json:"outcome"`
	Details   jsontext.Value       `json:"details,omitzero" msp:"object"`
}

// The families that ToolReceipt knows.
const (
	ToolReceiptFamilyCron     = "cron"
	ToolReceiptFamilyCodeMode = "codeMode"
)

func (ToolReceipt) variants() []variant {
	members := []string{"operation", "outcome", "details"}
	required := []string{"operation", "outcome"}
	return []variant{
		{key: "family", word: ToolReceiptFamilyCron, members: members, required: required, types: map[string]reflect.Type{"details": reflect.TypeFor[CronReceipt]()}},
		{key: "family", word: ToolReceiptFamilyCodeMode, members: members, required: required, types: map[string]reflect.Type{"details": reflect.TypeFor[CodeModeReceipt]()}},
		{key: "family", members: members, required: required},
	}
}

// ModelReasoningEffortVariants are the efforts that a model offers, or Unknown.
type ModelReasoningEffortVariants struct {
	Unknown bool
	Efforts []ReasoningEffort
}

// MarshalJSONTo writes a list, or the word unknown.
func (v ModelReasoningEffortVariants) MarshalJSONTo(enc *jsontext.Encoder) error {
	if v.Unknown {
		return json.MarshalEncode(enc, UnknownModelReasoningEffortVariantsUnknown)
	}
	return json.MarshalEncode(enc, v.Efforts)
}

// UnmarshalJSONFrom reads a list, or the word unknown.
func (v *ModelReasoningEffortVariants) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*v = ModelReasoningEffortVariants{}
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, &v.Efforts)
	}
	var word UnknownModelReasoningEffortVariants
	if err := json.UnmarshalDecode(dec, &word); err != nil {
		return err
	}
	if word != UnknownModelReasoningEffortVariantsUnknown {
		return fmt.Errorf("effort variants are neither a list nor %q", UnknownModelReasoningEffortVariantsUnknown)
	}
	v.Unknown = true
	return nil
}

// variant is one arm of a type whose members depend on a discriminator.
type variant struct {
	key      string // the member that tells the arms apart
	word     string // its value in this arm; empty for the arm of all other values
	members  []string
	required []string                // those of members that must be there
	types    map[string]reflect.Type // members that have a type of their own here
}

// varied is a struct with arms. Its own members say how each travels.
type varied interface{ variants() []variant }
