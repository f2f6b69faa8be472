package shell_test

import (
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/shell"
)

// foreignScripts are scripts that bash and other shells read differently.
var foreignScripts = []string{
	`echo $'\'; rm x #'`, `echo $'a'`, `echo $"a"`, `ls &> x`, `ls &>> x`, `ls |& wc`, `cat <<< a`, `cat <(ls)`, `ls > >(cat)`,
	`ls {a,b}`, `ls {1..3}`, `ls > {a,b}`, `[[ -f x ]]`, `function f { ls; }`, `X=(a b)`, `X+=a`, `X+=a ls`, `echo $[1+1]`,
	`time ls`, `time -p ls`, `ls >& x`, `ls 10> x`, `export A=$x`, `export A=~/x`, `export A=*`, `readonly A=$(ls)`, `declare A=1`,
	`typeset A=1`, `let A=1`, `dd of=~/x`, `cat ~+/x`, `echo ${x:-'a'}`, `echo "${x%'a'}"`, "echo `echo \\`ls\\``", `coproc ls`,
	`ls >! x`, `ls > =x`, `ls 2>&1-`, `select i in a; do ls; done`,
}

func TestForeignScripts(t *testing.T) {
	for _, script := range foreignScripts {
		quoted := "'" + strings.ReplaceAll(script, "'", `'\''`) + "'"
		for _, start := range []string{"sh -c ", "/bin/sh -c ", "dash -ec ", "ash -c ", "busybox sh -c ", "env sh -c ", "ksh -c ", "zsh -c ", "bash -c \"sh -c ", "su -c "} {
			line := start + quoted
			if strings.HasPrefix(start, "bash") {
				if strings.ContainsAny(script, "\"$`\\") {
					continue
				}
				line += `"`
			}
			if shell.Analyze(line, corpusOptions).Decomposed() {
				t.Errorf("%s is read", line)
			}
		}
		if shell.Analyze("sh <<'EOF'\n"+script+"\nEOF", corpusOptions).Decomposed() {
			t.Errorf("%s is read from a here-document", script)
		}
		if shell.Analyze("bash -c 'ls'; sh -c "+quoted, corpusOptions).Decomposed() {
			t.Errorf("%s is read behind another", script)
		}
	}
	for _, script := range []string{
		`ls -la`, `cd a && ls | wc -l`, `ls > x 2>&1`, `ls >> x 2>/dev/null`, `export A=1 B="$x"; ls`, `A=1 ls`, `echo "$(ls "a b")"`,
		`find . -name x -exec ls {} +`, `echo ${x:-a} ${x%.go}`, `cat <<E` + "\na\nE", `ls ~ ~/x`, `echo $((1+2))`, "echo `ls`", `set -e; ls`,
	} {
		if strings.Contains(script, "'") {
			t.Fatal(script)
		}
		for _, start := range []string{"sh -c ", "dash -c ", "bash -c "} {
			if l := shell.Analyze(start+"'"+script+"'", corpusOptions); !l.Decomposed() {
				t.Errorf("%s%q: %s", start, script, l.Refusal)
			}
		}
	}
	// What is foreign to sh is at home in bash, also inside of sh.
	for _, line := range []string{`bash -c 'ls &> x'`, `bash -c "echo \$'a'"`, `sh -c "bash -c 'ls {a,b}'"`, `bash -c 'time ls'`} {
		if l := shell.Analyze(line, corpusOptions); !l.Decomposed() {
			t.Errorf("%s: %s", line, l.Refusal)
		}
	}
}

func TestShellOptions(t *testing.T) {
	for _, line := range []string{
		`bash -c + 'rm x'`, `sh -c + 'rm x'`, `bash + /tmp/x.sh`, `sh + -c 'rm x'`, `bash -e + -c 'rm x'`, `zsh -b -c 'ls'`, `dash -B -c ls`,
		`bash -O extglob -c ls`, `bash --rcfile x -c ls`, `bash -rcfile x -c ls`,
	} {
		if shell.Analyze(line, corpusOptions).Decomposed() {
			t.Errorf("%s is read", line)
		}
	}
	for line, want := range map[string]string{
		`bash -euo pipefail -c 'rm x'`: "rm x", `sh -ec 'rm x'`: "rm x", `sh +e -c 'rm x'`: "rm x", `bash -c -- 'rm x'`: "rm x", `bash - x.sh`: "bash - x.sh",
	} {
		l := shell.Analyze(line, corpusOptions)
		if !l.Decomposed() || l.Stages[len(l.Stages)-1].Effective() != want {
			t.Errorf("%s: %q %+v", line, l.Refusal, l.Stages)
		}
	}
}
