package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// GivesSecret reports a stage that prints the name of a file that holds
// secrets, for another stage of the line to take: "find -name .env | xargs cat".
func GivesSecret(s *shell.Stage, p *Place) bool {
	if s.Kind != shell.Command {
		return false
	}
	for i := range s.Redirs {
		if op := s.Redirs[i].Op; op == shell.RedirectWrite || op == shell.RedirectReadWrite {
			return false
		}
	}
	j := judge{s: s, p: p}
	for i, w := range s.Argv[1:] {
		before := s.Argv[i].Value // the word in front of w
		switch s.Program() {
		case "echo", "printf":
			for _, name := range strings.FieldsFunc(w.Value, func(r rune) bool { return r == ' ' || r == '\n' || r == '\\' || r == 0 }) {
				if p.Space.SecretSketch(name) != "" || p.Space.SecretSketch(strings.TrimPrefix(name, "n")) != "" {
					return true
				}
			}
		case "find":
			negated := i > 0 && (s.Argv[i-1].Value == "!" || s.Argv[i-1].Value == "-not")
			switch before {
			case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex":
				if !negated && (j.findsSecret(w.Value) || strings.HasSuffix(before, "regex") && namesSecret(w.Value)) {
					return true
				}
			}
		case "fd", "fdfind":
			if before != "-E" && before != "--exclude" && namesSecret(w.Value) {
				return true
			}
		case "ls":
			if p.Space.SecretSketch(w.Value) != "" {
				return true
			}
		}
	}
	return false
}

// TakesNames reports a stage whose arguments come from what other stages of
// the line print, and which may open them.
func TakesNames(s *shell.Stage) bool {
	if s.Kind != shell.Command {
		return false
	}
	switch s.Program() {
	case "echo", "printf", "test", "[", "true", ":", "basename", "dirname", "exit", "git":
		return false
	}
	if s.Appended {
		return true
	}
	piped := false
	for i := range s.Wrappers {
		piped = piped || s.Wrappers[i].Name == "xargs"
	}
	for _, w := range s.Argv[1:] {
		if !w.Known && strings.IndexByte(w.Value, shell.Hole) >= 0 && (piped || strings.Contains(w.Text, "$(") || strings.Contains(w.Text, "`")) {
			return true
		}
	}
	return false
}

// namesSecret reports a search that mentions the name of a file of secrets.
func namesSecret(pattern string) bool {
	pattern = strings.ReplaceAll(strings.ToLower(pattern), `\`, "")
	for _, name := range [...]string{".env", ".netrc", ".git-credentials", ".pgpass", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".vault-token"} {
		if strings.Contains(pattern, name) && !strings.Contains(pattern, name+"iron") {
			return true
		}
	}
	return false
}
