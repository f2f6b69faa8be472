package event

// CompactionCandidate is a finished attempt to make the conversation shorter
// (STREAM.md (b), Compaction).
type CompactionCandidate struct {
	runEvent
	BudgetBefore PromptBudget       `json:"budget_before"`
	CandidateID  string             `json:"candidate_id"`
	Diagnostics  []Diagnostic       `json:"diagnostics"`
	BudgetAfter  PromptBudget       `json:"estimated_budget_after"`
	Preserved    SegmentHint        `json:"preserved_segment_hint"`
	Replacement  Replacement        `json:"replacement"`
	StartedAt    Cursor             `json:"started_at_cursor"`
	Status       string             `json:"status"` // "succeeded", "rejected"
	Strategy     CompactionStrategy `json:"strategy"`
	Through      Cursor             `json:"summarized_through_cursor"`
	SupersededBy *string            `json:"superseded_by"`
	Timing       string             `json:"timing"`  // "pre_turn"
	Trigger      string             `json:"trigger"` // "hard_threshold_blocking", "soft_threshold_async"
}

// CompactionInstalled puts a candidate in force: from here on everything up to
// Through is replaced by the summary, except the user's own messages.
type CompactionInstalled struct {
	runEvent
	BudgetAfter  PromptBudget `json:"budget_after"`
	BudgetBefore PromptBudget `json:"budget_before"`
	CandidateID  string       `json:"candidate_id"`
	// KeptUserBytes bounds how much of the person's own words stays in the
	// prompt beside the summary; 0 is the bound of logs that do not say.
	KeptUserBytes int64            `json:"kept_user_bytes,omitzero"`
	InstallID     string           `json:"install_id"`
	Preserved     PreservedSegment `json:"preserved_segment"`
	Cache         CacheBoundary    `json:"prompt_cache_boundary"`
	Replacement   Replacement      `json:"replacement"`
	StrategyID    string           `json:"strategy_id"`
	Through       Cursor           `json:"summarized_through"`
	Timing        string           `json:"timing"`
	Trigger       string           `json:"trigger"`
}

// CompactionFallback says that a compaction failed and what was done instead.
type CompactionFallback struct {
	runEvent
	CanContinue bool   `json:"can_continue"`
	FallbackID  string `json:"fallback_id"`
	Reason      string `json:"reason"`
	Severity    string `json:"severity"` // "warning", "error"
}

// CompactionStarted says that a compaction began which a person asked for, or
// one that takes long enough to be shown. Exactly one CompactionSettled
// follows, also when the process did not live to finish.
type CompactionStarted struct {
	runEvent
	CommandID    string `json:"command_id,omitzero"` // of the person's command
	CompactionID string `json:"compaction_id"`
	Trigger      string `json:"trigger"` // "manual" or "auto"
}

// CompactionSettled is how that compaction ended. A compaction that was
// installed names its install; the numbers and the boundary are there.
type CompactionSettled struct {
	runEvent
	CompactionID string `json:"compaction_id"`
	InstallID    string `json:"install_id,omitzero"`
	Outcome      string `json:"outcome"` // "compacted", "noop", "failed", "cancelled"
	Reason       string `json:"reason,omitzero"`
}

// ResultsCleared replaces the texts of old tool results by a pointer to the
// files that hold them.
type ResultsCleared struct {
	runEvent
	Cleared []ClearedResult `json:"cleared"`
}

// ClearedResult is one result moved to a file.
type ClearedResult struct {
	CallID string `json:"tool_call_id"`
	Path   string `json:"path"` // relative to the session directory
	Bytes  int64  `json:"byte_len"`
	Text   string `json:"text"` // what the model reads instead
}

// CompactionStrategy is how a compaction works and its thresholds in tokens.
type CompactionStrategy struct {
	Fingerprint string `json:"config_fingerprint"`
	Hard        int64  `json:"hard_threshold_tokens"`
	Soft        int64  `json:"soft_threshold_tokens"`
	Family      string `json:"strategy_family"`
	ID          string `json:"strategy_id"`
	Target      int64  `json:"target_budget_tokens"`
}

// PromptBudget is an estimate of the prompt's size.
type PromptBudget struct {
	Source    string `json:"estimate_source"` // "heuristic_estimate", "provider_usage"
	Tokens    int64  `json:"estimated_prompt_tokens"`
	TargetMet bool   `json:"target_met"`
}

// Cursor is a place in the log.
type Cursor struct {
	Sequence int64 `json:"sequence"`
}

// SegmentHint is the part of the log that stays in the prompt.
type SegmentHint struct {
	Head int64 `json:"head_sequence"`
	Tail int64 `json:"tail_sequence"`
}

// PreservedSegment is the part of the log that stays in the prompt.
type PreservedSegment struct {
	Widened  bool   `json:"boundary_widened"`
	Head     int64  `json:"head_sequence"`
	Interval string `json:"interval"`
	Tail     int64  `json:"tail_sequence"`
}

// Replacement is the text that stands for what was summarised.
type Replacement struct {
	Kind string `json:"kind"` // "summary_text"
	Text string `json:"text"`
}

// Diagnostic is a remark on a candidate.
type Diagnostic struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
}

// CacheBoundary is an object of which only the status is known.
type CacheBoundary struct {
	Status string `json:"status"`
}
