package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// Rules of programs that build and test the project. They run its code; what
// stops is an option that brings code from elsewhere.
func builders() []group {
	const why = "runs code of the project"
	build := func(names string, r rule) group {
		r.class, r.why, r.version = Project, why, true
		prior := r.fn
		r.fn = func(j *judge, a *scanned) {
			j.here("project code")
			if prior != nil {
				prior(j, a)
			}
		}
		return group{names, r}
	}
	return []group{
		build(`make gmake`, rule{
			syntax: syntax{values: "CfIjloOW", long: []string{"--directory", "--file", "--makefile", "--include-dir", "--old-file", "--assume-old", "--what-if", "--new-file", "--assume-new", "--eval"}},
			stop:   []string{"--eval", "-E"}, inside: []string{"-C", "--directory", "-f", "--file", "--makefile", "-I", "--include-dir"}, loose: true, fn: makeVariables,
		}),
		build(`ninja samu`, rule{syntax: syntax{values: "Cfjkltdw"}, inside: []string{"-C", "-f"}, loose: true}),
		build(`cmake`, rule{whole: judgeCmake}),
		build(`ctest`, rule{syntax: syntax{values: "SDMTLREIjC", long: []string{"--test-dir", "--script", "--build-makeprogram", "--build-and-test"}}, inside: []string{"-S", "--script", "--test-dir"}, stop: []string{"--build-makeprogram"}, loose: true}),
		build(`meson`, rule{syntax: syntax{values: "CD", long: []string{"--wrap", "--wrapper"}}, inside: []string{"-C"}, stop: []string{"--wrapper"}, loose: true}),
		build(`gcc g++ cc c++ clang clang++ cpp gfortran`, rule{
			syntax: syntax{single: true, long: []string{"-o", "-I", "-L", "-include", "-isystem", "-x", "-MF", "-MT", "-wrapper", "-specs", "-Xclang", "-B", "-target", "-arch", "-isysroot", "-T", "-idirafter", "-iquote", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-D", "-U"}},
			text:   true, loose: true, fn: compilerOptions,
		}),
		build(`ld as`, rule{
			syntax: syntax{single: true, long: []string{"-o", "--output", "-plugin", "--plugin", "-T", "-L", "-dynamic-linker"}},
			stop:   []string{"-plugin", "--plugin"}, write: []string{"-o", "--output"}, loose: true, fn: responseFiles,
		}),
		build(`rustc rustdoc`, rule{
			syntax: syntax{values: "oLlCWADFZ", long: []string{"--out-dir", "--codegen", "--crate-type", "--edition", "--extern", "--emit", "--target", "--sysroot"}},
			write:  []string{"-o", "--out-dir"}, loose: true, fn: rustOptions,
		}),
		build(`javac`, rule{
			syntax: syntax{single: true, long: []string{"-d", "-cp", "-classpath", "--class-path", "-processor", "-processorpath", "--processor-path", "-source", "-target", "--release"}},
			stop:   []string{"-processor", "-processorpath", "--processor-path", "-Xplugin"}, write: []string{"-d"}, loose: true, fn: responseFiles,
		}),
		build(`mvn mvnw ant gradle gradlew sbt bazel bazelisk buck buck2 pants lein boot mill scons waf please nx turbo lerna rush just task mage
			rake mix rebar3 cabal stack dune opam zig nim dotnet swift xcodebuild flutter dart elm spago hardhat forge truffle`, rule{
			syntax: syntax{values: "fICp", optional: "DPX", long: []string{"--file", "--init-script", "--project-dir", "--build-file", "--settings", "--global-settings", "--directory", "--package-path"}},
			inside: []string{"-f", "--file", "-I", "--init-script", "-p", "--project-dir", "--build-file", "--directory", "--package-path"},
			stop:   []string{"-s", "--settings", "--global-settings", "-e", "--eval"}, exact: []string{"--exclude-task"}, fn: buildCommands,
		}),
		build(`prove`, rule{syntax: syntax{values: "IePsjM", long: []string{"--exec", "--harness", "--formatter", "--source", "--archive", "--rc", "--jobs", "--ext"}}, stop: []string{"-e", "--exec", "-P", "-M", "--harness", "--formatter", "--source", "--rc"}, write: []string{"-a", "--archive"}, loose: true}),
		build(`nodemon`, rule{syntax: syntax{values: "xewi", long: []string{"--exec", "--watch", "--ext", "--ignore"}}, stop: []string{"-x", "--exec"}, loose: true}),
		build(`go`, rule{whole: judgeGo}),
		build(`cargo`, rule{whole: judgeCargo}),
	}
}

// makeVariables stops on variables that name programs, and on values that make
// would expand: $(shell ...) runs a command.
func makeVariables(j *judge, a *scanned) {
	for _, w := range a.operands {
		name, value, ok := strings.Cut(w.Value, "=")
		if !ok {
			if strings.Contains(w.Value, "$") {
				j.flag(External, "make may expand "+w.Text)
			}
			j.read(w)
			continue
		}
		if strings.HasSuffix(name, "!") {
			j.flag(External, "make runs the value of "+name+"=")
			continue
		}
		name = strings.TrimRight(name, ":+?!")
		switch name {
		case "SHELL", ".SHELLFLAGS", "MAKE", "LEX", "YACC", "INSTALL", "RM", "ARFLAGS", "PERL", "PYTHON", "CPP", "FC", "LINK", "NM", "STRIP", "OBJCOPY":
			j.flag(External, "make "+name+"= names a program")
			continue
		}
		given := shell.Word{}
		if strings.HasSuffix(name, "FLAGS") {
			given = part(w, value)
		}
		if reason := EnvName(name, given); reason != "" {
			j.flag(External, "make "+name+"= names a program or its options")
		}
		if strings.Contains(value, "$") || !w.Known {
			j.flag(External, "make expands the value of "+name)
		}
	}
}

// nativeTool judges the words that cmake hands to make or ninja.
func (j *judge) nativeTool(words []shell.Word) {
	outer := j.name
	for _, name := range []string{"make", "ninja"} {
		r := table()[name]
		j.name = name
		b := j.scan(words, &r.syntax)
		for i := range b.opts {
			j.option(r, &b.opts[i])
		}
		if name == "make" {
			makeVariables(j, &b)
		}
	}
	j.name = outer
}

func responseFiles(j *judge, a *scanned) {
	for _, w := range a.operands {
		if strings.HasPrefix(w.Value, "@") {
			j.flag(External, "options from a file that is not shown: "+w.Text)
		}
	}
}

func compilerOptions(j *judge, a *scanned) {
	responseFiles(j, a)
	for _, o := range a.opts {
		name := o.name
		switch {
		case name == "-wrapper", name == "--wrapper", strings.HasPrefix(name, "-fplugin"), strings.HasPrefix(name, "-specs"), strings.HasPrefix(name, "--specs"),
			name == "-Xclang", name == "-load", strings.HasPrefix(name, "-B"), strings.HasPrefix(name, "-fuse-ld"), strings.HasPrefix(name, "--ld-path"),
			strings.HasPrefix(name, "-fpass-plugin"), strings.HasPrefix(name, "--config"), name == "-Xlinker",
			strings.HasPrefix(name, "-Wl,") && strings.Contains(name, "plugin"), name == "--gcc-toolchain", name == "--prefix":
			j.stop(External, "compiler option "+name+" runs other code")
		case name == "-o" || name == "-MF" || name == "-d":
			j.write(o.value)
		case strings.HasPrefix(name, "-o") && len(name) > 2 && !strings.HasPrefix(name, "-object"):
			j.write(shell.Literal(name[2:]))
		}
	}
	for _, w := range a.operands {
		j.read(w)
	}
}

func rustOptions(j *judge, a *scanned) {
	responseFiles(j, a)
	for _, o := range a.opts {
		v := o.value.Value
		if (o.name == "-C" || means(o.name, "--codegen")) && (strings.HasPrefix(v, "linker") || strings.HasPrefix(v, "ar=") || strings.HasPrefix(v, "llvm-args")) ||
			o.name == "-Z" || means(o.name, "--sysroot") {
			j.stop(External, "rustc "+o.name+" "+v+" runs other code")
		}
	}
}

// buildCommands stops on the subcommands of build tools that fetch code by
// name, publish, or run text.
func buildCommands(j *judge, a *scanned) {
	for i, w := range a.operands {
		v := w.Value
		switch {
		case v == "-":
			j.stop(External, j.name+" reads code from its input")
		case strings.HasPrefix(v, "exec:"), v == "publish" && j.name != "dotnet", v == "deploy", v == "eval", v == "archive.install", v == "escript.install":
			j.stop(External, j.name+" "+v)
		case i == 0 && v == "tool" && j.name == "dotnet", v == "nuget" && j.name == "dotnet", v == "repl", v == "global" && j.name == "dart":
			j.stop(External, j.name+" "+v)
		case i == 1 && v == "package" && a.operands[0].Value == "add", i == 1 && v == "add" && a.operands[0].Value == "pub":
			j.stop(External, j.name+" adds code by name")
		case i == 0 && v == "install" && (j.name == "opam" || j.name == "cabal" || j.name == "stack" || j.name == "nim"):
			j.stop(External, j.name+" install adds code by name")
		}
	}
	for _, o := range a.opts {
		if o.name == "-D" && strings.HasPrefix(o.value.Value, "exec.") || strings.HasPrefix(o.name, "--override_repository") {
			j.stop(External, j.name+" "+o.name)
		}
	}
}

func judgeCmake(j *judge) {
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	a := j.scan(j.args, &syntax{values: "SBCDPGTAUjt", optional: "W", long: []string{"--target", "--config", "--preset", "--prefix", "--parallel", "--graphviz", "--trace-redirect", "--toolchain"}})
	if a.loose != nil {
		j.flag(External, "could turn into an option of cmake: "+a.loose.Text)
	}
	for _, o := range a.opts {
		switch {
		case o.name == "-E":
			j.stop(External, "cmake -E runs commands")
		case o.name == "-S", o.name == "-C", o.name == "-P", means(o.name, "--build"), means(o.name, "--toolchain"), means(o.name, "--install"):
			if o.has {
				j.inside(o.value, "what cmake "+o.name+" names")
			}
		case o.name == "-B", means(o.name, "--graphviz"), means(o.name, "--trace-redirect"):
			if o.has {
				j.write(o.value)
			}
		case o.name == "-D":
			if v := o.value.Value; strings.Contains(v, "COMPILER") || strings.Contains(v, "TOOLCHAIN") || strings.Contains(v, "LAUNCHER") || strings.Contains(v, "MAKE_PROGRAM") || strings.Contains(v, "EMULATOR") {
				if _, value, _ := strings.Cut(v, "="); strings.ContainsRune(value, '/') {
					j.inside(part(o.value, value), "what cmake -D names")
				}
			}
		}
	}
	if len(a.rest) > 0 {
		// What stands behind "--" is for the program that builds.
		j.nativeTool(a.rest)
	}
	for _, w := range a.operands[:len(a.operands)-len(a.rest)] {
		j.inside(w, "the source of cmake")
	}
}
