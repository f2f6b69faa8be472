package permission

import (
	"strings"

	"github.com/openmuse/muse/internal/permission/review"
	"github.com/openmuse/muse/internal/shell"
)

// Offer is the narrowest rule that a person may keep for a held stage.
type Offer struct {
	Prefix []string
	Exact  bool
}

// Rule makes the rule of an offer.
func (o *Offer) Rule(scope RuleScope) Rule {
	return Rule{Prefix: o.Prefix, Exact: o.Exact, Effect: Allow, Scope: scope}
}

// offer finds the narrowest useful rule for a stage, or nil where any rule
// would pass too much: programs that run other text or programs, and stages
// that do more than their words say (THREATS.md 3.11).
func offer(s *StageReview) *Offer {
	st := s.Stage
	if s.Unruled != "" || st.Kind != shell.Command || st.Appended || s.Rule != nil {
		return nil
	}
	words := make([]string, len(st.Argv))
	for i, w := range st.Argv {
		if !w.Known {
			return nil
		}
		words[i] = w.Value
	}
	if !shell.SystemProgram(words[0]) {
		return nil
	}
	words[0] = shell.BaseName(words[0])
	depth, ok := subcommandDepth(words[0])
	switch {
	case runsAnything(words[0]):
		return nil
	case ok:
		n := 1
		for n < len(words) && n <= depth && !strings.HasPrefix(words[n], "-") {
			n++
		}
		if n == 1 {
			// An option in front hides the subcommand.
			return nil
		}
		if s.Class == review.External {
			return &Offer{Prefix: words, Exact: true}
		}
		return &Offer{Prefix: words[:n]}
	case s.Class.Stops():
		return &Offer{Prefix: words, Exact: true}
	}
	return &Offer{Prefix: words[:1]}
}

// subcommandDepth is how many words behind the program name what it does.
func subcommandDepth(program string) (int, bool) {
	switch program {
	case "git", "go", "npm", "pnpm", "yarn", "cargo", "pip", "pip3", "poetry", "uv", "bundle", "gem", "dotnet", "mvn", "gradle", "mix",
		"composer", "rustup", "brew", "apt", "apt-get", "dnf", "systemctl", "service", "terraform", "tofu", "helm", "flutter", "dart",
		"swift", "make", "hg", "svn", "crontab", "sqlite3", "openssl", "pipenv", "hatch", "pdm", "rake", "just", "task", "bazel":
		return 1, true
	case "docker", "podman", "kubectl", "gh", "glab", "az", "conda", "mamba", "heroku", "vercel", "flyctl":
		return 2, true
	case "aws", "gcloud", "gsutil", "doctl":
		return 3, true
	}
	return 0, false
}

// runsAnything lists programs for which any remembered prefix would let other
// programs or other text through.
func runsAnything(program string) bool {
	switch program {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd", "osascript",
		"env", "sudo", "doas", "su", "run0", "pkexec", "xargs", "find", "fd", "fdfind", "eval", "exec", "source", ".", "command", "builtin", "trap",
		"python", "python2", "python3", "pypy", "node", "nodejs", "perl", "ruby", "php", "lua", "luajit", "R", "Rscript", "julia", "java", "deno", "bun",
		"ts-node", "tsx", "tclsh", "expect", "awk", "gawk", "mawk", "nawk", "sed", "npx", "bunx", "uvx", "pipx", "pnpx", "dlx", "corepack",
		"busybox", "toybox", "ssh", "chroot", "nsenter", "unshare", "bwrap", "strace", "gdb", "lldb", "vim", "vi", "nvim", "emacs", "ed", "ex",
		"less", "more", "man", "psql", "mysql", "dc", "irb", "ipython", "ghci", "iex":
		return true
	}
	return review.StartsCommands(program) || strings.HasPrefix(program, "python")
}

// previewLimit bounds how many known commands a preview lists.
const previewLimit = 5

// preview renders what a rule would let through: the rule, and commands of
// this session that it matches beside the one in question.
func preview(rule *Rule, seen []*shell.Stage, self string) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(rule.String(), string(rule.Effect)+" "))
	if rule.Exact {
		b.WriteString(" — this command only, in any directory of the workspace")
		return b.String()
	}
	b.WriteString(" — with any further words")
	n := 0
	for _, s := range seen {
		text := s.Effective()
		if text == self || !rule.allows(s) {
			continue
		}
		if n++; n > previewLimit {
			b.WriteString(", …")
			break
		}
		if n == 1 {
			b.WriteString("; it would also pass: ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(text)
	}
	return b.String()
}
