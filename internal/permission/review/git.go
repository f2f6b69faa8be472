package review

import (
	"strings"
	"sync"

	"github.com/openmuse/muse/internal/shell"
)

// gitStops are options that run a program or take code or configuration from
// elsewhere, for every subcommand and in every abbreviation (THREATS.md 3.9).
var gitStops = []string{"--upload-pack", "--receive-pack", "--exec", "--ext-diff", "--textconv", "--open-files-in-pager", "--extcmd", "--tool",
	"--template", "--config", "--config-env", "--unsafe-paths", "--filters"}

// gitExact are options of their own that look like abbreviations of those.
var gitExact = []string{"--text", "--remote", "--conflict"}

// judgeGit judges git by its global options and its subcommand.
func judgeGit(j *judge) {
	args, moved, ok := j.gitGlobals(j.args)
	if !ok {
		return
	}
	if len(args) == 0 {
		if j.s.Appended {
			j.flag(External, "the subcommand of git is not known")
		}
		return
	}
	if args[0].MayBeOption() {
		j.flag(External, "the subcommand of git is not known: "+args[0].Text)
		return
	}
	sub := args[0].Value
	c, known := gitCommands()[sub]
	if !known {
		j.stop(External, "git "+args[0].Text+" may be an alias or runs other programs")
		j.readAll(args[1:])
		return
	}
	g := gitCall{j: j, sub: sub, cmd: c}
	sx := c.syntax
	sx.listed = gitKnownOptions
	g.a = j.scan(args[1:], &sx)
	g.options()
	switch {
	case c.danger != "":
		j.stop(Dangerous, "git "+sub+" "+c.danger)
	case c.external != "":
		j.stop(External, "git "+sub+" "+c.external)
	}
	readOnly := c.readOnly
	if c.fn != nil {
		readOnly = c.fn(&g)
	}
	if !c.free {
		for _, w := range g.a.operands {
			j.read(w)
			// "HEAD:path" names a file of a commit, ":0:path" one of the index.
			j.readBehindColons(w)
		}
	}
	switch {
	case !readOnly:
		if c.network {
			j.atLeast(Network, "git fetches through the network gate")
		} else {
			j.atLeast(Edit, "git changes the repository")
		}
	case moved || j.s.Moved:
		j.atLeast(Project, "git in another directory may find another repository")
	}
	if (moved || j.s.Moved) && sub != "clone" && sub != "init" {
		j.here("git")
	}
	g.configuration(readOnly)
}

func (j *judge) readBehindColons(w shell.Word) {
	for i := 0; i < len(w.Value); i++ {
		if w.Value[i] == ':' || w.Value[i] == ')' {
			j.read(part(w, w.Value[i+1:]))
		}
	}
}

// configuration judges the settings of the repository: git runs programs that
// they name even when it only reads.
func (g *gitCall) configuration(readOnly bool) {
	if g.j.p.Git == nil {
		return
	}
	c := g.j.p.Git()
	if c.Runs != "" {
		g.j.stop(External, "the repository's configuration starts a program: "+c.Runs)
	}
	if readOnly && !c.Quiet {
		g.j.atLeast(Project, "the repository's configuration sets "+c.Key)
	}
}

// gitGlobals reads the options before the subcommand.
func (j *judge) gitGlobals(args []shell.Word) (rest []shell.Word, moved, ok bool) {
	for len(args) > 0 {
		w := args[0]
		v := w.Value
		if len(v) < 2 || v[0] != '-' {
			return args, moved, true
		}
		args = args[1:]
		switch {
		case !w.Known:
			j.flag(External, "an option of git that is not known: "+w.Text)
			return nil, false, false
		case v == "--no-pager", v == "-P", v == "--no-optional-locks", v == "--no-replace-objects", v == "--literal-pathspecs",
			v == "--glob-pathspecs", v == "--noglob-pathspecs", v == "--icase-pathspecs", v == "--no-lazy-fetch", v == "--no-advice":
		case v == "--version", v == "-v", v == "--help", v == "-h", v == "--exec-path", v == "--html-path", v == "--man-path", v == "--info-path":
			if len(args) > 0 {
				j.stop(External, "git "+v+" with a command")
			}
			return nil, false, true
		case v == "-C" && len(args) > 0:
			j.inside(args[0], "the directory of git -C")
			moved, args = true, args[1:]
		case v == "-c" && len(args) > 0:
			if !harmlessGitSetting(args[0]) {
				j.stop(External, "git -c "+args[0].Text+" changes what git runs")
			}
			args = args[1:]
		case v == "--git-dir" || v == "--work-tree" || v == "--namespace" || v == "--super-prefix" || v == "--config-env" || v == "--attr-source":
			j.stop(External, "git "+v+" takes another repository or configuration")
			if len(args) > 0 {
				args = args[1:]
			}
		default:
			j.stop(External, "git "+v+" takes other code, another repository or a pager")
		}
	}
	return nil, moved, true
}

// harmlessGitSetting lists the settings that "-c" may give.
func harmlessGitSetting(w shell.Word) bool {
	if !w.Known {
		return false
	}
	key, value, _ := strings.Cut(w.Value, "=")
	switch key = strings.ToLower(key); key {
	case "user.name", "user.email", "core.quotepath", "core.autocrlf", "core.safecrlf", "core.filemode", "core.abbrev", "core.longpaths",
		"init.defaultbranch", "pull.rebase", "pull.ff", "merge.conflictstyle", "diff.algorithm", "diff.renames", "diff.context", "log.date",
		"advice.detachedhead", "commit.gpgsign", "tag.gpgsign", "fetch.prune", "rebase.autostash", "log.showsignature":
		return key != "log.showsignature" || value == "false"
	case "core.pager":
		return value == "cat" || value == ""
	case "core.fsmonitor":
		return value == "false"
	case "core.hookspath":
		return value == "/dev/null"
	}
	return strings.HasPrefix(key, "color.") || strings.HasPrefix(key, "advice.") || strings.HasPrefix(key, "column.")
}

// gitCall is one call of a subcommand.
type gitCall struct {
	j   *judge
	sub string
	cmd *gitCommand
	a   scanned
}

// options judges what every subcommand's options may do.
func (g *gitCall) options() {
	j := g.j
	if g.a.loose != nil {
		j.flag(External, "could turn into an option of git: "+g.a.loose.Text)
	}
	for i := range g.a.opts {
		o := &g.a.opts[i]
		switch {
		case contains(gitExact, o.name), strings.HasPrefix(o.name, "--no-"):
		case meansAny(o.name, gitStops):
			j.stop(External, "git "+o.name+" runs a program")
		case strings.HasPrefix(o.name, "--output") && o.name != "--output-indicator-new" && o.name != "--output-indicator-old" && o.name != "--output-indicator-context",
			len(o.name) > 3 && strings.HasPrefix("--output", o.name):
			j.stop(Tampering, "git "+o.name+" writes a file")
			if o.has {
				j.write(o.value)
			}
		case g.cmd.readOnly && strings.HasPrefix(o.name, "--") && !gitKnownOptions()[o.name]:
			// Possibly an abbreviation.
			j.atLeast(Unknown, "option "+o.name+" of git is not on the list of harmless ones")
		}
		if o.has && contains(g.cmd.reads, o.name) {
			j.read(o.value)
		}
		if o.has && o.name == "-L" {
			j.readBehindColons(o.value)
		}
	}
	for _, w := range g.a.operands {
		if scheme, _, ok := strings.Cut(w.Value, "::"); ok && scheme != "" && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-") == "" {
			j.stop(External, "git runs a program for "+w.Text)
		}
	}
}

// gitKnownOptions are long options of the reading subcommands by full name.
var gitKnownOptions = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, o := range strings.Fields(`--short --branch --porcelain --long --verbose --untracked-files --ignored --show-stash --ahead-behind --renames --column
		--find-renames --find-copies --find-copies-harder --cached --staged --merge-base --stat --numstat --shortstat --dirstat --summary --patch --unified --raw --patch-with-stat
		--name-only --name-status --color --color-words --word-diff --word-diff-regex --color-moved --color-moved-ws --exit-code --quiet --diff-filter --relative --text --binary --full-index --abbrev
		--ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-space-at-eol --ignore-cr-at-eol --ignore-matching-lines --inter-hunk-context
		--function-context --minimal --patience --histogram --anchored --diff-algorithm --indent-heuristic --compact-summary --src-prefix --dst-prefix --default-prefix
		--line-prefix --ita-invisible-in-index --submodule --pickaxe-all --pickaxe-regex --find-object --irreversible-delete --break-rewrites --check --ws-error-highlight
		--output-indicator-new --output-indicator-old --output-indicator-context
		--oneline --graph --all --decorate --decorate-refs --decorate-refs-exclude --source --max-count --skip --since --after --until --before --author --committer --grep
		--grep-reflog --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges --no-merges --min-parents
		--max-parents --first-parent --not --branches --tags --remotes --glob --exclude --reflog --walk-reflogs --merge --boundary --simplify-by-decoration --full-history
		--dense --sparse --simplify-merges --ancestry-path --date-order --author-date-order --topo-order --reverse --objects --pretty --format --abbrev-commit --encoding
		--notes --relative-date --date --parents --children --left-right --follow --full-diff --log-size --mailmap --use-mailmap --clear-decorations
		--left-only --right-only --cherry --cherry-mark --cherry-pick --count --timestamp --bisect --expand-tabs --show-linear-break --diff-merges --combined-all-paths --cc --remerge-diff
		--list --contains --merged --points-at --sort --ignore-case --show-current --format --omit-empty --column --all --remotes --verbose
		--modified --others --deleted --stage --unmerged --killed --directory --eol --exclude-standard --full-name --recurse-submodules --error-unmatch --with-tree --deduplicate
		--line-porcelain --incremental --root --score-debug --show-name --show-number --show-email --show-stats --ignore-rev --contents --progress
		--get --get-all --get-regexp --get-urlmatch --list --show-origin --show-scope --name-only --null --type --bool --int --global --local --system --worktree --default --includes --get-color --get-colorbool --fixed-value
		--show-toplevel --abbrev-ref --verify --symbolic --symbolic-full-name --git-dir --git-common-dir --is-inside-work-tree --is-bare-repository --is-inside-git-dir --is-shallow-repository --show-prefix --show-cdup --show-superproject-working-tree --absolute-git-dir --short --quiet --sq --path-format --show-object-format --show-ref-format --local-env-vars --default --prefix --revs-only --no-revs --flags --no-flags
		--tags --heads --head --dereference --hash --exclude-existing --exists --long --always --dirty --broken --candidates --match --exact-match
		--line-number --files-with-matches --files-without-match --name-only --count --word-regexp --invert-match --max-depth --heading --break --show-function --after-context --before-context --context --and --or --untracked --index --max-count --null --only-matching --column
		--octopus --independent --is-ancestor --fork-point --all --numbered --summary --email --group --batch --batch-check --batch-all-objects --unordered --buffer --follow-symlinks
		--shell --perl --python --tcl --human-readable --refs --cached --porcelain --non-matching --no-index --creation-factor --dual-color --name-rev --undefined`) {
		m[o] = true
	}
	return m
})
