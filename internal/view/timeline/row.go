package timeline

import "time"

// TurnType is who or what a row is of.
type TurnType string

// The turn types (seed 000, coverage table).
const (
	User         TurnType = "user"
	AssistantRow TurnType = "assistant"
	ThinkingRow  TurnType = "thinking"
	ToolUse      TurnType = "tool_use"
	ToolOutput   TurnType = "tool_result"
	System       TurnType = "system"
)

// TurnTypes lists all turn types.
var TurnTypes = []TurnType{User, AssistantRow, ThinkingRow, ToolUse, ToolOutput, System}

// Columns names the columns of the table in their order (seed 000, Columns).
var Columns = []string{
	"timestamp_utc", "session_id", "project_path", "git_branch", "turn_type",
	"model", "tool_name", "tool_use_id", "text", "source_line",
}

// SourceColumns are appended to Columns when asked for: where the line is.
var SourceColumns = []string{"source_file", "source_offset"}

// Row is one line of the table. Text and Raw share memory with the reader; who
// keeps a row calls [Row.Clone].
type Row struct {
	At      int64 // µs since the epoch
	Timed   bool  // false leaves timestamp_utc empty
	Session string
	Project string
	Branch  string
	Type    TurnType
	Model   string
	Tool    string
	CallID  string
	Text    Text
	Line    int64 // of the outer line in its file, from 1

	File   string // the file as it was found
	Offset int64  // of the line in it

	// Kind and Raw are for views that show more than the table: the
	// arguments of a call, the whole value of a result, an approval's fields.
	Kind Kind
	Raw  []byte
}

// Clone copies what the row shares.
func (r *Row) Clone() Row {
	c := *r
	c.Text = r.Text.clone()
	if r.Raw != nil {
		c.Raw = append(make([]byte, 0, len(r.Raw)), r.Raw...)
	}
	return c
}

// The times that can be written: the years 1 to 9999.
const (
	minTime = -62135596800_000000
	maxTime = 253402300799_999999
)

// AppendTime appends the form of timestamp_utc: RFC 3339 in UTC with
// milliseconds, the rest cut off (seed 000, Record schema: recorded_at).
func AppendTime(dst []byte, micros int64) []byte {
	return time.UnixMicro(micros).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

// Timestamp is timestamp_utc as a string, empty for a row without a time.
func (r *Row) Timestamp() string {
	if !r.Timed {
		return ""
	}
	return string(AppendTime(nil, r.At))
}
