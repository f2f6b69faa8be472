package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Entry is one line of `muse config explain`.
type Entry struct {
	Key    string
	Value  string // secrets are masked
	Origin Origin
	// Note says what the value alone does not.
	Note string
	// ReadElsewhere marks a key of settings.json that belongs to a feature
	// which reads it on its own.
	ReadElsewhere bool
	// Unknown marks a key of settings.json that nothing here reads.
	Unknown bool
}

// Explain lists every value of r with its origin, in the order of CLI.md 2.2,
// then the keys of the settings file that are kept and not used here.
func Explain(in Inputs, r Resolved, key Key) []Entry {
	var l list
	l.settingsFile(in)
	l.add("provider", r.Provider.V, r.Provider.Origin, wireNote(r.Endpoint))
	l.add("model", orUnset(r.Model.V, "(none)"), r.Model.Origin, modelNote(r))
	if r.Preset.V != "" {
		l.add("preset", r.Preset.V, r.Preset.Origin, "")
	}
	l.add("reasoning_effort", orUnset(string(r.EffortAsked.V), "(the provider's own)"), r.EffortAsked.Origin, effortNote(r))
	if !r.Endpoint.Offline {
		l.endpoint(r, key)
	}
	l.add("provider_retry.max_attempts", strconv.Itoa(r.Retry.MaxAttempts.V), r.Retry.MaxAttempts.Origin, "")
	l.add("provider_retry.base_delay_ms", millis(r.Retry.BaseDelay.V), r.Retry.BaseDelay.Origin, "")
	l.add("provider_retry.retry_after_cap_ms", millis(r.Retry.RetryAfterCap.V), r.Retry.RetryAfterCap.Origin, "")
	l.add("stream.first_event_timeout_secs", seconds(r.Stream.FirstEvent.V), r.Stream.FirstEvent.Origin, "")
	l.add("stream.idle_timeout_secs", seconds(r.Stream.Idle.V), r.Stream.Idle.Origin, "")
	l.add("context_compaction.strategy", r.Compaction.Strategy.V, r.Compaction.Strategy.Origin, "")
	l.add("context_compaction.soft_threshold", decimal(r.Compaction.Soft.V), r.Compaction.Soft.Origin, "")
	l.add("context_compaction.hard_threshold", decimal(r.Compaction.Hard.V), r.Compaction.Hard.Origin, "")
	l.add("context_compaction.provider_context_limit_tokens", strconv.FormatInt(r.Compaction.ContextLimit.V, 10), r.Compaction.ContextLimit.Origin, "")
	l.add("context_compaction.tool_result_clearing_enabled", strconv.FormatBool(r.Compaction.ToolResultClearing.V), r.Compaction.ToolResultClearing.Origin, "")
	l.add("run.system_prompt", quoted(r.Run.SystemPrompt.V), r.Run.SystemPrompt.Origin, "")
	l.add("run.developer_prompt", quoted(r.Run.DeveloperPrompt.V), r.Run.DeveloperPrompt.Origin, "")
	l.add("run.toolset", orUnset(strings.Join(r.Run.Toolset.V, ", "), "(all)"), r.Run.Toolset.Origin, "")
	l.add("run.parallel_tool_calls", strconv.FormatBool(r.Run.Parallel.V), r.Run.Parallel.Origin, "")
	l.add("context.foreign_personal_rules", strconv.FormatBool(r.ForeignPersonalRules.V), r.ForeignPersonalRules.Origin, "")
	l.add("context.foreign_personal_skills", strconv.FormatBool(r.ForeignPersonalSkills.V), r.ForeignPersonalSkills.Origin, "")
	l.add("openmuse.sandbox.launcher", r.Sandbox.Launcher.V, r.Sandbox.Launcher.Origin, "")
	l.add("openmuse.sandbox.git_commits", strconv.FormatBool(r.Sandbox.GitCommits.V), r.Sandbox.GitCommits.Origin, "")
	l.add("codex_home", orUnset(r.CodexHome.V, "(none)"), r.CodexHome.Origin, "")
	l.add("no_color", strconv.FormatBool(r.NoColor.V), r.NoColor.Origin, "")
	l.add("no_auto_update", strconv.FormatBool(r.NoAutoUpdate.V), r.NoAutoUpdate.Origin, "this program never updates itself")
	l.file(in.Settings)
	return l
}

type list []Entry

func (l *list) add(key, value string, origin Origin, note string) {
	*l = append(*l, Entry{Key: key, Value: value, Origin: origin, Note: note})
}

// settingsFile says where settings are read from, and whether they were.
func (l *list) settingsFile(in Inputs) {
	origin, note := Origin{}, ""
	if in.Getenv != nil && filepath.IsAbs(in.Getenv("XDG_CONFIG_HOME")) {
		origin = Origin{Layer: Environment, Name: "XDG_CONFIG_HOME"}
	}
	if in.Settings.File() == "" {
		note = "the file does not exist"
	}
	l.add("settings_file", in.Paths.SettingsFile(), origin, note)
}

func (l *list) endpoint(r Resolved, key Key) {
	t := r.Transport
	l.add("base_url", MaskURL(r.BaseURL.V), r.BaseURL.Origin, "")
	l.add("auth", t.Auth.V, t.Auth.Origin, "")
	switch {
	case key.Value != "":
		l.add("api_key", Mask(key.Value), key.Source, "sent to "+strings.Join(key.Origins, ", ")+" only")
	case key.Command != nil:
		l.add("api_key", "(from a command)", key.Source, "not run now; sent to "+strings.Join(key.Origins, ", ")+" only")
	default:
		l.add("api_key", "(none)", key.Source, "")
	}
	for _, h := range t.Headers {
		l.add("headers."+strings.ToLower(h.V.Name), Mask(h.V.Value), h.Origin, "")
	}
	for _, one := range []struct {
		key string
		v   Value[string]
	}{{"client_cert", t.ClientCert}, {"client_key", t.ClientKey}, {"ca_bundle", t.CABundle}} {
		if one.v.V != "" {
			l.add("endpoint_transport."+one.key, one.v.V, one.v.Origin, "")
		}
	}
	l.add("endpoint_transport.proxy", orUnset(MaskURL(t.Proxy.V), "(from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY)"), t.Proxy.Origin, "")
}

// usedKeys are the top-level keys of settings.json whose values the entries
// above show.
var usedKeys = []string{"schema_version", "provider", "model", "reasoning_effort", "presets", "provider_retry", "endpoint_transport",
	"model_catalog", "context_compaction", "run", "context", "openmuse"}

// file lists what the settings file has besides.
func (l *list) file(s *Settings) {
	root := s.Node()
	if root == nil {
		return
	}
	for _, m := range root.Members() {
		if slices.Contains(usedKeys, m.Key()) || !slices.Contains(documentedKeys, m.Key()) {
			continue
		}
		*l = append(*l, Entry{Key: m.Path(), Value: "(set)", Origin: s.Origin(m.Key()), Note: "not part of a model run", ReadElsewhere: true})
	}
	for _, u := range s.Unknown {
		note := "not read by this program; kept on every rewrite"
		if u.Near != "" {
			note = fmt.Sprintf("did you mean %s? %s", u.Near, note)
		}
		*l = append(*l, Entry{Key: u.Path, Value: "(set)", Note: note, Unknown: true,
			Origin: Origin{Layer: s.layer, File: s.File(), Name: u.Path, Line: u.Line, Column: u.Column}})
	}
}

// Select keeps the entries of one key and, for a group such as
// "provider_retry", of everything below it. near names keys that were perhaps
// meant when there is none.
func Select(entries []Entry, key string) (found []Entry, near []string) {
	var names []string
	for _, e := range entries {
		if e.Key == key || strings.HasPrefix(e.Key, key+".") || strings.HasPrefix(e.Key, key+"[") {
			found = append(found, e)
		}
		names = append(names, e.Key)
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, nearNames(key, names)
}

// nearNames is at most three names that resemble key or contain it, nearest
// first.
func nearNames(key string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	var list []scored
	last := key[strings.LastIndexByte(key, '.')+1:]
	for _, name := range names {
		tail := name[strings.LastIndexByte(name, '.')+1:]
		score := min(distance(key, name, 100), distance(last, tail, 100)+1)
		if strings.Contains(name, last) {
			score = min(score, 1)
		}
		if score <= len(last)/3+1 && last != "" {
			list = append(list, scored{name, score})
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].score < list[j].score })
	var near []string
	for _, s := range list[:min(len(list), 3)] {
		near = append(near, s.name)
	}
	return near
}

// MaskURL hides the password and the query values of a URL.
func MaskURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "…"
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	if u.RawQuery != "" {
		var parts []string
		for part := range strings.SplitSeq(u.RawQuery, "&") {
			name, _, ok := strings.Cut(part, "=")
			if ok {
				part = name + "=…"
			}
			parts = append(parts, part)
		}
		u.RawQuery = strings.Join(parts, "&")
	}
	return u.String()
}

func wireNote(e Endpoint) string {
	if e.Wire == e.ID {
		return ""
	}
	return "speaks the wire " + e.Wire
}

func modelNote(r Resolved) string {
	m := r.ModelInfo
	if m.ID == "" || r.Endpoint.Offline {
		return ""
	}
	var parts []string
	parts = append(parts, fmt.Sprintf("context %d", m.ContextLimit))
	if m.Assumed {
		parts[0] += " (assumed: the model is in no table)"
	}
	if m.OutputLimit > 0 {
		parts = append(parts, fmt.Sprintf("output %d", m.OutputLimit))
	}
	if p := m.Price; p != nil {
		price := fmt.Sprintf("price per million tokens %s in, %s out", p.Input, p.Output)
		if p.CachedInput != nil {
			price += fmt.Sprintf(", %s cached", p.CachedInput)
		}
		if p.CacheWrite != nil {
			price += fmt.Sprintf(", %s cache write", p.CacheWrite)
		}
		parts = append(parts, price)
	} else {
		parts = append(parts, "price not known")
	}
	if m.Contributor {
		parts = append(parts, "the provider trains on its input and output")
	}
	return strings.Join(parts, "; ")
}

func effortNote(r Resolved) string {
	switch {
	case r.Effort == r.EffortAsked.V:
		return ""
	case r.Effort == "":
		return "not sent: the model or provider takes none"
	}
	return "sent as " + string(r.Effort)
}

func orUnset(value, unset string) string {
	if value == "" {
		return unset
	}
	return value
}

// quoted is a prompt on one line, cut to what tells it apart.
func quoted(text string) string {
	if text == "" {
		return "(none)"
	}
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:57], "") + "…"
	}
	return strconv.Quote(text)
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func seconds(d time.Duration) string {
	if d == 0 {
		return "0 (no limit)"
	}
	return strconv.FormatInt(int64(d/time.Second), 10)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
