package paths

import (
	"path"
	"strings"
	"sync"
)

// homeSecrets are relative to the home directory (THREATS.md 4.6): keys,
// tokens, histories, and the state of this and other agents.
var homeSecrets = sync.OnceValue(func() [][]string {
	list := []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".terraform.d", ".password-store", ".fly",
		".config/gh", ".config/hub", ".config/gcloud", ".config/op", ".config/muse", ".config/doctl", ".config/rclone",
		".config/git/credentials", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".mozilla",
		".local/share/muse", ".local/share/keyrings", ".claude", ".codex", ".gemini",
		"Library/Keychains", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
		".netrc", ".git-credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".vault-token",
		".boto", ".s3cfg", ".dockercfg", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
		".bash_history", ".zsh_history", ".sh_history", ".python_history", ".node_repl_history", ".psql_history",
		".mysql_history", ".sqlite_history", ".history", ".local/share/fish/fish_history",
	}
	out := make([][]string, len(list))
	for i, s := range list {
		out[i] = strings.Split(s, "/")
	}
	return out
})

// systemSecrets are absolute.
var systemSecrets = sync.OnceValue(func() [][]string {
	list := []string{
		"etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/sudoers", "etc/sudoers.d", "etc/ssl/private",
		"etc/krb5.keytab", "etc/security/opasswd", "var/run/secrets", "run/secrets", "proc/kcore", "dev/mem", "dev/kmem",
		"dev/port",
	}
	out := make([][]string, len(list))
	for i, s := range list {
		out[i] = strings.Split(s, "/")
	}
	return out
})

// Secret says why reading an absolute path is sensitive, or "". The path may
// hold pattern characters. hole, if not zero, is the byte that stands for text
// that is not known.
func (s *Space) Secret(p string) string {
	p = path.Clean(p)
	if reason := s.secret(p); reason != "" || s.Links == nil || strings.ContainsAny(p, "*?[\x00\x01") {
		return reason
	}
	real, err := s.Links(p)
	if err != nil || real == p {
		return ""
	}
	return s.secret(real)
}

func (s *Space) secret(p string) string {
	names := strings.Split(strings.TrimPrefix(p, "/"), "/")
	if reason := anywhere(names); reason != "" {
		return reason
	}
	for _, m := range s.Masks {
		if _, ok := below(p, m); ok {
			return m + " is masked"
		}
	}
	if names[0] == "proc" && len(names) > 2 {
		return process(names[1:])
	}
	if s.Home != "" {
		if rest, ok := below(p, s.Home); ok && rest != "" {
			rel := strings.Split(rest, "/")
			for _, secret := range homeSecrets() {
				if within(rel, secret) {
					return "~/" + strings.Join(secret, "/") + " holds secrets"
				}
			}
		}
	}
	for _, secret := range systemSecrets() {
		if within(names, secret) {
			return "/" + strings.Join(secret, "/") + " holds secrets"
		}
	}
	if len(names) == 3 && names[0] == "etc" && names[1] == "ssh" && strings.HasSuffix(names[2], "_key") {
		return "host keys are secrets"
	}
	if names[0] == "dev" && len(names) == 2 && blockDevice(names[1]) {
		return "a raw disk holds every file"
	}
	return ""
}

// SecretSketch judges a path of which only parts are known: literal components
// that name a place of secrets wherever they stand.
func (s *Space) SecretSketch(sketch string) string {
	names := strings.Split(sketch, "/")
	if reason := anywhere(names); reason != "" {
		return reason
	}
	if len(names) > 3 && names[1] == "proc" {
		return process(names[2:])
	}
	for i, n := range names {
		if n == "" || n[0] != '.' {
			continue
		}
		for _, secret := range homeSecrets() {
			if within(names[i:], secret) {
				return "~/" + strings.Join(secret, "/") + " holds secrets"
			}
		}
	}
	return ""
}

// within reports whether a path lies at or below secret. Components of the path
// may be patterns; they match as in the shell, a leading dot only literally.
func within(names, secret []string) bool {
	if len(names) < len(secret) {
		return false
	}
	for i, want := range secret {
		if !matches(names[i], want) {
			return false
		}
	}
	return true
}

func matches(name, want string) bool {
	if strings.EqualFold(name, want) {
		return true
	}
	if !strings.ContainsAny(name, "*?[") || (want[0] == '.') != (name[0] == '.') {
		return false
	}
	// A shell may be told to match in either case.
	ok, err := path.Match(strings.ToLower(name), strings.ToLower(want))
	return err != nil || ok
}

// anywhere finds names that hold secrets in any directory.
func anywhere(names []string) string {
	last := names[len(names)-1]
	if last == "" {
		return ""
	}
	switch {
	case matches(last, ".env"), environmentFile(last):
		return last + " holds secrets of the project"
	case matches(last, ".netrc"), matches(last, ".git-credentials"), matches(last, ".pgpass"), matches(last, ".vault-token"):
		return last + " holds passwords"
	}
	for _, key := range [...]string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"} {
		if strings.EqualFold(last, key) || len(last) > 2 && strings.EqualFold(last[:2], "id") && matches(last, key) {
			return last + " is a private key"
		}
	}
	return ""
}

// environmentFile reports ".env.local" and its kind, but not the examples that
// projects commit.
func environmentFile(name string) bool {
	if len(name) < 5 || !strings.EqualFold(name[:5], ".env.") {
		return false
	}
	switch strings.ToLower(name[5:]) {
	case "example", "sample", "template", "dist", "schema", "defaults", "md", "d.ts":
		return false
	}
	return true
}

// process judges a path below /proc/<pid>.
func process(names []string) string {
	if names[0] == "sys" || names[0] == "net" || names[0] == "bus" || names[0] == "fs" {
		return ""
	}
	if names[0] != "" && len(names) > 1 {
		if names[1] == "task" && len(names) > 3 {
			names = names[2:]
		}
		switch n := names[1]; {
		case matches(n, "environ"):
			return "the environment of a process may hold keys"
		case matches(n, "mem"), matches(n, "auxv"):
			return "the memory of a process may hold keys"
		case matches(n, "root"), matches(n, "cwd"), matches(n, "exe"), matches(n, "fd"), matches(n, "map_files"):
			if n == "fd" && (names[0] == "self" || names[0] == "thread-self") && len(names) < 4 {
				return ""
			}
			return "a path through another process"
		}
	}
	return ""
}

func blockDevice(name string) bool {
	for _, p := range [...]string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "loop", "md", "disk"} {
		if rest, ok := strings.CutPrefix(name, p); ok && rest != "" {
			return true
		}
	}
	return false
}
