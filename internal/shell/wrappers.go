package shell

import (
	"slices"
	"strings"
	"sync"
)

// wrapper is how one wrapper reads its own options. The tables are exact: an
// option that is not listed refuses the line, an abbreviation too.
type wrapper struct {
	flags    string   // short options without a value
	values   string   // short options with a value, attached or in the next word
	optional string   // short options with an optional, attached value
	long     []string // "name", "name=" (value), "name?" (optional, attached)
	leaves   []string // options with which no command is started
	// positional counts the words between options and command.
	positional int
	// number allows "-5" (nice).
	number bool
	// assigns allows NAME=VALUE words before the command.
	assigns bool
	// dashClears makes a lone "-" empty the environment (env).
	dashClears bool
	// What options do: their names as in option.name.
	writes, unsets, clears, chdir, sets []string

	plain bool
	stops string
}

type optionResult uint8

const (
	optionRead optionResult = iota
	optionUnknown
	optionLeaves
)

// read reads the option at the front of words and says how many it used.
func (w *wrapper) read(words []Word) (used int, opts []option, result optionResult) {
	v := words[0].Value
	if slices.Contains(w.leaves, v) {
		return 0, nil, optionLeaves
	}
	if w.number && number(strings.TrimLeft(v[1:], "-+")) {
		return 1, []option{{name: v}}, optionRead
	}
	if strings.HasPrefix(v, "--") {
		name, value, attached := strings.Cut(v[2:], "=")
		switch {
		case !attached && (slices.Contains(w.long, name) || slices.Contains(w.long, name+"?")):
			return 1, []option{{name: "--" + name}}, optionRead
		case attached && (slices.Contains(w.long, name+"=") || slices.Contains(w.long, name+"?")):
			return 1, []option{{name: "--" + name, value: Literal(value)}}, optionRead
		case slices.Contains(w.long, name+"=") && len(words) > 1 && words[1].Known:
			return 2, []option{{name: "--" + name, value: words[1]}}, optionRead
		}
		return 0, nil, optionUnknown
	}
	for i := 1; i < len(v); i++ {
		name := "-" + v[i:i+1]
		switch c := v[i]; {
		case slices.Contains(w.leaves, name):
			return 0, nil, optionLeaves
		case strings.IndexByte(w.flags, c) >= 0:
			opts = append(opts, option{name: name})
		case strings.IndexByte(w.optional, c) >= 0:
			return 1, append(opts, option{name: name, value: Literal(v[i+1:])}), optionRead
		case strings.IndexByte(w.values, c) >= 0:
			if i+1 < len(v) {
				return 1, append(opts, option{name: name, value: Literal(v[i+1:])}), optionRead
			}
			if len(words) < 2 || !words[1].Known {
				return 0, nil, optionUnknown
			}
			return 2, append(opts, option{name: name, value: words[1]}), optionRead
		default:
			return 0, nil, optionUnknown
		}
	}
	return 1, opts, optionRead
}

// wrappers is the table of THREATS.md 3.6, less those with a function of their
// own.
var wrappers = sync.OnceValue(func() map[string]*wrapper {
	privileged := func(name string) string { return name + " runs the command as another user" }
	time := &wrapper{
		flags: "apqvl", values: "fo", plain: true, writes: []string{"-o", "--output"},
		long:   []string{"append", "portability", "quiet", "verbose", "format=", "output="},
		leaves: []string{"--version", "--help", "-V"},
	}
	return map[string]*wrapper{
		"env": {
			flags: "i0v", values: "uC", long: []string{"ignore-environment", "null", "debug", "unset=", "chdir="},
			assigns: true, dashClears: true, plain: true,
			unsets: []string{"-u", "--unset"}, clears: []string{"-i", "--ignore-environment"},
			chdir: []string{"-C", "--chdir"}, leaves: []string{"--version", "--help"},
		},
		"setsid": {flags: "cfw", long: []string{"ctty", "fork", "wait"}, plain: true, leaves: []string{"-h", "-V", "--help", "--version"}},
		"nohup":  {plain: true, leaves: []string{"--help", "--version"}},
		"timeout": {
			flags: "v", values: "ks", long: []string{"kill-after=", "signal=", "foreground", "preserve-status", "verbose"},
			positional: 1, plain: true, leaves: []string{"--help", "--version"},
		},
		"nice":   {values: "n", long: []string{"adjustment="}, number: true, plain: true, leaves: []string{"--help", "--version"}},
		"ionice": {flags: "t", values: "cn", long: []string{"class=", "classdata=", "ignore"}, plain: true, leaves: []string{"-p", "-P", "-u", "-h", "-V", "--pid", "--help", "--version"}},
		"stdbuf": {values: "ioe", long: []string{"input=", "output=", "error="}, plain: true, leaves: []string{"--help", "--version"}},
		"chrt": {
			flags: "bfiordaRv", values: "TPD", positional: 1, plain: true,
			long:   []string{"batch", "fifo", "idle", "other", "rr", "deadline", "reset-on-fork", "all-tasks", "verbose", "sched-runtime=", "sched-period=", "sched-deadline="},
			leaves: []string{"-p", "-m", "-h", "-V", "--pid", "--max", "--help", "--version"},
		},
		"taskset": {flags: "ac", long: []string{"all-tasks", "cpu-list"}, positional: 1, plain: true, leaves: []string{"-p", "-h", "-V", "--pid", "--help", "--version"}},
		"time":    time,
		"unbuffer": {
			flags: "p",
		},
		"strace": {
			flags: "cCdfFhiknqrtTvwxyYzZ", values: "abeEIoOpPsSuUX", optional: "", writes: []string{"-o"}, sets: []string{"-E"},
			long:   []string{"follow-forks", "quiet", "summary", "summary-only", "trace=", "string-limit=", "output=", "no-abbrev"},
			leaves: []string{"-V", "--version", "--help"},
		},
		"ltrace": {
			flags: "bcCfiLrStT", values: "aADeFlnopsuwx", writes: []string{"-o"},
			leaves: []string{"-h", "-V", "--version", "--help"},
		},
		"caffeinate": {flags: "dimsu", values: "tw", plain: true},
		"xvfb-run": {
			flags: "al", values: "efnpsw",
			long:   []string{"auto-servernum", "listen-tcp", "error-file=", "auth-file=", "server-num=", "server-args=", "wait=", "xauth-protocol="},
			writes: []string{"-e", "-f", "--error-file", "--auth-file"}, leaves: []string{"-h", "--help"},
		},
		"sudo": {
			flags: "AbEHnPSisNB", values: "ugpCTrtUhD", assigns: true, stops: privileged("sudo"), chdir: []string{"-D", "--chdir"},
			long:   []string{"askpass", "background", "preserve-env?", "set-home", "non-interactive", "preserve-groups", "stdin", "login", "shell", "user=", "group=", "prompt=", "close-from=", "command-timeout=", "role=", "type=", "other-user=", "host=", "chdir="},
			leaves: []string{"-l", "-v", "-e", "-k", "-K", "-V", "-R", "--list", "--validate", "--edit", "--reset-timestamp", "--remove-timestamp", "--version", "--help", "--chroot"},
		},
		"doas": {flags: "ns", values: "uaC", stops: privileged("doas"), leaves: []string{"-L"}},
		"run0": {
			values: "ugD", stops: privileged("run0"), chdir: []string{"-D", "--chdir"}, sets: []string{"--setenv"},
			long:   []string{"user=", "group=", "nice=", "chdir=", "setenv=", "no-ask-password", "unit=", "property=", "description=", "slice=", "slice-inherit", "background="},
			leaves: []string{"-h", "--help", "-V", "--version", "--machine"},
		},
		"pkexec": {stops: privileged("pkexec"), long: []string{"user=", "disable-internal-agent", "keep-cwd"}, values: "u", leaves: []string{"--version", "--help"}},
		"ld.so": {
			stops:  "the dynamic loader runs any file",
			long:   []string{"library-path=", "preload=", "argv0=", "inhibit-cache", "inhibit-rpath=", "audit=", "glibc-hwcaps-prepend=", "glibc-hwcaps-mask="},
			leaves: []string{"--verify", "--list", "--list-tunables", "--list-diagnostics", "--help", "--version"},
		},
	}
})

// projectRunner names the subcommands with which tools of a project start a
// command in its environment.
func projectRunner(name string) ([]string, bool) {
	switch name {
	case "poetry", "pipenv", "uv", "hatch", "pdm", "rye":
		return []string{"run"}, true
	case "bundle", "rbenv", "pyenv", "asdf":
		return []string{"exec"}, true
	case "mise":
		return []string{"exec", "x"}, true
	}
	return nil, false
}

// runner takes "poetry run" and its kind off. With options in between the
// command is left whole, and the review stops on it.
func (a *analysis) runner(name string, subs []string, argv []Word, sc *scope) ([]Word, step) {
	if len(argv) < 3 || !argv[1].Known || !slices.Contains(subs, argv[1].Value) {
		return nil, leave
	}
	rest := argv[2:]
	if rest[0].Known && rest[0].Value == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 || (rest[0].Known && strings.HasPrefix(rest[0].Value, "-")) {
		return nil, leave
	}
	return a.under(Wrapper{Name: name, Project: true}, argv, rest, sc)
}
