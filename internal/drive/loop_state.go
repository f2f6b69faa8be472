package drive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"

	"github.com/openmuse/muse/pkg/muse"
)

// Status of a loop on disk.
const (
	statusRunning = "running" // also: killed while running
	statusPaused  = "paused"  // interrupted, or waiting for a quota: goes on when started again
	statusDone    = "done"
	statusStopped = "stopped" // a limit or a failure ended it: a new start begins anew
)

// Phases of an iteration. Each is on disk before what it names begins.
const (
	phaseAgent = "agent"
	phaseCheck = "check"
	phaseOver  = "over"
)

// loopState is the content of state.json: all a killed loop needs to go on.
// Attempts, time and cost are counted here and never taken from a provider.
type loopState struct {
	Version     int        `json:"schema_version"`
	Workspace   string     `json:"workspace"`
	Prompt      string     `json:"prompt"`
	Until       string     `json:"until,omitempty"`
	UntilSchema string     `json:"until_schema,omitempty"`
	Mode        string     `json:"mode"` // fresh, continue
	Base        string     `json:"base_commit,omitempty"`
	Status      string     `json:"status"`
	Stop        string     `json:"stop,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	Started     time.Time  `json:"started_at"`
	Updated     time.Time  `json:"updated_at"`
	Active      float64    `json:"active_seconds"`
	Cooldown    *time.Time `json:"cooldown_until,omitempty"`
	// Opening is the check's verdict before the first iteration.
	Opening    *CheckResult `json:"opening_check,omitempty"`
	Iterations []Iteration  `json:"iterations"`
}

// Iteration is one attempt of a loop.
type Iteration struct {
	N       int       `json:"n"`
	Phase   string    `json:"phase"`
	Dir     string    `json:"dir"` // artifacts
	Started time.Time `json:"started_at"`
	Ended   time.Time `json:"ended_at,omitzero"`

	Process  *muse.Started `json:"process,omitempty"` // while one may be running
	Worktree string        `json:"worktree,omitempty"`
	Patch    string        `json:"patch,omitempty"`

	Class     muse.Class            `json:"class,omitempty"`
	Failure   *muse.Failure         `json:"failure,omitempty"`
	SessionID string                `json:"session_id,omitempty"`
	Reply     string                `json:"reply,omitempty"`
	Usage     muse.Usage            `json:"usage"`
	ByModel   map[string]muse.Usage `json:"usage_by_model,omitempty"`
	CostUSD   *float64              `json:"cost_usd"`
	Quota     *muse.QuotaFacts      `json:"quota,omitempty"`
	ToolCalls int                   `json:"tool_calls"`

	Check      *CheckResult `json:"check,omitempty"`
	WorkDigest string       `json:"work_digest,omitempty"`
	Transcript []string     `json:"transcripts,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
}

// counts reports whether the iteration says something about progress: an
// attempt that was cut off, or that had no model to work with, does not.
func (it *Iteration) counts() bool {
	switch {
	case it.Phase != phaseOver, it.Check == nil, it.WorkDigest == "":
		return false
	case it.Class == muse.ClassInterrupted, it.Class == muse.ClassTerminated, it.Class == muse.ClassTimedOut:
		return false
	}
	return it.Failure == nil || !it.Failure.Transient
}

// loopStore is the directory of one loop: lock, numbered states.
type loopStore struct {
	root string // of all runs of this loop
	dir  string // of the current one
	lock *flock.Flock
	now  func() time.Time
	mark time.Time // since when active time is not counted yet
}

// LoopKey names a loop by what it is about, so that the same command line goes
// on with what a killed one left.
func LoopKey(workspace, prompt, until, schema, mode string) string {
	h := sha256.New()
	for _, part := range []string{workspace, prompt, until, schema, mode} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// ErrLoopBusy reports that the same loop is running already.
var ErrLoopBusy = errors.New("the same loop is already running")

// openLoop takes the loop's lock and loads what an earlier process left; nil
// when there is nothing to go on with.
func openLoop(root string, restart bool, now func() time.Time) (*loopStore, *loopState, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, nil, fmt.Errorf("open loop state: %w", err)
	}
	s := &loopStore{root: root, lock: flock.New(filepath.Join(root, "lock"), flock.SetPermissions(0o600)), now: now, mark: now()}
	mine, err := s.lock.TryLock()
	if err != nil {
		return nil, nil, fmt.Errorf("lock loop state: %w", err)
	}
	if !mine {
		return nil, nil, fmt.Errorf("%w (state in %s)", ErrLoopBusy, root)
	}
	last, err := s.last()
	if err != nil {
		return nil, nil, errors.Join(err, s.close())
	}
	if last > 0 && !restart {
		s.dir = s.numbered(last)
		st, err := s.load()
		if err != nil {
			return nil, nil, errors.Join(err, s.close())
		}
		if st != nil && (st.Status == statusRunning || st.Status == statusPaused) {
			return s, st, nil
		}
	}
	s.dir = s.numbered(last + 1)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open loop state: %w", err), s.close())
	}
	return s, nil, nil
}

func (s *loopStore) numbered(n int) string { return filepath.Join(s.root, fmt.Sprintf("%03d", n)) }

func (s *loopStore) last() (int, error) {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return 0, fmt.Errorf("open loop state: %w", err)
	}
	last := 0
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() {
			last = max(last, n)
		}
	}
	return last, nil
}

func (s *loopStore) load() (*loopState, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, "state.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // killed before its first save: nothing had happened
	}
	if err != nil {
		return nil, fmt.Errorf("read loop state: %w", err)
	}
	var st loopState
	if err := json.Unmarshal(data, &st); err != nil {
		return nil, fmt.Errorf("read loop state %s: %w", s.dir, err)
	}
	if st.Version != 1 {
		return nil, fmt.Errorf("loop state %s has schema_version %d, known is 1", s.dir, st.Version)
	}
	return &st, nil
}

// save counts the active time and writes the state.
func (s *loopStore) save(st *loopState) error {
	now := s.now()
	st.Active += max(0, now.Sub(s.mark).Seconds())
	s.mark, st.Updated = now, now
	if err := writeJSON(filepath.Join(s.dir, "state.json"), st); err != nil {
		return fmt.Errorf("save loop state: %w", err)
	}
	return nil
}

func (s *loopStore) close() error { return s.lock.Close() }

func (s *loopStore) iterationDir(n int) string {
	return filepath.Join(s.dir, "iterations", fmt.Sprintf("%03d", n))
}

// cost sums what is known; ok is false when an attempt's cost is not.
func (st *loopState) cost() (total float64, ok bool) {
	ok = true
	for _, it := range st.Iterations {
		switch {
		case it.CostUSD != nil:
			total += *it.CostUSD
		case it.Phase != phaseAgent:
			ok = false
		}
	}
	return total, ok
}

func (st *loopState) usage() (sum muse.Usage) {
	for _, it := range st.Iterations {
		sum.Add(it.Usage)
	}
	return sum
}

// sameAs returns the earlier iterations that ended with the same work and the
// same failure as the last one, oldest first.
func (st *loopState) sameAs(last *Iteration) []int {
	var same []int
	for i := range st.Iterations {
		it := &st.Iterations[i]
		if it.N != last.N && it.counts() && it.WorkDigest == last.WorkDigest && it.failureDigest() == last.failureDigest() {
			same = append(same, it.N)
		}
	}
	slices.Sort(same)
	return same
}

// failureDigest tells failures apart by what they say, numbers left out:
// durations, addresses and counts differ between two runs of one failure.
func (it *Iteration) failureDigest() string {
	parts, digest := []string{string(it.Class)}, ""
	if it.Failure != nil {
		parts = append(parts, it.Failure.Reason)
	}
	if it.Check != nil {
		parts = append(parts, it.Check.Schema)
		digest = fmt.Sprint(it.Check.ExitCode, it.Check.TimedOut, it.Check.Digest)
	}
	return withoutNumbers(strings.Join(parts, "\x00")) + digest
}

func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}
