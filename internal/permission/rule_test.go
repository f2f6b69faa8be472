package permission_test

import (
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/permission"
)

func prefix(effect permission.Effect, words ...string) permission.Rule {
	return permission.Rule{Prefix: words, Effect: effect, Scope: permission.ScopeUser}
}

// verdict reviews a line under rules.
func verdict(t *testing.T, mode permission.Mode, line string, rules ...permission.Rule) *permission.LineReview {
	t.Helper()
	return corpusEngine(t, mode, func(c *permission.Config) { c.Rules = rules }).Explain(line)
}

// TestDenyHolds: ways in which products let a denied command through.
func TestDenyHolds(t *testing.T) {
	push, rm, force := prefix(permission.Deny, "git", "push"), prefix(permission.Deny, "rm"), prefix(permission.Deny, "git", "push", "--force")
	clean := prefix(permission.Deny, "rm", "-rf")
	for _, tt := range []struct {
		line string
		rule permission.Rule
		want bool
	}{
		{"git push", push, true},
		{"git push origin main", push, true},
		{"/usr/bin/git push", push, true},
		{"GIT push", push, true},
		{"git -C sub push", push, true},
		{"git --no-pager -c a=b push", push, true},
		{"ls && git push", push, true},
		{"ls; ls | git push", push, true},
		{"env A=1 git push", push, true},
		{"timeout 5 env nice git push", push, true},
		{"bash -c 'git push'", push, true},
		{"eval 'git push'", push, true},
		{"echo $(git push)", push, true},
		{"find . -exec git push \\;", push, true},
		{"xargs git push", push, true},
		{"sudo git push", push, true},
		{"(git push)", push, true},
		{"for i in 1; do git push; done", push, true},
		{"if true; then git push; fi", push, true},
		{"f() { git push; }; f", push, true},
		{"watch git push", push, true},
		{"parallel 'git push' ::: a", push, true},
		{"flock f -c 'git push'", push, true},
		{"git status", push, false},
		{"git log push", push, false},
		{"echo git push", push, false},
		{"git stash push", push, false},
		{"rm x", rm, true},
		{"\\rm x", rm, true},
		{"r\\m x", rm, true},
		{"./rm x", rm, true},
		{"command rm x", rm, true},
		{"busybox rm x", rm, true},
		{"git push --force", force, true},
		{"git push origin main --force", force, true},
		{"git push --forc", force, true},
		{"git push --force=x", force, true},
		{"git push", force, false},
		{"rm -rf x", clean, true},
		{"rm -fr x", clean, true},
		{"rm -r -f x", clean, true},
		{"rm x -rvf", clean, true},
		{"rm -r x", clean, false},
		{strings.Repeat("true;", 70) + "git push", push, true},
		{"env", prefix(permission.Deny, "env"), true},
		{"sudo ls", prefix(permission.Deny, "sudo"), true},
		{"env ls", prefix(permission.Deny, "env"), true},
		{"bash -c ls", prefix(permission.Deny, "bash"), true},
		{"find . -name x", prefix(permission.Deny, "find", "-delete"), false},
		{"find . -name x -delete", prefix(permission.Deny, "find", "-delete"), true},
	} {
		for _, mode := range []permission.Mode{permission.OnRequest, permission.Untrusted, permission.Never} {
			r := verdict(t, mode, tt.line, tt.rule, prefix(permission.Allow, "git", "push"), prefix(permission.Allow, "rm"))
			if denied := r.Verdict == permission.Denied; denied != tt.want && !(mode == permission.Never && !r.Line.Decomposed()) {
				t.Errorf("%s in %s with %s: %s (%s)", tt.line, mode, &tt.rule, r.Verdict, r.Reason)
			}
		}
	}
}

// TestHiddenCommandsNeverPassDeny: where a deny rule exists, a line that hides
// what it runs does not run in never mode either.
func TestHiddenCommandsNeverPassDeny(t *testing.T) {
	deny := prefix(permission.Deny, "git", "push")
	for _, line := range []string{"$x push", "(ls)", "eval \"$x\"", "git $X", "git \"$X\"", "{ls,}", "ls\r", "ls )", "xargs -I% % x"} {
		if r := verdict(t, permission.Never, line, deny); r.Verdict != permission.Denied {
			t.Errorf("%q: %s", line, r.Verdict)
		}
		if r := verdict(t, permission.Never, line); r.Verdict != permission.Pass {
			t.Errorf("without rules %q: %s", line, r.Verdict)
		}
		if r := verdict(t, permission.OnRequest, line, deny); r.Verdict == permission.Pass {
			t.Errorf("on request %q passes", line)
		}
	}
}

func TestAllowRules(t *testing.T) {
	for _, tt := range []struct {
		line string
		rule permission.Rule
		want permission.Verdict
	}{
		{"git push", prefix(permission.Allow, "git", "push"), permission.Pass},
		{"git push origin", prefix(permission.Allow, "git", "push"), permission.Pass},
		{"/usr/bin/git push", prefix(permission.Allow, "git", "push"), permission.Pass},
		{"rm x", permission.Rule{Prefix: []string{"rm", "x"}, Exact: true, Effect: permission.Allow}, permission.Pass},
		{"rm x y", permission.Rule{Prefix: []string{"rm", "x"}, Exact: true, Effect: permission.Allow}, permission.Review},
		// What the words do not say keeps a rule from matching.
		{"git push $X", prefix(permission.Allow, "git", "push"), permission.Review},
		{"git push *", prefix(permission.Allow, "git", "push"), permission.Review},
		{"PAGER=x git push", prefix(permission.Allow, "git", "push"), permission.Review},
		{"FOO=1 git push", prefix(permission.Allow, "git", "push"), permission.Review},
		{"git push > /etc/x", prefix(permission.Allow, "git", "push"), permission.Review},
		{"sudo git push", prefix(permission.Allow, "git", "push"), permission.Review},
		{"xargs git push", prefix(permission.Allow, "git", "push"), permission.Review},
		{"./git push", prefix(permission.Allow, "git", "push"), permission.Review},
		{"/tmp/git push", prefix(permission.Allow, "git", "push"), permission.Review},
		{"poetry run rm x", prefix(permission.Allow, "rm"), permission.Review},
		{"rm ~/.ssh/x", prefix(permission.Allow, "rm"), permission.Review},
		{"git push; rm x", prefix(permission.Allow, "git", "push"), permission.Review},
		{"(git push)", prefix(permission.Allow, "git", "push"), permission.Unparseable},
		{"Git push", prefix(permission.Allow, "git", "push"), permission.Review},
	} {
		if r := verdict(t, permission.OnRequest, tt.line, tt.rule); r.Verdict != tt.want {
			t.Errorf("%s with %s: %s (%s)", tt.line, &tt.rule, r.Verdict, r.Reason)
		}
	}
}

func TestPrecedence(t *testing.T) {
	allow, ask, deny := prefix(permission.Allow, "npm"), prefix(permission.Ask, "npm", "test"), prefix(permission.Deny, "npm", "test", "x")
	project := permission.Rule{Prefix: []string{"rm"}, Effect: permission.Allow, Scope: permission.ScopeProject}
	for _, tt := range []struct {
		mode  permission.Mode
		line  string
		rules []permission.Rule
		want  permission.Verdict
	}{
		{permission.Untrusted, "npm run x", []permission.Rule{allow, ask, deny}, permission.Pass},
		{permission.OnRequest, "npm test", []permission.Rule{allow, ask, deny}, permission.Review},
		{permission.OnRequest, "npm test x", []permission.Rule{allow, ask, deny}, permission.Denied},
		{permission.Never, "npm test", []permission.Rule{ask}, permission.Denied}, // nobody may be asked
		{permission.OnRequest, "rm x", []permission.Rule{project}, permission.Review},
		{permission.DenyUnmatched, "rm x", nil, permission.Denied},
		{permission.DenyUnmatched, "npm test", nil, permission.Denied},
		{permission.DenyUnmatched, "npm test", []permission.Rule{allow}, permission.Pass},
		{permission.DenyUnmatched, "ls", nil, permission.Pass},
		{permission.DenyUnmatched, "(ls)", nil, permission.Denied},
	} {
		if r := verdict(t, tt.mode, tt.line, tt.rules...); r.Verdict != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.line, tt.mode, r.Verdict, tt.want)
		}
	}
}

func TestStrictUntrustedStopsEverything(t *testing.T) {
	e := corpusEngine(t, permission.Untrusted, func(c *permission.Config) { c.Strict = true })
	if r := e.Explain("ls"); r.Verdict != permission.Review {
		t.Errorf("ls: %s", r.Verdict)
	}
}

func TestRuleValidation(t *testing.T) {
	for _, r := range []permission.Rule{
		{}, {Effect: permission.Deny}, {Prefix: []string{"a"}}, {Prefix: []string{"a"}, Effect: "maybe"}, {Prefix: []string{"git push"}, Effect: permission.Deny},
		{Prefix: []string{""}, Effect: permission.Deny}, {Prefix: []string{"a", "b\n"}, Effect: permission.Deny}, {Prefix: []string{"a"}, Tool: "b", Effect: permission.Deny},
		{Tool: "[", Effect: permission.Deny}, {Path: "a/[", Effect: permission.Deny}, {Path: "a", Access: "look", Effect: permission.Deny},
		{Tool: "x", Access: "read", Effect: permission.Deny}, {Network: "host", Effect: permission.Deny}, {Network: "a:b:c:d:e", Effect: permission.Deny}, {Tool: "x", Exact: true, Effect: permission.Deny},
	} {
		if r.Validate() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
	for _, r := range []permission.Rule{
		prefix(permission.Deny, "a", "b c"), {Tool: "mcp__*", Effect: permission.Ask}, {Path: "~/x/**", Access: "read", Effect: permission.Deny},
		{Network: "*.example.org:443:https", Effect: permission.Allow}, {Network: "[::1]:80:http", Effect: permission.Allow},
	} {
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", &r, err)
		}
	}
}
