package msp

import (
	"errors"
	"fmt"
)

// Error is a refusal as the wire has it. Any layer may return one, wrapped or
// not; the connection finds it with AsError.
type Error struct {
	Code    int64
	Message string
	Data    ErrorData // Data.Kind is always set
}

func (e *Error) Error() string { return e.Message }

// Kind is what a client branches on.
func (e *Error) Kind() ErrorKind { return e.Data.Kind }

// Object is the error member of a response.
func (e *Error) Object() ErrorObject {
	data := e.Data
	return ErrorObject{Code: e.Code, Message: e.Message, Data: &data}
}

// Is makes errors.Is compare kinds, so that &Error{Data: ErrorData{Kind: k}}
// matches every error of the kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Data.Kind == e.Data.Kind
}

// AsError finds the refusal in err; any other error becomes an internal one with
// its text.
func AsError(err error) *Error {
	if found, ok := errors.AsType[*Error](err); ok {
		return found
	}
	return Internal(err.Error())
}

// NewError makes an error of a kind: code and retryable come from the table.
// Only true is said of retryable, as the recorded dialogues have it. An unknown
// kind is a fault of the caller and becomes an internal error.
func NewError(kind ErrorKind, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	row, ok := lookupError(kind)
	if !ok {
		row, kind = ErrorSpec{Code: -32603}, ErrorKindInternal
	}
	e := &Error{Code: row.Code, Message: message, Data: ErrorData{Kind: kind}}
	if row.Retryable != nil && *row.Retryable {
		e.Data.Retryable = new(true)
	}
	return e
}

// ParseError refuses what is not JSON.
func ParseError(detail string) *Error {
	return NewError(ErrorKindParseError, "parse error: %s", detail)
}

// InvalidRequest refuses a frame of none of the four shapes.
func InvalidRequest(detail string) *Error {
	return NewError(ErrorKindInvalidRequest, "invalid request: %s", detail)
}

// NotInitialized refuses whatever comes before initialize.
func NotInitialized() *Error {
	return NewError(ErrorKindNotInitialized, "the connection is not initialized")
}

// AlreadyInitialized refuses a second initialize.
func AlreadyInitialized() *Error {
	return NewError(ErrorKindAlreadyInitialized, "the connection is already initialized")
}

// MethodNotFound refuses a method that this host does not have.
func MethodNotFound(method string) *Error {
	return NewError(ErrorKindMethodNotFound, "no method %q", method)
}

// ExperimentalMethod refuses a method that needs the experimental interface.
func ExperimentalMethod(method string) *Error {
	e := NewError(ErrorKindExperimentalRequired, "method %q needs experimentalApi", method)
	e.Data.Descriptor = method
	return e
}

// ExperimentalField refuses a member that needs the experimental interface;
// descriptor is method and path, "turn/start.tools".
func ExperimentalField(descriptor string) *Error {
	e := NewError(ErrorKindExperimentalRequired, "%s needs experimentalApi", descriptor)
	e.Code = -32602
	e.Data.Descriptor = descriptor
	return e
}

// InvalidParams refuses a member of the params. path names it, "input[0].type",
// and may be empty for the params as a whole.
func InvalidParams(path, detail string) *Error {
	if path == "" {
		return NewError(ErrorKindInvalidParams, "invalid params: %s", detail)
	}
	return NewError(ErrorKindInvalidParams, "invalid params: %s: %s", path, detail)
}

// MisalignedOffset refuses to cut a text inside a character; next is the
// nearest offset after it that works.
func MisalignedOffset(next int64) *Error {
	e := InvalidParams("offsetBytes", "is inside a character")
	e.Data.AlignedNextOffset = &next
	return e
}

// Internal says that the host failed.
func Internal(detail string) *Error {
	return NewError(ErrorKindInternal, "internal error: %s", detail)
}

// PageEventTooLarge says that one event exceeds the frame cap.
func PageEventTooLarge(viewCursor string) *Error {
	e := NewError(ErrorKindPageEventTooLarge, "the event at %s does not fit a frame", viewCursor)
	e.Data.ViewCursor = viewCursor
	return e
}

// OutputResultTooLarge says that the asked window of an output exceeds the frame
// cap once it is written as JSON.
func OutputResultTooLarge(itemID, outputRef string) *Error {
	e := NewError(ErrorKindOutputResultTooLarge, "the output does not fit a frame, ask for less")
	e.Data.ItemID, e.Data.OutputRef = itemID, outputRef
	return e
}

// Overloaded says that the host takes no more requests for now.
func Overloaded() *Error { return NewError(ErrorKindOverloaded, "the host is overloaded") }

// InputTooLarge refuses a frame above the cap.
func InputTooLarge(limit int64) *Error {
	e := NewError(ErrorKindInputTooLarge, "the frame exceeds %d bytes", limit)
	e.Data.LimitBytes = &limit
	return e
}

// CapabilityRequired refuses a method whose capability was not granted.
func CapabilityRequired(capability CapabilityName) *Error {
	e := NewError(ErrorKindCapabilityRequired, "needs the capability %q", capability)
	e.Data.Capability = capability
	return e
}

// ReasonMissingAnchor is the reason of MissingAnchor.
const ReasonMissingAnchor = "missingAnchor"

// MissingAnchor refuses a cursor that was never issued.
func MissingAnchor(sessionID, cursor string) *Error {
	e := NewError(ErrorKindNotFound, "the cursor %q was never issued", cursor)
	e.Data.SessionID, e.Data.Reason, e.Data.Anchor = sessionID, ReasonMissingAnchor, Some(cursor)
	return e
}

// OutputNotFound refuses an item or output that does not exist.
func OutputNotFound(sessionID, itemID, outputRef string) *Error {
	e := NewError(ErrorKindNotFound, "item %q has no output %q", itemID, outputRef)
	e.Data.SessionID, e.Data.ItemID, e.Data.OutputRef = sessionID, itemID, outputRef
	return e
}

// NotFound refuses a thing that is named and does not exist, where no other kind
// fits.
func NotFound(sessionID, what string) *Error {
	e := NewError(ErrorKindNotFound, "%s", what)
	e.Data.SessionID = sessionID
	return e
}

// Interrupted ends a request whose work was interrupted.
func Interrupted() *Error { return NewError(ErrorKindInterrupted, "interrupted") }

// Cancelled ends a request whose work was cancelled.
func Cancelled() *Error { return NewError(ErrorKindCancelled, "cancelled") }

// ComputerUseUnavailable refuses while computer use is off.
func ComputerUseUnavailable() *Error {
	return NewError(ErrorKindComputerUseUnavailable, "computer use is not available")
}

// SkillNotFound refuses an unknown skill.
func SkillNotFound(selector string) *Error {
	e := NewError(ErrorKindSkillNotFound, "no skill %q", selector)
	e.Data.Selector = selector
	return e
}

// UploadNotFound refuses an upload that this host does not hold.
func UploadNotFound(uploadID string) *Error {
	e := NewError(ErrorKindUploadNotFound, "no upload %q", uploadID)
	e.Data.UploadID = uploadID
	return e
}

// OutputUnavailable says that an output is known and its bytes are not there.
func OutputUnavailable(itemID, outputRef string, availability OutputRefAvailability) *Error {
	e := NewError(ErrorKindOutputUnavailable, "the output cannot be read: %s", availability)
	e.Data.ItemID, e.Data.OutputRef, e.Data.Availability = itemID, outputRef, string(availability)
	return e
}
