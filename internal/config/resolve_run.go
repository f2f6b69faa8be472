package config

import (
	"fmt"
	"slices"
	"strings"
)

func (r *resolver) resolveCompaction() error {
	c := &r.out.Compaction
	f := r.in.Flags
	c.Strategy = layered(r, CompactionDefault, func(s *Settings) *string { return s.ContextCompaction.Strategy }, "context_compaction", "strategy")
	if f.CompactionStrategy != nil {
		c.Strategy = flag(*f.CompactionStrategy, "context-compaction-strategy")
		if !slices.Contains(CompactionStrategies(), c.Strategy.V) {
			return r.unknownName(c.Strategy.Origin.Name, "strategy", c.Strategy.V, CompactionStrategies())
		}
	}
	if c.Strategy.V != CompactionDefault {
		if c.Strategy.Origin.Layer == CommandLine {
			return &FlagError{c.Strategy.Origin.Name, fmt.Sprintf("compaction strategy %s is not available yet; use %s", c.Strategy.V, CompactionDefault)}
		}
		r.warn("compaction strategy %s (%s) is not available: using %s", c.Strategy.V, c.Strategy.Origin, CompactionDefault)
		c.Strategy = builtin(CompactionDefault)
	}
	c.Soft = layered(r, defaultSoft, func(s *Settings) *float64 { return s.ContextCompaction.SoftThreshold }, "context_compaction", "soft_threshold")
	c.Hard = layered(r, defaultHard, func(s *Settings) *float64 { return s.ContextCompaction.HardThreshold }, "context_compaction", "hard_threshold")
	for _, one := range []struct {
		given *float64
		name  string
		to    *Value[float64]
	}{{f.SoftThreshold, "context-compaction-soft-threshold", &c.Soft}, {f.HardThreshold, "context-compaction-hard-threshold", &c.Hard}} {
		if one.given == nil {
			continue
		}
		*one.to = flag(*one.given, one.name)
		if v := *one.given; !(v > 0 && v < 1) {
			return &FlagError{one.to.Origin.Name, fmt.Sprintf("invalid value %g for %s: want a fraction strictly between 0 and 1", v, one.to.Origin.Name)}
		}
	}
	r.fitThresholds()
	if c.Soft.V >= c.Hard.V {
		text := fmt.Sprintf("the soft compaction threshold %g (%s) is not below the hard one %g (%s)", c.Soft.V, c.Soft.Origin, c.Hard.V, c.Hard.Origin)
		if c.Soft.Origin.Layer == CommandLine || c.Hard.Origin.Layer == CommandLine {
			return &FlagError{"--context-compaction-soft-threshold", text}
		}
		return fmt.Errorf("%s", text)
	}
	c.ToolResultClearing = layered(r, true, func(s *Settings) *bool { return s.ContextCompaction.ToolResultClearingEnabled }, "context_compaction", "tool_result_clearing_enabled")
	c.ContextLimit = layered(r, r.out.ModelInfo.ContextLimit, func(s *Settings) *int64 { return s.ContextCompaction.ProviderContextLimitTokens }, "context_compaction", "provider_context_limit_tokens")
	if c.ContextLimit.Origin.Layer == BuiltIn {
		c.ContextLimit.Origin = Origin{Layer: Catalog}
	}
	return nil
}

// fitThresholds moves a built-in threshold out of the way of one that was
// chosen: asking for a hard limit of 0.5 must not fail because of a soft one
// that nobody wrote.
func (r *resolver) fitThresholds() {
	c := &r.out.Compaction
	switch {
	case c.Soft.V < c.Hard.V:
	case c.Soft.Origin.Layer == BuiltIn:
		c.Soft.V = c.Hard.V * defaultSoft / defaultHard
	case c.Hard.Origin.Layer == BuiltIn:
		c.Hard.V = (1 + c.Soft.V) / 2
	}
}

func (r *resolver) resolveRun() error {
	run := &r.out.Run
	run.SystemPrompt = ofRun(r, "", func(s RunSettings) *string { return s.SystemPrompt }, "system_prompt")
	run.DeveloperPrompt = ofRun(r, "", func(s RunSettings) *string { return s.DeveloperPrompt }, "developer_prompt")
	run.Toolset = ofRun(r, nil, func(s RunSettings) *[]string { return s.Toolset }, "toolset")
	run.Parallel = ofRun(r, true, func(s RunSettings) *bool { return s.ParallelToolCalls }, "parallel_tool_calls")
	if p := r.in.Flags.ParallelToolCalls; p != nil {
		name := "parallel-tool-calls"
		if !*p {
			name = "no-parallel-tool-calls"
		}
		run.Parallel = flag(*p, name)
	}
	return nil
}

// ofRun is a value of run, which a preset can override.
func ofRun[T any](r *resolver, def T, get func(RunSettings) *T, key string) Value[T] {
	v := layered(r, def, func(s *Settings) *T { return get(s.Run) }, "run", key)
	if r.preset != nil {
		if p := get(r.preset.Run); p != nil {
			v = Value[T]{*p, r.presetOrigin("run", key)}
		}
	}
	return v
}

func (r *resolver) resolvePersonal() error {
	rules := layered(r, true, func(s *Settings) *bool { return s.Context.ForeignPersonalRules }, "context", "foreign_personal_rules")
	skills := layered(r, true, func(s *Settings) *bool { return s.Context.ForeignPersonalSkills }, "context", "foreign_personal_skills")
	if r.in.Flags.NoForeignPersonalContext {
		rules, skills = flag(false, "no-foreign-personal-context"), flag(false, "no-foreign-personal-context")
	}
	if p := r.in.Policy; p != nil {
		if p.ForeignPersonalRulesOff {
			rules = Value[bool]{false, Origin{Layer: EnterprisePolicy, Name: "privacy.foreign_personal_rules", File: p.File}}
		}
		if p.ForeignPersonalSkillsOff {
			skills = Value[bool]{false, Origin{Layer: EnterprisePolicy, Name: "privacy.foreign_personal_skills", File: p.File}}
		}
	}
	r.out.ForeignPersonalRules, r.out.ForeignPersonalSkills = rules, skills

	r.out.CodexHome = builtin(r.in.Paths.CodexHome(r.in.Getenv))
	if r.out.CodexHome.V != "" && r.out.CodexHome.V == r.getenv("CODEX_HOME") {
		r.out.CodexHome = env(r.out.CodexHome.V, "CODEX_HOME")
	}
	r.out.NoColor, r.out.NoAutoUpdate = builtin(false), builtin(true)
	if r.getenv("NO_COLOR") != "" {
		r.out.NoColor = env(true, "NO_COLOR")
	}
	if r.getenv("MUSE_NO_AUTO_UPDATE") != "" {
		r.out.NoAutoUpdate = env(true, "MUSE_NO_AUTO_UPDATE")
	}
	return nil
}

// checkOffline refuses what the offline providers cannot do, instead of
// ignoring it (STREAM.md (d)).
func (r *resolver) checkOffline() error {
	if !r.out.Endpoint.Offline {
		return nil
	}
	f := r.in.Flags
	var refused []string
	add := func(given bool, name string) {
		if given {
			refused = append(refused, name)
		}
	}
	add(f.ReasoningEffort != nil, "--reasoning-effort")
	add(f.APIKeyStdin, "--api-key-stdin")
	if r.out.Endpoint.ID == "echo" {
		add(f.Images > 0, "--image")
		add(f.ParallelToolCalls != nil, "--parallel-tool-calls")
	}
	if len(refused) == 0 {
		return nil
	}
	return &FlagError{refused[0], fmt.Sprintf("provider %s does not support %s", r.out.Provider.V, strings.Join(refused, ", "))}
}
