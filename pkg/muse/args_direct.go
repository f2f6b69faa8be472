package muse

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Efforts are the levels `muse exec --help` declares at 1.4.4 (seed 002).
func Efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}
}

// Direct is seed 002's S1 profile: a bound model, effort, workspace, step
// limit and output schema; approvals never asked and the approval judge
// pinned off. It has no pass-through and never emits a flag that weakens the
// sandbox.
type Direct struct {
	Provider string // "meta" when empty
	Model    string // required: a default of a CLI or catalogue is no selection
	Effort   string // required: one of Efforts
	MaxSteps int    // required: positive
	// OutputSchema is the absolute path of a JSON Schema file bound by the
	// host. Required, except for the smoke brief.
	OutputSchema string
	// ReadOnly removes both the file-writing tools and the shell: the former
	// flag alone leaves the shell able to write.
	ReadOnly bool
	// Trust loads the workspace's own instructions. Only the host's profile
	// may set it; no text of the brief does.
	Trust bool

	smoke bool // the manual smoke run has no schema
}

var _ Profile = Direct{}

// Name implements [Profile].
func (Direct) Name() string { return "direct" }

// Build implements [Profile].
func (p Direct) Build(job Job) (Invocation, error) {
	fail := func(format string, args ...any) (Invocation, error) {
		return Invocation{}, fmt.Errorf("direct profile: "+format, args...)
	}
	provider := p.Provider
	if provider == "" {
		provider = "meta"
	}
	// The echo provider answers without a model: it takes neither model nor
	// effort and can show mechanics only.
	echo := provider == "echo"
	if err := plainValues(provider, p.Model, p.Effort); err != nil {
		return fail("%w", err)
	}
	switch {
	case job.PromptFile == "" || !filepath.IsAbs(job.PromptFile):
		return fail("an absolute prompt file is required")
	case job.Workspace == "" || !filepath.IsAbs(job.Workspace):
		return fail("an absolute workspace is required")
	case !echo && p.Model == "":
		return fail("a model must be resolved; a default is no selection")
	case !echo && !slices.Contains(Efforts(), p.Effort):
		return fail("effort %q is not declared (one of %v)", p.Effort, Efforts())
	case p.MaxSteps <= 0:
		return fail("a positive limit of model steps is required")
	case p.OutputSchema == "" && !p.smoke:
		return fail("an output schema must be bound")
	case p.OutputSchema != "" && !filepath.IsAbs(p.OutputSchema):
		return fail("the output schema must be an absolute path")
	}
	args := []string{"exec", flagJSON, flagProvider, provider}
	if !echo {
		args = append(args, flagModel, p.Model, flagEffort, p.Effort)
	}
	args = append(args, flagWorkspace, job.Workspace, flagApprovalMode, "never", flagApprovalJudge, "off",
		flagMaxSteps, strconv.Itoa(p.MaxSteps))
	if p.OutputSchema != "" {
		args = append(args, flagOutputSchema, p.OutputSchema)
	}
	if p.ReadOnly {
		args = append(args, flagNoWrite, flagNoShell)
	}
	if p.Trust {
		args = append(args, flagTrust)
	}
	if job.SessionID != "" && !p.smoke {
		args = append(args, flagSessionID, job.SessionID)
	}
	args = append(args, flagPromptFile, job.PromptFile)
	return Invocation{Args: args, Env: []string{"MUSE_NO_AUTO_UPDATE=1"}}, nil
}

// SmokeBrief is the prompt of seed 002's manual smoke run.
const SmokeBrief = "Reply with exactly: OK. Use no tools."

// SmokeProfile is the command line of seed 002's manual smoke run: the direct
// profile with two steps and no schema.
func SmokeProfile(provider, model, effort string) Direct {
	return Direct{Provider: provider, Model: model, Effort: effort, MaxSteps: 2, smoke: true}
}

// Refusal codes of a [DirectPolicy].
const (
	RefuseContributor = "contributor_denied"
	RefuseEffort      = "effort_denied"
	RefuseStale       = "model_observation_stale"
	RefuseBoundary    = "sandbox_boundary_missing"
	RefuseDataPolicy  = "data_policy_unstated"
	RefuseVersion     = "version_not_pinned"
)

// Refusal is a direct run that policy does not allow.
type Refusal struct{ Code, Why string }

func (r *Refusal) Error() string { return r.Code + ": " + r.Why }

// DataPolicy states what a vendor may do with a run's data. Each part must be
// "allow" or "deny": silence is no policy.
type DataPolicy struct{ Processing, Improvement, Retention string }

// ModelObservation says that a model was seen to be offered, by which binary
// and when.
type ModelObservation struct {
	Model        string
	BinaryDigest string // SHA-256 of the binary, hex
	RawBanner    string
	At           time.Time
}

// DirectPolicy is the shared selection rule of seed 002's S1 profile. It is
// checked before a direct run is started.
type DirectPolicy struct {
	// Boundary names the qualified sandbox around the whole run; without one a
	// direct run is refused.
	Boundary string
	Data     DataPolicy
	// Observation of the model; MaxAge bounds it (0: an hour). Installed is the
	// binary that will be run.
	Observation *ModelObservation
	MaxAge      time.Duration
	Installed   Installation
	// Pin is the only release allowed, as the normalized version says it (for
	// example 1.4.4-R5419.1); empty allows any.
	Pin string
}

// Check refuses a selection; the error is a [*Refusal].
func (p DirectPolicy) Check(d Direct, now time.Time) error {
	maxAge := p.MaxAge
	if maxAge == 0 {
		maxAge = time.Hour
	}
	switch o := p.Observation; {
	case IsContributor(d.Model):
		return &Refusal{RefuseContributor, d.Model + " trains on what it sees"}
	case d.Effort == "ultra":
		return &Refusal{RefuseEffort, "ultra delegates by itself"}
	case p.Boundary == "":
		return &Refusal{RefuseBoundary, "no qualified external sandbox was named"}
	case !stated(p.Data.Processing) || !stated(p.Data.Improvement) || !stated(p.Data.Retention):
		return &Refusal{RefuseDataPolicy, "processing, improvement and retention must each be allow or deny"}
	case p.Pin != "" && p.Pin != p.Installed.Version.String():
		return &Refusal{RefuseVersion, fmt.Sprintf("release %s is installed, %s is allowed", p.Installed.Version, p.Pin)}
	case o == nil:
		return nil
	case o.Model != d.Model:
		return &Refusal{RefuseStale, "the observation is of another model"}
	case o.BinaryDigest != p.Installed.Digest || o.RawBanner != p.Installed.RawBanner:
		return &Refusal{RefuseStale, "the observation was made with another binary"}
	case now.Sub(o.At) > maxAge || o.At.After(now):
		return &Refusal{RefuseStale, fmt.Sprintf("the observation is not within the last %s", maxAge)}
	}
	return nil
}

func stated(s string) bool { return s == "allow" || s == "deny" }

// Legacy is seed 002's older profile: only flags with evidence, no posture by
// default.
type Legacy struct {
	Model    string // passed through when it is a muse-* id, dropped otherwise
	Effort   string
	MaxTurns int    // becomes --max-model-steps; a --max-turns flag does not exist
	Approval string // --approval-mode, opt-in only
	// Plain leaves --json out: stdout is then the answer alone.
	Plain bool
	// PromptAsWord puts the prompt on the command line after "--", where other
	// users of the machine can read it. By default it goes through the file.
	PromptAsWord bool
}

var _ Profile = Legacy{}

// Name implements [Profile].
func (Legacy) Name() string { return "legacy" }

// MapModel passes muse-* ids through and drops other vendors' names, so that
// a supervisor's default for another agent never reaches this one.
func MapModel(name string) string {
	if len(name) > len("muse-") && name[:len("muse-")] == "muse-" {
		return name
	}
	return ""
}

// Build implements [Profile].
func (p Legacy) Build(job Job) (Invocation, error) {
	if err := plainValues(p.Effort, p.Approval, p.Model); err != nil {
		return Invocation{}, fmt.Errorf("legacy profile: %w", err)
	}
	args := []string{"exec"}
	if !p.Plain {
		args = append(args, flagJSON)
	}
	for _, v := range []struct{ flag, value string }{
		{flagSessionID, job.SessionID}, {flagModel, MapModel(p.Model)}, {flagEffort, p.Effort},
	} {
		if v.value != "" {
			args = append(args, v.flag, v.value)
		}
	}
	if p.MaxTurns > 0 {
		args = append(args, flagMaxSteps, strconv.Itoa(p.MaxTurns))
	}
	if p.Approval != "" {
		args = append(args, flagApprovalMode, p.Approval)
	}
	switch {
	case p.PromptAsWord:
		args = append(args, "--", job.Prompt)
	case job.PromptFile != "":
		args = append(args, flagPromptFile, job.PromptFile)
	default:
		return Invocation{}, errors.New("legacy profile: a prompt file is required")
	}
	return Invocation{Args: args, Env: []string{"CI=true", "NO_COLOR=1", "MUSE_NO_AUTO_UPDATE=1"}}, nil
}

// Export says which transcript `muse export` writes.
type Export struct {
	SessionID string // empty: the last session
	Out       string // empty: the binary chooses and prints the path
	Redacted  bool
}

// Args renders the command line without the binary's name.
func (e Export) Args() []string {
	args := []string{"export"}
	if e.SessionID == "" {
		args = append(args, "--last")
	} else {
		args = append(args, "--session", e.SessionID)
	}
	if e.Redacted {
		args = append(args, "--redacted")
	}
	if e.Out != "" {
		args = append(args, "--out", e.Out)
	}
	return args
}
