package muse_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/pkg/muse"
)

const prompt = "secret prompt words"

func job() muse.Job {
	return muse.Job{Workspace: "/ws", SessionID: session, PromptFile: "/tmp/p", Prompt: prompt}
}

// TestSupervisedArgs has a row for each flag rule of seed 001, Command
// Construction.
func TestSupervisedArgs(t *testing.T) {
	// words abbreviates the common line; %s stands for what a row changes.
	line := func(model, posture, shell, extra string) []string {
		return strings.Fields("exec --json --workspace /ws " + model + " --trust-workspace " + posture +
			" --user-input-auto-resolve --no-foreign-personal-context " + shell + " --session-id " + session + " --prompt-file /tmp/p " + extra)
	}
	const (
		off   = "--disable-approval --disable-sandbox"
		shell = "--enable-shell-tool"
	)
	tests := []struct {
		name    string
		profile muse.Supervised
		want    []string
	}{
		{"all defaults", muse.Supervised{}, line("", off, shell, "")},
		{"model and effort", muse.Supervised{Model: "muse-wonder-1.0", Effort: "max"}, line("--model muse-wonder-1.0 --reasoning-effort max", off, shell, "")},
		{"provider", muse.Supervised{Provider: "echo"}, line("--provider echo", off, shell, "")},
		{"sandbox on", muse.Supervised{Sandbox: muse.SandboxOn}, line("", "--disable-approval --sandbox-network enabled", shell, "")},
		{"asynchronous shell", muse.Supervised{AsyncShell: true}, line("", off, "", "")},
		{"extra arguments come last", muse.Supervised{Extra: []string{"--max-model-steps", "5"}}, line("", off, shell, "--max-model-steps 5")},
		{"a boolean in the extra arguments is not doubled", muse.Supervised{Extra: []string{"--enable-shell-tool"}}, line("", off, "", "--enable-shell-tool")},
		{"every boolean of the profile is not doubled", muse.Supervised{Extra: []string{"--disable-approval", "--disable-sandbox"}}, line("", "", shell, "--disable-approval --disable-sandbox")},
		{"a value in the extra arguments wins", muse.Supervised{Model: "muse-spark-1.3", Extra: []string{"--model", "other"}}, line("", off, shell, "--model other")},
		{"so does one joined by =", muse.Supervised{Effort: "low", Extra: []string{"--reasoning-effort=high"}}, line("", off, shell, "--reasoning-effort=high")},
		{"a value that looks like a flag is a value", muse.Supervised{Extra: []string{"--base-url", "--enable-shell-tool"}}, line("", off, shell, "--base-url --enable-shell-tool")},
		{"permission profile excludes the switches it replaces", muse.Supervised{Extra: []string{"--permission-profile", ":read-only"}}, line("", "", shell, "--permission-profile :read-only")},
		{"approval mode replaces disable-approval", muse.Supervised{Extra: []string{"--approval-mode", "never"}}, line("", "--disable-sandbox", shell, "--approval-mode never")},
		{"sandbox network replaces disable-sandbox", muse.Supervised{Extra: []string{"--sandbox-network", "restricted"}}, line("", "--disable-approval", shell, "--sandbox-network restricted")},
		{"no shell", muse.Supervised{Extra: []string{"--disable-shell"}}, line("", off, "", "--disable-shell")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := tt.profile.Build(job())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, inv.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if !slices.Contains(inv.Env, "MUSE_NO_AUTO_UPDATE=1") {
				t.Errorf("environment %v", inv.Env)
			}
			for _, never := range []string{prompt, "-w", "--worktree", "--subagent-worktree-isolation", "--yolo", "--"} {
				if slices.Contains(inv.Args, never) {
					t.Errorf("%q is on the command line", never)
				}
			}
		})
	}
	if inv, _ := (muse.Supervised{Extra: []string{"--yolo"}}).Build(job()); slices.ContainsFunc(inv.Args, func(a string) bool {
		return a == "--trust-workspace" || a == "--disable-approval" || a == "--disable-sandbox"
	}) {
		t.Errorf("yolo stands beside what it includes: %v", inv.Args)
	}
}

func TestSupervisedRefusals(t *testing.T) {
	for _, extra := range [][]string{
		{"--prompt-file", "x"}, {"--session-id", session}, {"--workspace", "/"}, {"--workspace=/"}, {"--api-key-stdin"}, {"--no-session-log"},
		{"-w"}, {"--worktree", "create"}, {"--worktree-base", "main"}, {"--subagent-worktree-isolation"},
		{"--"}, {"another prompt"}, {"--yolo", "another prompt"}, {"--yolo", "--yolo"}, {"--model"},
	} {
		_, err := muse.Supervised{Extra: extra}.Build(job())
		var refused *muse.ExtraError
		if !errors.As(err, &refused) {
			t.Errorf("%v: %v", extra, err)
		}
	}
	for _, p := range []muse.Supervised{{Model: "--yolo"}, {Effort: "high --yolo"}, {Provider: "a\nb"}, {Sandbox: "maybe"}} {
		if _, err := p.Build(job()); err == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
	if _, err := (muse.Supervised{Extra: []string{"--new-flag", "its value", "--parallel-tool-calls"}}).Build(job()); err != nil {
		t.Errorf("a flag of a later release: %v", err)
	}
}

func direct() muse.Direct {
	return muse.Direct{Model: "muse-spark-1.3", Effort: "minimal", MaxSteps: 2, OutputSchema: "/s.json"}
}

// TestDirectArgs has a row for each rule of seed 002's S1 profile.
func TestDirectArgs(t *testing.T) {
	base := "exec --json --provider meta --model muse-spark-1.3 --reasoning-effort minimal --workspace /ws --approval-mode never --approval-judge off --max-model-steps 2"
	tail := " --session-id " + session + " --prompt-file /tmp/p"
	tests := []struct {
		name    string
		profile muse.Direct
		want    string
	}{
		{"bound", direct(), base + " --output-schema /s.json" + tail},
		{"read-only removes writes and the shell", with(direct(), func(d *muse.Direct) { d.ReadOnly = true }), base + " --output-schema /s.json --disable-write --disable-shell" + tail},
		{"trust only when the host says so", with(direct(), func(d *muse.Direct) { d.Trust = true }), base + " --output-schema /s.json --trust-workspace" + tail},
		{"smoke", muse.SmokeProfile("", "muse-spark-1.3", "minimal"), base + " --prompt-file /tmp/p"},
		{"smoke of the mechanics", muse.SmokeProfile("echo", "", ""), "exec --json --provider echo --workspace /ws --approval-mode never --approval-judge off --max-model-steps 2 --prompt-file /tmp/p"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := tt.profile.Build(job())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Fields(tt.want), inv.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
	for _, effort := range muse.Efforts() {
		if _, err := with(direct(), func(d *muse.Direct) { d.Effort = effort }).Build(job()); err != nil {
			t.Errorf("declared effort %s: %v", effort, err)
		}
	}
}

func with(d muse.Direct, change func(*muse.Direct)) muse.Direct {
	change(&d)
	return d
}

func TestDirectRefusals(t *testing.T) {
	for name, change := range map[string]func(*muse.Direct){
		"no model":          func(d *muse.Direct) { d.Model = "" },
		"no effort":         func(d *muse.Direct) { d.Effort = "" },
		"undeclared effort": func(d *muse.Direct) { d.Effort = "extreme" },
		"no step limit":     func(d *muse.Direct) { d.MaxSteps = 0 },
		"negative limit":    func(d *muse.Direct) { d.MaxSteps = -1 },
		"no schema":         func(d *muse.Direct) { d.OutputSchema = "" },
		"relative schema":   func(d *muse.Direct) { d.OutputSchema = "s.json" },
		"model as flag":     func(d *muse.Direct) { d.Model = "--yolo" },
	} {
		if inv, err := with(direct(), change).Build(job()); err == nil {
			t.Errorf("%s: accepted as %v", name, inv.Args)
		}
	}
	relative := job()
	relative.Workspace = "ws"
	if _, err := direct().Build(relative); err == nil {
		t.Error("a relative workspace was accepted")
	}
}

func TestDirectPolicy(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	installed := muse.Installation{Digest: "d1", RawBanner: "Muse Code 1.4.4 (1.4.4-R5419.1)", Version: muse.Semver{Major: 1, Minor: 4, Patch: 4, Pre: "R5419.1"}}
	policy := func(change func(*muse.DirectPolicy)) muse.DirectPolicy {
		p := muse.DirectPolicy{
			Boundary: "container", Data: muse.DataPolicy{Processing: "allow", Improvement: "deny", Retention: "deny"}, Installed: installed,
			Observation: &muse.ModelObservation{Model: "muse-spark-1.3", BinaryDigest: "d1", RawBanner: installed.RawBanner, At: now.Add(-time.Minute)},
		}
		change(&p)
		return p
	}
	tests := []struct {
		name   string
		policy muse.DirectPolicy
		direct muse.Direct
		code   string
	}{
		{"allowed", policy(func(*muse.DirectPolicy) {}), direct(), ""},
		{"contributor", policy(func(*muse.DirectPolicy) {}), with(direct(), func(d *muse.Direct) { d.Model = "muse-spark-1.3-contributor" }), muse.RefuseContributor},
		{"ultra", policy(func(*muse.DirectPolicy) {}), with(direct(), func(d *muse.Direct) { d.Effort = "ultra" }), muse.RefuseEffort},
		{"no boundary", policy(func(p *muse.DirectPolicy) { p.Boundary = "" }), direct(), muse.RefuseBoundary},
		{"retention unstated", policy(func(p *muse.DirectPolicy) { p.Data.Retention = "" }), direct(), muse.RefuseDataPolicy},
		{"the pinned release", policy(func(p *muse.DirectPolicy) { p.Pin = "1.4.4-R5419.1" }), direct(), ""},
		{"the raw banner is no release", policy(func(p *muse.DirectPolicy) { p.Pin = p.Installed.RawBanner }), direct(), muse.RefuseVersion},
		{"another release", policy(func(p *muse.DirectPolicy) { p.Pin = "1.4.4" }), direct(), muse.RefuseVersion},
		{"another model was seen", policy(func(p *muse.DirectPolicy) { p.Observation.Model = "muse-spark-1.2" }), direct(), muse.RefuseStale},
		{"another binary", policy(func(p *muse.DirectPolicy) { p.Observation.BinaryDigest = "d0" }), direct(), muse.RefuseStale},
		{"another banner", policy(func(p *muse.DirectPolicy) { p.Observation.RawBanner = "Muse Code 1.4.3" }), direct(), muse.RefuseStale},
		{"too old", policy(func(p *muse.DirectPolicy) { p.Observation.At = now.Add(-2 * time.Hour) }), direct(), muse.RefuseStale},
		{"from the future", policy(func(p *muse.DirectPolicy) { p.Observation.At = now.Add(time.Minute) }), direct(), muse.RefuseStale},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.policy.Check(tt.direct, now)
			var refusal *muse.Refusal
			switch {
			case tt.code == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.code != "" && (!errors.As(err, &refusal) || refusal.Code != tt.code):
				t.Errorf("error %v, want %s", err, tt.code)
			}
		})
	}
}

// TestLegacyArgs has a row for each flag of seed 002's evidenced table.
func TestLegacyArgs(t *testing.T) {
	noSession := job()
	noSession.SessionID = ""
	tests := []struct {
		name    string
		profile muse.Legacy
		job     muse.Job
		want    []string
	}{
		{"bare", muse.Legacy{}, noSession, []string{"exec", "--json", "--prompt-file", "/tmp/p"}},
		{"session", muse.Legacy{}, job(), []string{"exec", "--json", "--session-id", session, "--prompt-file", "/tmp/p"}},
		{"model of ours", muse.Legacy{Model: "muse-spark-1.2", Effort: "high"}, noSession, []string{"exec", "--json", "--model", "muse-spark-1.2", "--reasoning-effort", "high", "--prompt-file", "/tmp/p"}},
		{"another vendor's model is dropped", muse.Legacy{Model: "claude-opus"}, noSession, []string{"exec", "--json", "--prompt-file", "/tmp/p"}},
		{"max turns", muse.Legacy{MaxTurns: 7}, noSession, []string{"exec", "--json", "--max-model-steps", "7", "--prompt-file", "/tmp/p"}},
		{"approval is opt-in", muse.Legacy{Approval: "never"}, noSession, []string{"exec", "--json", "--approval-mode", "never", "--prompt-file", "/tmp/p"}},
		{"prompt as a word", muse.Legacy{PromptAsWord: true}, noSession, []string{"exec", "--json", "--", prompt}},
		{"plain", muse.Legacy{Plain: true, PromptAsWord: true}, noSession, []string{"exec", "--", prompt}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := tt.profile.Build(tt.job)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, inv.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			for _, never := range []string{"--yolo", "--max-turns", "--user-input-auto-resolve", "--no-foreign-personal-context", "--disable-sandbox"} {
				if slices.Contains(inv.Args, never) {
					t.Errorf("%q is on the command line", never)
				}
			}
		})
	}
}

func TestExportArgs(t *testing.T) {
	for _, tt := range []struct {
		export muse.Export
		want   string
	}{
		{muse.Export{}, "export --last"},
		{muse.Export{SessionID: session, Out: "/o.json"}, "export --session " + session + " --out /o.json"},
		{muse.Export{Redacted: true}, "export --last --redacted"},
	} {
		if diff := cmp.Diff(strings.Fields(tt.want), tt.export.Args()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSplitArgs(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil}, {"  ", nil}, {"--a  b\tc", []string{"--a", "b", "c"}}, {`--x 'a b' "c d" e\ f`, []string{"--x", "a b", "c d", "e f"}},
		{`''`, []string{""}}, {`a""b`, []string{"ab"}}, {`"a\"b\n"`, []string{`a"b\n`}}, {`'a\b'`, []string{`a\b`}},
	}
	for _, tt := range tests {
		got, err := muse.SplitArgs(tt.in)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("SplitArgs(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{`'a`, `"a`, `a\`} {
		if got, err := muse.SplitArgs(in); err == nil {
			t.Errorf("SplitArgs(%q) = %q", in, got)
		}
	}
}
