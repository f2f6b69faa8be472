package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// Rules of package managers: installing what the project's lock file names is
// the project's business, adding code by name is an answer's.
func packages() []group {
	manager := func(names string, f func(*judge)) group {
		return group{names, rule{class: Project, version: true, whole: f}}
	}
	return []group{
		manager(`npm cnpm`, judgeNpm),
		// Their --version may run a release that the project names.
		{`pnpm yarn yarnpkg`, rule{class: Project, whole: judgeNpm}},
		manager(`npx`, judgeNpx),
		{`bunx uvx pipx pnpx dlx corepack`, rule{class: External, why: "runs a package by name", version: true}},
		{`pip pip3`, rule{class: Project, version: true, why: "installs what the project names", syntax: pipSyntax, loose: true, text: true, fn: judgePip}},
		manager(`uv`, judgeUv),
		manager(`poetry pipenv hatch pdm rye`, judgePythonProject),
		manager(`bundle bundler`, subcommands(Project, "add plugin open config console gem viz exec", "")),
		manager(`gem`, subcommands(Project, "install uninstall push owner signin signout yank fetch update exec", "")),
		manager(`composer`, subcommands(Project, "require global create-project config exec remove reinstall self-update", "")),
		manager(`conda mamba micromamba`, subcommands(Project, "run install create update upgrade remove uninstall activate config init develop", "")),
		manager(`rbenv pyenv nodenv mise asdf rtx volta nvm fnm rustup`, subcommands(Project, "exec x run install use global local shell plugin plugins upgrade update self-update self-install set settings trust default override toolchain uninstall implode reshim", "")),
		{`apt apt-get aptitude dpkg brew port dnf yum zypper rpm pacman yay paru apk snap flatpak nix nix-env nix-build nix-store nixos-rebuild emerge pkg
			choco winget scoop easy_install luarocks cpan cpanm opkg guix`, rule{class: Dangerous, why: "changes what is installed on the machine", version: true}},
	}
}

// subcommands makes a rule for programs whose first operand decides: the listed
// ones stop, all others have the class.
func subcommands(class Class, external, dangerous string) func(*judge) {
	ext, bad := strings.Fields(external), strings.Fields(dangerous)
	return func(j *judge) {
		j.atLeast(class, "")
		if class == Project {
			j.here("project code")
		}
		for i, w := range j.args {
			if strings.HasPrefix(w.Value, "-") && w.Known {
				continue
			}
			switch {
			case w.MayBeOption():
				j.flag(External, "the subcommand of "+j.name+" is not known: "+w.Text)
			case contains(ext, w.Value):
				j.stop(External, j.name+" "+w.Value+" brings code by name or runs it")
			case contains(bad, w.Value):
				j.stop(Dangerous, j.name+" "+w.Value)
			}
			j.readAll(j.args[i+1:])
			return
		}
		if j.s.Appended {
			j.flag(External, "the subcommand of "+j.name+" is not known")
		}
	}
}

var npmSyntax = syntax{values: "wCF", long: []string{"--workspace", "--filter", "--prefix", "--dir", "--cwd", "--loglevel", "--registry", "--userconfig", "--globalconfig", "--script-shell", "--node-options", "--tag", "--cache", "--depth", "--omit", "--include"}}

// npmOptions change the shell, the code or the registry of a script.
var npmOptions = []string{"--script-shell", "--node-options", "--userconfig", "--globalconfig", "--registry", "--global", "--location", "--call", "--package", "--node-arg", "--config", "--npmrc"}

func judgeNpm(j *judge) {
	if j.name == "npm" && len(j.args) == 1 && j.args[0].Value == "-v" && !j.s.Appended {
		return
	}
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	a := j.scan(j.args, &npmSyntax)
	if a.loose != nil && !behind(&a, a.loose) {
		j.flag(External, "could turn into an option of "+j.name+": "+a.loose.Text)
	}
	own := len(a.operands) - len(a.rest) // operands before "--"
	sub := ""
	if own > 0 {
		sub = a.operands[0].Value
	}
	script := false
	switch sub {
	case "run", "run-script", "test", "t", "tst", "start", "stop", "restart", "rum", "urn":
		script = true
	}
	for _, o := range a.opts {
		switch {
		case meansAny(o.name, npmOptions) && o.name != "--config" && !strings.HasPrefix("--no", o.name),
			o.name == "-g", strings.HasPrefix(o.name, "--script-shell"), strings.HasPrefix(o.name, "--ignore-scripts") && o.value.Value == "false":
			j.stop(External, j.name+" "+o.name+" changes what is run or from where")
		case o.name == "-C", o.has && meansAny(o.name, []string{"--prefix", "--dir", "--cwd"}):
			j.inside(o.value, "the directory of "+j.name)
		}
	}
	if script {
		return
	}
	names := a.operands[min(own, 1):own]
	switch sub {
	case "workspace":
		// yarn workspace NAME COMMAND
		names = a.operands[min(own, 3):own]
		if own > 2 {
			sub = a.operands[2].Value
		}
	case "workspaces", "-r", "recursive", "multi":
		for _, w := range a.operands[:own] {
			if contains([]string{"exec", "x", "dlx", "add", "create"}, w.Value) {
				sub = w.Value
			}
		}
	}
	switch sub {
	case "exec", "x", "dlx", "create", "init", "innit", "explore", "edit":
		if sub == "init" && len(names) == 0 {
			return
		}
		if sub == "exec" && j.name == "pnpm" && len(a.opts) == 0 && len(names) > 0 && names[0].Known && !strings.ContainsAny(names[0].Value, "@:/") &&
			j.p.Exists != nil && j.p.Exists("node_modules/.bin/"+names[0].Value) {
			// pnpm runs what the project has installed, before anything else.
			j.readAll(names)
			return
		}
		j.stop(External, j.name+" "+sub+" runs a package by name")
	case "install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add", "a", "install-test", "it", "update", "up", "upgrade", "install-clean", "ci", "clean-install", "ic":
		for _, w := range names {
			if !strings.HasPrefix(w.Value, "./") {
				j.stop(External, "adds code by name: "+w.Text)
			}
		}
	case "publish", "login", "logout", "adduser", "add-user", "token", "owner", "author", "access", "team", "org", "deprecate", "unpublish", "dist-tag", "profile", "hook", "star", "unstar", "trust":
		j.stop(Dangerous, j.name+" "+sub+" acts on the registry")
	case "link", "ln", "unlink", "uninstall", "un", "remove", "rm", "r", "global", "plugin", "policies", "set", "env", "self-update", "patch-commit", "import", "node":
		j.stop(External, j.name+" "+sub+" changes what later commands run")
	case "config", "c":
		if len(names) > 0 && names[0].Value != "get" && names[0].Value != "list" && names[0].Value != "ls" {
			j.stop(External, j.name+" config changes what later commands run")
		}
	}
	j.readAll(names)
}

// judgeNpx lets only programs run that the project has installed.
func judgeNpx(j *judge) {
	a := j.scan(j.args, &syntax{values: "pcw", long: []string{"--package", "--call", "--workspace"}, stops: true})
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	local := a.exact("--no-install", "--no") != nil
	for _, o := range a.opts {
		switch o.name {
		case "--no-install", "--no", "-q", "--quiet", "--prefer-offline", "--offline":
		default:
			if o.name == "-y" || o.name == "--yes" {
				local = false
			}
			j.stop(External, "npx "+o.name)
		}
	}
	switch {
	case a.loose != nil && len(a.operands) > 0 && a.operands[0].Text == a.loose.Text, len(a.operands) == 0:
		j.flag(External, "what npx runs is not known")
	case strings.ContainsAny(a.operands[0].Value, "@:/") && !strings.HasPrefix(a.operands[0].Value, "@"):
		j.stop(External, "npx runs a package by name")
	case local:
	case j.p.Exists != nil && !strings.ContainsRune(a.operands[0].Value, '/') && j.p.Exists("node_modules/.bin/"+a.operands[0].Value):
	default:
		j.stop(External, "npx runs a package by name; with --no-install it runs what the project has")
	}
	j.readAll(a.operands)
}

var pipSyntax = syntax{values: "rcefitd", flags: []string{"--pre"}, long: []string{"--requirement", "--constraint", "--editable", "--find-links", "--index-url", "--extra-index-url", "--target", "--prefix", "--root",
	"--log", "--proxy", "--cert", "--client-cert", "--trusted-host", "--cache-dir", "--python", "--platform", "--dest", "--wheel-dir", "--format", "--src", "--config-settings", "--global-option", "--timeout", "--retries", "--exists-action", "--report"}}

func judgePip(j *judge, a *scanned) {
	j.here("project code")
	if len(a.operands) == 0 {
		return
	}
	sub := a.operands[0].Value
	for _, o := range a.opts {
		switch {
		case o.name == "-i" || o.name == "-f" || o.name == "-t" || meansAny(o.name, []string{"--index-url", "--extra-index-url", "--find-links", "--target", "--user", "--prefix", "--root", "--trusted-host",
			"--proxy", "--cert", "--python", "--config-settings", "--global-option", "--break-system-packages"}) && o.name != "--pre" && o.name != "--progress-bar":
			j.stop(External, "pip "+o.name+" changes where code comes from or goes")
		case o.name == "-r" || o.name == "-c" || means(o.name, "--requirement") || means(o.name, "--constraint"):
			j.localFile(o.value)
		case o.name == "-e" || means(o.name, "--editable"):
			j.localPackage(o.value)
		case means(o.name, "--log") || means(o.name, "--report") || o.name == "-d" || means(o.name, "--dest"):
			j.write(o.value)
		}
	}
	switch sub {
	case "install", "download", "wheel":
		for _, w := range a.operands[1:] {
			j.localPackage(w)
		}
		if j.s.Appended {
			j.flag(External, "adds code by name")
		}
	case "uninstall":
		j.stop(External, "pip uninstall changes what later commands run")
	case "config":
		if len(a.operands) > 1 && a.operands[1].Value != "list" && a.operands[1].Value != "get" && a.operands[1].Value != "debug" {
			j.stop(External, "pip config changes where code comes from")
		}
	}
}

// localFile is a list of requirements: a file of the workspace.
func (j *judge) localFile(w shell.Word) {
	if strings.Contains(w.Value, "://") {
		j.stop(External, "requirements from the network: "+w.Text)
		return
	}
	j.inside(w, "the list of requirements")
}

// localPackage accepts only directories and files of the workspace.
func (j *judge) localPackage(w shell.Word) {
	v := w.Value
	dir, _, _ := strings.Cut(v, "[")
	if dir == "." || strings.HasPrefix(dir, "./") || strings.HasPrefix(dir, "../") {
		j.inside(shell.Word{Value: dir, Text: w.Text, Known: w.Known || w.Glob}, "the package")
		return
	}
	j.stop(External, "adds code by name: "+w.Text)
}

func judgeUv(j *judge) {
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	for i, w := range j.args {
		if w.Known && strings.HasPrefix(w.Value, "-") {
			switch name, _, _ := strings.Cut(w.Value, "="); {
			case meansAny(name, []string{"--directory", "--project", "--config-file", "--index", "--default-index", "--index-url", "--extra-index-url", "--find-links"}):
				j.stop(External, "uv "+name+" changes where code comes from")
			}
			continue
		}
		rest := j.args[i+1:]
		switch w.Value {
		case "pip":
			if len(rest) > 0 && rest[0].Value != "tree" && rest[0].Value != "sync" && rest[0].Value != "compile" {
				j.name, j.args = "pip", rest
				j.apply(table()["pip"])
			}
		case "run":
			j.stop(External, "uv run with options of its own")
		case "sync", "lock", "venv", "build", "tree", "export", "version", "cache", "help", "init":
			j.readAll(rest)
		case "python":
			if len(rest) > 0 && rest[0].Value != "list" && rest[0].Value != "find" && rest[0].Value != "dir" {
				j.stop(External, "uv python "+rest[0].Value)
			}
		default:
			j.stop(External, "uv "+w.Text+" brings code by name or acts on the registry")
		}
		return
	}
}

// judgePythonProject covers the project managers whose "run" was not taken off
// because it had options of its own.
func judgePythonProject(j *judge) {
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	for i, w := range j.args {
		if w.Known && strings.HasPrefix(w.Value, "-") {
			if w.Value == "-C" || strings.HasPrefix(w.Value, "--directory") || strings.HasPrefix(w.Value, "--project") || w.Value == "-p" {
				j.stop(External, j.name+" in another directory")
			}
			continue
		}
		switch w.Value {
		case "install", "sync", "lock", "update", "build", "check", "show", "env", "init", "new", "version", "graph", "requirements", "list", "status", "fmt", "outdated", "export", "test", "clean", "verify", "dep", "help":
			if w.Value == "install" && j.name == "pipenv" {
				for _, n := range j.args[i+1:] {
					if !strings.HasPrefix(n.Value, "-") {
						j.stop(External, "adds code by name: "+n.Text)
					}
				}
			}
		default:
			j.stop(External, j.name+" "+w.Text+" brings code by name, or runs a command that was not taken apart")
		}
		return
	}
}

func judgeDeno(j *judge) {
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	for i, w := range j.args {
		v := w.Value
		switch {
		case w.MayBeOption():
			j.flag(External, "could turn into an option of deno: "+w.Text)
		case strings.HasPrefix(v, "http:"), strings.HasPrefix(v, "https:"), strings.HasPrefix(v, "npm:"), strings.HasPrefix(v, "jsr:"), strings.HasPrefix(v, "data:"):
			j.stop(External, "code by address: "+w.Text)
		case i == 0 && contains([]string{"eval", "repl", "install", "i", "add", "upgrade", "uninstall", "jupyter", "publish", "deploy", "x"}, v):
			j.stop(External, "deno "+v)
		case v == "-r" || strings.HasPrefix(v, "--reload") || strings.HasPrefix(v, "--preload") || strings.HasPrefix(v, "--import-map"):
			j.unsure("deno " + v)
		case v == "-" || strings.HasPrefix(v, "/") || strings.HasPrefix(v, ".."):
			j.inside(w, "the script")
		}
	}
	if len(j.args) == 0 {
		j.stop(External, "deno without a script is an interpreter")
	}
}

func judgeBun(j *judge) {
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	a := j.scan(j.args, &syntax{values: "rep", long: []string{"--preload", "--require", "--eval", "--print", "--cwd", "--config"}})
	if a.loose != nil && !behind(&a, a.loose) {
		j.flag(External, "could turn into an option of bun: "+a.loose.Text)
	}
	if a.option("-e", "--eval", "-p", "--print", "-r", "--preload", "--require", "--import", "--config", "-g", "--global", "-i", "--registry") != nil {
		j.stop(External, "bun with inline or further code")
	}
	if o := a.option("--cwd"); o != nil {
		j.inside(o.value, "the directory of bun")
	}
	if len(a.operands) == 0 {
		j.stop(External, "bun without a script is an interpreter")
		return
	}
	switch w := a.operands[0]; w.Value {
	case "x", "repl", "add", "a", "create", "c", "init", "upgrade", "link", "unlink", "remove", "rm", "publish", "exec", "eval":
		j.stop(External, "bun "+w.Value)
	case "install", "i":
		if len(a.operands) > 1 {
			j.stop(External, "adds code by name: "+a.operands[1].Text)
		}
	case "run", "test", "build", "pm", "outdated", "update", "patch", "why", "audit":
		for _, f := range a.operands[1:] {
			if f.Value == "-" || strings.HasPrefix(f.Value, "/") || strings.HasPrefix(f.Value, "..") {
				j.inside(f, "the script")
			}
		}
	default:
		j.script(a.operands, false)
	}
}
