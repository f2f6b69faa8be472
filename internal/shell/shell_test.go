package shell_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/shell"
)

// words renders the words of a line's last stage as value and marks: "?" not
// known, "*" pattern, "~" may be several words. Text that is not known shows as
// "_", a path below a starting point as "^", a number as "#".
func words(l *shell.Line) []string {
	s := &l.Stages[len(l.Stages)-1]
	show := strings.NewReplacer("\x00", "_", "\x01", "^", "\x02", "#")
	var out []string
	for _, w := range s.Argv {
		t := show.Replace(w.Value)
		if !w.Known {
			t += " ?"
		}
		if w.Glob {
			t += "*"
		}
		if w.Split {
			t += "~"
		}
		out = append(out, t)
	}
	return out
}

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{`ls a 'b c' "d e" f\ g`, []string{"ls", "a", "b c", "d e", "f g"}},
		{`ls "a\"b\$c\qd" 'e\f'`, []string{"ls", `a"b$c\qd`, `e\f`}},
		{`ls $'a\x41\101\u00e9\tb\'c'`, []string{"ls", "aAA\u00e9\tb'c"}},
		{`ls $HOME "$HOME/x" ${PWD}/y $TMPDIR ~ ~/z`, []string{"ls", "/home/u", "/home/u/x", "/w/ws/y", "/tmp", "/home/u", "/home/u/z"}},
		{`ls $X "$X" a$X "a${X}b"`, []string{"ls", "_ ?~", "_ ?", "a_ ?~", "a_b ?"}},
		{`ls "$@" $# $?`, []string{"ls", "_ ?~", "# ?", "# ?"}},
		{`ls * a*b "*" \* [ab]c [`, []string{"ls", "* ?*", "a*b ?*", "*", "*", "[ab]c ?*", "["}},
		{`ls {a,b}{1,2} {1..3} x{,y} {a} {} a{b`, []string{"ls", "a1", "a2", "b1", "b2", "1", "2", "3", "x", "xy", "{a}", "{}", "a{b"}},
		{`ls {01..03} {c..a} "{a,b}"`, []string{"ls", "01", "02", "03", "c", "b", "a", "{a,b}"}},
		{`ls $(pwd) "$(pwd)" $((1+2)) $((1-2))`, []string{"ls", "_ ?~", "_ ?", "# ?", "_ ?"}},
		{`ls -j$(nproc)`, []string{"ls", "-j# ?"}},
		{`dd of=~/x if=a:~`, []string{"dd", "of=/home/u/x", "if=a:/home/u"}},
		{`ls <(pwd)`, []string{"ls", "/dev/fd/_ ?"}},
		{"git commit -m \"$(cat <<'EOF'\nfix: a\n\nmore $x\nEOF\n)\"", []string{"git", "commit", "-m", "fix: a\n\nmore $x"}},
		{`cd src; ls $PWD`, []string{"ls", "_ ?~"}},
		{`cd src && ls $PWD`, []string{"ls", "/w/ws/src"}},
		{`HOME=/x; ls $HOME ~`, []string{"ls", "_ ?~", "_ ?"}},
		{`read HOME <<< /x; ls ~`, []string{"ls", "_ ?"}},
		{`export HOME=/x; ls "$HOME"`, []string{"ls", "_ ?"}},
		{`HOME=/x eval 'ls ~ "$HOME"'`, []string{"ls", "_ ?", "_ ?"}},
		{`HOME=/x bash -c 'ls ~/a'`, []string{"ls", "_/a ?"}},
		{`env HOME=/x bash -c 'ls ~'`, []string{"ls", "_ ?"}},
		{`env -u HOME bash -c 'ls ~'`, []string{"ls", "_ ?"}},
		{`env -i bash -c 'ls ~'`, []string{"ls", "_ ?"}},
		{`sh -c 'HOME=/x :; ls ~'`, []string{"ls", "_ ?"}},
		{`A=1 bash -c 'ls ~'`, []string{"ls", "/home/u"}},
		{`find src -exec ls {} a{}b \;`, []string{"ls", "src/^ ?", "asrc/^b ?"}},
		{`find / -exec ls {} +`, []string{"ls", "/^ ?"}},
		{`find a b -execdir ls {} \;`, []string{"ls", "./^ ?"}},
		{`find $X -exec ls {} \;`, []string{"ls", "_ ?"}},
		{`xargs -I@ ls x@y`, []string{"ls", "x_y ?"}},
	} {
		l := shell.Analyze(tt.line, corpusOptions)
		if !l.Decomposed() {
			t.Errorf("%s: %s", tt.line, l.Refusal)
			continue
		}
		if diff := cmp.Diff(tt.want, words(l)); diff != "" {
			t.Errorf("%s: %s", tt.line, diff)
		}
	}
}

// TestRefusals holds what is refused, and that the reason names it.
func TestRefusals(t *testing.T) {
	for line, reason := range map[string]string{
		"ls\rrm x":                       "control character",
		"ls\x00rm":                       "control character",
		"echo '\u202e'":                  "invisible character",
		"ls\u00a0-la":                    "outside quotes",
		"ls\u200b":                       "outside quotes",
		"ls \xff":                        "not UTF-8",
		"(ls)":                           "subshell",
		"{ ls; }":                        "group",
		"for i in a; do ls; done":        "for loop",
		"until ls; do ls; done":          "until loop",
		"f() { ls; }":                    "function",
		"coproc ls":                      "coprocess",
		"echo ${x@P}":                    "parameter form",
		"echo ${x:=y}":                   "parameter form",
		"echo ${!x}":                     "indirect",
		"echo ${a[1]}":                   "subscript",
		"echo ${x:1}":                    "substring",
		"echo ${x/a/b}":                  "replacement",
		"echo $((x))":                    "arithmetic",
		"echo $IFS":                      "$IFS",
		"x=(1)":                          "array",
		`echo $"x"`:                      "translated",
		"ls ~root":                       "another user",
		`ls "`:                           "syntax error",
		"ls @(a)":                        "extended pattern",
		"ls {a,b":                        "brace expansion",
		"ls > {a,b}":                     "braces in a redirection",
		"exec {fd}>x":                    "descriptor stored",
		"$x":                             "not one plain word",
		"'ls -la'":                       "not plain",
		"":                               "nothing to run",
		"bash -c \"$x\"":                 "not known",
		"env -S 'ls'":                    "no option -S",
		"xargs env":                      "at run time",
		"find . -exec ls {}":             "without its end",
		"sudo --chdir":                   "no option",
		strings.Repeat("true;", 65):      "more than 64",
		strings.Repeat("a", 33000):       "longer than",
		nested(8):                        "nest more than",
		"zsh -c 'ls *'":                  "differently",
		"bash -ic ls":                    "interactive",
		strings.Repeat("env ", 20) + "x": "wrappers",
		"echo \"$('ls'# ; id\n)\"":       "comment",
		`ls OO\`:                         "nothing behind",
		`sh -c 'ls \'`:                   "nothing behind",
		"echo `'ls'# ; id`":              "comment",
		"cat <(ls''#x ; id\n)":           "comment",
	} {
		if l := shell.Analyze(line, corpusOptions); !strings.Contains(l.Refusal, reason) {
			t.Errorf("%.60q: refusal %q, want %q", line, l.Refusal, reason)
		}
	}
}

func nested(n int) string {
	line := "pwd"
	for range n {
		line = "echo $(" + line + ")"
	}
	return line
}

// TestRefusedLinesStillList what was found: deny rules look there.
func TestRefusedLinesStillList(t *testing.T) {
	for line, want := range map[string]string{
		"(rm x)":                               "rm x",
		"if true; then rm x; fi":               "true ;; rm x",
		"for f in a; do env rm $f; done":       "rm $f",
		"f() { rm x; }; f":                     "rm x ;; f",
		"while read l; do sh -c 'rm y'; done":  "read l ;; rm y",
		"case $x in a) rm x;; esac":            "rm x",
		"{ ls; rm x; } > out":                  "ls ;; rm x",
		"[[ -f x ]] && rm y":                   "rm y",
		strings.Repeat("true;", 70) + "rm zzz": strings.Repeat("true ;; ", 70) + "rm zzz",
	} {
		l := shell.Analyze(line, corpusOptions)
		var got []string
		for i := range l.Stages {
			got = append(got, l.Stages[i].Effective())
		}
		if l.Decomposed() || strings.Join(got, " ;; ") != want {
			t.Errorf("%.60q: refused %q, stages %q", line, l.Refusal, got)
		}
	}
}

func TestDirectories(t *testing.T) {
	for line, want := range map[string]string{
		"cd a && x":                    "/w/ws/a",
		"cd a; x":                      "/w/ws/a /w/ws",
		"cd a || x":                    "/w/ws",
		"cd a && cd b && x":            "/w/ws/a/b",
		"cd a | x":                     "/w/ws",
		"cd a & x":                     "/w/ws",
		"cd /etc && x":                 "/etc",
		"cd ~ && x":                    "/home/u",
		"cd && x":                      "/home/u",
		"cd - && x":                    "?",
		"cd $D && x":                   "?",
		"cd .. && x":                   "/w",
		"! cd a && x":                  "/w/ws",
		"set -e\ncd a\nx":              "/w/ws/a",
		"true && cd a; x":              "/w/ws/a /w/ws",
		"eval 'cd a'; x":               "/w/ws/a /w/ws",
		"builtin cd a && x":            "/w/ws/a",
		"env cd a && x":                "/w/ws",
		"bash -c 'cd a' && x":          "/w/ws",
		"bash -c 'cd a && x'":          "/w/ws/a",
		"env -C a x":                   "/w/ws/a",
		"env -C a true; x":             "/w/ws",
		"pushd a && x":                 "/w/ws/a",
		"pushd a && popd && x":         "?",
		"echo $(cd a) && x":            "/w/ws",
		"HOME=/ bash -c 'cd && x'":     "?",
		"CDPATH=/ bash -c 'cd a && x'": "?",
		// What only looks like set -e, or is taken back.
		"sh -c 'set -e'; cd a; x":            "/w/ws/a /w/ws",
		"env set -e; cd a; x":                "/w/ws/a /w/ws",
		"set -e +e; cd a; x":                 "/w/ws/a /w/ws",
		"set -e; set +e; cd a; x":            "/w/ws/a /w/ws",
		"set -e; set +o errexit; cd a; x":    "/w/ws/a /w/ws",
		"set -e; eval 'set +e'; cd a; x":     "/w/ws/a /w/ws",
		"set -e; shopt -uo errexit; cd a; x": "/w/ws/a /w/ws",
		"set -e; builtin set +e; cd a; x":    "/w/ws/a /w/ws",
		"set -e < nosuch; cd a; x":           "/w/ws/a /w/ws",
		"set -- -e; cd a; x":                 "/w/ws/a /w/ws",
		"set -o noexec -e; cd a; x":          "/w/ws/a /w/ws",
		"X=1 set -e; cd a; x":                "/w/ws/a /w/ws",
		"set -e & cd a; x":                   "/w/ws/a /w/ws",
		"! set -e; cd a; x":                  "/w/ws/a /w/ws",
		"false && set -e; cd a; x":           "/w/ws/a /w/ws",
		"find . -exec set -e \\;; cd a; x":   "/w/ws/a /w/ws",
		"eval 'set -e; cd a' || x":           "/w/ws/a /w/ws",
		"eval 'set -e; cd a; x'":             "/w/ws/a /w/ws",
		"set -e; ! cd a; x":                  "/w/ws /w/ws/a",
		"set -euo pipefail; cd a; x":         "/w/ws/a",
		"set -eu -o pipefail; cd a; x":       "/w/ws/a",
		"set -o errexit; cd a; x":            "/w/ws/a",
		"bash -c 'set -e; cd a; x'":          "/w/ws/a",
		"CDPATH=/; cd a && x":                "?",
		"find . -execdir x {} \\;":           "?",
	} {
		l := shell.Analyze(line, corpusOptions)
		var got []string
		for _, d := range l.Stages[len(l.Stages)-1].Dirs {
			if d.Known {
				got = append(got, d.Path)
			} else {
				got = append(got, "?")
			}
		}
		if s := strings.Join(got, " "); s != want || !l.Decomposed() {
			t.Errorf("%q: runs in %s, want %s (%s)", line, s, want, l.Refusal)
		}
	}
}

func TestStageFacts(t *testing.T) {
	last := func(line string) *shell.Stage {
		l := shell.Analyze(line, corpusOptions)
		if !l.Decomposed() {
			t.Fatalf("%s: %s", line, l.Refusal)
		}
		return &l.Stages[len(l.Stages)-1]
	}
	if s := last("A=1 env -u B C=2 timeout 5 ls"); len(s.Assigns) != 2 || s.Unset[0] != "B" || len(s.Wrappers) != 2 || s.Wrappers[1].Name != "timeout" {
		t.Errorf("%+v", s)
	}
	if s := last("env -i ls"); !s.Cleared {
		t.Error("env -i does not clear")
	}
	if s := last("sudo ls"); s.Wrappers[0].Stops == "" {
		t.Error("sudo does not stop")
	}
	if s := last("poetry run ls"); !s.Wrappers[0].Project {
		t.Error("poetry is not the project's")
	}
	if s := last("a | b"); s.Stdin != shell.StdinPipe {
		t.Error("no pipe")
	}
	if s := last("a < b"); s.Stdin != shell.StdinFile || s.Redirs[0].Op != shell.RedirectRead {
		t.Error("no file")
	}
	if s := last("curl x | bash -c 'sh'"); s.Stdin != shell.StdinPipe {
		t.Error("the inner shell does not inherit the pipe")
	}
	if s := last("bash -c 'ls' > /etc/x"); len(s.Redirs) != 1 {
		t.Error("the inner command does not inherit the redirection")
	}
	if s := last("xargs -n1 ls"); !s.Appended {
		t.Error("xargs does not append")
	}
	if s := last("time -p ls"); s.Program() != "ls" {
		t.Error("time is not a keyword")
	}
}

func TestQuote(t *testing.T) {
	for value, want := range map[string]string{
		"":               "''",
		"a":              "a",
		"a b":            "'a b'",
		"it's":           `'it'\''s'`,
		"*.go":           "*.go",
		"{}":             "{}",
		"a\nb":           `'a\nb'`,
		"\x1b[31m":       `'\x1b[31m'`,
		"a\u202eb":       `a\u202eb`,
		"\xff":           `\xff`,
		"s/[/]/x/":       "s/[/]/x/",
		"--since=2 days": "'--since=2 days'",
	} {
		if got := shell.Quote(value); got != want {
			t.Errorf("Quote(%q) = %s, want %s", value, got, want)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, l := range seeds(f) {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, line string) {
		l := shell.Analyze(line, corpusOptions)
		if l.Decomposed() && (len(l.Stages) == 0 || len(l.Stages) > shell.MaxStages) {
			t.Errorf("%q: %d stages", line, len(l.Stages))
		}
		for i := range l.Stages {
			s := &l.Stages[i]
			if s.Kind == shell.Command && l.Decomposed() && (len(s.Argv) == 0 || !s.Argv[0].Known) {
				t.Errorf("%q: a stage without a program", line)
			}
			if eff := s.Effective(); strings.ContainsAny(eff, "\n\r\x1b\x00") {
				t.Errorf("%q: %q shows control characters", line, eff)
			}
		}
	})
}
