package drive

import (
	"slices"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// Classes that a turn adds to those of a run.
const (
	// ClassStrandedWait: the reply still ended by waiting when the wait
	// guard's budget was spent.
	ClassStrandedWait muse.Class = "stranded_wait"
	// ClassRefused: policy did not let the run start.
	ClassRefused muse.Class = "refused"
)

// Model is what a turn asked for and what it got.
type Model struct {
	Requested string              `json:"requested"` // empty: left to the binary
	Via       string              `json:"via,omitempty"`
	Effort    string              `json:"effort"` // empty: left to the binary, whose default is not visible
	Actual    *muse.ModelIdentity `json:"actual"`
}

// Attempt is one run of a turn.
type Attempt struct {
	Kind      string           `json:"kind"` // first, retry, wait_continuation, interrupt_continuation
	SessionID string           `json:"session_id"`
	Argv      []string         `json:"argv"`
	Env       []string         `json:"env_set"`
	Skipped   []string         `json:"flags_replaced,omitempty"` // profile flags that pass-through arguments replaced
	Class     muse.Class       `json:"class"`
	Exit      muse.Exit        `json:"exit"`
	Failure   *muse.Failure    `json:"failure,omitempty"`
	Started   time.Time        `json:"started_at"`
	Ended     time.Time        `json:"ended_at"`
	Usage     muse.LogUsage    `json:"usage"`
	Quota     *muse.QuotaFacts `json:"quota,omitempty"`
	Stream    string           `json:"stream,omitempty"` // file in the artifacts directory
	Records   int64            `json:"records"`
	Health    muse.Health      `json:"last_observation"`
	Leftover  int              `json:"leftover_processes"`
}

// WaitFiring is one firing of the wait guard.
type WaitFiring struct {
	At           time.Time `json:"at"`
	SessionID    string    `json:"session_id"`
	Signal       string    `json:"signal"` // the words that claimed to wait
	Tail         string    `json:"reply_tail"`
	Continuation int       `json:"continuation"` // 0 when none was left
	Budget       int       `json:"budget"`
	Action       string    `json:"action"` // continue, fail
}

// Result is the record of one turn: the body of `muse drive --json`.
type Result struct {
	Type    string `json:"type"` // "muse.drive.result"
	Version int    `json:"schema_version"`

	OK      bool          `json:"ok"`
	Class   muse.Class    `json:"class"`
	Failure *muse.Failure `json:"failure"`
	Exit    muse.Exit     `json:"exit"` // of the last run

	Reply       string           `json:"reply"`
	ReplySource muse.ReplySource `json:"reply_source"`
	Terminal    string           `json:"terminal"`
	Settled     *bool            `json:"settled"`

	SessionID  string   `json:"session_id"` // of the last run
	SessionLog string   `json:"session_log"`
	RunIDs     []string `json:"run_ids"`
	Model      Model    `json:"model"`

	Usage    muse.Usage            `json:"usage"` // of all runs, children included
	ByModel  map[string]muse.Usage `json:"usage_by_model"`
	CostUSD  *float64              `json:"cost_usd"` // null when a model's price is not known
	Quota    *muse.QuotaFacts      `json:"quota"`    // null when nothing spoke of a limit
	Tools    ToolCounts            `json:"tool_calls"`
	Attempts []Attempt             `json:"attempts"`

	Advisories  []string          `json:"advisories"`
	Diagnostics []muse.Diagnostic `json:"diagnostics"`
	Artifacts   string            `json:"artifacts"`
	Started     time.Time         `json:"started_at"`
	Ended       time.Time         `json:"ended_at"`

	usageUnknown bool
}

// ToolCounts sum the tool calls of a turn.
type ToolCounts struct {
	Total    int `json:"total"`
	Failures int `json:"failures"`
}

// ExitCode is what `muse drive` exits with for this result: the driven
// process's own code where it has a documented meaning.
func (r *Result) ExitCode() int {
	switch r.Class {
	case muse.ClassCompleted:
		return muse.ExitCompleted
	case muse.ClassUsage:
		return muse.ExitUsage
	case muse.ClassInterrupted:
		return muse.ExitInterrupt
	case muse.ClassTerminated:
		return muse.ExitTerminated
	default:
		return muse.ExitFailed
	}
}

// RunMetadata is the content of run_metadata.json.
type RunMetadata struct {
	Version   int        `json:"schema_version"`
	Runtime   string     `json:"runtime"` // "muse"
	Driver    string     `json:"driver"`  // this program's release
	Binary    BinaryInfo `json:"binary"`
	Profile   string     `json:"profile"`
	Sandbox   string     `json:"sandbox"` // on, off, or profile
	Workspace string     `json:"workspace"`
	// The model that was really configured, and the session of the last run.
	ModelID    string  `json:"model_id"`
	ProviderID string  `json:"provider_id"`
	SessionID  string  `json:"session_id"`
	Result     *Result `json:"result"`
}

// BinaryInfo is what was driven.
type BinaryInfo struct {
	Path    string `json:"path"`
	Found   string `json:"found_by"`
	Banner  string `json:"banner"`         // raw
	Level   string `json:"contract_level"` // normalized; empty when the banner has another form
	Release string `json:"release"`
	Product string `json:"product"`
	// Digest is the SHA-256 of the binary, where evidence is asked for (direct
	// profile, doctor).
	Digest string `json:"sha256,omitempty"`
}

func (r *Result) addUsage(u muse.LogUsage, records int64) {
	r.Usage.Add(u.Total)
	r.Usage.Add(u.Children)
	for model, usage := range u.ByModel {
		sum := r.ByModel[model]
		sum.Add(usage)
		r.ByModel[model] = sum
	}
	if u.Log != "" {
		r.SessionLog = u.Log
	} else if records > 0 {
		r.usageUnknown = true
	}
}

// price sets the cost. It stays unknown as soon as a log is missing or one
// model's price is not known: unknown is not free.
func (r *Result) price(custom *muse.Price) {
	r.CostUSD = nil
	if r.usageUnknown {
		return
	}
	total := 0.0
	for model, u := range r.ByModel {
		if model == "" && r.Model.Actual != nil {
			model = r.Model.Actual.ModelID
		}
		cost, ok := muse.Cost(model, u)
		if custom != nil {
			cost, ok = custom.Of(u), true
		}
		if !ok {
			return
		}
		total += cost
	}
	r.CostUSD = &total
}

func (r *Result) advise(text string) bool {
	if text == "" || slices.Contains(r.Advisories, text) {
		return false
	}
	r.Advisories = append(r.Advisories, text)
	return true
}
