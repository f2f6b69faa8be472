package muse

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Phase is the health of a running process as an observer sees it.
type Phase string

// Phases.
const (
	// PhaseStarting: the process runs, no run of it has started. Only the
	// process itself vouches for it.
	PhaseStarting Phase = "starting"
	PhaseActive   Phase = "active"
	PhaseQuiet    Phase = "quiet"
	PhaseStalled  Phase = "stalled"
	PhaseEnded    Phase = "ended"
)

// WatchOptions are the thresholds of a [Watch].
type WatchOptions struct {
	QuietAfter time.Duration // 0: 2 minutes
	StallAfter time.Duration // 0: 15 minutes, above the shell tool's 10
	// NoProgressAfter, when set, also calls a run stalled that is active but
	// has completed no step for so long.
	NoProgressAfter time.Duration
	// Scale multiplies the thresholds, fractions included: a high effort
	// thinks longer in silence. 0 means 1.
	Scale float64
	// Interval is how often the run is observed. 0: a quarter of QuietAfter
	// after scaling, at least a second. A longer gap between two observations
	// (a suspended machine) is not held against the run.
	Interval time.Duration
}

func (o WatchOptions) withDefaults() WatchOptions {
	if o.QuietAfter <= 0 {
		o.QuietAfter = 2 * time.Minute
	}
	if o.StallAfter <= 0 {
		o.StallAfter = 15 * time.Minute
	}
	if o.Scale <= 0 {
		o.Scale = 1
	}
	scale := func(d time.Duration) time.Duration { return time.Duration(float64(d) * o.Scale) }
	o.QuietAfter, o.StallAfter, o.NoProgressAfter = scale(o.QuietAfter), scale(o.StallAfter), scale(o.NoProgressAfter)
	if o.Interval <= 0 {
		o.Interval = max(o.QuietAfter/4, time.Second)
	}
	o.Scale = 1
	return o
}

// Health is one observation. In JSON its durations are seconds.
type Health struct {
	Phase Phase     `json:"phase"`
	At    time.Time `json:"at"`
	// Idle is the observed time since the last activity, SinceProgress since
	// the last completed step. Unobserved stretches are not counted.
	Idle          time.Duration `json:"-"`
	SinceProgress time.Duration `json:"-"`
	// Unobserved is the total time nobody looked.
	Unobserved time.Duration `json:"-"`
	Progress   int64         `json:"completed_steps"`
}

// MarshalJSON writes the durations as seconds.
func (h Health) MarshalJSON() ([]byte, error) {
	type plain Health // without this method
	return json.Marshal(struct {
		plain
		Idle          float64 `json:"idle_seconds"`
		SinceProgress float64 `json:"since_progress_seconds"`
		Unobserved    float64 `json:"unobserved_seconds"`
	}{plain(h), h.Idle.Seconds(), h.SinceProgress.Seconds(), h.Unobserved.Seconds()})
}

// Watch keeps three clocks apart (seed 002): activity, which any record of the
// bound run refreshes; progress, which only a completed tool call or model
// call or the terminal of that run does; and observation, which is when
// somebody last looked. Records without a run id, of other runs or sessions,
// and the configured-model record refresh no progress. It is not safe for
// concurrent use.
type Watch struct {
	opts       WatchOptions
	run        string
	started    time.Time
	activity   time.Time
	progress   time.Time
	observed   time.Time
	unobserved time.Duration
	steps      int64
	ended      bool
	kinds      map[string]string // open tasks: id → kind
	// Unobserved time since the last activity and progress.
	blindActivity, blindProgress time.Duration
}

// NewWatch starts the clocks.
func NewWatch(start time.Time, opts WatchOptions) *Watch {
	return &Watch{
		opts: opts.withDefaults(), started: start, activity: start, progress: start, observed: start,
		kinds: map[string]string{},
	}
}

// Interval is how often Observe should be called.
func (w *Watch) Interval() time.Duration { return w.opts.Interval }

// Record takes one event.
func (w *Watch) Record(e *Event, at time.Time) {
	if _, ok := e.Payload.(*RunStarted); ok && (w.run == "" || w.ended) {
		w.run, w.ended = e.RunKey(), false
		w.touch(at)
		return
	}
	key := e.RunKey()
	if w.run == "" || key == "" || key != w.run {
		return // before the binding, only the process vouches for itself
	}
	w.touch(at)
	switch p := e.Payload.(type) {
	case *TaskEvent:
		switch p.Kind {
		case "proposed":
			if len(w.kinds) < maxPending {
				w.kinds[p.TaskID] = p.TaskKind
			}
		case "completed":
			if kind := w.kinds[p.TaskID]; strings.HasPrefix(kind, toolTaskPrefix) || strings.HasPrefix(kind, modelTaskPrefix) {
				w.step(at)
			}
			delete(w.kinds, p.TaskID)
		case "failed", "rejected", "cancelled":
			delete(w.kinds, p.TaskID)
		}
	case *ToolResult:
		w.step(at)
	case *Terminal:
		w.step(at)
		w.ended = true
	}
}

func (w *Watch) touch(at time.Time) { w.activity, w.blindActivity = at, 0 }

func (w *Watch) step(at time.Time) {
	w.progress, w.blindProgress = at, 0
	w.steps++
}

// Observe looks at the clocks.
func (w *Watch) Observe(at time.Time) Health {
	if gap := at.Sub(w.observed) - 2*w.opts.Interval; gap > 0 {
		w.unobserved += gap
		w.blindActivity += min(gap, max(0, at.Sub(w.activity)))
		w.blindProgress += min(gap, max(0, at.Sub(w.progress)))
	}
	w.observed = at
	h := Health{
		At: at, Idle: max(0, at.Sub(w.activity)-w.blindActivity), SinceProgress: max(0, at.Sub(w.progress)-w.blindProgress),
		Unobserved: w.unobserved, Progress: w.steps,
	}
	switch {
	case w.ended:
		h.Phase = PhaseEnded
	case h.Idle >= w.opts.StallAfter, w.opts.NoProgressAfter > 0 && h.SinceProgress >= w.opts.NoProgressAfter:
		h.Phase = PhaseStalled
	case h.Idle >= w.opts.QuietAfter:
		h.Phase = PhaseQuiet
	case w.run == "":
		h.Phase = PhaseStarting
	default:
		h.Phase = PhaseActive
	}
	return h
}
