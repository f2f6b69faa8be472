package event

// OutputDelta is a fragment of answer text as it arrives. The committed
// message carries the whole text under the same MessageID, if the reply comes
// to its end.
type OutputDelta struct {
	liveOnly
	MessageID string
	Offset    int64 // bytes of the message before this fragment
	Text      string
}

// TaskProgress is tool output shown while the tool runs. A marker keeps its
// place in the log; the final output carries the whole.
type TaskProgress struct {
	liveOnly
	TaskID string
	Chunk  string
	Offset int64 // bytes of all chunks before this one
}
