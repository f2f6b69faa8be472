package gitconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/permission/gitconfig"
)

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []gitconfig.Entry
		bad  bool
	}{
		"plain":              {"[core]\n\tbare = false\n", []gitconfig.Entry{{"core", "", "bare", "false"}}, false},
		"case":               {"[Core]\nHooksPath=x", []gitconfig.Entry{{"core", "", "hookspath", "x"}}, false},
		"subsection":         {`[remote "Origin"]` + "\nurl = a b # c\n", []gitconfig.Entry{{"remote", "Origin", "url", "a b"}}, false},
		"old subsection":     {"[diff.X]\ncommand=y", []gitconfig.Entry{{"diff", "x", "command", "y"}}, false},
		"quoted":             {`[a]` + "\n" + `b = " c;d " e`, []gitconfig.Entry{{"a", "", "b", " c;d  e"}}, false},
		"continued":          {"[a]\nb = c\\\n  d", []gitconfig.Entry{{"a", "", "b", "c  d"}}, false},
		"no value":           {"[a]\nb\n[c]\nd", []gitconfig.Entry{{"a", "", "b", "true"}, {"c", "", "d", "true"}}, false},
		"same line":          {"[a] b = c", []gitconfig.Entry{{"a", "", "b", "c"}}, false},
		"comment":            {"; x\n# y\n[a]\n", nil, false},
		"escaped subsection": {`[a "x\"]y"]` + "\nb=c", []gitconfig.Entry{{"a", `x"]y`, "b", "c"}}, false},
		"crlf":               {"[a]\r\nb = c\r\n", []gitconfig.Entry{{"a", "", "b", "c"}}, false},
		"no section":         {"a = b", nil, true},
		"open quote":         {"[a]\nb = \"c\n", nil, true},
		"open section":       {"[a", nil, true},
		"bad escape":         {`[a]` + "\n" + `b = \q`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := gitconfig.Parse(tt.text)
			if ok == tt.bad {
				t.Fatalf("understood = %v", ok)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEvaluate(t *testing.T) {
	for _, tt := range []struct {
		text, key, runs string
	}{
		{"[core]\nrepositoryformatversion = 0\nfilemode = true\n[remote \"origin\"]\nurl = x\nfetch = y\n[branch \"m\"]\nremote = origin\n[user]\nname = n", "", ""},
		{"[core]\nfsmonitor = true", "", ""},
		{"[core]\nfsmonitor = ./evil", "core.fsmonitor", ""},
		{"[core]\nhooksPath = .husky", "core.hookspath", ""},
		{"[alias]\nst = !id", "alias.st", ""},
		{"[diff \"pdf\"]\ntextconv = ./x", "diff.pdf.textconv", "diff.pdf.textconv"},
		{"[diff]\nexternal = ./x", "diff.external", "diff.external"},
		{"[filter \"x\"]\nclean = ./x", "filter.x.clean", "filter.x.clean"},
		{"[filter \"lfs\"]\nclean = git-lfs clean -- %f\nprocess = git-lfs filter-process", "filter.lfs.clean", ""},
		{"[filter \"lfs\"]\nclean = ./git-lfs clean -- %f", "filter.lfs.clean", "filter.lfs.clean"},
		{"[include]\npath = ../x", "include.path", "include.path"},
		{"[includeIf \"gitdir:/\"]\npath = ../x", "includeif.gitdir:/.path", "includeif.gitdir:/.path"},
		{"[url \"ext::sh\"]\ninsteadOf = https://", "url.ext::sh.insteadof", "url.ext::sh.insteadof"},
		{"[credential]\nhelper = !id", "credential.helper", "credential.helper"},
		{"[credential]\nhelper = store", "credential.helper", ""},
		{"[submodule \"x\"]\nupdate = !id", "submodule.x.update", "submodule.x.update"},
		{"[submodule \"x\"]\nactive = true\nurl = y\nupdate = rebase", "", ""},
		{"[protocol \"ext\"]\nallow = always", "protocol.ext.allow", "protocol.ext.allow"},
		{"[pager]\nlog = sh -c id", "pager.log", ""},
		{"broken", "a configuration that cannot be read", "a configuration that cannot be read"},
	} {
		got := gitconfig.Evaluate(tt.text)
		if got.Quiet != (tt.key == "") || got.Key != tt.key || got.Runs != tt.runs {
			t.Errorf("%q: %+v", tt.text, got)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func repository(t *testing.T, dir, config string) {
	t.Helper()
	write(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(dir, "objects", "x"), "")
	write(t, filepath.Join(dir, "refs", "x"), "")
	write(t, filepath.Join(dir, "config"), config)
}

func TestReader(t *testing.T) {
	base := t.TempDir()
	repository(t, filepath.Join(base, "main", ".git"), "[core]\nbare = false\n")
	sub := filepath.Join(base, "main", "a", "b")
	write(t, filepath.Join(sub, "f"), "")

	t.Run("found above and noticed when it changes", func(t *testing.T) {
		r := gitconfig.NewReader(sub)
		if c := r.Config(); !c.Quiet {
			t.Fatalf("%+v", c)
		}
		write(t, filepath.Join(base, "main", ".git", "config"), "[diff]\nexternal = ./x\n")
		if c := r.Config(); c.Runs != "diff.external" {
			t.Fatalf("%+v", c)
		}
		write(t, filepath.Join(base, "main", ".git", "config"), "[core]\nbare = false\n")
		if c := r.Config(); !c.Quiet {
			t.Fatalf("%+v", c)
		}
	})
	t.Run("linked work tree", func(t *testing.T) {
		wt := filepath.Join(base, "wt")
		admin := filepath.Join(base, "main", ".git", "worktrees", "wt")
		write(t, filepath.Join(wt, ".git"), "gitdir: "+admin+"\n")
		write(t, filepath.Join(admin, "HEAD"), "x")
		write(t, filepath.Join(admin, "commondir"), "../..\n")
		r := gitconfig.NewReader(wt)
		if c := r.Config(); !c.Quiet {
			t.Fatalf("%+v", c)
		}
		write(t, filepath.Join(admin, "config.worktree"), "[core]\nsshCommand = x\n")
		if c := r.Config(); c.Runs != "core.sshcommand" {
			t.Fatalf("%+v", c)
		}
	})
	t.Run("bare repository at the root", func(t *testing.T) {
		dir := filepath.Join(base, "bare")
		repository(t, dir, "[core]\nfsmonitor = ./x\n")
		if c := gitconfig.NewReader(dir).Config(); c.Runs == "" || c.Quiet {
			t.Fatalf("%+v", c)
		}
	})
	t.Run("gitdir that is no repository file", func(t *testing.T) {
		dir := filepath.Join(base, "odd")
		write(t, filepath.Join(dir, ".git"), "nonsense")
		if c := gitconfig.NewReader(dir).Config(); c.Runs == "" {
			t.Fatalf("%+v", c)
		}
	})
	t.Run("no repository", func(t *testing.T) {
		if _, err := os.Stat("/.git"); err == nil {
			t.Skip("the root directory is a repository")
		}
		dir := filepath.Join(base, "none")
		write(t, filepath.Join(dir, "f"), "")
		if c := gitconfig.NewReader(dir).Config(); !c.Quiet {
			t.Fatalf("%+v", c)
		}
	})
}
