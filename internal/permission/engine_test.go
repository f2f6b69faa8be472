package permission_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/permission"
)

// place is a real workspace on disk with a home beside it.
type place struct{ base, ws, home string }

func newPlace(t *testing.T) place {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the lines here are bash's and the paths Unix's")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{base, filepath.Join(base, "ws"), filepath.Join(base, "home")}
	for name, text := range map[string]string{
		"ws/main.go": "package main", "ws/.env": "KEY=1", "ws/sub/x": "", "ws/.git/HEAD": "ref: x", "ws/.git/config": "[core]\nbare=false\n",
		"ws/.git/objects/x": "", "ws/.git/refs/x": "", "home/.ssh/id_rsa": "k", "home/notes.txt": "n", "out/f": "",
	} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func ptr[T any](v T) *T { return &v }

// engine makes a decision point over a real place; change may adapt it.
func (p place) engine(t *testing.T, spec permission.GrantSpec, change func(*permission.Config)) *permission.Engine {
	t.Helper()
	base := permission.GrantSpec{
		Mode: ptr(permission.OnRequest), Network: ptr(permission.NetworkProxyOnly), Write: ptr(true), Shell: ptr(true), Trusted: ptr(true),
		Escalate: ptr(true), Remember: ptr(true), Root: p.ws,
	}
	if spec.Mode != nil {
		base.Mode = spec.Mode
	}
	if spec.Network != nil {
		base.Network = spec.Network
	}
	for _, f := range []struct{ dst, src **bool }{
		{&base.Write, &spec.Write}, {&base.Shell, &spec.Shell}, {&base.Trusted, &spec.Trusted}, {&base.Escalate, &spec.Escalate},
		{&base.Sandboxed, &spec.Sandboxed}, {&base.Unbounded, &spec.Unbounded},
	} {
		if *f.src != nil {
			*f.dst = *f.src
		}
	}
	if spec.Tools != nil {
		base.Tools = spec.Tools
	}
	n := 0
	cfg := permission.Config{
		Workspace: p.ws, Home: p.home, Temp: filepath.Join(p.base, "tmp"), Scratch: []string{}, Grant: permission.RootGrant(base), Reviewer: permission.ReviewerHuman,
		Masks: []string{filepath.Join(p.home, ".ssh")},
		NewID: func() string { n++; return "id-" + string(rune('0'+n)) },
	}
	if change != nil {
		change(&cfg)
	}
	e, err := permission.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func decide(t *testing.T, e *permission.Engine, a permission.Action) *permission.Decision {
	t.Helper()
	d, err := e.Decide(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestShellDecisions(t *testing.T) {
	p := newPlace(t)
	e := p.engine(t, permission.GrantSpec{}, nil)
	for _, tt := range []struct {
		name   string
		action permission.ShellLine
		want   permission.Outcome
		reason string
	}{
		{"reads", permission.ShellLine{Text: "ls"}, permission.Allowed, "every stage"},
		{"builds", permission.ShellLine{Text: "go test ./..."}, permission.Allowed, ""},
		{"removes", permission.ShellLine{Text: "ls && rm x"}, permission.Held, "stage 2 of 2, rm x"},
		{"a group", permission.ShellLine{Text: "(ls)"}, permission.Held, "taken apart"},
		{"in a directory below", permission.ShellLine{Text: "touch ../x", Dir: filepath.Join(p.ws, "sub")}, permission.Allowed, ""},
		{"out of a directory below", permission.ShellLine{Text: "touch ../../x", Dir: filepath.Join(p.ws, "sub")}, permission.Held, "outside"},
		{"in a relative directory", permission.ShellLine{Text: "touch ../x", Dir: "sub"}, permission.Allowed, ""},
		{"in a directory outside", permission.ShellLine{Text: "ls", Dir: p.home}, permission.Refused, "outside the workspace"},
		{"a variable of the call", permission.ShellLine{Text: "ls", Env: []string{"LD_PRELOAD=x"}}, permission.Held, "LD_PRELOAD"},
		{"a harmless variable", permission.ShellLine{Text: "ls", Env: []string{"FOO=x"}}, permission.Allowed, ""},
		{"a login shell", permission.ShellLine{Text: "ls", Login: true}, permission.Held, "login shell"},
		{"a terminal", permission.ShellLine{Text: "ls", TTY: true}, permission.Allowed, ""},
		{"without the sandbox", permission.ShellLine{Text: "ls", Escalated: true, Justification: "needs X"}, permission.Held, "needs X"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := decide(t, e, &tt.action)
			if d.Outcome != tt.want || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("%s: %s", d.Outcome, d.Reason)
			}
			if (d.Outcome == permission.Refused) != (d.Run == nil) {
				t.Errorf("outcome %s with run %v", d.Outcome, d.Run)
			}
		})
	}
}

// TestWhatRuns: one bash by its absolute path, and the environment that the
// review counts on.
func TestWhatRuns(t *testing.T) {
	p := newPlace(t)
	d := decide(t, p.engine(t, permission.GrantSpec{}, nil), &permission.ShellLine{Text: "ls", Env: []string{"A=1"}})
	x := d.Run
	if !filepath.IsAbs(x.Path) || filepath.Base(x.Path) != "bash" || strings.Join(x.Args, " ") != "bash --norc --noprofile -c ls" || x.Dir != p.ws || x.Unsandboxed {
		t.Errorf("%+v", x)
	}
	for _, want := range []string{"GIT_PAGER=cat", "GIT_CONFIG_COUNT=3", "GIT_EDITOR=false"} {
		if !slices.Contains(x.Set, want) {
			t.Errorf("%s is not set", want)
		}
	}
	if err := x.Redeem("ls -a", p.ws, []string{"A=1"}); err == nil {
		t.Error("another text runs")
	}
	if err := x.Redeem("ls", p.home, []string{"A=1"}); err == nil {
		t.Error("another directory runs")
	}
	if err := x.Redeem("ls", p.ws, []string{"A=2"}); err == nil {
		t.Error("another environment runs")
	}
	if err := x.Redeem("ls", p.ws, []string{"A=1"}); err != nil {
		t.Error(err)
	}
	if err := x.Redeem("ls", p.ws, []string{"A=1"}); err == nil {
		t.Error("one permission runs twice")
	}
	var none *permission.Execution
	if none.Redeem("ls", p.ws, nil) == nil {
		t.Error("nothing was decided and it runs")
	}
}

// TestEpochVoidsPermits: what was allowed before a change of permissions does
// not run after it.
func TestEpochVoidsPermits(t *testing.T) {
	p := newPlace(t)
	e := p.engine(t, permission.GrantSpec{}, nil)
	d := decide(t, e, &permission.ShellLine{Text: "ls"})
	before := e.Epoch()
	if err := e.SetGrant(e.Grant().Narrow(permission.GrantSpec{Mode: ptr(permission.Untrusted)}), permission.ReviewerHuman); err != nil {
		t.Fatal(err)
	}
	if e.Epoch() <= before {
		t.Error("the epoch stands still")
	}
	if d.Run.Redeem("ls", p.ws, nil) == nil {
		t.Error("a permit of an earlier epoch runs")
	}
	d = decide(t, e, &permission.ShellLine{Text: "ls"})
	if err := e.AddRule(permission.Rule{Prefix: []string{"ls"}, Effect: permission.Deny}); err != nil {
		t.Fatal(err)
	}
	if d.Run.Redeem("ls", p.ws, nil) == nil {
		t.Error("a permit runs although a rule now refuses it")
	}
	if d := decide(t, e, &permission.ShellLine{Text: "ls"}); d.Outcome != permission.Refused {
		t.Errorf("a session rule does not deny: %s", d.Outcome)
	}
}

// TestModeChangesLeaveQuestionsOpen: a change of mode holds from the next
// decision on, and a question that was asked before it can still be answered.
func TestModeChangesLeaveQuestionsOpen(t *testing.T) {
	p := newPlace(t)
	e := p.engine(t, permission.GrantSpec{Mode: ptr(permission.Untrusted)}, nil)
	grant := func(m permission.Mode) permission.Grant {
		return permission.RootGrant(permission.GrantSpec{
			Mode: &m, Network: ptr(permission.NetworkProxyOnly), Write: ptr(true), Shell: ptr(true), Trusted: ptr(true), Root: p.ws,
		})
	}
	line := &permission.ShellLine{Text: "touch sub/y"}
	asked := decide(t, e, line)
	if asked.Outcome != permission.Held {
		t.Fatalf("got %s", asked.Outcome)
	}
	child, err := e.Child(permission.GrantSpec{})
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[permission.Mode]permission.Outcome{
		permission.Never: permission.Allowed, permission.DenyUnmatched: permission.Refused, permission.Untrusted: permission.Held,
	} {
		if err := e.SetMode(grant(mode), permission.ReviewerHuman); err != nil {
			t.Fatal(err)
		}
		if d := decide(t, e, line); d.Outcome != want {
			t.Errorf("%s: %s, want %s", mode, d.Outcome, want)
		}
		if !child.Grant().Within(e.Grant()) {
			t.Errorf("%s: a child may do more than its parent", mode)
		}
	}
	if err := e.SetMode(grant(permission.DenyUnmatched), permission.ReviewerHuman); err != nil {
		t.Fatal(err)
	}
	if err := e.Apply(t.Context(), asked, permission.Answer{ChoiceID: permission.AllowOnce, Source: permission.Source{Kind: permission.SourceUser}}, permission.Call{}); err != nil {
		t.Fatal(err)
	}
	if asked.Outcome != permission.Allowed {
		t.Errorf("the answer gives %s", asked.Outcome)
	}
	if e.SetMode(grant(permission.Never), permission.ReviewerAuto) == nil {
		t.Error("a reviewer that is not there reviews")
	}
}

// TestLooksAtTheDisk: links, repository settings and patterns count as they are.
func TestLooksAtTheDisk(t *testing.T) {
	p := newPlace(t)
	for link, to := range map[string]string{"esc": p.base + "/out", "keys": p.home + "/.ssh", "in": "sub"} {
		if err := os.Symlink(to, filepath.Join(p.ws, link)); err != nil {
			t.Fatal(err)
		}
	}
	e := p.engine(t, permission.GrantSpec{}, nil)
	outcome := func(line string) permission.Outcome { return decide(t, e, &permission.ShellLine{Text: line}).Outcome }
	if o := outcome("touch esc/x"); o != permission.Held {
		t.Errorf("a write through a link that leads out: %s", o)
	}
	if o := outcome("cat keys/id_rsa"); o != permission.Held {
		t.Errorf("a secret through a link: %s", o)
	}
	if o := outcome("touch in/x"); o != permission.Allowed {
		t.Errorf("a write through a link that stays: %s", o)
	}
	if o := outcome("rg foo *"); o != permission.Allowed {
		t.Errorf("a pattern that matches no option: %s", o)
	}
	if err := os.WriteFile(filepath.Join(p.ws, "--pre=sh"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if o := outcome("rg foo *"); o != permission.Held {
		t.Errorf("a pattern that matches an option: %s", o)
	}
	if o := outcome("npx tsc"); o != permission.Held {
		t.Errorf("npx of something that is not installed: %s", o)
	}
	if err := os.MkdirAll(filepath.Join(p.ws, "node_modules/.bin/tsc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if o := outcome("npx tsc"); o != permission.Allowed {
		t.Errorf("npx of something that is installed: %s", o)
	}

	strict := p.engine(t, permission.GrantSpec{Mode: ptr(permission.Untrusted)}, nil)
	git := func(config string) (permission.Outcome, permission.Outcome) {
		if err := os.WriteFile(filepath.Join(p.ws, ".git/config"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		a := decide(t, strict, &permission.ShellLine{Text: "git status"})
		return a.Outcome, outcome("git diff")
	}
	for _, tt := range []struct {
		config              string
		untrusted, onReques permission.Outcome
	}{
		{"[core]\nbare=false\n", permission.Allowed, permission.Allowed},
		{"[core]\nfsmonitor = ./evil\n", permission.Held, permission.Allowed}, // neutralised by the environment
		{"[diff \"x\"]\ntextconv = ./evil\n", permission.Held, permission.Held},
		{"[include]\npath = ../evil\n", permission.Held, permission.Held},
	} {
		if a, b := git(tt.config); a != tt.untrusted || b != tt.onReques {
			t.Errorf("%q: %s in untrusted, %s on request", tt.config, a, b)
		}
	}
}

func TestUntrustedWorkspaceStartsNothing(t *testing.T) {
	p := newPlace(t)
	e := p.engine(t, permission.GrantSpec{Trusted: ptr(false)}, nil)
	for _, line := range []string{"ls", "git status", "npm test"} {
		d, err := e.Authorize(t.Context(), &permission.ShellLine{Text: line}, permission.Call{})
		if err != nil || d.Outcome != permission.Refused || !strings.Contains(d.Reason, "trusted") {
			t.Errorf("%s: %v %+v", line, err, d)
		}
	}
	if d := decide(t, p.engine(t, permission.GrantSpec{Trusted: ptr(false), Mode: ptr(permission.Never)}, nil), &permission.ShellLine{Text: "ls"}); d.Outcome != permission.Refused {
		t.Errorf("never mode starts a program in an untrusted workspace: %s", d.Outcome)
	}
	if d := decide(t, e, &permission.FileRead{Path: "main.go"}); d.Outcome != permission.Allowed {
		t.Errorf("reading as data: %s", d.Reason)
	}
}

func TestFileDecisions(t *testing.T) {
	p := newPlace(t)
	if err := os.Symlink(p.home, filepath.Join(p.ws, "esc")); err != nil {
		t.Fatal(err)
	}
	rules := permission.Rules{
		{Path: "private/**", Effect: permission.Deny}, {Path: "generated", Access: "write", Effect: permission.Ask},
		{Path: filepath.Join(p.base, "out") + "/**", Access: "read", Effect: permission.Allow}, {Path: "~/.ssh/**", Effect: permission.Allow},
	}
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) { c.Rules = rules })
	for _, tt := range []struct {
		action permission.Action
		want   permission.Outcome
	}{
		{&permission.FileRead{Path: "main.go"}, permission.Allowed},
		{&permission.FileRead{Path: filepath.Join(p.ws, "sub/../main.go")}, permission.Allowed},
		{&permission.FileRead{Path: ".env"}, permission.Held},
		{&permission.FileRead{Path: "private/a/b"}, permission.Refused},
		{&permission.FileRead{Path: "PRIVATE/a"}, permission.Refused},
		{&permission.FileRead{Path: filepath.Join(p.home, "notes.txt")}, permission.Held},
		{&permission.FileRead{Path: "esc/notes.txt"}, permission.Held},
		{&permission.FileRead{Path: "../home/notes.txt"}, permission.Held},
		{&permission.FileRead{Path: filepath.Join(p.base, "out/f")}, permission.Allowed},
		{&permission.FileRead{Path: filepath.Join(p.home, ".ssh/id_rsa")}, permission.Refused}, // masked: no rule opens it
		{&permission.FileRead{Path: "esc/.ssh/id_rsa"}, permission.Refused},
		{&permission.FileRead{Path: "/etc/shadow"}, permission.Refused},
		{&permission.FileRead{Path: "/proc/self/environ"}, permission.Refused},
		{&permission.FileWrite{Path: "new/file.go"}, permission.Allowed},
		{&permission.FileWrite{Path: "generated/x.go"}, permission.Held},
		{&permission.FileWrite{Path: "private/x"}, permission.Refused},
		{&permission.FileWrite{Path: "../x"}, permission.Refused},
		{&permission.FileWrite{Path: "esc/x"}, permission.Refused},
		{&permission.FileWrite{Path: "/etc/x"}, permission.Refused},
		{&permission.FileWrite{Path: ".git/config"}, permission.Refused},
		{&permission.FileWrite{Path: "sub/.GIT/hooks/x"}, permission.Refused},
		{&permission.FileWrite{Path: ".git./x"}, permission.Refused},
		{&permission.FileWrite{Path: "GIT~1/x"}, permission.Refused},
		{&permission.FileWrite{Path: ".muse/x"}, permission.Refused},
		{&permission.FileWrite{Path: ".agents/memory/x"}, permission.Refused},
		{&permission.FileWrite{Path: ".vscode/tasks.json"}, permission.Held},
		{&permission.FileWrite{Path: ".envrc"}, permission.Held},
	} {
		if d := decide(t, e, tt.action); d.Outcome != tt.want {
			t.Errorf("%s: %s (%s)", permission.Show(tt.action), d.Outcome, d.Reason)
		}
	}
	t.Run("the boundary holds without a sandbox", func(t *testing.T) {
		e := p.engine(t, permission.GrantSpec{Mode: ptr(permission.Never), Sandboxed: ptr(false)}, nil)
		for _, path := range []string{"/etc/x", "../x", ".git/config", "esc/x"} {
			if d := decide(t, e, &permission.FileWrite{Path: path}); d.Outcome != permission.Refused {
				t.Errorf("%s: %s", path, d.Outcome)
			}
		}
	})
	t.Run("untrusted mode asks for each write", func(t *testing.T) {
		e := p.engine(t, permission.GrantSpec{Mode: ptr(permission.Untrusted)}, nil)
		if d := decide(t, e, &permission.FileWrite{Path: "a"}); d.Outcome != permission.Held {
			t.Error(d.Outcome)
		}
	})
	t.Run("a read-only session", func(t *testing.T) {
		e := p.engine(t, permission.GrantSpec{Write: ptr(false)}, nil)
		if d := decide(t, e, &permission.FileWrite{Path: "a"}); d.Outcome != permission.Refused {
			t.Error(d.Outcome)
		}
		if d := decide(t, e, &permission.ShellLine{Text: "touch a"}); d.Outcome != permission.Held {
			t.Error(d.Outcome)
		}
		if d := decide(t, e, &permission.ShellLine{Text: "ls"}); d.Outcome != permission.Allowed {
			t.Error(d.Outcome)
		}
	})
}

func TestNetworkDecisions(t *testing.T) {
	p := newPlace(t)
	target := func(host string) *permission.NetworkTarget {
		return &permission.NetworkTarget{Host: host, Port: 443, Protocol: "https"}
	}
	rules := permission.Rules{
		{Network: "ok.example.org:443:https", Effect: permission.Allow}, {Network: "*.good.example.org:*:*", Effect: permission.Allow},
		{Network: "bad.good.example.org:443:https", Effect: permission.Deny},
	}
	with := func(mode permission.Mode, network permission.NetworkMode) *permission.Engine {
		return p.engine(t, permission.GrantSpec{Mode: &mode, Network: &network}, func(c *permission.Config) { c.Rules = rules })
	}
	for _, tt := range []struct {
		mode    permission.Mode
		network permission.NetworkMode
		host    string
		want    permission.Outcome
	}{
		{permission.OnRequest, permission.NetworkProxyOnly, "new.example.org", permission.Held},
		{permission.OnRequest, permission.NetworkProxyOnly, "ok.example.org", permission.Allowed},
		{permission.OnRequest, permission.NetworkProxyOnly, "a.good.example.org", permission.Allowed},
		{permission.OnRequest, permission.NetworkProxyOnly, "bad.good.example.org", permission.Refused},
		{permission.OnRequest, permission.NetworkProxyOnly, "good.example.org.evil", permission.Held},
		{permission.OnRequest, permission.NetworkProxyOnly, "169.254.169.254", permission.Refused},
		{permission.OnRequest, permission.NetworkEnabled, "new.example.org", permission.Allowed},
		{permission.OnRequest, permission.NetworkEnabled, "bad.good.example.org", permission.Refused},
		{permission.OnRequest, permission.NetworkEnabled, "fd00:ec2::254", permission.Refused},
		{permission.OnRequest, permission.NetworkRestricted, "ok.example.org", permission.Refused},
		{permission.Never, permission.NetworkProxyOnly, "new.example.org", permission.Refused},
		{permission.Never, permission.NetworkProxyOnly, "ok.example.org", permission.Allowed},
	} {
		if d := decide(t, with(tt.mode, tt.network), target(tt.host)); d.Outcome != tt.want {
			t.Errorf("%s in %s, network %s: %s (%s)", tt.host, tt.mode, tt.network, d.Outcome, d.Reason)
		}
	}
	if k := (permission.NetworkTarget{Host: "::1", Port: 80, Protocol: "http"}).Key(); k != "[::1]:80:http" {
		t.Error(k)
	}
}

func TestToolDecisions(t *testing.T) {
	p := newPlace(t)
	rules := permission.Rules{{Tool: "mcp__ok__*", Effect: permission.Allow}, {Tool: "mcp__no__*", Effect: permission.Deny}, {Tool: "*__delete", Effect: permission.Ask}}
	for _, tt := range []struct {
		mode permission.Mode
		call permission.ToolCall
		want permission.Outcome
	}{
		{permission.OnRequest, permission.ToolCall{Name: "mcp__a__b"}, permission.Held},
		{permission.OnRequest, permission.ToolCall{Name: "mcp__a__b", ReadOnly: true}, permission.Allowed},
		{permission.OnRequest, permission.ToolCall{Name: "mcp__ok__b"}, permission.Allowed},
		{permission.OnRequest, permission.ToolCall{Name: "mcp__ok__delete"}, permission.Held},
		{permission.OnRequest, permission.ToolCall{Name: "mcp__no__b", ReadOnly: true}, permission.Refused},
		{permission.Never, permission.ToolCall{Name: "mcp__a__b"}, permission.Refused},
		{permission.Never, permission.ToolCall{Name: "mcp__ok__b"}, permission.Allowed},
		{permission.OnRequest, permission.ToolCall{Name: "other"}, permission.Refused},
	} {
		e := p.engine(t, permission.GrantSpec{Mode: &tt.mode, Tools: []string{"mcp__a__b", "mcp__ok__b", "mcp__ok__delete", "mcp__no__b"}}, func(c *permission.Config) { c.Rules = rules })
		if d := decide(t, e, &tt.call); d.Outcome != tt.want {
			t.Errorf("%+v in %s: %s (%s)", tt.call, tt.mode, d.Outcome, d.Reason)
		}
	}
}

func TestChildrenOfAnEngine(t *testing.T) {
	p := newPlace(t)
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
		c.Rules = permission.Rules{{Prefix: []string{"make"}, Effect: permission.Deny}}
		c.Remember = func(context.Context, permission.Rule) error { return nil }
	})
	child, err := e.Child(permission.GrantSpec{Mode: ptr(permission.Never), Network: ptr(permission.NetworkEnabled), Escalate: ptr(true), Sandboxed: ptr(false)})
	if err != nil {
		t.Fatal(err)
	}
	if !child.Grant().Within(e.Grant()) || child.Grant().Mode() != permission.OnRequest {
		t.Errorf("%+v", child.Grant())
	}
	if d := decide(t, child, &permission.ShellLine{Text: "make"}); d.Outcome != permission.Refused {
		t.Error("a parent's deny rule is lost")
	}
	if d := decide(t, child, &permission.ShellLine{Text: "ls", Escalated: true}); d.Outcome != permission.Refused {
		t.Error("a child may leave the sandbox")
	}
	for _, c := range decide(t, child, &permission.ShellLine{Text: "git push"}).Choices {
		if c.Scope == permission.LocalPersistent {
			t.Error("a child may be allowed something for ever")
		}
	}
	if err := e.SetGrant(e.Grant().Narrow(permission.GrantSpec{Shell: ptr(false)}), permission.ReviewerHuman); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, child, &permission.ShellLine{Text: "ls"}); d.Outcome != permission.Refused {
		t.Error("a child keeps what its parent lost")
	}
	if _, err := e.Child(permission.GrantSpec{Root: p.home}); err == nil {
		t.Error("a child has a root outside its parent's")
	}
	if _, err := e.Child(permission.GrantSpec{Root: filepath.Join(p.ws, "sub")}); err != nil {
		t.Error(err)
	}
}

// TestToolRulesCoverBuiltInTools: an organisation's rule for "bash" or
// "read_file" holds for what those tools do.
func TestToolRulesCoverBuiltInTools(t *testing.T) {
	p := newPlace(t)
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
		c.Rules = permission.Rules{
			{Tool: "bash", Effect: permission.Deny, Scope: permission.ScopeEnterprise}, {Tool: "write_file", Effect: permission.Ask}, {Tool: "search", Effect: permission.Deny},
		}
	})
	if d := decide(t, e, &permission.ShellLine{Text: "ls"}); d.Outcome != permission.Refused || d.Run != nil {
		t.Errorf("%+v", d)
	}
	if d := decide(t, e, &permission.FileWrite{Path: "a"}); d.Outcome != permission.Held {
		t.Errorf("%+v", d)
	}
	if d := decide(t, e, &permission.FileRead{Path: "main.go"}); d.Outcome != permission.Allowed {
		t.Errorf("%+v", d)
	}
	d, err := e.Authorize(t.Context(), &permission.FileRead{Path: "main.go"}, permission.Call{ToolName: "search"})
	if err != nil || d.Outcome != permission.Refused {
		t.Errorf("%+v %v", d, err)
	}
	narrow, err := p.engine(t, permission.GrantSpec{}, nil).Child(permission.GrantSpec{Tools: []string{"read_file"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := decide(t, narrow, &permission.ShellLine{Text: "ls"}); d.Outcome != permission.Refused {
		t.Error("a child without the tool runs commands")
	}
}

// TestRepositoriesBelow: git started in a directory below finds the repository
// there, with a configuration of its own.
func TestRepositoriesBelow(t *testing.T) {
	p := newPlace(t)
	nested := filepath.Join(p.ws, "vendor/lib")
	for name, text := range map[string]string{"HEAD": "x", "objects/x": "", "refs/x": "", "config": "[diff]\nexternal = ./evil\n"} {
		path := filepath.Join(nested, ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := p.engine(t, permission.GrantSpec{Mode: ptr(permission.Untrusted)}, nil)
	if d := decide(t, e, &permission.ShellLine{Text: "git status"}); d.Outcome != permission.Allowed {
		t.Errorf("at the root: %s", d.Reason)
	}
	if d := decide(t, e, &permission.ShellLine{Text: "git status", Dir: nested}); d.Outcome != permission.Held {
		t.Error("the nested repository's settings do not count")
	}
	if d := decide(t, e, &permission.ShellLine{Text: "git status", Dir: filepath.Join(p.ws, "sub")}); d.Outcome != permission.Allowed {
		t.Errorf("in a directory of the same repository: %s", d.Reason)
	}
}

// TestProgramsOfTheProjectInPath: where PATH leads into the workspace a name is
// the project's program.
func TestProgramsOfTheProjectInPath(t *testing.T) {
	p := newPlace(t)
	bin := filepath.Join(p.ws, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "ls"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]permission.Outcome{
		"/usr/bin:/bin": permission.Allowed, bin + ":/usr/bin": permission.Held, ".:/usr/bin": permission.Allowed, "bin:/usr/bin": permission.Held, "/usr/bin:" + bin: permission.Held,
	} {
		e := p.engine(t, permission.GrantSpec{Mode: ptr(permission.Untrusted)}, func(c *permission.Config) {
			c.Path = path
			c.Rules = permission.Rules{{Prefix: []string{"cat"}, Effect: permission.Allow}}
		})
		if d := decide(t, e, &permission.ShellLine{Text: "ls"}); d.Outcome != want {
			t.Errorf("PATH=%s: %s (%s)", path, d.Outcome, d.Reason)
		}
		if d := decide(t, e, &permission.ShellLine{Text: "cat main.go"}); d.Outcome != permission.Allowed {
			t.Errorf("PATH=%s: cat: %s", path, d.Reason)
		}
	}
}
