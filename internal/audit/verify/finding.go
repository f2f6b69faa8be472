package verify

import "fmt"

// Severity grades a finding.
type Severity string

// The grades. Info is worth knowing and no finding against a log.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	File     string   `json:"file"`
	Line     int64    `json:"line"`   // from 1; 0 is the file as a whole
	Offset   int64    `json:"offset"` // of the line, in bytes
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
}

// Codes of findings.
const (
	UnreadableLine  = "unreadable_line"  // no JSON value
	IrregularRecord = "irregular_record" // JSON, but not as a writer writes it
	ForeignLine     = "foreign_line"     // JSON, but no record
	BlankLine       = "blank_line"
	TruncatedTail   = "truncated_tail"   // the last line is cut
	SequenceGap     = "sequence_gap"     // numbers are missing
	SequenceRepeat  = "sequence_repeat"  // a number that was there
	DuplicateID     = "duplicate_id"     // a record id that was there
	TimeReversal    = "time_reversal"    // the clock went back
	StreamMismatch  = "stream_mismatch"  // another session's record, or directory
	FrameHash       = "frame_hash"       // content_sha256 does not fit
	FrameOrdinal    = "frame_ordinal"    // outer_log_ordinal is not the line
	Checkpoint      = "checkpoint"       // a checkpoint does not fit the bytes before it
	NotSealed       = "not_sealed"       // one of our logs without its last line
	IndexHash       = "index_hash"       // the line index has another hash
	IndexRange      = "index_range"      // the line index names bytes that are no line
	MissingChild    = "missing_subagent" // a linked subagent log is not there
	OrphanChild     = "orphan_subagent"  // a subagent log that nothing links
	MissingSpill    = "missing_spill"    // a named output file is not there
	SpillMismatch   = "spill_mismatch"   // it has another size or hash
	OrphanSpill     = "orphan_spill"     // an output file that nothing names
	HostilePath     = "hostile_path"     // a path that leads out of the session
	Unreadable      = "unreadable_file"
)

// String is the finding on one line.
func (f Finding) String() string {
	where := f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d (byte %d)", f.File, f.Line, f.Offset)
	}
	return fmt.Sprintf("%s: %s: %s: %s", where, f.Severity, f.Code, f.Message)
}
