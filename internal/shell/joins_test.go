package shell_test

import (
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/shell"
)

// joined are lines with a backslash before a newline where the shell and the
// parser come to different lines, and others where nothing depends on it.
var joined = struct{ refused, read []string }{
	refused: []string{
		"cat <<EOF\nEO\\\nF\nrm x\nEOF",
		"cat <<EOF\n\\\nEOF\nrm x\nEOF",
		"cat <<EOF\nEOF\\\n\nrm x\nEOF",
		"cat <<-EOF\n\tEO\\\nF\nrm x\nEOF",
		"cat <<EOF; ls \\\n-l\nEOF",
		"cat <<E\\\nOF\nE\nrm x\nOF\nEOF",
		"cat <<EOF\n$\\\n(touch x)\nEOF",
		"cat <<EOF\na \\\nb\nEOF\nls",
		"echo $(cat <<EOF\nEO\\\nF\nrm x\nEOF\n)",
		"cat <<EOF\n$(echo 'a\\\nb')\nEOF",
		"cat <\\\n<EOF\nEOF",
		"echo \"$\\\n(touch x)\"",
		"echo \"$\\\n{x:=$(touch x)}\"",
		"cat <<< \"$\\\n(touch x)\"",
		"echo \"${x:-$\\\n(touch x)}\"",
		"echo \"${x:- \\\n}\"",
		"echo \"`\\\nls`\"",
		"echo `ls \\\n-l`",
		"ls #\\\nrm x",
		"ls # a \\\nrm x",
		"ls # \\\\\\\nrm x",
		"echo $\\\n'a'",
		"echo $\\\nx",
		"echo $\\\n\"x\"",
		"ls \\\\\\\nx",
		"ls \\ \\\nx",
		"ls &\\\n& rm x",
		"ls >\\\n> x",
		"ls 2\\\n>x",
		"ls {a,\\\nb}",
		"i\\\nf ls",
		"X\\\n=1 ls",
		"expo\\\nrt A=1",
		"echo $'a \\\nb'",
		"echo a\\\n#b",
		"\\\nls",
		"sh -c 'cat <<EOF\nEO\\\nF\nrm x\nEOF'",
		"eval 'echo \"$\\\n(touch x)\"'",
	},
	read: []string{
		"ls \\\n-la",
		"ls \\\n  -l \\\n  -a",
		"ls &&\t\\\n\tpwd",
		"ls | \\\nwc -l",
		"r\\\nm -rf x",
		"echo 'a\\\nb' \"a \\\nb\"",
		"bash -c \"ls && \\\n pwd\"",
		"bash -c 'ls && \\\n pwd'",
		"echo \"$(ls \\\n-l)\"",
		"echo $(ls \\\n-l 'a\\\nb')",
		"echo 'a\\\\\nb'; ls \\\\\npwd",
		"cat > x <<'EOF'\nRUN a \\\n  b\n\\\nEO\\\nF\nEOF\nls \\\n-l",
		"cat <<EOF\na\nEOF\nls \\\n-l",
		"git commit -m \"$(cat <<'EOF'\na \\\nb\nEOF\n)\"",
	},
}

func TestJoinedLines(t *testing.T) {
	for _, line := range joined.refused {
		if shell.Analyze(line, corpusOptions).Decomposed() {
			t.Errorf("%q is read", line)
		}
	}
	for _, line := range joined.read {
		if l := shell.Analyze(line, corpusOptions); !l.Decomposed() {
			t.Errorf("%q: %s", line, l.Refusal)
		}
	}
}

func TestDelimiters(t *testing.T) {
	for _, end := range []string{"EOF", "END_1", "E-F", `\EOF`, "'EOF'", `"EOF"`, "'END OF FILE'", "'!'"} {
		bare := strings.Trim(end, `\'"`)
		if l := shell.Analyze("cat <<"+end+"\na\n"+bare+"\nls", corpusOptions); !l.Decomposed() || len(l.Stages) != 2 {
			t.Errorf("<<%s: %q, %d stages", end, l.Refusal, len(l.Stages))
		}
	}
	for _, end := range []string{`E"O"F`, `E\OF`, `"E\"F"`, "$x", "${x}", "$(ls)", "`ls`", "$'EOF'", `$"EOF"`, "''", "E*", "{a,b}", "'a\nb'", "~"} {
		for _, bare := range []string{"EOF", strings.Trim(end, `'"`)} {
			if shell.Analyze("cat <<"+end+"\na\n"+bare+"\nls", corpusOptions).Decomposed() {
				t.Errorf("<<%s is read", end)
			}
		}
	}
}
