package drive

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

func TestSmoke(t *testing.T) {
	ok := musetest.Call{Reply: "OK"}
	tests := []struct {
		name   string
		call   musetest.Call
		failed []string
	}{
		{"passes", ok, nil},
		{"exit code", musetest.Call{Reply: "OK", Exit: 1}, []string{"exit_code"}},
		{"usage error", musetest.Call{Exit: 2}, []string{"exit_code", "terminal_event", "final_text"}},
		{"failed run", musetest.Call{Terminal: "failed", Reason: "no", Exit: 1}, []string{"exit_code", "terminal_event", "final_text"}},
		{"failed terminal with exit 0", musetest.Call{Terminal: "failed", Reason: "no"}, []string{"terminal_event", "final_text"}},
		{"no terminal", musetest.Call{Deltas: []string{"OK"}, Terminal: "none"}, []string{"terminal_event", "final_text"}},
		{"text missing", musetest.Call{NoText: true, Deltas: []string{"OK"}}, []string{"final_text"}},
		{"text empty", musetest.Call{Deltas: []string{"OK"}}, []string{"final_text"}},
		{"something after the terminal", musetest.Call{Raw: "{}\nnoise\n"}, []string{"terminal_event", "final_text"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.call)
			rep, err := Smoke(context.Background(), SmokeOptions{Binary: r.opts.Binary, Found: "option", Env: r.opts.Env, Temp: r.opts.Temp})
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, rule := range rep.Rules {
				if !rule.Passed {
					failed = append(failed, rule.Name)
				}
			}
			if diff := cmp.Diff(tt.failed, failed); diff != "" || rep.OK != (len(failed) == 0) || len(rep.Rules) != 3 {
				t.Errorf("failed rules (-want +got):\n%s%+v", diff, rep)
			}
			if rep.Binary.Banner != "Muse Code 1.4.4 (1.4.4-R5419.1)" || rep.Binary.Release != "1.4.4-R5419.1" {
				t.Errorf("binary %+v", rep.Binary)
			}
			call := musetest.Calls(t, r.env)[0]
			want := strings.Fields("exec --json --provider meta --model muse-spark-1.3 --reasoning-effort minimal --workspace " + call.Dir +
				" --approval-mode never --approval-judge off --max-model-steps 2 --prompt-file " + call.PromptPath)
			if diff := cmp.Diff(want, call.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if call.Prompt != "Reply with exactly: OK. Use no tools." {
				t.Errorf("brief %q", call.Prompt)
			}
			if _, err := os.Stat(call.Dir); !os.IsNotExist(err) {
				t.Errorf("the workspace is still there: %v", err)
			}
		})
	}
	r := newRig(t, ok)
	rep, err := Smoke(context.Background(), SmokeOptions{Binary: r.opts.Binary, Provider: "echo", Env: r.opts.Env, Temp: r.opts.Temp})
	if err != nil || !rep.OK || !rep.Mechanics {
		t.Errorf("echo: %+v %v", rep, err)
	}
	if args := musetest.Calls(t, r.env)[0].Args; slices.Contains(args, "--model") || slices.Contains(args, "--reasoning-effort") {
		t.Errorf("echo got %v", args)
	}
}

func TestDoctor(t *testing.T) {
	find := func(t *testing.T, r *DoctorReport, name string) DoctorCheck {
		t.Helper()
		i := slices.IndexFunc(r.Checks, func(c DoctorCheck) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("nothing about %s in %+v", name, r.Checks)
		}
		return r.Checks[i]
	}
	base := func(t *testing.T, plan musetest.Plan) DoctorOptions {
		bin, env := musetest.Install(t, plan)
		home := t.TempDir()
		return DoctorOptions{Binary: bin, Env: []string{env, "HOME=" + home, "PATH=" + os.Getenv("PATH"), muse.TempVariable + "=" + filepath.Join(home, "tmp")}}
	}
	t.Run("healthy", func(t *testing.T) {
		o := base(t, musetest.Plan{})
		o.Env = append(o.Env, "META_API_KEY=secret-value")
		r := Doctor(context.Background(), o)
		if !r.OK || r.Binary.Level != "1.4.4" || r.Binary.Release != "1.4.4-R5419.1" || r.Binary.Banner != "Muse Code 1.4.4 (1.4.4-R5419.1)" || len(r.Digest) != 64 {
			t.Errorf("report %+v", r)
		}
		if c := find(t, r, "key"); c.Verdict != VerdictOK || strings.Contains(c.Detail, "secret") {
			t.Errorf("key %+v", c)
		}
		if c := find(t, r, "contract"); c.Verdict != VerdictOK {
			t.Errorf("contract %+v", c)
		}
	})
	t.Run("no binary", func(t *testing.T) {
		o := base(t, musetest.Plan{})
		o.Binary = "/nowhere/muse"
		r := Doctor(context.Background(), o)
		if c := find(t, r, "binary"); r.OK || c.Verdict != VerdictFail || c.Cure == "" {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("another program", func(t *testing.T) {
		r := Doctor(context.Background(), base(t, musetest.Plan{Banner: "muse 2.0"}))
		if c := find(t, r, "version"); r.OK || c.Verdict != VerdictFail || r.Binary.Banner != "muse 2.0" || r.Binary.Level != "" {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("flags missing", func(t *testing.T) {
		r := Doctor(context.Background(), base(t, musetest.Plan{HelpFlags: []string{"--json", "--workspace", "--model", "--prompt-file"}}))
		if c := find(t, r, "contract"); r.OK || !strings.Contains(c.Detail, "--session-id") || strings.Contains(c.Detail, "--model") {
			t.Errorf("contract %+v", c)
		}
	})
	t.Run("nothing set up", func(t *testing.T) {
		r := Doctor(context.Background(), base(t, musetest.Plan{}))
		if c := find(t, r, "key"); !r.OK || c.Verdict != VerdictWarn || c.Cure == "" {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("open auth file and contributor model", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("permission bits")
		}
		o := base(t, musetest.Plan{})
		dir := filepath.Join(muse.Lookup(o.Env, "HOME"), ".config", "muse")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "auth.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		o.Env = append(o.Env, "MUSE_MODEL=muse-spark-1.3-contributor")
		r := Doctor(context.Background(), o)
		if find(t, r, "auth file").Verdict != VerdictWarn || find(t, r, "key").Verdict != VerdictOK || find(t, r, "model").Verdict != VerdictWarn {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("temporary root of others", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("permission bits")
		}
		o := base(t, musetest.Plan{})
		open := filepath.Join(t.TempDir(), "open")
		if err := os.Mkdir(open, 0o755); err != nil {
			t.Fatal(err)
		}
		o.Env = append(o.Env, muse.TempVariable+"="+open)
		if r := Doctor(context.Background(), o); r.OK || find(t, r, "temporary root").Verdict != VerdictFail {
			t.Errorf("report %+v", r)
		}
	})
}

func TestDeploySkills(t *testing.T) {
	home := filepath.Join(t.TempDir(), "config", "muse")
	actions := func(o SkillOptions) map[string]string {
		t.Helper()
		o.ConfigHome = home
		r, err := DeploySkills(o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, a := range r.Actions {
			got[a.Path] = a.Action
		}
		if r.OK == slices.ContainsFunc(r.Actions, func(a SkillAction) bool { return a.Action == "refused" }) {
			t.Errorf("report %+v", r)
		}
		return got
	}
	expect := func(o SkillOptions, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, actions(o)); diff != "" {
			t.Errorf("actions (-want +got):\n%s", diff)
		}
	}
	const own = "driven-run/SKILL.md"
	expect(SkillOptions{DryRun: true}, map[string]string{own: "created"})
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("a dry run wrote: %v", err)
	}
	expect(SkillOptions{}, map[string]string{own: "created"})
	path := filepath.Join(home, "skills", "driven-run", "SKILL.md")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "when Muse Code is driven") || strings.Contains(string(text), "{{") {
		t.Errorf("rendered %v:\n%s", err, text)
	}
	expect(SkillOptions{}, map[string]string{own: "unchanged"})
	expect(SkillOptions{Provider: "openmuse"}, map[string]string{own: "updated"})
	if err := os.WriteFile(path, []byte("my own words"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(SkillOptions{}, map[string]string{own: "refused"})
	if text, _ := os.ReadFile(path); string(text) != "my own words" {
		t.Errorf("a changed file was overwritten: %s", text)
	}
	expect(SkillOptions{Force: true}, map[string]string{own: "updated"})

	from := t.TempDir()
	for name, content := range map[string]string{
		"a/SKILL.md": "for {{provider_name}} and {{ other }}", "a/scripts/run.sh": "echo {{ provider_name }}", "b/notes.txt": "no skill", "README.md": "x",
	} {
		file := filepath.Join(from, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(home, "skills", "a", "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "skills", "a", "scripts", "run.sh"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(SkillOptions{From: []string{from}}, map[string]string{"a/SKILL.md": "created", "a/scripts/run.sh": "refused"})
	expect(SkillOptions{From: []string{from}, Force: true}, map[string]string{"a/SKILL.md": "unchanged", "a/scripts/run.sh": "updated"})
	if text, _ := os.ReadFile(filepath.Join(home, "skills", "a", "SKILL.md")); string(text) != "for Muse Code and {{ other }}" {
		t.Errorf("rendered %s", text)
	}
	if text, _ := os.ReadFile(filepath.Join(home, "skills", "a", "scripts", "run.sh")); string(text) != "echo {{ provider_name }}" {
		t.Errorf("a script was rendered: %s", text)
	}
	if info, err := os.Stat(filepath.Join(home, "skills", "a", "scripts", "run.sh")); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm()&0o100 == 0) {
		t.Errorf("the script lost its bit: %v %v", info.Mode(), err)
	}
	for name, o := range map[string]SkillOptions{
		"no skills": {From: []string{t.TempDir()}, ConfigHome: home}, "no directory": {From: []string{"/nowhere"}, ConfigHome: home}, "twice": {From: []string{from, from}, ConfigHome: home}, "no home": {},
	} {
		if r, err := DeploySkills(o); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestDeploySkillsStaysInside plants links that lead out.
func TestDeploySkillsStaysInside(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(home, "skills", "driven-run")); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	if r, err := DeploySkills(SkillOptions{ConfigHome: home, Force: true}); err == nil {
		t.Errorf("wrote through a link: %+v", r)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v %v", entries, err)
	}
	src := t.TempDir()
	if err := os.MkdirAll(filepath.Join(src, "s"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(src, "s", "SKILL.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(src, "s", "link.md")); err != nil {
		t.Fatal(err)
	}
	if r, err := DeploySkills(SkillOptions{From: []string{src}, ConfigHome: t.TempDir()}); err == nil {
		t.Errorf("followed a link: %+v", r)
	}
}
