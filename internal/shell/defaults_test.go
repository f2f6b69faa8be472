package shell_test

import (
	"testing"

	"github.com/openmuse/muse/internal/shell"
)

func TestDefaults(t *testing.T) {
	for _, line := range []string{
		`echo "${x:-'$(touch x)'}"`, `echo "${x-'$(touch x)'}"`, `echo "${x:+'$(touch x)'}"`, `echo "${x+'a'}"`,
		`echo "a${x:-b'$(touch x)'c}"`, `echo "${x:-'}'$(touch x)'}"`, "echo \"${x:-'`touch x`'}\"",
		"cat <<EOF\n${x:-'$(touch x)'}\nEOF", "cat <<EOF\n${x:-\"a\"'$(touch x)'}\nEOF", "cat <<EOF\n${x%'$(touch x)'}\nEOF",
		"cat <<< \"${x:-'$(touch x)'}\"", `X="${x:-'$(touch x)'}"`, `ls > "${x:-'a'}"`, `sh -c 'echo "${x:-'"'"'$(touch x)'"'"'}"'`,
		`cat "${x:-/etc/passwd}"`, `cat ${x:-.env}`, `cat .${x:-env}`, `cat .e${x:-nv}`, `cat ${x:-.e}${y:-nv}`, `cat a/${x:-.env}`,
		`cat ${x:-../a}`, `cat .${x:-./a}`, `cat ${x:-a/../../b}`, `cat < ${x:-/dev/tcp/h/80}`, `cat < "${x:-/dev/tcp/h/80}"`,
		`cat ${x:-"/etc/passwd"}`, `cat ${x-'/etc/passwd'}`, `cat ${x:+/etc/passwd}`, `cat ${x:-~/.ssh}`, `cat ${x:-\/etc/passwd}`,
		`cat ${x:-\.env}`, `cat ${x:-a .env}`, `cat /e${x:-tc}/passwd`, `grep --file=${x:-/etc/passwd}`, `rm ${x:--rf}`, `cat ${x:-*}`,
		`X=/dev/tcp/h/80; cat < $X`, `X=.env; cat $X`, `X=env; cat .$X`, `X=.; cat ${X}env`, `export X=~/.ssh/id_rsa && cat "$X"`, `X=.env; false && X=a; cat "$X"`,
		`A=.e; B=nv; cat $A$B`, `X=.env cat a; X=.env; cat ${X}`,
		`F=${x:-.env}`, `cat ${x:-i}${y:-d_rsa}`,
	} {
		if shell.Analyze(line, corpusOptions).Decomposed() {
			t.Errorf("%q is read", line)
		}
	}
	for _, line := range []string{
		`echo ${x:-default} ${y%/*} ${z##*.} "${x:-a b}" "${#x}"`, `cat "${f%.txt}.md"`, `echo "${x:-"a b"}" "${x%'.go'}"`,
		`PORT=${PORT:-3000} npm start`, `make -j${N:-4}`, `echo ${x:-'$(id)'}`, `echo ${V:-1.2.3}`, `echo ${HOST:-localhost:80}`,
		"cat <<EOF\n${x:-a}\nEOF", `echo ${x:-} "${x+}"`, `ls ${x:-src/a}`,
		`X=/tmp/a; ls "$X"`, `D=./build && ls $D/x`, `V=1.2.3; echo "v$V"`, `X=.env; echo "$Y"`,
	} {
		if l := shell.Analyze(line, corpusOptions); !l.Decomposed() {
			t.Errorf("%q: %s", line, l.Refusal)
		}
	}
}
