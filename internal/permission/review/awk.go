package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// judgeAwk parses the program: awk runs commands (system, pipes), writes files
// (print >) and loads code (@load). A program that is not understood stops.
func judgeAwk(j *judge) {
	if j.asksVersion() {
		return
	}
	a := j.scan(j.args, &syntax{
		values: "Fvfeil", optional: "opdDL", stops: true,
		long: []string{"--field-separator", "--assign", "--file", "--source", "--include", "--load", "--exec"},
	})
	var programs []shell.Word
	files := false
	for _, o := range a.opts {
		switch {
		case o.name == "-F" || means(o.name, "--field-separator"):
		case o.name == "-v" || means(o.name, "--assign"):
		case o.name == "-f" || means(o.name, "--file"):
			files = true
			j.inside(o.value, "the awk program")
			j.atLeast(Project, "runs an awk program of the project")
		case o.name == "-e" || o.name == "--source":
			programs = append(programs, o.value)
		case contains(awkPlain, o.name):
		default:
			j.stop(External, "awk "+o.name)
		}
	}
	operands := a.operands
	if len(programs) == 0 && !files {
		if len(operands) == 0 {
			if j.s.Appended || a.loose != nil {
				j.flag(External, "an awk program that is not known")
			}
			return
		}
		programs, operands = append(programs, operands[0]), operands[1:]
	}
	if a.loose != nil && !isOperand(operands, a.loose) && !j.s.Appended {
		j.flag(External, "could turn into an option of awk: "+a.loose.Text)
	}
	for _, p := range programs {
		if !p.Known {
			j.flag(External, "an awk program that is not known: "+p.Text)
			continue
		}
		if !harmlessAwk(p.Value) || strings.Contains(p.Value, "ARGV") {
			j.stop(External, "an awk program that may run commands or write files, or is not understood")
		}
	}
	for _, w := range operands {
		if strings.HasPrefix(w.Value, "/inet") {
			j.flag(Dangerous, "opens a network connection: "+w.Text)
		}
		j.read(w)
	}
}

var awkPlain = []string{"-b", "-c", "-C", "-g", "-h", "-n", "-N", "-O", "-P", "-r", "-S", "-s", "-t", "-V", "-k", "--csv", "--posix", "--traditional",
	"--re-interval", "--non-decimal-data", "--sandbox", "--characters-as-bytes", "--optimize", "--no-optimize", "--lint-old"}

func isOperand(list []shell.Word, w *shell.Word) bool {
	for i := range list {
		if list[i].Text == w.Text {
			return true
		}
	}
	return false
}
