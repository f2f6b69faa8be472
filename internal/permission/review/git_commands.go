package review

import (
	"path"
	"strings"
	"sync"

	"github.com/openmuse/muse/internal/shell"
)

// gitCommand is what is known about one subcommand.
type gitCommand struct {
	syntax
	readOnly, network bool
	danger, external  string
	// free is set when operands are no files (messages, branch names).
	free bool
	// reads are options whose value is a file that is read.
	reads []string
	// fn adds what the table cannot say and reports whether the call is
	// read-only.
	fn func(*gitCall) bool
}

var gitCommands = sync.OnceValue(func() map[string]*gitCommand {
	m := map[string]*gitCommand{}
	add := func(names string, c gitCommand) {
		for _, n := range strings.Fields(names) {
			m[n] = &c
		}
	}
	diffLong := []string{"--since", "--until", "--after", "--before", "--author", "--committer", "--grep", "--max-count", "--skip", "--format", "--date", "--diff-filter",
		"--encoding", "--glob", "--word-diff-regex", "--output", "--inter-hunk-context", "--diff-algorithm", "--sort", "--contains", "--points-at", "--merged", "--no-merged", "--match", "--ignore-rev", "--ignore-revs-file", "--contents", "--max-depth", "--type", "--default", "--exclude", "--exclude-from"}
	reading := syntax{values: "nSGLOlm", optional: "UMCBXuD", long: diffLong}

	add("status diff log show whatchanged shortlog rev-list cherry range-diff diff-tree diff-index diff-files show-branch name-rev", gitCommand{syntax: reading, readOnly: true, reads: []string{"-O"}})
	add("ls-files ls-tree merge-base rev-parse cat-file for-each-ref show-ref check-ignore check-attr check-ref-format check-mailmap count-objects var version describe blame annotate cherry diff-pairs verify-pack get-tar-commit-id merge-tree", gitCommand{syntax: syntax{values: "xXLSn", optional: "MCo", long: diffLong}, readOnly: true, reads: []string{"--contents", "--ignore-revs-file", "-X", "--exclude-from"}, fn: lookOption})
	add("grep", gitCommand{syntax: syntax{values: "ABCefmO", long: diffLong}, readOnly: true, free: true, reads: []string{"-f"}, fn: func(g *gitCall) bool {
		if g.a.exact("-O") != nil {
			g.j.stop(External, "git grep -O opens a pager")
		}
		skip := 1
		if g.a.exact("-e", "-f") != nil {
			skip = 0
		}
		for i, w := range g.a.operands {
			if i >= skip {
				g.j.read(w)
				g.j.readBehindColons(w)
			}
		}
		return true
	}})
	add("branch", gitCommand{syntax: syntax{values: "u", long: append([]string{"--set-upstream-to"}, diffLong...)}, readOnly: true, free: true, fn: gitBranch})
	add("tag", gitCommand{syntax: syntax{values: "mFu", optional: "n", long: append([]string{"--message", "--file", "--local-user", "--cleanup"}, diffLong...)}, readOnly: true, free: true, reads: []string{"-F", "--file"}, fn: func(g *gitCall) bool {
		return len(g.a.operands) == 0 || g.a.exact("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-v", "--verify") != nil && g.a.exact("-d", "-f", "--delete", "--force", "-v", "--verify") == nil
	}})
	add("remote", gitCommand{syntax: syntax{values: "tm"}, readOnly: true, free: true, fn: gitRemote})
	add("config", gitCommand{syntax: syntax{values: "ft", long: []string{"--file", "--blob", "--type", "--default", "--get", "--get-all", "--get-regexp"}}, readOnly: true, free: true, reads: []string{"-f", "--file"}, fn: gitConfig})
	add("reflog", gitCommand{syntax: reading, readOnly: true, fn: firstOperand("expire delete drop", "", "forgets work")})
	add("stash", gitCommand{syntax: syntax{values: "mS", optional: "U", long: []string{"--message", "--pathspec-from-file"}}, readOnly: true, free: true, fn: gitStash})
	add("worktree", gitCommand{syntax: syntax{values: "bB", long: []string{"--reason", "--expire"}}, readOnly: true, free: true, fn: firstOperand("remove", "list", "throws a work tree away")})
	add("notes", gitCommand{syntax: syntax{values: "mFCc"}, readOnly: true, free: true, fn: firstOperand("remove prune", "list show", "removes notes")})
	add("symbolic-ref", gitCommand{readOnly: true, free: true, syntax: syntax{values: "m"}, fn: func(g *gitCall) bool { return len(g.a.operands) < 2 && g.a.exact("-d", "--delete") == nil }})
	add("bisect", gitCommand{free: true, fn: func(g *gitCall) bool {
		if g.first() == "run" || g.first() == "visualize" || g.first() == "view" {
			g.j.stop(External, "git bisect "+g.first()+" runs a program")
		}
		return g.first() == "log" || g.first() == "terms"
	}})
	add("submodule", gitCommand{network: true, syntax: syntax{values: "b", long: []string{"--branch", "--name", "--reference", "--depth", "--jobs"}}, fn: func(g *gitCall) bool {
		switch g.first() {
		case "foreach":
			g.j.stop(External, "git submodule foreach runs a command")
		case "deinit", "set-url", "absorbgitdirs":
			g.j.stop(Dangerous, "git submodule "+g.first())
		}
		return g.first() == "status" || g.first() == "summary" || g.first() == ""
	}})
	add("ls-remote fetch", gitCommand{network: true, syntax: syntax{values: "ojt", long: []string{"--depth", "--jobs", "--upload-pack", "--refmap", "--server-option"}}, free: true})
	add("pull", gitCommand{network: true, free: true, syntax: syntax{values: "sXj", optional: "S", long: []string{"--depth", "--strategy", "--strategy-option", "--upload-pack"}}, fn: func(g *gitCall) bool {
		if o := g.a.option("--rebase", "-r"); o != nil && strings.HasPrefix(o.value.Value, "i") {
			g.j.stop(External, "an interactive rebase runs an editor")
		}
		return false
	}})
	add("clone", gitCommand{network: true, syntax: syntax{values: "uobcj", long: []string{"--upload-pack", "--origin", "--branch", "--config", "--depth", "--template", "--reference", "--separate-git-dir", "--jobs", "--filter", "--shallow-since", "--bundle-uri"}}, free: true, fn: func(g *gitCall) bool {
		if g.a.exact("-u", "-c") != nil {
			g.j.stop(External, "git clone with a program or a setting of its own")
		}
		if o := g.a.option("--separate-git-dir"); o != nil {
			g.j.write(o.value)
		}
		g.newPlace(1)
		return false
	}})
	add("init", gitCommand{free: true, syntax: syntax{values: "b", long: []string{"--initial-branch", "--template", "--separate-git-dir", "--object-format", "--ref-format"}}, fn: func(g *gitCall) bool {
		if o := g.a.option("--separate-git-dir"); o != nil {
			g.j.write(o.value)
		}
		g.newPlace(0)
		return false
	}})
	add("add", gitCommand{syntax: syntax{long: []string{"--chmod", "--pathspec-from-file"}}, fn: func(g *gitCall) bool {
		if g.a.option("-e", "--edit") != nil {
			g.j.stop(External, "git add -e runs an editor")
		}
		return false
	}})
	add("commit", gitCommand{free: true, syntax: syntax{values: "mFCct", optional: "uS", long: []string{"--message", "--file", "--reuse-message", "--reedit-message", "--template", "--author", "--date", "--fixup", "--squash", "--cleanup", "--trailer", "--pathspec-from-file"}}, reads: []string{"-F", "--file"}, fn: func(g *gitCall) bool {
		if g.a.exact("-t") != nil {
			g.j.stop(External, "git commit -t takes a template")
		}
		return false
	}})
	add("merge cherry-pick revert", gitCommand{free: true, syntax: syntax{values: "mFsX", optional: "S", long: []string{"--message", "--file", "--strategy", "--strategy-option", "--mainline"}}, reads: []string{"-F", "--file"}})
	add("rebase", gitCommand{free: true, syntax: syntax{values: "sXx", optional: "SC", long: []string{"--onto", "--strategy", "--strategy-option", "--exec", "--empty"}}, fn: func(g *gitCall) bool {
		if g.a.option("-i", "--interactive", "-x", "--exec", "--edit-todo") != nil {
			g.j.stop(External, "an interactive rebase runs an editor or commands")
		}
		return false
	}})
	add("checkout", gitCommand{syntax: syntax{values: "bB", long: []string{"--orphan", "--conflict", "--pathspec-from-file"}}, fn: gitCheckout})
	add("switch", gitCommand{free: true, syntax: syntax{values: "cC", long: []string{"--create", "--force-create", "--orphan", "--conflict"}}, fn: func(g *gitCall) bool {
		if g.a.option("-f", "--force", "--discard-changes") != nil {
			g.j.stop(Dangerous, "git switch throws changes away")
		}
		return false
	}})
	add("restore", gitCommand{syntax: syntax{values: "s", long: []string{"--source", "--conflict", "--pathspec-from-file"}}, fn: func(g *gitCall) bool {
		if g.a.option("-S", "--staged") == nil || g.a.option("-W", "--worktree") != nil {
			g.j.stop(Dangerous, "git restore throws changes away")
		}
		return false
	}})
	add("reset", gitCommand{free: true, syntax: syntax{long: []string{"--pathspec-from-file"}}, fn: func(g *gitCall) bool {
		if g.a.option("--hard", "--merge") != nil {
			g.j.stop(Dangerous, "git reset --hard throws changes away")
		}
		return false
	}})
	add("clean", gitCommand{syntax: syntax{values: "e", long: []string{"--exclude"}}, fn: func(g *gitCall) bool {
		dry := g.a.option("-n", "--dry-run") != nil
		for _, o := range g.a.opts {
			dry = dry && !strings.HasPrefix(o.name, "--no-")
		}
		if !dry {
			g.j.stop(Dangerous, "git clean removes files")
		}
		return false
	}})
	add("gc maintenance repack", gitCommand{free: true, fn: gitTidies})
	add("read-tree", gitCommand{fn: func(g *gitCall) bool {
		if g.a.option("-u", "--reset", "-m", "--prefix") != nil {
			g.j.stop(Dangerous, "git read-tree throws changes away")
		}
		return false
	}})
	add("mv", gitCommand{fn: func(g *gitCall) bool {
		g.j.intoDirectory(&g.a)
		for _, w := range g.a.operands {
			g.j.write(w)
		}
		return false
	}})
	add("archive", gitCommand{syntax: syntax{values: "o", long: []string{"--output", "--format", "--prefix", "--remote", "--exec", "--add-file"}}, fn: func(g *gitCall) bool {
		if g.a.option("--remote", "--exec") != nil {
			g.j.stop(External, "git archive --remote asks another machine")
		}
		g.writesOption("-o")
		return false
	}})
	add("format-patch bundle", gitCommand{syntax: syntax{values: "o", long: []string{"--output-directory"}}, fn: func(g *gitCall) bool {
		g.writesOption("-o", "--output-directory")
		if g.sub == "bundle" && len(g.a.operands) > 1 && g.first() == "create" {
			g.j.write(g.a.operands[1])
		}
		return false
	}})
	add("apply am sparse-checkout update-index pack-refs fsck rerere write-tree commit-tree hash-object mktree stripspace interpret-trailers column fmt-merge-msg patch-id mailinfo mailsplit", gitCommand{syntax: syntax{values: "pCmFS", long: []string{"--directory", "--exclude", "--include"}}, reads: []string{"-F"}})
	add("push", gitCommand{danger: "sends work to another machine", free: true})
	add("rm", gitCommand{fn: func(g *gitCall) bool {
		// With --cached the files stay.
		if g.a.exact("--cached") == nil || g.a.loose != nil {
			g.j.stop(Dangerous, "git rm removes files")
		}
		for _, o := range g.a.opts {
			if strings.HasPrefix(o.name, "--no-") {
				g.j.stop(Dangerous, "git rm "+o.name)
			}
		}
		return false
	}})
	add("filter-branch filter-repo replace update-ref prune", gitCommand{danger: "rewrites history or forgets it", free: true})
	add("send-email imap-send request-pull svn p4 cvsimport cvsexportcommit cvsserver http-push http-fetch daemon instaweb upload-pack receive-pack upload-archive shell", gitCommand{danger: "reaches another machine", free: true})
	add("difftool mergetool help web--browse gui citool hook credential credential-store credential-cache credential-fill fast-import fast-export for-each-repo scalar remote-ext remote-fd lfs annex crypt secret flow", gitCommand{external: "runs other programs", free: true})
	return m
})

func (g *gitCall) first() string {
	if len(g.a.operands) == 0 {
		return ""
	}
	return g.a.operands[0].Value
}

func (g *gitCall) writesOption(names ...string) {
	for _, o := range g.a.opts {
		if meansAny(o.name, names) {
			g.j.write(o.value)
		}
	}
}

// newPlace judges the directory of a new repository: in the workspace. What its
// name is does not matter here, the sandbox keeps the protected names.
func (g *gitCall) newPlace(operand int) {
	place := shell.Literal(".")
	if len(g.a.operands) > operand {
		place = g.a.operands[operand]
	}
	if place.Split || strings.IndexByte(place.Value, shell.Hole) >= 0 {
		g.j.flag(Tampering, "a repository at a place that is not known: "+place.Text)
		return
	}
	if !g.j.resolved(place, func(p string) {
		if !g.j.p.Space.MayWrite(p) {
			g.j.flag(Tampering, "a repository outside the workspace: "+place.Text)
		}
	}) {
		g.j.flag(Tampering, "a repository at a place that is not known: "+place.Text)
	}
}

// firstOperand makes a check of the second-level subcommand: the dangerous ones
// stop, the reading ones (and none at all) are read-only. An empty list of
// readers means that everything else reads.
func firstOperand(dangerous, readers, why string) func(*gitCall) bool {
	bad, good := strings.Fields(dangerous), strings.Fields(readers)
	return func(g *gitCall) bool {
		first := g.first()
		if contains(bad, first) {
			g.j.stop(Dangerous, "git "+g.sub+" "+first+" "+why)
			return false
		}
		return len(good) == 0 || contains(good, first)
	}
}

// lookOption keeps cat-file from running filters and rev-parse from parsing
// scripts.
func lookOption(g *gitCall) bool {
	if g.sub == "cat-file" && g.a.option("--filters", "--textconv") != nil {
		g.j.stop(External, "git cat-file runs filters")
	}
	return true
}

func gitBranch(g *gitCall) bool {
	force := g.a.option("-f", "--force") != nil
	if g.a.exact("-D") != nil || force && g.a.option("-d", "--delete") != nil || force && len(g.a.operands) > 0 {
		g.j.stop(Dangerous, "git branch -D throws work away")
		return false
	}
	if g.a.option("--edit-description") != nil {
		g.j.stop(External, "git branch --edit-description runs an editor")
	}
	if g.a.option("-d", "--delete", "-m", "-M", "-c", "-C", "--move", "--copy", "-u", "--set-upstream-to", "--unset-upstream", "-t", "--track") != nil {
		return false
	}
	return len(g.a.operands) == 0 || g.a.exact("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-a", "-r", "--all", "--remotes") != nil && !force
}

func gitRemote(g *gitCall) bool {
	switch g.first() {
	case "", "get-url":
		return true
	case "show":
		if g.a.exact("-n") != nil || len(g.a.operands) == 1 {
			return true
		}
		g.j.atLeast(Network, "git asks the other machine")
		return false
	case "update", "prune":
		g.j.atLeast(Network, "git asks the other machine")
		return false
	}
	g.j.stop(Dangerous, "git remote "+g.first()+" changes where work goes")
	return false
}

func gitConfig(g *gitCall) bool {
	sets := g.a.exact("--add", "--unset", "--unset-all", "--replace-all", "--rename-section", "--remove-section", "-e", "--edit", "--set-all", "--append") != nil
	asks := g.a.exact("--get", "--get-all", "--get-regexp", "--get-urlmatch", "-l", "--list", "--get-color", "--get-colorbool") != nil
	ops := len(g.a.operands)
	switch g.first() {
	case "get", "list":
		asks = true
	case "set", "unset", "rename-section", "remove-section", "edit":
		sets = true
	}
	for _, o := range g.a.opts {
		if strings.HasPrefix(o.name, "--") && !gitKnownOptions()[o.name] && o.name != "--file" && o.name != "--blob" && o.name != "--no-type" && o.name != "--url" && o.name != "--regexp" {
			sets = true
		}
	}
	if sets || !asks && ops != 1 {
		g.j.stop(Tampering, "git config changes what git runs from now on")
		return false
	}
	return true
}

// gitTidies judges the commands that clear away what git no longer needs.
func gitTidies(g *gitCall) bool {
	for _, o := range g.a.opts {
		if means(o.name, "--prune") || o.name == "--expire-to" || means(o.name, "--cruft-expiration") {
			g.j.stop(Dangerous, "git "+g.sub+" "+o.name+" forgets work")
		}
	}
	if g.sub == "maintenance" && g.first() != "run" {
		g.j.stop(External, "git maintenance "+g.first()+" starts something later")
	}
	return false
}

// namesFile reports a word that is rather a file than a branch.
func (j *judge) namesFile(w shell.Word) bool {
	v := w.Value
	if v == "" || v == "-" {
		return false
	}
	if strings.HasSuffix(v, "/") || j.p.Exists != nil && j.p.Exists(v) {
		return true
	}
	switch first, _, slash := strings.Cut(v, "/"); first {
	case "feature", "feat", "fix", "bugfix", "hotfix", "release", "releases", "chore", "origin", "upstream", "dependabot", "renovate":
		if slash {
			return false
		}
	}
	switch base := path.Base(v); base {
	case "Makefile", "Dockerfile", "LICENSE", "README", "Gemfile", "Rakefile", "Justfile", "Jenkinsfile", "Procfile", "CHANGELOG", "NOTICE":
		return true
	default:
		ext := path.Ext(base)
		name := strings.TrimSuffix(base, ext)
		return len(ext) > 2 && strings.Trim(ext[1:], "abcdefghijklmnopqrstuvwxyz0123456789") == "" && strings.Trim(ext[1:2], "0123456789") != "" &&
			(name == "" || strings.Trim(name, "v0123456789.") != "")
	}
}

func gitStash(g *gitCall) bool {
	switch first := g.first(); first {
	case "drop", "clear":
		g.j.stop(Dangerous, "git stash "+first+" throws work away")
		return false
	case "list", "show":
		return true
	}
	return false
}

// gitCheckout stops where changed files would be overwritten: paths, or force.
func gitCheckout(g *gitCall) bool {
	creates := g.a.exact("-b", "-B", "--orphan", "-t", "--track", "--detach", "-d") != nil
	switch {
	case g.a.option("-f", "--force") != nil, g.a.exact("-p", "--patch", "--ours", "--theirs", "--pathspec-from-file", "-m", "--merge", "--no-overlay") != nil:
		g.j.stop(Dangerous, "git checkout throws changes away")
	case len(g.a.rest) > 0:
		g.j.stop(Dangerous, "git checkout of files throws changes away")
	case !creates && len(g.a.operands) == 1 && g.j.namesFile(g.a.operands[0]):
		g.j.stop(Dangerous, "git checkout of a file throws changes away: "+g.a.operands[0].Text)
	case !creates && len(g.a.operands) > 1:
		g.j.stop(Dangerous, "git checkout of files throws changes away")
	}
	for _, w := range g.a.operands {
		if !creates && (w.Value == "." || strings.HasPrefix(w.Value, "./") || strings.HasPrefix(w.Value, ":")) {
			g.j.stop(Dangerous, "git checkout of files throws changes away")
		}
	}
	return false
}
