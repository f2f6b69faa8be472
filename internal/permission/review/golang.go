package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

var goSyntax = syntax{single: true, long: []string{
	"-C", "-o", "-run", "-bench", "-count", "-timeout", "-tags", "-p", "-ldflags", "-gcflags", "-asmflags", "-gccgoflags", "-mod", "-modfile",
	"-overlay", "-exec", "-toolexec", "-vettool", "-fixtool", "-coverprofile", "-covermode", "-coverpkg", "-cpuprofile", "-memprofile", "-blockprofile",
	"-mutexprofile", "-trace", "-outputdir", "-cpu", "-parallel", "-benchtime", "-fuzz", "-fuzztime", "-buildmode", "-pkgdir", "-f", "-skip",
	"-list", "-shuffle", "-pgo", "-installsuffix",
}}

// goAskOptions are the options of go version and go doc.
var goAskOptions = []string{"-m", "-v", "-all", "-c", "-cmd", "-short", "-src", "-u", "-json"}

// judgeGo reads the go command: its options begin with one dash and are never
// abbreviated.
func judgeGo(j *judge) {
	args := j.args
	for len(args) > 1 && (args[0].Value == "-C" || args[0].Value == "--C") {
		j.inside(args[1], "the directory of go -C")
		args = args[2:]
	}
	if len(args) == 0 {
		return
	}
	if args[0].MayBeOption() {
		j.flag(External, "the subcommand of go is not known: "+args[0].Text)
		return
	}
	sub := args[0].Value
	a := j.scan(args[1:], &goSyntax)
	switch sub {
	case "version", "doc", "help":
		if a.loose == nil {
			for _, o := range a.opts {
				if !contains(goAskOptions, o.name) {
					j.stop(Dangerous, "go "+sub+" "+o.name+" may serve pages and fetch code")
				}
			}
			return
		}
	case "env":
		if a.exact("-w", "-u", "--w", "--u") != nil || a.loose != nil {
			j.stop(Environment, "go env -w changes the settings of every later build")
		}
		return
	case "get":
		for _, w := range a.operands {
			// The packages of the project need what go.mod names already.
			if v := w.Value; !w.Known || v != "." && !strings.HasPrefix(v, "./") || strings.Contains(v, "@") {
				j.stop(External, "adds code by name")
			}
		}
		if j.s.Appended {
			j.flag(External, "adds code by name")
		}
	case "run", "install", "tool":
		j.goTarget(sub, &a)
	case "generate", "telemetry":
	}
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	if a.loose != nil {
		j.flag(External, "could turn into an option of go: "+a.loose.Text)
	}
	for _, o := range a.opts {
		name := "-" + strings.TrimLeft(o.name, "-")
		switch name {
		case "-exec", "-toolexec", "-vettool", "-fixtool":
			j.stop(External, "go "+name+" runs a program")
		case "-http":
			j.stop(Dangerous, "go "+sub+" -http serves pages")
		case "-overlay", "-modfile", "-pkgdir":
			j.stop(External, "go "+name+" replaces code of the project")
		case "-o", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace", "-outputdir":
			j.write(o.value)
		case "-ldflags", "-gcflags", "-asmflags", "-gccgoflags":
			if strings.Contains(o.value.Value, "-extld") || strings.Contains(o.value.Value, "plugin") || !o.value.Known {
				j.stop(External, "go "+name+" may run another linker")
			}
		case "-C":
			j.inside(o.value, "the directory of go -C")
		}
	}
	for _, w := range a.operands {
		if j.name == "go" && sub != "run" && strings.ContainsRune(w.Value, '@') && !strings.HasPrefix(w.Value, "-") {
			j.stop(External, "adds code by name: "+w.Text)
		}
		j.read(w)
	}
}

// goTarget judges what go run and go install start: packages of the project,
// not versions from the network and not files elsewhere.
func (j *judge) goTarget(sub string, a *scanned) {
	for _, w := range a.operands {
		v := w.Value
		switch {
		case strings.ContainsRune(v, '@'):
			j.stop(External, "runs code by name: "+w.Text)
		case strings.HasPrefix(v, "/") || strings.Contains(v, "..") || strings.HasPrefix(v, "~"):
			if v == "./..." || v == "..." {
				continue
			}
			j.inside(shell.Word{Value: strings.TrimSuffix(v, "/..."), Text: w.Text, Known: w.Known}, "the code that go runs")
		}
		if sub != "install" {
			// What follows are arguments of the program.
			return
		}
	}
}

// judgeCargo reads cargo; what stands behind "--" belongs to the program.
func judgeCargo(j *judge) {
	args := j.args
	if len(args) > 0 && strings.HasPrefix(args[0].Value, "+") {
		args = args[1:]
	}
	a := j.scan(args, &syntax{values: "pFjZC", long: []string{
		"--config", "--package", "--features", "--jobs", "--target", "--target-dir", "--manifest-path", "--bin", "--example", "--test", "--bench",
		"--profile", "--message-format", "--color", "--exclude", "--registry", "--index", "--git", "--path", "--root", "--lockfile-path", "--artifact-dir",
	}})
	if len(a.operands) == 0 && a.loose == nil {
		if len(args) == 1 && (args[0].Value == "-V" || args[0].Value == "--list") {
			return
		}
	}
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	if a.loose != nil && !behind(&a, a.loose) {
		j.flag(External, "could turn into an option of cargo: "+a.loose.Text)
	}
	for _, o := range a.opts {
		switch {
		case means(o.name, "--config"), o.name == "-Z":
			j.stop(External, "cargo "+o.name+" changes what is run")
		case means(o.name, "--manifest-path"), o.name == "-C":
			j.inside(o.value, "what cargo "+o.name+" names")
		case means(o.name, "--target-dir"), means(o.name, "--root"), means(o.name, "--artifact-dir"):
			j.write(o.value)
		}
	}
	if len(a.operands) == 0 {
		return
	}
	switch sub := a.operands[0].Value; sub {
	case "install", "add", "uninstall":
		j.stop(External, "cargo "+sub+" adds code by name")
	case "publish", "login", "logout", "owner", "yank":
		j.stop(Dangerous, "cargo "+sub+" acts on the registry")
	}
}

// behind reports whether a word stands behind "--".
func behind(a *scanned, w *shell.Word) bool {
	for i := range a.rest {
		if a.rest[i].Text == w.Text {
			return true
		}
	}
	return false
}
