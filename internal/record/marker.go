package record

import "strconv"

// OmittedLiveOnly is the retained_marker name of every marker seen.
const OmittedLiveOnly = "omitted_live_only"

// Marker is a line that keeps the numbering whole where a live-only record,
// such as streamed tool output, was shown but not kept. It has no content and
// no time (seed 000, Line kinds).
type Marker struct {
	Name          string // retained_marker
	SchemaVersion int
	Stream        Stream
	ID            string // position.id: the id of the record that was not kept
	Sequence      int64  // position.sequence
	Omitted       Omitted
}

// Omitted is what a marker says of the record it stands for.
type Omitted struct {
	RecordType           string // "status"
	Durability           string // "ephemeral"
	PayloadType          string
	PayloadSchemaVersion int
	PayloadKind          string // "task"
	OmissionClass        string // "task_tool_delta_v1"
}

// TaskToolDelta is the record that markers stand for in every log seen: a
// piece of a tool's output on its way.
func TaskToolDelta() Omitted {
	return Omitted{
		RecordType: TypeStatus, Durability: Ephemeral, PayloadType: "runtime.session",
		PayloadSchemaVersion: 1, PayloadKind: "task", OmissionClass: "task_tool_delta_v1",
	}
}

// Append appends the marker as one line, without the line feed.
func (m *Marker) Append(dst []byte) []byte {
	dst = append(dst, `{"retained_marker":`...)
	dst = appendString(dst, m.Name)
	dst = append(dst, `,"schema_version":`...)
	dst = strconv.AppendInt(dst, int64(m.SchemaVersion), 10)
	dst = append(dst, `,"stream":`...)
	dst = m.Stream.append(dst)
	dst = append(dst, `,"position":{"id":`...)
	dst = appendString(dst, m.ID)
	dst = append(dst, `,"sequence":`...)
	dst = strconv.AppendInt(dst, m.Sequence, 10)
	dst = append(dst, `},"omitted_record":{"record_type":`...)
	dst = appendString(dst, m.Omitted.RecordType)
	dst = append(dst, `,"durability":`...)
	dst = appendString(dst, m.Omitted.Durability)
	dst = append(dst, `,"payload_type":`...)
	dst = appendString(dst, m.Omitted.PayloadType)
	dst = append(dst, `,"payload_schema_version":`...)
	dst = strconv.AppendInt(dst, int64(m.Omitted.PayloadSchemaVersion), 10)
	dst = append(dst, `,"payload_kind":`...)
	dst = appendString(dst, m.Omitted.PayloadKind)
	dst = append(dst, `,"omission_class":`...)
	dst = appendString(dst, m.Omitted.OmissionClass)
	return append(dst, "}}"...)
}
