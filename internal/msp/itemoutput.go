package msp

// ItemReadOutputParams is what item/readOutput takes.
type ItemReadOutputParams struct {
	SessionID   string `json:"sessionId"`
	ItemID      string `json:"itemId"`
	OutputRef   string `json:"outputRef"`
	LengthBytes *int64 `json:"lengthBytes,omitzero"` // 6 MiB when absent and at most
	OffsetBytes *int64 `json:"offsetBytes,omitzero"` // 0 when absent; not inside a character
}

// ItemReadOutputResult is what item/readOutput answers.
type ItemReadOutputResult struct {
	ByteLen     int64                  `json:"byteLen"` // stored bytes in Content; the next window begins after them
	Content     string                 `json:"content"` // in Encoding
	Encoding    ItemReadOutputEncoding `json:"encoding"`
	Eof         bool                   `json:"eof"`
	MediaType   string                 `json:"mediaType"`
	OffsetBytes int64                  `json:"offsetBytes"`
}

// MessageAttachment describes media that came with a message.
type MessageAttachment struct {
	MediaType    string `json:"mediaType"`
	Type         string `json:"type"`
	AttachmentID string `json:"attachmentId,omitzero"`
	Height       *int64 `json:"height,omitzero"`
	Width        *int64 `json:"width,omitzero"`
}

// ModelVisibleContent describes media that a tool showed to the model.
type ModelVisibleContent struct {
	MediaType      string `json:"mediaType"`
	Path           string `json:"path"`
	SourceToolName string `json:"sourceToolName"`
	Type           string `json:"type"`
	Height         *int64 `json:"height,omitzero"`
	Width          *int64 `json:"width,omitzero"`
}

// OutputRef names output too large for the item.
type OutputRef struct {
	Kind         string                `json:"kind"`
	Availability OutputRefAvailability `json:"availability"`
	ByteLen      int64                 `json:"byteLen"`
	ID           string                `json:"id"`
	URI          string                `json:"uri"`
	Digest       string                `json:"digest,omitzero"` // sha256:...
	MediaType    string                `json:"mediaType,omitzero"`
	Path         string                `json:"path,omitzero"`
}

// PatchSummary counts what a patch changes.
type PatchSummary struct {
	Added   int64 `json:"added"`
	Files   int64 `json:"files"`
	Removed int64 `json:"removed"`
}

// ItemReadOutputEncoding is how bytes of an output are written in JSON.
type ItemReadOutputEncoding string

// The values of ItemReadOutputEncoding.
const (
	ItemReadOutputEncodingUtf8   ItemReadOutputEncoding = "utf8"
	ItemReadOutputEncodingBase64 ItemReadOutputEncoding = "base64"
)

func (ItemReadOutputEncoding) values() enumeration {
	return closedValues(ItemReadOutputEncodingUtf8, ItemReadOutputEncodingBase64)
}

// OutputRefAvailability says whether stored output can still be read.
type OutputRefAvailability string

// The values of OutputRefAvailability; clients must bear others.
const (
	OutputRefAvailabilityAvailable    OutputRefAvailability = "available"
	OutputRefAvailabilityMissing      OutputRefAvailability = "missing"
	OutputRefAvailabilityUnsupported  OutputRefAvailability = "unsupported"
	OutputRefAvailabilityAccessFailed OutputRefAvailability = "accessFailed"
)

func (OutputRefAvailability) values() enumeration {
	return openValues(
		OutputRefAvailabilityAvailable, OutputRefAvailabilityMissing, OutputRefAvailabilityUnsupported,
		OutputRefAvailabilityAccessFailed,
	)
}
