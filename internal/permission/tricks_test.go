package permission_test

import (
	"testing"

	"github.com/openmuse/muse/internal/permission"
)

// heldLines holds lines that must not run unasked in on-request mode; in
// untrusted mode they ask too.
func heldLines(t *testing.T, lines ...string) {
	t.Helper()
	onRequest, untrusted := corpusEngine(t, permission.OnRequest, nil), corpusEngine(t, permission.Untrusted, nil)
	for _, l := range lines {
		if r := onRequest.Explain(l); r.Verdict == permission.Pass {
			t.Errorf("%q runs unasked in on-request mode", l)
		}
		if r := untrusted.Explain(l); r.Verdict == permission.Pass {
			t.Errorf("%q runs unasked in untrusted mode", l)
		}
	}
}

// noReads holds lines that untrusted mode must ask about; the sandbox holds
// what they can do in on-request mode.
func noReads(t *testing.T, lines ...string) {
	t.Helper()
	e := corpusEngine(t, permission.Untrusted, nil)
	for _, l := range lines {
		if r := e.Explain(l); r.Verdict == permission.Pass {
			t.Errorf("%q runs unasked in untrusted mode", l)
		}
	}
}

// freeLines holds everyday lines that on-request mode never asks about.
func freeLines(t *testing.T, lines ...string) {
	t.Helper()
	e := corpusEngine(t, permission.OnRequest, nil)
	for _, l := range lines {
		if r := e.Explain(l); r.Verdict != permission.Pass {
			t.Errorf("%q is held: %s: %s", l, r.Verdict, r.Reason)
		}
	}
}

// readLines holds lines that pass even in untrusted mode.
func readLines(t *testing.T, lines ...string) {
	t.Helper()
	freeLines(t, lines...)
	e := corpusEngine(t, permission.Untrusted, nil)
	for _, l := range lines {
		if r := e.Explain(l); r.Verdict != permission.Pass {
			t.Errorf("%q is held in untrusted mode: %s", l, r.Reason)
		}
	}
}

// TestIntegerVariables: the shell evaluates what they are set to, and a
// subscript in it runs a command.
func TestIntegerVariables(t *testing.T) {
	heldLines(t,
		`RANDOM='a[$(touch pwn)]'`, `RANDOM+='a[$(touch pwn)]'`, `SRANDOM='a[$(touch pwn)]'`, `HISTCMD='a[$(touch pwn)]'`,
		`OPTIND='a[$(touch pwn)]'`, `OPTIND+='a[$(touch pwn)]'`, `BASHPID+='a[$(touch pwn)]'`, `SECONDS+='a[$(touch pwn)]' ls`,
		`SECONDS='a[$(touch pwn)]' true`, `read RANDOM <<< 'a[$(touch pwn)]'`, `read -a RANDOM <<< x`, `export RANDOM+='a[$(touch pwn)]'`,
		`export OPTIND='a[$(touch pwn)]'`, `LINENO='a[$(touch pwn)]'`, `mapfile RANDOM < f`, `getopts a RANDOM -a`, `X=$(cat f); SECONDS=$X`,
		`printf '%s%n' abc PATH`, `printf -- 'ab%5n' PATH`,
	)
	freeLines(t, `SECONDS=0`, `OPTIND=1; ls`, `RANDOM=42`, `printf '%s\n' a`, `printf '100%%n\n'`)
}

// TestBuiltinOptions: a builtin has the options that its row lists.
func TestBuiltinOptions(t *testing.T) {
	heldLines(t,
		`jobs -x rm -rf x`, `jobs -lx rm x`, `sleep 0 & wait -n -p 'a[$(touch pwn)]'`, `sleep 0 & wait -np PATH`, `wait -pPATH`,
		`hash -p ./evil ls`, `getopts -- a PATH -a`, `exit 'a[$(x)]'`, `type -x ls`,
		`zsh -c "exit 'a[\$(touch x)]'"`, `zsh -c "[ 'a[\$(touch x)]' -eq 1 ]"`, `ksh -c "printf %d 'a[\$(touch x)]'"`,
	)
	readLines(t, `jobs -l`, `jobs`, `sleep 1 & wait`, `sleep 1 & wait -n`, `exit 1`, `exit`, `false || exit $?`, `type -a ls`, `umask 022`, `ulimit -n`,
		`ulimit -n 1024`, `ulimit -a`, `pushd sub; popd`, `dirs -v`, `wait %1`, `help cd`)
	freeLines(t, `go test ./...; exit $?`)
}
