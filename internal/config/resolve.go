package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/provider"
)

// Flags are the options of the command line that decide values here; nil
// means not given.
type Flags struct {
	Provider        *string
	Model           *string
	Preset          *string
	ReasoningEffort *string
	BaseURL         *string

	ParallelToolCalls *bool // --parallel-tool-calls, --no-parallel-tool-calls

	CompactionStrategy *string
	SoftThreshold      *float64
	HardThreshold      *float64

	NoForeignPersonalContext bool
	Images                   int  // how many --image were given
	APIKeyStdin              bool // --api-key-stdin
}

// Inputs is everything values come from.
type Inputs struct {
	Flags    Flags
	Getenv   func(string) string // nil: an empty environment
	Settings *Settings           // nil: no file
	Defaults *Settings           // enterprise defaults; nil: none
	Policy   *Policy             // enterprise policy; nil: none
	Auth     *Auth               // stored credentials; nil: none
	Paths    Paths
}

// Policy is what an enterprise's policy says about values here (CLI.md 2.3,
// model_egress and privacy).
type Policy struct {
	File string
	// AllowedProviders and AllowedModels are nil when everything is allowed.
	AllowedProviders []string
	AllowedModels    []string
	// ModelFallback is used instead of a model that is not allowed and that
	// nobody named; a model that was named and is not allowed is an error.
	ModelFallback string
	// ForeignPersonalRulesOff and ForeignPersonalSkillsOff force those off.
	ForeignPersonalRulesOff, ForeignPersonalSkillsOff bool
}

// Resolved is what a run is set to.
type Resolved struct {
	Provider Value[string]
	Endpoint Endpoint // with the base URL that is in force
	BaseURL  Value[string]
	Model    Value[string] // "" for echo and script when nobody named one
	Preset   Value[string] // "" when none was named

	// ModelInfo is what the tables and settings say about the model.
	ModelInfo models.Model

	// Effort is what goes to the provider; EffortAsked what was asked for.
	// They differ for ultra and for levels that the model does not take.
	Effort      provider.Effort
	EffortAsked Value[provider.Effort]

	Retry      Retry
	Stream     Stream
	Transport  Transport
	Compaction Compaction
	Run        Run

	Sandbox Sandbox

	ForeignPersonalRules  Value[bool]
	ForeignPersonalSkills Value[bool]

	// CodexHome is where Codex keeps its files, "" without a home directory.
	CodexHome Value[string]
	NoColor   Value[bool]
	// NoAutoUpdate is MUSE_NO_AUTO_UPDATE. This program never updates itself,
	// so it is reported and changes nothing.
	NoAutoUpdate Value[bool]

	// Warnings are single lines for stderr.
	Warnings []string
}

// Retry is provider_retry.
type Retry struct {
	MaxAttempts   Value[int] // with the first one
	BaseDelay     Value[time.Duration]
	RetryAfterCap Value[time.Duration]
}

// Stream limits how long a model stream may be silent; 0 means no limit.
type Stream struct {
	FirstEvent Value[time.Duration]
	Idle       Value[time.Duration]
}

// Transport is how the endpoint is reached.
type Transport struct {
	Auth       Value[string] // "bearer" or "none"
	Proxy      Value[string] // "" leaves it to the proxy variables of the environment
	ClientCert Value[string] // absolute paths
	ClientKey  Value[string]
	CABundle   Value[string] // added to the system's certificates
	// Headers go to the endpoint's host only; later ones win.
	Headers []Value[Header]
}

// Compaction is context_compaction.
type Compaction struct {
	Strategy           Value[string]
	Soft, Hard         Value[float64]
	ContextLimit       Value[int64] // tokens; from settings or the model
	ToolResultClearing Value[bool]
}

// Run is run.
type Run struct {
	SystemPrompt    Value[string]
	DeveloperPrompt Value[string]
	// Toolset names the tools to offer; nil offers all.
	Toolset  Value[[]string]
	Parallel Value[bool]
}

// FlagError is a value on the command line that cannot be used: a usage error
// (exit 2). Other errors of Resolve are bad configuration (exit 1).
type FlagError struct {
	Flag    string // "--model"
	Problem string
}

func (e *FlagError) Error() string { return e.Problem }

// The built-in defaults that have no other home. 180 silent seconds end a
// stream (CLI.md 6); the others are ours.
const (
	defaultIdle       = 180 * time.Second
	defaultFirstEvent = 300 * time.Second
	defaultSoft       = 0.75
	defaultHard       = 0.9
)

// CompactionDefault is the strategy in force when nobody names one.
const CompactionDefault = "summary-preserved-suffix/v1"

// CompactionStrategies are the names that settings and flags may carry (CLI.md
// 6). Only the first is built; the others are asked for in settings shared
// with Meta's client and fall back to it with a warning.
func CompactionStrategies() []string {
	return []string{CompactionDefault, "prefix-extension-summary/v1", "prefix-extension-inventory-summary/v1"}
}

// resolver carries the state of one Resolve.
type resolver struct {
	in     Inputs
	out    Resolved
	preset *NamedPreset
	// own is the settings entry of the provider, nil when there is none.
	own *ProviderSettings
}

// Sandbox is how the boundary around commands is made.
type Sandbox struct {
	Launcher Value[string] // "auto", "native" or "bubblewrap"
	// GitCommits opens the workspace's own repository for git commit.
	GitCommits Value[bool]
}

// Load reads the files that values come from. What is missing is fine; stored
// credentials that cannot be read only fail a run that needs them.
func Load(getenv func(string) string) (Inputs, error) {
	in := Inputs{Getenv: getenv}
	var err error
	if in.Paths, err = Locate(getenv); err != nil {
		return in, err
	}
	if in.Settings, err = ReadSettings(in.Paths.SettingsFile()); err != nil {
		return in, err
	}
	if in.Auth, err = ReadAuth(in.Paths.AuthFile()); err != nil {
		in.Auth = &Auth{File: in.Paths.AuthFile(), broken: err}
	}
	return in, nil
}

// Resolve decides every value. It reads no file and starts no program.
func Resolve(in Inputs) (Resolved, error) {
	r := newResolver(in)
	return r.run(r.resolvePreset, r.resolveProvider, r.resolveBaseURL, r.resolveModel, r.resolveEffort,
		r.resolveRetry, r.resolveStream, r.resolveTransport, r.resolveCompaction, r.resolveRun,
		r.resolvePersonal, r.resolveSandbox, r.checkOffline)
}

// ResolveEndpoint decides only what finding a key needs: provider, address and
// transport. It works where Resolve lacks a model.
func ResolveEndpoint(in Inputs) (Resolved, error) {
	r := newResolver(in)
	return r.run(r.resolvePreset, r.resolveProvider, r.resolveBaseURL, r.resolveTransport)
}

func newResolver(in Inputs) *resolver {
	if in.Getenv == nil {
		in.Getenv = func(string) string { return "" }
	}
	return &resolver{in: in}
}

func (r *resolver) run(steps ...func() error) (Resolved, error) {
	for _, step := range steps {
		if err := step(); err != nil {
			return r.out, err
		}
	}
	return r.out, nil
}

func (r *resolver) warn(format string, args ...any) {
	r.out.Warnings = append(r.out.Warnings, fmt.Sprintf(format, args...))
}

func (r *resolver) getenv(name string) string { return r.in.Getenv(name) }

// layered is the highest of built-in, enterprise defaults and settings. get
// reads the value from one file and path says where it stands there.
func layered[T any](r *resolver, def T, get func(*Settings) *T, path ...string) Value[T] {
	v := builtin(def)
	for _, s := range []*Settings{r.in.Defaults, r.in.Settings} {
		if s == nil {
			continue
		}
		if p := get(s); p != nil {
			v = Value[T]{*p, s.Origin(path...)}
		}
	}
	return v
}

func (r *resolver) resolveSandbox() error {
	r.out.Sandbox = SandboxOf(r.in)
	return nil
}

// SandboxOf decides about the sandbox alone, for commands that run no model.
func SandboxOf(in Inputs) Sandbox {
	r := newResolver(in)
	return Sandbox{
		Launcher:   layered(r, "auto", func(s *Settings) *string { return s.Sandbox.Launcher }, "openmuse", "sandbox", "launcher"),
		GitCommits: layered(r, false, func(s *Settings) *bool { return s.Sandbox.GitCommits }, "openmuse", "sandbox", "git_commits"),
	}
}

// builtinPresets are the presets that need no settings (STREAM.md (d)).
// native-basic is the files-and-shell core without planning tools; miniswe is
// the shell alone.
func builtinPresets() []NamedPreset {
	basic := []string{"bash", "bash_input", "read_file", "write_file", "edit_file", "search"}
	shell := []string{"bash"}
	return []NamedPreset{
		{Name: "native-basic", Run: RunSettings{Toolset: &basic}},
		{Name: "miniswe", Run: RunSettings{Toolset: &shell}},
	}
}

// PresetNames lists the presets that can be named, built-in ones first.
func PresetNames(s *Settings) []string {
	var names []string
	for _, p := range builtinPresets() {
		names = append(names, p.Name)
	}
	if s != nil {
		for _, p := range s.Presets {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

func (r *resolver) resolvePreset() error {
	if r.in.Flags.Preset == nil {
		return nil
	}
	name := *r.in.Flags.Preset
	var found *NamedPreset
	if s := r.in.Settings; s != nil {
		for i := range s.Presets {
			if s.Presets[i].Name == name {
				found = &s.Presets[i]
			}
		}
	}
	for _, p := range builtinPresets() {
		if found == nil && p.Name == name {
			found = &p
		}
	}
	if found == nil {
		return r.unknownName("--preset", "preset", name, PresetNames(r.in.Settings))
	}
	r.preset = found
	r.out.Preset = flag(name, "preset")
	return nil
}

func (r *resolver) unknownName(flagName, kind, name string, known []string) error {
	text := fmt.Sprintf("unknown %s %q for %s", kind, name, flagName)
	if near := Nearest(name, known); near != "" {
		text += fmt.Sprintf(": did you mean %q?", near)
	}
	return &FlagError{flagName, text + " (known: " + strings.Join(known, ", ") + ")"}
}

func (r *resolver) presetOrigin(keys ...string) Origin {
	o := Origin{Layer: Preset, Name: r.preset.Name}
	if len(r.preset.path) > 0 {
		at := r.in.Settings.Origin(append(slices.Clone(r.preset.path), keys...)...)
		o.File, o.Line, o.Column = at.File, at.Line, at.Column
	}
	return o
}

func (r *resolver) resolveProvider() error {
	v := layered(r, "meta", func(s *Settings) *string { return s.Provider }, "provider")
	if r.preset != nil && r.preset.Provider != nil {
		v = Value[string]{*r.preset.Provider, r.presetOrigin("provider")}
	}
	if r.in.Flags.Provider != nil {
		v = flag(*r.in.Flags.Provider, "provider")
	}
	e, own, known := endpoint(v.V, r.in.Settings)
	if !known {
		names := ProviderNames(r.in.Settings)
		if v.Origin.Layer == CommandLine {
			return r.unknownName("--provider", "provider", v.V, names)
		}
		return fmt.Errorf("unknown provider %q (%s); known: %s", v.V, v.Origin, strings.Join(names, ", "))
	}
	if p := r.in.Policy; p != nil && p.AllowedProviders != nil && !slices.Contains(p.AllowedProviders, v.V) {
		return fmt.Errorf("provider %q (%s) is not allowed by the enterprise policy %s; allowed: %s", v.V, v.Origin, p.File, strings.Join(p.AllowedProviders, ", "))
	}
	r.out.Provider, r.out.Endpoint, r.own = v, e, own
	return nil
}

// settingsProvider is the provider that endpoint_transport in a settings file
// is about: the one that file selects.
func settingsProvider(s *Settings) string {
	if s != nil && s.Provider != nil {
		return *s.Provider
	}
	return "meta"
}
