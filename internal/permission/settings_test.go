package permission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/permission"
)

func settings(t *testing.T, text string) (permission.Settings, error) {
	t.Helper()
	doc, err := jsondoc.Parse("settings.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return permission.ParseSettings(doc.Root().Get("permissions"), "settings.json")
}

func TestProfiles(t *testing.T) {
	s, err := settings(t, `{"permissions": {"schema_version": 1, "default_profile": "work", "profiles": {
		"base": {"approval": "on_request", "reviewer": "human", "filesystem": {":workspace": "write", "secrets": "deny", "~/shared": "write"}, "network": {"mode": "restricted"}},
		"work": {"description": "d", "extends": ["base"], "filesystem": {"secrets": "read", "/srv/data": "read"}, "network": {"mode": "proxy_only", "targets": ["a.example.org:443:https"]}, "workspace_roots": ["/srv/second"]},
		"auto": {"extends": ":auto-review", "approval": "untrusted"}
	}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if s.DefaultProfile != "work" {
		t.Error(s.DefaultProfile)
	}
	work, err := s.Profiles.Resolve("work")
	if err != nil {
		t.Fatal(err)
	}
	if *work.Approval != permission.OnRequest || work.Network.Mode != permission.NetworkProxyOnly || !work.Write() || work.DisplayName != "work" {
		t.Errorf("%+v", work)
	}
	if !slices.Equal(work.WritableRoots(), []string{"/srv/second", "~/shared"}) || !slices.Equal(work.Masks(), []string{"secrets"}) {
		t.Errorf("roots %q, masks %q: what a parent denies stays denied", work.WritableRoots(), work.Masks())
	}
	rules := work.Rules()
	if len(rules) != 4 || rules[0].Effect != permission.Deny || rules[0].Path != "secrets" {
		t.Errorf("%+v", rules)
	}
	auto, err := s.Profiles.Resolve("auto")
	if err != nil || *auto.Reviewer != permission.ReviewerAuto || *auto.Approval != permission.Untrusted {
		t.Errorf("%+v %v", auto, err)
	}
	for id, want := range map[string]struct {
		mode  permission.Mode
		who   permission.ReviewerKind
		write bool
		net   permission.NetworkMode
	}{
		permission.ProfileReadOnly:     {permission.Untrusted, permission.ReviewerHuman, false, permission.NetworkRestricted},
		permission.ProfileAskMe:        {permission.OnRequest, permission.ReviewerHuman, true, permission.NetworkProxyOnly},
		permission.ProfileAutoReview:   {permission.OnRequest, permission.ReviewerAuto, true, permission.NetworkProxyOnly},
		permission.ProfileUnrestricted: {permission.Never, permission.ReviewerNone, true, permission.NetworkEnabled},
	} {
		p, err := s.Profiles.Resolve(id)
		if err != nil || *p.Approval != want.mode || *p.Reviewer != want.who || p.Write() != want.write || p.Network.Mode != want.net {
			t.Errorf("%s: %+v %v", id, p, err)
		}
	}
	if _, err := s.Profiles.Resolve("nope"); err == nil || !strings.Contains(err.Error(), "work") {
		t.Errorf("%v", err)
	}
}

func TestBadSettings(t *testing.T) {
	many := strings.Repeat(`"p%d": {"extends": ":ask-me"},`, 65)
	n := make([]any, 65)
	for i := range n {
		n[i] = i
	}
	many = strings.TrimSuffix(fmt.Sprintf(many, n...), ",")
	full := `"approval": "never", "reviewer": "none", "filesystem": "unrestricted", "network": {"mode": "enabled"}`
	for text, want := range map[string]string{
		`{"schema_version": 2}`:                 "schema version 2",
		`{"colour": 1}`:                         "unknown key",
		`{"profiles": {"Bad": {` + full + `}}}`: "not valid",
		`{"profiles": {"` + strings.Repeat("a", 65) + `": {` + full + `}}}`:                              "not valid",
		`{"profiles": {` + many + `}}`:                                                                   "more than 64",
		`{"profiles": {"a": {"approval": "never"}}}`:                                                     "does not say",
		`{"profiles": {"a": {"extends": "b"}, "b": {"extends": "a"}}}`:                                   "circle",
		`{"profiles": {"a": {"extends": "zz"}}}`:                                                         "no permission profile",
		`{"profiles": {"a": {"extends": ":ask-me", "approval": "always"}}}`:                              "unknown approval mode",
		`{"profiles": {"a": {"extends": ":ask-me", "reviewer": "robot"}}}`:                               "unknown reviewer",
		`{"profiles": {"a": {"extends": ":ask-me", "network": {"mode": "open"}}}}`:                       "unknown network mode",
		`{"profiles": {"a": {"extends": ":ask-me", "network": {"targets": ["x"]}}}}`:                     "host:port:protocol",
		`{"profiles": {"a": {"extends": ":ask-me", "filesystem": {":x": "read"}}}}`:                      "unknown selector",
		`{"profiles": {"a": {"extends": ":ask-me", "filesystem": {"x": "see"}}}}`:                        "unknown access",
		`{"profiles": {"a": {"extends": ":ask-me", "filesystem": "all"}}}`:                               "unknown filesystem",
		`{"profiles": {"a": {"extends": ":ask-me", "colour": 1}}}`:                                       "unknown key",
		`{"profiles": {"a": {"extends": ":ask-me", "description": "` + strings.Repeat("x", 256) + `"}}}`: "longer than 255",
		`{"default_profile": "zz"}`:                                                                      "no profile",
		`{"rules": [{"prefix": ["a"]}]}`:                                                                 "verdict",
		`{"rules": [{"prefix": "git push", "verdict": "deny"}]}`:                                         "array of words",
		`{"rules": [{"prefix": ["a"], "verdict": "deny", "if": "x"}]}`:                                   "unknown key",
		`{"rules": [{"command": "a", "verdict": "deny"}]}`:                                               "unknown key",
		`{"rules": {}}`:                "array of rules",
		`{"read_only_rules": "false"}`: "",
		`[]`:                           "",
	} {
		if _, err := settings(t, `{"permissions": `+text+`}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
	s, err := settings(t, `{"permissions": {"read_only_rules": false, "rules": [{"prefix": ["git", "push"], "verdict": "deny", "reason": "ask me first"}, {"tool": "mcp__*", "verdict": "ask"}]}}`)
	if err != nil || !s.Strict || len(s.Rules) != 2 || s.Rules[0].Source != "settings.json:1" || s.Rules[0].Scope != permission.ScopeUser {
		t.Errorf("%+v %v", s, err)
	}
}

func TestProjectRulesOnlyNarrow(t *testing.T) {
	ws := t.TempDir()
	if rules, err := permission.ReadProjectRules(ws); err != nil || rules != nil {
		t.Errorf("%v %v", rules, err)
	}
	file := filepath.Join(ws, ".muse", "permissions.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		`{"schema_version": 1, "rules": [{"prefix": ["npm", "publish"], "verdict": "deny"}]}`: true,
		`{"rules": [{"prefix": ["rm"], "verdict": "allow"}]}`:                                 false,
		`{"rules": [], "profiles": {}}`:                                                       false,
		`{"rules": [`:                                                                         false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		rules, err := permission.ReadProjectRules(ws)
		if (err == nil) != ok || ok && rules[0].Scope != permission.ScopeProject {
			t.Errorf("%s: %v %v", text, rules, err)
		}
	}
}

func TestKeptRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "muse", permission.KeptFile)
	a, b := permission.Kept{Path: path, Workspace: "/w/a"}, permission.Kept{Path: path, Workspace: "/w/b"}
	if rules, err := a.Read(); err != nil || rules != nil {
		t.Errorf("%v %v", rules, err)
	}
	push := permission.Rule{Prefix: []string{"git", "push"}, Effect: permission.Allow}
	exact := permission.Rule{Prefix: []string{"rm", "x"}, Exact: true, Effect: permission.Allow}
	for _, r := range []permission.Rule{push, exact, push} {
		if err := a.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Add(t.Context(), permission.Rule{Network: "a:443:https", Effect: permission.Allow}); err != nil {
		t.Fatal(err)
	}
	rules, err := a.Read()
	if err != nil || len(rules) != 2 || !rules[1].Exact || rules[0].Scope != permission.ScopeLocal || rules[0].Prefix[1] != "push" {
		t.Errorf("%+v %v", rules, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 && filepath.Separator == '/' {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if err := a.Remove(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if rules, _ = a.Read(); len(rules) != 1 || rules[0].Prefix[0] != "rm" {
		t.Errorf("%+v", rules)
	}
	if err := a.Remove(t.Context(), 5); err == nil {
		t.Error("a rule that is not there was removed")
	}
	if rules, err := b.Read(); err != nil || len(rules) != 1 {
		t.Errorf("another workspace's rules: %+v %v", rules, err)
	}
	if err := os.WriteFile(path, []byte(`{"workspaces": {"/w/a": {"rules": [{"prefix": ["a"], "verdict": "perhaps"}]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(); err == nil {
		t.Error("a damaged file is taken")
	}
}

const policyText = `{"schema_version": 1,
 "execution": {"forbid_approval_bypass": true, "forbid_sandbox_bypass": true, "force_agent_definition_safe_mode": true,
  "permission_profiles": [":ask-me", ":read-only"], "approval_modes": {"allowed": ["untrusted", "on-request"], "fallback": "untrusted"},
  "approval_reviewers": ["human"], "network_sandbox_modes": {"allowed": ["restricted"], "fallback": "restricted"},
  "tool_rules": {"web_fetch": {"decision": "deny"}}, "allow_project_configuration": false, "stop_hook_continuations": 2},
 "model_egress": {"allowed_providers": ["meta"], "allowed_models": ["m"], "model_fallback": "m", "web_search": "deny"},
 "extensions": {"skills": {}}, "privacy": {"telemetry": "force_off"},
 "openmuse": {"rules": [{"prefix": ["ssh"], "verdict": "deny"}]}}`

func TestPolicy(t *testing.T) {
	p, err := permission.ParsePolicy("policy.json", []byte(policyText))
	if err != nil {
		t.Fatal(err)
	}
	if !p.ForbidApprovalBypass || !p.WebSearchOff || p.WebFetchOff || p.ModelFallback != "m" || p.ProjectConfiguration() || *p.StopHookContinuations != 2 ||
		!slices.Equal(p.Forced, []string{"telemetry"}) || !slices.Equal(p.NotActive, []string{"extensions.skills"}) {
		t.Errorf("%+v", p)
	}
	rules := p.EnterpriseRules()
	if len(rules) != 2 || rules[0].Scope != permission.ScopeEnterprise || rules[1].Tool != "web_fetch" {
		t.Errorf("%+v", rules)
	}
	base := permission.Posture{Profile: ":ask-me", Mode: permission.OnRequest, Reviewer: permission.ReviewerHuman, Network: permission.NetworkRestricted, Sandboxed: true}
	if out, notes, err := p.Apply(base); err != nil || len(notes) != 0 || out.Mode != base.Mode {
		t.Errorf("%+v %q %v", out, notes, err)
	}
	for _, tt := range []struct {
		name   string
		change func(*permission.Posture)
		fails  string
		check  func(permission.Posture) bool
	}{
		{"never by default", func(p *permission.Posture) { p.Mode = permission.Never }, "", func(p permission.Posture) bool { return p.Mode == permission.OnRequest }},
		{"never by flag", func(p *permission.Posture) { p.Mode, p.Asked = permission.Never, []string{"mode"} }, "without approval", nil},
		{"no sandbox by default", func(p *permission.Posture) { p.Sandboxed = false }, "", func(p permission.Posture) bool { return p.Sandboxed }},
		{"no sandbox by flag", func(p *permission.Posture) { p.Sandboxed, p.Asked = false, []string{"sandbox"} }, "without the sandbox", nil},
		{"network by default", func(p *permission.Posture) { p.Network = permission.NetworkProxyOnly }, "", func(p permission.Posture) bool { return p.Network == permission.NetworkRestricted }},
		{"network by flag", func(p *permission.Posture) { p.Network, p.Asked = permission.NetworkEnabled, []string{"network"} }, "not allowed", nil},
		{"reviewer without a fallback", func(p *permission.Posture) { p.Reviewer = permission.ReviewerAuto }, "names no fallback", nil},
		{"profile by flag", func(p *permission.Posture) { p.Profile, p.Asked = ":unrestricted", []string{"profile"} }, "not allowed", nil},
	} {
		in := base
		tt.change(&in)
		out, notes, err := p.Apply(in)
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", tt.name, err)
			}
		case err != nil || len(notes) != 1 || !tt.check(out):
			t.Errorf("%s: %+v %q %v", tt.name, out, notes, err)
		}
	}
	var none *permission.Policy
	if out, _, err := none.Apply(permission.Posture{Mode: permission.Never}); err != nil || out.Mode != permission.Never || none.EnterpriseRules() != nil || !none.ProjectConfiguration() {
		t.Error("no policy is one")
	}
}

// TestPolicyRulesAreStrongest: what an organisation refuses no allow rule of
// the user brings back.
func TestPolicyRulesAreStrongest(t *testing.T) {
	p, err := permission.ParsePolicy("policy.json", []byte(policyText))
	if err != nil {
		t.Fatal(err)
	}
	e := corpusEngine(t, permission.Never, func(c *permission.Config) {
		c.Rules = append(p.EnterpriseRules(), permission.Rule{Prefix: []string{"ssh"}, Effect: permission.Allow, Scope: permission.ScopeUser})
	})
	if r := e.Explain("ssh host"); r.Verdict != permission.Denied || r.Stages[0].Rule.Scope != permission.ScopeEnterprise {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}

func TestBadPolicy(t *testing.T) {
	for _, text := range []string{
		`{`, `[]`, `{"colour": 1}`, `{"execution": {"colour": 1}}`, `{"execution": {"approval_modes": ["sometimes"]}}`,
		`{"execution": {"approval_modes": {"allowed": ["never"], "fallback": "untrusted"}}}`, `{"execution": {"tool_rules": {"x": {"decision": "maybe"}}}}`,
		`{"execution": {"forbid_sandbox_bypass": "yes"}}`, `{"privacy": {"telemetry": "on"}}`, `{"schema_version": 9}`,
		`{"execution": {"forbid_sandbox_bypass": true, "forbid_sandbox_bypass": false}}`, `{"openmuse": {"rules": [{}]}}`,
		`{"execution": {"stop_hook_continuations": -1}}`, `{"model_egress": {"web_search": "perhaps"}}`,
	} {
		if _, err := permission.ParsePolicy("p", []byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	dir := t.TempDir()
	if p, err := permission.ReadPolicy(filepath.Join(dir, "none.json")); p != nil || err != nil {
		t.Errorf("%v %v", p, err)
	}
	if _, err := permission.ReadPolicy(dir); err == nil {
		t.Error("a policy that cannot be read is none")
	}
}

func TestModeNames(t *testing.T) {
	for _, m := range []permission.Mode{permission.Untrusted, permission.OnRequest, permission.Never, permission.DenyUnmatched} {
		for _, name := range []string{string(m), m.LogName(), m.WireName()} {
			if got, err := permission.ParseMode(name); err != nil || got != m {
				t.Errorf("%s: %s %v", name, got, err)
			}
		}
	}
	if _, err := permission.ParseMode(""); err == nil {
		t.Error("no mode is a mode")
	}
	for _, s := range []string{"restricted", "proxy-only", "proxy_only", "enabled"} {
		if _, err := permission.ParseNetworkMode(s); err != nil {
			t.Error(err)
		}
	}
}
