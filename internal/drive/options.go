package drive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// Environment variables of this package; docs/drive.md says which of seed
// 001's and 002's names each one stands for.
const (
	VarArtifacts     = "MUSE_DRIVE_ARTIFACTS_DIR"
	VarSandbox       = "MUSE_DRIVE_SANDBOX"
	VarContinuations = "MUSE_DRIVE_MAX_WAIT_CONTINUATIONS"
	VarLongCommand   = "MUSE_DRIVE_LONG_COMMAND"
	VarSoftCeiling   = "MUSE_DRIVE_SOFT_CEILING"
	VarLoopEnabled   = "MUSE_DRIVE_LOOP_ENABLED"

	varGenericArgs = "MUSE_DRIVE_LLM_%s_ARGS" // %s: LARGE or SMALL; wins over the next
	varArgs        = "MUSE_DRIVE_%s_ARGS"
	varAlias       = "MUSE_DRIVE_ALIAS_%s" // %s: a tier or size in capitals
)

// Defaults of a turn.
const (
	DefaultContinuations = 2
	DefaultRetries       = 2
	defaultRetryDelay    = 5 * time.Second
	maxRetryPause        = 2 * time.Minute
)

// Profile names of `--profile`.
const (
	ProfileSupervised = "supervised"
	ProfileDirect     = "direct"
	ProfileLegacy     = "legacy"
)

// TurnOptions describe one supervised turn.
type TurnOptions struct {
	Binary, BinaryFound string
	Workspace           string // absolute
	Prompt              string
	Artifacts           string // directory; empty keeps none

	Profile  string // empty: supervised
	Provider string
	Select   muse.Selection
	Effort   string
	Extra    []string            // pass-through, supervised only
	Sandbox  muse.SandboxPosture // supervised only
	// AsyncShell keeps the managed shell of the driven agent.
	AsyncShell bool
	// Of the direct and legacy profiles.
	MaxSteps     int
	OutputSchema string
	ReadOnly     bool
	Trust        bool
	Approval     string
	Policy       muse.DirectPolicy
	// DenyContributor refuses and stops runs on models that train on them.
	DenyContributor bool

	SessionID string // empty: a new one for each run
	Continue  bool   // the session exists; only its first run may use it
	// Resume are the facts of an interrupted turn to go on from.
	Resume *Resume

	Strict        bool
	Retries       int // after transient failures
	RetryDelay    time.Duration
	Continuations int // of the wait guard; negative switches the guard off
	NoDirective   bool
	Ceilings      Ceilings
	Watch         muse.WatchOptions
	StopStalled   bool
	Price         *muse.Price // instead of the table's

	Env      []string // nil: the process's own
	Temp     *muse.TempRoot
	DataHome string
	Grace    time.Duration
	Clock    muse.Clock

	// Say prints one line for a person; it is called from more than one
	// goroutine. Waiting is called when a run begins
	// and returns what to call when it ends.
	Say     func(string)
	Waiting func() (done func())
	// OnStart is told of each process before it can have had an effect that a
	// later supervisor must undo.
	OnStart func(muse.Started)
}

func (o *TurnOptions) fill() error {
	if o.Clock == nil {
		o.Clock = muse.SystemClock{}
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Waiting == nil {
		o.Waiting = func() func() { return func() {} }
	}
	if o.RetryDelay <= 0 {
		o.RetryDelay = defaultRetryDelay
	}
	if o.Profile == "" {
		o.Profile = ProfileSupervised
	}
	switch {
	case strings.TrimSpace(o.Prompt) == "" && o.Resume == nil:
		return errors.New("the prompt is empty")
	case !filepath.IsAbs(o.Workspace):
		return fmt.Errorf("workspace %q is not an absolute path", o.Workspace)
	case o.Continue && o.SessionID == "":
		return errors.New("continuing needs a session id")
	case o.SessionID != "" && !muse.ValidSessionID(o.SessionID):
		return fmt.Errorf("session id %q is not a UUID", o.SessionID)
	case len(o.Extra) > 0 && o.Profile != ProfileSupervised:
		return fmt.Errorf("the %s profile takes no pass-through arguments", o.Profile)
	case o.DenyContributor && muse.IsContributor(o.Select.Model):
		return fmt.Errorf("model %s is a contributor model, and those are denied", o.Select.Model)
	}
	return nil
}

// Validate finds what makes the options unusable, without writing or starting
// anything: the caller's mistakes rather than a run's failures.
func (o TurnOptions) Validate() error {
	_, err := o.prepare()
	return err
}

// prepare fills defaults and finds every refusal that can be found before
// anything is written or started.
func (o *TurnOptions) prepare() (muse.Profile, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	profile, err := o.profile()
	if err != nil {
		return nil, err
	}
	// A rehearsal with the names that a run will really have in kind.
	if _, err := profile.Build(muse.Job{Workspace: o.Workspace, SessionID: muse.NewSessionID(), PromptFile: filepath.Join(o.Workspace, filePrompt)}); err != nil {
		return nil, err
	}
	if direct, ok := profile.(muse.Direct); ok {
		// What the installation has to say is asked for when it is known.
		policy := o.Policy
		policy.Pin, policy.Observation = "", nil
		if err := policy.Check(direct, o.Clock.Now()); err != nil {
			return nil, fmt.Errorf("direct profile refused: %w", err)
		}
		if _, err := checkAnswer(o.OutputSchema, "null"); err != nil {
			return nil, fmt.Errorf("direct profile refused: %w", err)
		}
		o.Strict = true // a lenient reading cannot qualify a final
	}
	return profile, nil
}

// profile builds the command-line profile.
func (o *TurnOptions) profile() (muse.Profile, error) {
	switch o.Profile {
	case ProfileSupervised:
		return muse.Supervised{
			Provider: o.Provider, Model: o.Select.Model, Effort: o.Effort, Sandbox: o.Sandbox, AsyncShell: o.AsyncShell, Extra: o.Extra,
		}, nil
	case ProfileDirect:
		return muse.Direct{
			Provider: o.Provider, Model: o.Select.Model, Effort: o.Effort, MaxSteps: o.MaxSteps, OutputSchema: o.OutputSchema,
			ReadOnly: o.ReadOnly, Trust: o.Trust,
		}, nil
	case ProfileLegacy:
		return muse.Legacy{Model: o.Select.Model, Effort: o.Effort, MaxTurns: o.MaxSteps, Approval: o.Approval}, nil
	default:
		return nil, fmt.Errorf("unknown profile %q: want supervised, direct or legacy", o.Profile)
	}
}

// sandboxFact is the posture as metadata tells it.
func (o *TurnOptions) sandboxFact() string {
	switch {
	case o.Profile != ProfileSupervised:
		return "profile"
	case o.Sandbox == muse.SandboxOn:
		return "on"
	default:
		return "off"
	}
}

// Aliases reads overrides of tiers and sizes from the environment.
func Aliases(getenv func(string) string) muse.Aliases {
	a := muse.DefaultAliases()
	for tier := range a.Tiers {
		if id := getenv(fmt.Sprintf(varAlias, strings.ToUpper(string(tier)))); id != "" {
			a.Tiers[tier] = id
		}
	}
	for size := range a.Sizes {
		if id := getenv(fmt.Sprintf(varAlias, strings.ToUpper(size))); id != "" {
			a.Sizes[size] = id
		}
	}
	return a
}

// TierArgs are the extra arguments configured for a tier: the generic variable
// wins over the specific one. Nothing else has such arguments.
func TierArgs(tier muse.Tier, getenv func(string) string) ([]string, error) {
	if tier != muse.TierLarge && tier != muse.TierSmall {
		return nil, nil
	}
	name := strings.ToUpper(string(tier))
	for _, format := range []string{varGenericArgs, varArgs} {
		variable := fmt.Sprintf(format, name)
		if text := getenv(variable); text != "" {
			args, err := muse.SplitArgs(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", variable, err)
			}
			return args, nil
		}
	}
	return nil, nil
}

// SandboxFromEnv reads the opt-in to the driven agent's sandbox.
func SandboxFromEnv(getenv func(string) string) (muse.SandboxPosture, error) {
	switch v := strings.ToLower(getenv(VarSandbox)); v {
	case "", "off", "0", "false", "no":
		return muse.SandboxOff, nil
	case "on", "1", "true", "yes":
		return muse.SandboxOn, nil
	default:
		return "", fmt.Errorf("%s=%q: want on or off", VarSandbox, v)
	}
}

// ContinuationsFromEnv reads the wait guard's budget.
func ContinuationsFromEnv(getenv func(string) string) (int, error) {
	text := getenv(VarContinuations)
	if text == "" {
		return DefaultContinuations, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s=%q: want a number from 0", VarContinuations, text)
	}
	return n, nil
}

// LoopEnabled is the disable switch of `muse loop`: 0, false, no and off turn
// it off, anything else leaves it on. `muse drive` is never affected.
func LoopEnabled(getenv func(string) string) bool {
	switch strings.ToLower(strings.TrimSpace(getenv(VarLoopEnabled))) {
	case "0", "false", "no", "off":
		return false
	}
	return true
}
