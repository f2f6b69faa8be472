package shell_test

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// pieces are what generated lines are made of beside those of the seeds.
var pieces = []string{
	"ls", "rm x", "env", "env A=1", "timeout 5", "nice -n 1", "xargs -n1", "sh -c 'rm y'", "bash -c 'ls; rm z'", "eval", "command", "exec",
	"'", `"`, "`", "$(", ")", "{", "}", "(", ";", "&", "&&", "||", "|", "|&", "\n", "\\", "\\\n", " ", "\t", "#", "!", "<", ">", ">>", "<<<", "<<EOF\n", "\nEOF\n",
	">&2", "2>&1", "&>", "$x", "${x}", "${x:-y}", "${x%a}", "$'\\x72m'", "$'a\\tb'", `$"x"`, "$((1+2))", "$[1]", "~", "~/", "*", "?", "[a]", "{a,b}", "{1..3}", "a{b,c}d", "{,a}",
	"=", "X=1", "X=$(ls)", "-x", "--", "[", "]", "[ -f x ]", "time", "do", "done", "if", "then", "fi", "case", "in", "esac", "for", "while", "function", "f()", "<(ls)", ">(cat)",
	"<<EOF\nEO\\\nF\n", "<<-EOF\n\t", "<<'EOF'\n", "<<\\EOF\n", "<<END\n", "\nEND\n", "\\\nEOF\n", "EOF\\\n", "EO\\\nF\n", "$\\\n(rm j)", "\"$\\\n(rm j)\"",
	"\"$(rm q)\"", "\"$(cat <<EOF\n", "\nEOF\n)\"", "\"${x:-'$(rm s)'}\"", "${x:-'$(rm s)'}", "${x:-\"a\"}", "${x:+'", "'}", "'}'", "#\\\n", " \\\n", "$\\\n'a'", "$'\\''", "$'",
	"sh -c \"", "dash -c '", "sh -c 'ls; rm d'", "+", "set -e;", "HOME=/x eval 'ls ~'", "~/x",
	"echo", "echo -n a", "printf %s", "cd src", "true", "false", "find . -name x", "-exec rm {} \\;", "-exec ls {} +", "\"$@\"", "$1", "$#", "$$", "é", "\u200d", "%", ",", "..", ".", ":", "@", "+",
}

// trickSeeds are lines of the kinds that readers have come to differ on: joined
// lines, and scripts of other shells.
func trickSeeds() []string {
	out := slices.Concat(joined.refused, joined.read)
	for _, script := range foreignScripts {
		out = append(out, "sh -c '"+strings.ReplaceAll(script, "'", `'\''`)+"'")
	}
	return out
}

// generate makes a line out of seeds and pieces: splices, insertions, and
// changes of single bytes.
func generate(r *rand.Rand, corpus []string) string {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	line := pick(corpus)
	for n := r.IntN(4); n >= 0; n-- {
		at := r.IntN(len(line) + 1)
		switch r.IntN(7) {
		case 0:
			line = line[:at] + pick(pieces) + line[at:]
		case 1:
			line = line[:at] + " " + pick(pieces) + " " + line[at:]
		case 2:
			other := pick(corpus)
			line = line[:at] + other[r.IntN(len(other)+1):]
		case 3:
			end := min(len(line), at+r.IntN(4))
			line = line[:at] + line[end:]
		case 4:
			line += pick([]string{"; ", " && ", " | ", "\n", " & ", " || "}) + pick(corpus)
		case 5:
			line = pick([]string{"env ", "timeout 3 ", "nice ", "sh -c ", "eval ", "command ", "! ", "time ", "X=1 "}) + line
		case 6:
			if at < len(line) {
				line = line[:at] + string(rune(32+r.IntN(95))) + line[at+1:]
			}
		}
	}
	return line
}
