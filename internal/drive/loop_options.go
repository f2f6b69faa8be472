package drive

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// Defaults of a loop.
const (
	DefaultIterations   = 10
	DefaultCheckTimeout = 10 * time.Minute
	DefaultNoProgress   = 2
	DefaultMaxCooldown  = 6 * time.Hour
	firstBackoff        = 30 * time.Second
	lastBackoff         = 10 * time.Minute
	exportTimeout       = 2 * time.Minute
)

// Transcript exports of an iteration.
const (
	ExportRaw      = "raw"
	ExportRedacted = "redacted"
	ExportOff      = "off"
)

// LoopOptions describe a loop.
type LoopOptions struct {
	// Turn is the template of every attempt; its Prompt is the request. Its
	// Artifacts, SessionID, Continue and Resume are set by the loop.
	Turn TurnOptions

	Until        string // shell command that passes when the work holds
	UntilSchema  string // JSON Schema file that the answer must fit
	CheckTimeout time.Duration
	CheckFirst   bool // do nothing when the check passes already

	MaxIterations int
	MaxCost       float64       // US dollars; 0: no limit
	MaxTime       time.Duration // active time over all processes; 0: no limit
	MaxCooldown   time.Duration // longest wait for a quota

	Continue bool // one session for all attempts, instead of a fresh one each
	Worktree bool // each attempt in a fresh Git worktree
	// NoProgress is how many attempts may end with the same work and the same
	// failure; at least 2.
	NoProgress int

	Export  string // raw, redacted, off
	State   string // directory; empty: under the data root, named by LoopKey
	Restart bool   // forget what an earlier process left

	// at is called at the named instants; tests end the process there.
	at func(point string)
}

// Validate finds what makes the options unusable, without writing or starting
// anything.
func (o LoopOptions) Validate() error { return o.fill() }

func (o *LoopOptions) fill() error {
	o.Turn.Resume, o.Turn.Continue, o.Turn.SessionID, o.Turn.Artifacts = nil, false, "", ""
	if _, err := o.Turn.prepare(); err != nil {
		return err
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&o.CheckTimeout, DefaultCheckTimeout}, {&o.MaxCooldown, DefaultMaxCooldown}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if o.MaxIterations == 0 {
		o.MaxIterations = DefaultIterations
	}
	if o.NoProgress == 0 {
		o.NoProgress = DefaultNoProgress
	}
	if o.Export == "" {
		o.Export = ExportRaw
	}
	if o.at == nil {
		o.at = func(string) {}
	}
	switch {
	case o.Until == "" && o.UntilSchema == "":
		return errors.New("a loop needs a check: a command (--until) or a schema for the answer (--until-schema)")
	case o.MaxIterations < 1:
		return errors.New("the limit of iterations must be positive")
	case o.MaxCost < 0 || o.MaxTime < 0:
		return errors.New("limits of cost and time cannot be negative")
	case o.NoProgress < 2:
		return errors.New("one attempt alone cannot show that there is no progress: the limit is at least 2")
	case o.Continue && o.Worktree:
		return errors.New("a session that continues cannot move to a fresh worktree")
	case o.CheckFirst && o.Until == "":
		return errors.New("checking first needs a check command")
	case o.Export != ExportRaw && o.Export != ExportRedacted && o.Export != ExportOff:
		return fmt.Errorf("transcript export %q: want raw, redacted or off", o.Export)
	}
	if o.UntilSchema != "" {
		// A schema that cannot be used is found before the first attempt.
		if _, err := checkAnswer(o.UntilSchema, "null"); err != nil {
			return err
		}
	}
	if o.State == "" {
		data := o.Turn.DataHome
		if data == "" {
			data = muse.DataHome(func(name string) string { return muse.Lookup(o.Turn.Env, name) })
		}
		if data == "" {
			return errors.New("no place for the loop's state: set HOME or XDG_DATA_HOME, or name a directory")
		}
		o.State = filepath.Join(data, "drive", "loops", LoopKey(o.Turn.Workspace, o.Turn.Prompt, o.Until, o.UntilSchema, o.mode()))
	}
	return nil
}

func (o *LoopOptions) mode() string {
	switch {
	case o.Continue:
		return "continue"
	case o.Worktree:
		return "worktree"
	default:
		return "fresh"
	}
}
