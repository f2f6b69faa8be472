package event

// SessionForked is the first fact of a session that goes on from a copy of
// another one (CLI.md 1.7, session.fork.created). CutCursor is the source's
// view cursor at the cut, CutSequence the last copied record.
type SessionForked struct {
	sessionFact
	CommandID       string `json:"command_id"`
	CutCursor       string `json:"cut_cursor"`
	CutExplicit     bool   `json:"cut_explicit"`
	CutSequence     int64  `json:"cut_sequence"`
	LastTurnID      string `json:"last_turn_id,omitzero"`
	SourceSessionID string `json:"source_session_id"`
}

// SideStarted is the first fact of a side session: it knows what its parent
// knew at the cut and changes nothing there.
type SideStarted struct {
	sessionFact
	CommandID       string `json:"command_id"`
	CutCursor       string `json:"cut_cursor"`
	CutSequence     int64  `json:"cut_sequence"`
	SourceSessionID string `json:"source_session_id"`
}

// SideOpened tells the parent of a side session about it.
type SideOpened struct {
	sessionFact
	CommandID     string `json:"command_id"`
	SideSessionID string `json:"side_session_id"`
}

// SessionRewound takes whole turns out of the conversation, newest last.
// Sequence is the last record that stays in force; the records after it stay
// in the log.
type SessionRewound struct {
	sessionFact
	CommandID string   `json:"command_id"`
	Sequence  int64    `json:"through_sequence"`
	Turns     []string `json:"turn_ids"`
}

// FileSnapshot keeps the state of a file before a tool changed it. The content
// is under the session directory, named by its digest.
type FileSnapshot struct {
	runEvent
	Bytes   int64  `json:"byte_len"`
	CallID  string `json:"call_id"`
	Digest  string `json:"digest,omitzero"` // "sha256:" and hex; "" when nothing was kept
	Existed bool   `json:"existed"`
	Mode    int64  `json:"mode,omitzero"`    // permission bits
	Omitted string `json:"omitted,omitzero"` // why nothing was kept: "too_large", "limit", "not_regular"
	Path    string `json:"path"`             // absolute
}

// FilesRestored says which files a rewind put back.
type FilesRestored struct {
	sessionFact
	CommandID string         `json:"command_id"`
	Files     []RestoredFile `json:"files"`
}

// RestoredFile is one file that was put back, or why it was not.
type RestoredFile struct {
	Outcome string `json:"outcome"` // "restored", "removed", "skipped", "failed"
	Path    string `json:"path"`
	Reason  string `json:"reason,omitzero"`
}
