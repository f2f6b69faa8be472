package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// PermissionTransaction is the retained_frame name of every frame seen: the
// session's starting permission profile on line 1 of a log, later ones when it
// changes (seed 000, Line kinds).
const PermissionTransaction = "session_permission_transaction"

// Frame is a line that holds whole envelopes which stand or fall together. Its
// children take part in the log's numbering; the frame itself does not.
type Frame struct {
	Name          string // retained_frame
	SchemaVersion int    // frame_schema_version
	Ordinal       int64  // outer_log_ordinal: the frame's own line number, from 1
	TransactionID string
	Children      []FrameChild
	ContentSHA256 string // "sha256:" and 64 hex digits, see [Frame.Digest]
}

// FrameChild is one envelope of a frame as it was written.
type FrameChild struct {
	Index      int    // child_index, from 0
	RecordJSON string // record_json: the envelope's line
}

// Envelope decodes the child.
func (c FrameChild) Envelope() (*Envelope, error) {
	line, err := ParseLine([]byte(c.RecordJSON))
	if err != nil {
		return nil, fmt.Errorf("decode frame child %d: %w", c.Index, err)
	}
	if line.Kind != KindEnvelope {
		return nil, fmt.Errorf("decode frame child %d: it is no envelope", c.Index)
	}
	return line.Envelope, nil
}

// NewPermissionFrame wraps children, which are complete envelopes in log
// order, into a frame for line number ordinal of the log.
func NewPermissionFrame(children []Envelope, ordinal int64, txid string) *Frame {
	f := &Frame{Name: PermissionTransaction, SchemaVersion: 1, Ordinal: ordinal, TransactionID: txid}
	for i := range children {
		f.Children = append(f.Children, FrameChild{Index: i, RecordJSON: string(children[i].Append(nil))})
	}
	f.ContentSHA256 = f.Digest()
	return f
}

// Digest is the content_sha256 of the children: SHA-256 over each child's
// record_json text (the decoded string, so exactly the bytes of the envelope's
// own line) followed by one line feed, in order. It is the hash of the part of
// a log the children would be if they stood there as plain lines.
func (f *Frame) Digest() string {
	h := sha256.New()
	for _, c := range f.Children {
		h.Write([]byte(c.RecordJSON))
		h.Write([]byte{'\n'})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Append appends the frame as one line, without the line feed.
func (f *Frame) Append(dst []byte) []byte {
	dst = append(dst, `{"retained_frame":`...)
	dst = appendString(dst, f.Name)
	dst = append(dst, `,"frame_schema_version":`...)
	dst = strconv.AppendInt(dst, int64(f.SchemaVersion), 10)
	dst = append(dst, `,"outer_log_ordinal":`...)
	dst = strconv.AppendInt(dst, f.Ordinal, 10)
	dst = append(dst, `,"transaction_id":`...)
	dst = appendString(dst, f.TransactionID)
	dst = append(dst, `,"children":[`...)
	for i, c := range f.Children {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"child_index":`...)
		dst = strconv.AppendInt(dst, int64(c.Index), 10)
		dst = append(dst, `,"record_json":`...)
		dst = appendString(dst, c.RecordJSON)
		dst = append(dst, '}')
	}
	dst = append(dst, `],"content_sha256":`...)
	dst = appendString(dst, f.ContentSHA256)
	return append(dst, '}')
}
