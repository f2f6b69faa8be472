// Package provider is what the agent loop knows of a model: a request goes in,
// a stream of typed parts comes out, and a failure says of which class it is.
// Each wire (Responses, Chat Completions, Messages, and the offline echo and
// script) lives in a package of its own below this one and knows nothing of
// sessions, tools or logs.
//
// A provider makes exactly one attempt. Retrying, waiting and giving up are
// the loop's, because each of them is an event.
package provider

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Provider speaks one wire to one endpoint.
type Provider interface {
	// ID is the provider id as logs and settings spell it: "meta", "openai",
	// "openai-chat", "anthropic", "echo", "script".
	ID() string

	// Stream sends one request and calls emit for every part, in order and
	// from the calling goroutine, until the reply is complete. An error from
	// emit ends the stream and is returned as it is. Any other failure is a
	// *Error. After a failure no part of an unfinished tool call was emitted:
	// a ToolCall part is only emitted whole.
	Stream(ctx context.Context, req *Request, emit func(Part) error) error
}

// Request is one model call.
type Request struct {
	Model        string
	Instructions string // system text, the same for the whole session
	Items        []Item // the conversation, oldest first
	Tools        []Tool
	Effort       Effort // EffortDefault sends nothing
	Parallel     bool   // the model may call several tools in one reply
	CacheKey     string // prompt_cache_key: the session id
	MaxOutput    int    // output token cap; 0 means the provider's default
	// OutputSchema, when not nil, asks the wire for an answer that fits this
	// JSON Schema, where the wire knows how. The loop validates all the same.
	OutputSchema jsontext.Value
}

// Tool is a function the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      jsontext.Value // JSON Schema of the arguments, an object
}

// Effort is a reasoning effort level of CLI.md 1.2.
type Effort string

// The levels the command line takes. EffortDefault means that nothing was
// asked for: the provider's own default holds.
const (
	EffortDefault Effort = ""
	EffortNone    Effort = "none"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortXHigh   Effort = "xhigh"
	EffortMax     Effort = "max"
	EffortUltra   Effort = "ultra"
)

// Item is one entry of the conversation: exactly one field is set.
type Item struct {
	User       *UserMessage
	Assistant  *AssistantMessage
	Reasoning  *Reasoning
	ToolCall   *ToolCall
	ToolResult *ToolResult
	// Developer is text from the harness (rules files, notices): it ranks
	// above the user's words and below the instructions. Wires without such a
	// role send it as a user message in a labelled block.
	Developer *DeveloperMessage
}

// UserMessage is what the person (or a driver) said.
type UserMessage struct {
	Text   string
	Images []Image
}

// DeveloperMessage is text from the harness, not from the person.
type DeveloperMessage struct{ Text string }

// Image is an attached picture.
type Image struct {
	MediaType string // "image/png", "image/jpeg", "image/gif", "image/webp"
	Data      []byte
}

// AssistantMessage is answer text the model gave.
type AssistantMessage struct {
	ItemID string // the wire's id of the item, "" when it has none
	Text   string
}

// Reasoning is an opaque reasoning item. It goes back only to the provider and
// model that made it: wires drop every other one from the request.
type Reasoning struct {
	Provider, Model string
	ItemID          string
	Summary         string
	// Opaque is the encrypted or signed content exactly as the wire gave it.
	// For Responses it is encrypted_content; for Messages the signature, with
	// Text being the thinking it signs; redacted thinking has Redacted set.
	Opaque   string
	Text     string
	Redacted bool
}

// ToolCall is one complete call. Args is the argument text as the model wrote
// it: usually a JSON object, but a model can write anything.
type ToolCall struct {
	ItemID string // the wire's item id ("fc_…"), "" when it has none
	CallID string // joins call and result; unique within a session
	Name   string
	Args   string
}

// ToolResult answers the call with the same CallID.
type ToolResult struct {
	CallID string
	Text   string
	Failed bool
	Images []Image
}

// Part is one piece of a reply: exactly one field is set.
type Part struct {
	Created   *Created
	TextDelta string
	// SummaryDelta is one piece of a readable reasoning summary; Index counts
	// the summary's paragraphs from 0.
	SummaryDelta *SummaryDelta
	Reasoning    *Reasoning // complete
	Text         *AssistantMessage
	ToolCall     *ToolCall // complete
	Completed    *Completed
}

// Created is the provider's acceptance of the request.
type Created struct{ ResponseID string }

// SummaryDelta is a fragment of a reasoning summary.
type SummaryDelta struct {
	ItemID string
	Index  int
	Text   string
}

// Finish says why a reply ended.
type Finish string

// The reasons, in the log's spelling.
const (
	FinishStop      Finish = "stop"
	FinishToolCalls Finish = "tool_calls"
	FinishLength    Finish = "length" // the output limit cut the reply
	FinishFilter    Finish = "content_filter"
)

// Completed is the last part of a whole reply.
type Completed struct {
	ResponseID string
	Model      string // the model that answered, as the wire names it
	Finish     Finish
	Usage      Usage
	Wire       WireFacts
}

// Usage counts tokens of one call. Input includes what was read from and
// written to the cache, Output includes reasoning.
type Usage struct {
	Input, Output, Reasoning, CacheRead, CacheWrite int64
}

// WireFacts is what the stream looked like, for the status record of a
// successful attempt (STREAM.md (a), Model status.details).
type WireFacts struct {
	RequestID    string
	BytesRead    int64
	Events       int64
	LastEvent    string
	FirstEventIn time.Duration
}
