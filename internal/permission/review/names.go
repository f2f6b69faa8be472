package review

import (
	"path"
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// connects reports bash's own names for network connections.
func connects(v string) bool {
	rest := strings.TrimLeft(v, "/")
	return strings.HasPrefix(v, "/") && (strings.HasPrefix(rest, "dev/tcp") || strings.HasPrefix(rest, "dev/udp"))
}

// defaults gives the texts that a word of the form ${NAME:-text} may turn
// into, as far as they stand in it literally.
func defaults(w shell.Word) []string {
	if w.Known || !strings.Contains(w.Text, "${") {
		return nil
	}
	var out []string
	for text := w.Text; ; {
		_, rest, ok := strings.Cut(text, "${")
		if !ok {
			return out
		}
		text = rest
		i := 0
		for i < len(rest) && (rest[i] == '_' || rest[i] >= '0' && rest[i] <= '9' || rest[i] >= 'a' && rest[i] <= 'z' || rest[i] >= 'A' && rest[i] <= 'Z') {
			i++
		}
		if i < len(rest) && rest[i] == ':' {
			i++
		}
		if i < len(rest) && strings.IndexByte("-=+", rest[i]) >= 0 {
			value, _, _ := strings.Cut(rest[i+1:], "}")
			out = append(out, strings.Trim(value, `"'`))
		}
	}
}

// wrapperWords judges what a wrapper reads itself, and what find looks for: the
// command behind it is given those names.
func (j *judge) wrapperWords(w *shell.Wrapper) {
	for i, a := range w.Argv {
		v, next := a.Value, shell.Word{}
		if i+1 < len(w.Argv) {
			next = w.Argv[i+1]
		}
		switch w.Name {
		case "chrt":
			// The policies without a priority may leave the number out, and the
			// word taken for it is then the program.
			if len(v) > 1 && v[0] == '-' && next.Value != "" && next.Value[0] != '-' && !plainNumber(next.Value) && i+2 < len(w.Argv) && !strings.HasSuffix(v, "T") && !strings.HasSuffix(v, "P") && !strings.HasSuffix(v, "D") {
				j.flag(External, "chrt without a priority: "+next.Text)
				return
			}
			if i > 0 && (v == "" || v[0] != '-') {
				return
			}
		case "xargs":
			file, long := strings.CutPrefix(v, "--arg-file=")
			at := strings.IndexByte(v, 'a')
			switch {
			case v == "--arg-file":
				j.read(next)
			case long:
				j.read(part(a, file))
			case at < 1 || v[0] != '-' || strings.Trim(v[1:at], "0rtpxo") != "":
			case at == len(v)-1:
				j.read(next)
			default:
				j.read(part(a, v[at+1:]))
			}
		case "fd", "fdfind":
			switch v {
			case "-x", "-X", "--exec", "--exec-batch":
				return
			case "-E", "--exclude":
				continue
			}
			if i > 0 && w.Argv[i-1].Value != "-E" && w.Argv[i-1].Value != "--exclude" && namesSecret(v) {
				j.flag(Sensitive, "fd gives files that hold secrets: "+a.Text)
			}
		case "find":
			negated := i > 0 && (w.Argv[i-1].Value == "!" || w.Argv[i-1].Value == "-not")
			switch v {
			case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname":
				if !negated && (j.findsSecret(next.Value) || strings.HasSuffix(v, "regex") && namesSecret(next.Value)) {
					j.flag(Sensitive, "find gives files that hold secrets: "+next.Text)
				}
			}
		}
	}
}

// findsSecret reports a pattern of find that matches names of secrets. Find's
// patterns match a leading dot too. One that matches everything says nothing.
func (j *judge) findsSecret(pattern string) bool {
	pattern = strings.ToLower(pattern)
	for _, dir := range [...]string{"/.ssh/", "/.aws/", "/.gnupg/", "/.kube/", "/.docker/"} {
		if strings.Contains(pattern+"/", dir) {
			return true
		}
	}
	last := pattern[strings.LastIndexByte(pattern, '/')+1:]
	if strings.Trim(last, "*?.") == "" {
		return false
	}
	if contains([]string{"shadow", "gshadow", "sudoers", "environ", "shadow-", "gshadow-"}, last) {
		return true
	}
	for _, name := range [...]string{".env", ".netrc", ".git-credentials", ".pgpass", ".npmrc", ".vault-token", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".ssh"} {
		if ok, err := path.Match(last, name); err == nil && ok {
			return true
		}
	}
	return strings.HasPrefix(last, ".env.") && j.p.Space.SecretSketch(last) != ""
}
