package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/provider"
)

// documentedKeys are the top-level keys of CLI.md 2.2, and ours. Those that a
// headless run does not use belong to features that read them on their own.
var documentedKeys = []string{
	"schema_version", "provider", "model", "reasoning_effort", "first_turn_minimal_effort_regex", "agents",
	"agent_definitions", "context_compaction", "run", "provider_retry", "tui", "context",
	"local_session_messaging", "feature_config", "tools", "skills", "model_catalog", "mcpServers", "mcp_servers",
	"presets", "hooks", "managed_hooks_path", "managed_hooks_env_vars", "max_consecutive_stop_hook_continuations",
	"runtime_capabilities", "permissions", "plugins", "endpoint_transport", "telemetry", "notifications",
	"mcp_oauth_dynamic_client_registration", "openmuse",
}

var runKeys = []string{
	"system_prompt", "developer_prompt", "toolset", "parallel_tool_calls", "workflow_trigger_mode",
	"workflow_api_version", "subagent_delegation_mode", "code_mode", "search_literal_fallback",
	"context_usage_message_enabled", "reminder_observers", "context_slimming", "reminder_roster",
}

// settings reads the whole file into s.
func (r *reader) settings(s *Settings, root *jsondoc.Node) {
	if root.Kind() != '{' {
		r.fail(root.Mismatch("an object"))
		return
	}
	r.object(root, documentedKeys...)
	switch version := root.Get("schema_version"); {
	case version == nil:
		r.fail(root.Errorf(`add "schema_version": 1`, "the key schema_version is missing"))
	default:
		if v, err := version.Int(); err != nil {
			r.fail(err)
		} else if v != 1 {
			r.fail(version.Errorf("this program reads version 1", "settings of version %d are not known here", v))
		}
	}
	s.Provider = r.name(root.Get("provider"))
	s.Model = r.name(root.Get("model"))
	s.ReasoningEffort = r.oneOf(root.Get("reasoning_effort"), EffortNames()...)
	s.Run = r.run(root.Get("run"))
	s.Presets = r.presets(root.Get("presets"))
	s.ProviderRetry = r.retry(root.Get("provider_retry"))
	s.EndpointTransport = r.transport(root.Get("endpoint_transport"))
	s.ContextCompaction = r.compaction(root.Get("context_compaction"))
	s.ModelCatalog = r.catalog(root.Get("model_catalog"), s)
	if n := root.Get("context"); r.object(n, "foreign_personal_rules", "foreign_personal_skills") {
		s.Context.ForeignPersonalRules = r.boolean(n.Get("foreign_personal_rules"))
		s.Context.ForeignPersonalSkills = r.boolean(n.Get("foreign_personal_skills"))
	}
	if n := root.Get("openmuse"); r.object(n, "providers", "sandbox") {
		s.Providers = r.providers(n.Get("providers"))
		if box := n.Get("sandbox"); r.object(box, "launcher", "git_commits") {
			s.Sandbox.Launcher = r.oneOf(box.Get("launcher"), "auto", "native", "bubblewrap")
			s.Sandbox.GitCommits = r.boolean(box.Get("git_commits"))
		}
	}
}

// EffortNames are the reasoning effort levels of CLI.md 1.2, lowest first.
func EffortNames() []string {
	return []string{
		string(provider.EffortNone), string(provider.EffortMinimal), string(provider.EffortLow), string(provider.EffortMedium),
		string(provider.EffortHigh), string(provider.EffortXHigh), string(provider.EffortMax), string(provider.EffortUltra),
	}
}

func (r *reader) run(n *jsondoc.Node) RunSettings {
	if !r.object(n, runKeys...) {
		return RunSettings{}
	}
	return RunSettings{
		SystemPrompt:      r.text(n.Get("system_prompt")),
		DeveloperPrompt:   r.text(n.Get("developer_prompt")),
		Toolset:           r.texts(n.Get("toolset")),
		ParallelToolCalls: r.boolean(n.Get("parallel_tool_calls")),
	}
}

func (r *reader) presets(n *jsondoc.Node) []NamedPreset {
	if !r.object(n) {
		return nil
	}
	var list []NamedPreset
	for _, m := range n.Members() {
		if !validName(m.Key()) {
			r.fail(m.Errorf("use lowercase letters, digits, '-', '_' and '.'", "%q is not a preset name", m.Key()))
			continue
		}
		if !r.object(m, "provider", "model", "agent_profile", "run") {
			continue
		}
		r.name(m.Get("agent_profile"))
		list = append(list, NamedPreset{
			Name: m.Key(), Provider: r.name(m.Get("provider")), Model: r.name(m.Get("model")),
			Run: r.run(m.Get("run")), path: []string{"presets", m.Key()},
		})
	}
	return list
}

// validName is the form of preset and provider names.
func validName(s string) bool {
	if s == "" || len(s) > 80 || s[0] == '-' || s[0] == '.' {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}) < 0
}

func (r *reader) retry(n *jsondoc.Node) RetrySettings {
	if !r.object(n, "max_retries", "max_attempts", "base_delay_ms", "retry_after_cap_ms") {
		return RetrySettings{}
	}
	s := RetrySettings{
		MaxRetries:      r.integer(n.Get("max_retries"), 0, 100),
		MaxAttempts:     r.integer(n.Get("max_attempts"), 1, 101),
		BaseDelayMS:     r.integer(n.Get("base_delay_ms"), 0, 600_000),
		RetryAfterCapMS: r.integer(n.Get("retry_after_cap_ms"), 0, 86_400_000),
	}
	if s.MaxRetries != nil && s.MaxAttempts != nil {
		r.fail(n.Errorf("keep one: max_attempts counts the first try, max_retries does not", "max_retries and max_attempts are both given"))
	}
	return s
}

func (r *reader) transport(n *jsondoc.Node) TransportSettings {
	if !r.object(n, "base_url", "proxy", "auth", "client_cert", "client_key", "ca_bundle", "http_headers", "env_http_headers", "allow_openai") {
		return TransportSettings{}
	}
	s := TransportSettings{
		BaseURL:    r.address(n.Get("base_url"), "http", "https"),
		Proxy:      r.address(n.Get("proxy"), "http", "https", "socks5", "socks5h"),
		Auth:       r.oneOf(n.Get("auth"), "bearer", "none"),
		ClientCert: r.name(n.Get("client_cert")),
		ClientKey:  r.name(n.Get("client_key")),
		CABundle:   r.name(n.Get("ca_bundle")),
		Headers:    r.headers(n, authIs(n, "none")),

		AllowOpenAI: r.boolean(n.Get("allow_openai")),
	}
	if s.Proxy != nil && s.ClientCert != nil {
		r.fail(n.Get("client_cert").Errorf("keep one of the two", "a proxy and a client certificate exclude each other"))
	}
	if (s.ClientCert == nil) != (s.ClientKey == nil) {
		present, missing := "client_cert", "client_key"
		if s.ClientCert == nil {
			present, missing = missing, present
		}
		if at := n.Get(present); at != nil && absent(n.Get(missing)) {
			r.fail(at.Errorf("add "+missing, "%s is given without %s", present, missing))
		}
	}
	return s
}

func authIs(n *jsondoc.Node, want string) bool {
	at := n.Get("auth")
	if absent(at) {
		return false
	}
	got, err := at.Text()
	return err == nil && got == want
}

// address is a URL with a host and one of the schemes.
func (r *reader) address(n *jsondoc.Node, schemes ...string) *string {
	v := r.name(n)
	if v == nil {
		return nil
	}
	if err := checkAddress(*v, schemes...); err != "" {
		r.fail(n.Errorf("want "+strings.Join(schemes, ":// or ")+":// and a host", "%s", err))
		return nil
	}
	return v
}

// checkAddress says what is wrong with a URL, "" when nothing is. The URL
// itself is not part of the text: it can hold a password.
func checkAddress(raw string, schemes ...string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "the address cannot be read"
	case !slices.Contains(schemes, u.Scheme):
		return "the address does not begin with a scheme that is known here"
	case u.Hostname() == "":
		return "the address has no host"
	case u.Fragment != "":
		return "the address has a fragment (#…)"
	}
	return ""
}

// headers reads http_headers and env_http_headers of n.
func (r *reader) headers(n *jsondoc.Node, authorization bool) []HeaderSetting {
	var list []HeaderSetting
	for _, key := range []string{"http_headers", "env_http_headers"} {
		at := n.Get(key)
		if !r.object(at) {
			continue
		}
		for _, m := range at.Members() {
			v := r.text(m)
			if v == nil {
				continue
			}
			if problem := checkHeader(m.Key(), *v, authorization); problem != "" {
				r.fail(m.Errorf("", "%s", problem))
				continue
			}
			h := HeaderSetting{Name: m.Key(), Value: *v}
			if key == "env_http_headers" {
				h = HeaderSetting{Name: m.Key(), Env: *v}
				if *v == "" || strings.ContainsAny(*v, "=\x00 ") {
					r.fail(m.Errorf("write the variable's name", "this is not the name of an environment variable"))
					continue
				}
			}
			for _, other := range list {
				if strings.EqualFold(other.Name, h.Name) {
					r.fail(m.Errorf("keep one", "the header %s is given twice", h.Name))
				}
			}
			list = append(list, h)
		}
	}
	return list
}

func (r *reader) compaction(n *jsondoc.Node) CompactionSettings {
	if !r.object(n, "strategy", "soft_threshold", "hard_threshold", "provider_context_limit_tokens", "tool_result_clearing_enabled") {
		return CompactionSettings{}
	}
	s := CompactionSettings{
		Strategy:                   r.oneOf(n.Get("strategy"), CompactionStrategies()...),
		SoftThreshold:              r.fraction(n.Get("soft_threshold")),
		HardThreshold:              r.fraction(n.Get("hard_threshold")),
		ProviderContextLimitTokens: r.integer(n.Get("provider_context_limit_tokens"), 1, 1<<40),
		ToolResultClearingEnabled:  r.boolean(n.Get("tool_result_clearing_enabled")),
	}
	if s.SoftThreshold != nil && s.HardThreshold != nil && *s.SoftThreshold >= *s.HardThreshold {
		r.fail(n.Get("soft_threshold").Errorf("make it smaller", "soft_threshold %g is not below hard_threshold %g", *s.SoftThreshold, *s.HardThreshold))
	}
	return s
}

func (r *reader) catalog(n *jsondoc.Node, s *Settings) []CatalogRow {
	if absent(n) {
		return nil
	}
	if n.Kind() != '[' {
		r.fail(n.Mismatch("an array of model rows"))
		return nil
	}
	var rows []CatalogRow
	for _, m := range n.Members() {
		if !r.object(m, "model_id", "provider_id", "profile_id", "display_label", "visibility", "release_date",
			"display_order", "is_default", "context_limit", "output_limit", "description") {
			continue
		}
		id, providerID := r.name(m.Get("model_id")), r.name(m.Get("provider_id"))
		if absent(m.Get("model_id")) {
			r.fail(m.Errorf("add it", "the row has no model_id"))
		}
		row := CatalogRow{
			ProfileID: r.oneOf(m.Get("profile_id"), "tbh"), DisplayLabel: r.text(m.Get("display_label")),
			Visibility: r.text(m.Get("visibility")), ReleaseDate: r.text(m.Get("release_date")),
			Description: r.text(m.Get("description")), DisplayOrder: r.integer(m.Get("display_order"), -1<<40, 1<<40),
			ContextLimit: r.integer(m.Get("context_limit"), 1, 1<<40), OutputLimit: r.integer(m.Get("output_limit"), 1, 1<<40),
			ProviderID: "meta",
		}
		if id != nil {
			row.ModelID = *id
		}
		if providerID != nil {
			row.ProviderID = *providerID
		}
		if v := r.boolean(m.Get("is_default")); v != nil {
			row.IsDefault = *v
		}
		row.origin = Origin{Layer: s.layer, File: s.File(), Name: m.Path()}
		row.origin.Line, row.origin.Column = m.Pos()
		rows = append(rows, row)
	}
	return rows
}

func (r *reader) providers(n *jsondoc.Node) []ProviderSettings {
	if !r.object(n) {
		return nil
	}
	var list []ProviderSettings
	for _, m := range n.Members() {
		if !validName(m.Key()) {
			r.fail(m.Errorf("use lowercase letters, digits, '-', '_' and '.'", "%q is not a provider name", m.Key()))
			continue
		}
		if !r.object(m, "wire", "base_url", "auth", "default_model", "api_key_env", "api_key_command", "http_headers", "env_http_headers", "models") {
			continue
		}
		p := ProviderSettings{
			ID:           m.Key(),
			Wire:         r.oneOf(m.Get("wire"), "meta", "openai", "openai-chat", "anthropic"),
			BaseURL:      r.address(m.Get("base_url"), "http", "https"),
			Auth:         r.oneOf(m.Get("auth"), "bearer", "none"),
			DefaultModel: r.name(m.Get("default_model")),
			APIKeyEnv:    r.name(m.Get("api_key_env")),

			APIKeyCommand: r.texts(m.Get("api_key_command")),
			Headers:       r.headers(m, authIs(m, "none")),
			Models:        r.models(m.Get("models")),
		}
		if p.APIKeyCommand != nil && len(*p.APIKeyCommand) == 0 {
			r.fail(m.Get("api_key_command").Errorf(`write the program and its arguments, such as ["pass", "show", "key"]`, "the command is empty"))
		}
		known, isBuiltin := builtinEndpoint(p.ID)
		switch {
		case isBuiltin && p.Wire != nil && *p.Wire != known.Wire:
			r.fail(m.Get("wire").Errorf("remove the key or use another provider name", "the provider %s speaks the wire %s", p.ID, known.Wire))
		case isBuiltin && known.Offline:
			r.fail(m.Errorf("remove it", "the provider %s works offline and has nothing to set", p.ID))
		case !isBuiltin && absent(m.Get("wire")):
			r.fail(m.Errorf("add \"wire\": one of meta, openai, openai-chat, anthropic", "the provider %s has no wire", p.ID))
		case !isBuiltin && absent(m.Get("base_url")):
			r.fail(m.Errorf("add \"base_url\"", "the provider %s has no base_url", p.ID))
		}
		list = append(list, p)
	}
	return list
}

func (r *reader) models(n *jsondoc.Node) []ModelSettings {
	if !r.object(n) {
		return nil
	}
	var list []ModelSettings
	for _, m := range n.Members() {
		if !r.object(m, "label", "context_limit", "output_limit", "price_per_million", "reasoning_efforts", "images", "contributor") {
			continue
		}
		model := ModelSettings{
			ID: m.Key(), Label: r.text(m.Get("label")),
			ContextLimit: r.integer(m.Get("context_limit"), 1, 1<<40), OutputLimit: r.integer(m.Get("output_limit"), 1, 1<<40),
			Efforts: r.texts(m.Get("reasoning_efforts")), Images: r.boolean(m.Get("images")), Contributor: r.boolean(m.Get("contributor")),
		}
		if list := model.Efforts; list != nil {
			for i, effort := range m.Get("reasoning_efforts").Members() {
				if i < len(*list) && !slices.Contains(EffortNames(), (*list)[i]) {
					r.fail(effort.Errorf("want "+strings.Join(EffortNames(), ", "), "this is not a reasoning effort"))
				}
			}
		}
		if p := m.Get("price_per_million"); r.object(p, "input", "cached_input", "cache_write", "output") {
			input, output := r.rate(p.Get("input")), r.rate(p.Get("output"))
			for _, key := range []string{"input", "output"} {
				if absent(p.Get(key)) {
					r.fail(p.Errorf("add it", "the price has no %s", key))
				}
			}
			if input != nil && output != nil {
				model.Price = &models.Price{Input: *input, Output: *output, CachedInput: r.rate(p.Get("cached_input")), CacheWrite: r.rate(p.Get("cache_write"))}
			}
		}
		list = append(list, model)
	}
	return list
}
