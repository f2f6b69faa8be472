package paths_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/openmuse/muse/internal/permission/paths"
)

func space() *paths.Space {
	return &paths.Space{Workspace: "/w/ws", Home: "/home/u", Temp: "/private/tmp", Masks: []string{"/srv/keys"}}
}

func TestWrite(t *testing.T) {
	s := space()
	for p, want := range map[string]paths.Area{
		"/w/ws":                         paths.Inside,
		"/w/ws/a/b":                     paths.Inside,
		"/w/ws/a/../b":                  paths.Inside,
		"/w/ws/../x":                    paths.Outside,
		"/w/wsx":                        paths.Outside,
		"/tmp/x":                        paths.Scratch,
		"/private/tmp/x":                paths.Scratch,
		"/var/tmp":                      paths.Scratch,
		"/dev/shm/x":                    paths.Scratch,
		"/dev/null":                     paths.Device,
		"/dev/fd/3":                     paths.Device,
		"/dev/sda":                      paths.Outside,
		"/dev/fd/../sda":                paths.Outside,
		"/etc/x":                        paths.Outside,
		"/home/u/.bashrc":               paths.Outside,
		"/":                             paths.Outside,
		"/w/ws/.git":                    paths.Protected,
		"/w/ws/.git/config":             paths.Protected,
		"/w/ws/sub/.git/hooks/x":        paths.Protected,
		"/w/ws/.muse/x":                 paths.Protected,
		"/w/ws/.agents/memory/x":        paths.Protected,
		"/w/ws/sub/.agents/x":           paths.Inside,
		"/w/ws/.vscode/tasks.json":      paths.Guarded,
		"/w/ws/a/.envrc":                paths.Guarded,
		"/w/ws/.claude/x":               paths.Guarded,
		"/w/ws/.gitignore":              paths.Inside,
		"/w/ws/.github/x":               paths.Inside,
		"/w/ws/x.git/y":                 paths.Inside,
		"/w/ws/.GIT/config":             paths.Protected,
		"/w/ws/.Git/config":             paths.Protected,
		"/w/ws/.git./config":            paths.Protected,
		"/w/ws/.git /config":            paths.Protected,
		"/w/ws/.git::$INDEX_ALLOCATION": paths.Protected,
		"/w/ws/GIT~1/config":            paths.Protected,
		"/w/ws/git~2/config":            paths.Protected,
		"/w/ws/gi7eba~1":                paths.Protected,
		"/w/ws/MUSE~1/x":                paths.Protected,
		"/w/ws/AGENTS~1/x":              paths.Protected,
		"/w/ws/.g\u200cit/config":       paths.Protected,
		"/w/ws/.mu\u017fe/x":            paths.Protected, // the long s folds to s
		"/w/ws/.g*/config":              paths.Protected,
		"/w/ws/.[g]it/config":           paths.Protected,
		"/w/ws/*/config":                paths.Inside, // does not match a leading dot
	} {
		if got := s.Write(p); got != want {
			t.Errorf("Write(%q) = %v, want %v", p, got, want)
		}
	}
}

func TestProtectedPath(t *testing.T) {
	for rel, want := range map[string]bool{
		".git/config": true, "a/.git": true, `a\.GIT\x`: true, "a/../.muse/x": true, ".agents": true, "a/.agents/x": false, "a": false, ".gitignore": false, "": false,
	} {
		if got := paths.ProtectedPath(rel); got != want {
			t.Errorf("ProtectedPath(%q) = %v", rel, got)
		}
	}
}

func TestSecret(t *testing.T) {
	s := space()
	for p, want := range map[string]bool{
		"/home/u/.ssh/id_ed25519":      true,
		"/home/u/.ssh":                 true,
		"/home/u/.sshx":                false,
		"/home/u/.config/gh/hosts.yml": true,
		"/home/u/.config/x":            false,
		"/home/u/.config/muse":         true,
		"/home/u/.netrc":               true,
		"/home/u/.bash_history":        true,
		"/home/u/.bashrc":              false,
		"/home/u/.s*/x":                true,
		"/home/u/*/x":                  false,
		"/home/u/.SSH/x":               true,
		"/w/ws/.env":                   true,
		"/w/ws/.env.production":        true,
		"/w/ws/.env.example":           false,
		"/w/ws/.e*":                    true,
		"/w/ws/.environment":           false,
		"/w/ws/a/id_rsa":               true,
		"/w/ws/a/id_rsa.pub":           false,
		"/etc/shadow":                  true,
		"/etc/passwd":                  false,
		"/etc/ssh/ssh_host_rsa_key":    true,
		"/etc/ssh/ssh_config":          false,
		"/etc/../etc/shadow":           true,
		"/proc/self/environ":           true,
		"/proc/12/environ":             true,
		"/proc/12/task/13/environ":     true,
		"/proc/12/root/etc/passwd":     true,
		"/proc/12/cwd":                 true,
		"/proc/cpuinfo":                false,
		"/proc/sys/kernel/ostype":      false,
		"/proc/12/status":              false,
		"/proc/self/fd/0":              false,
		"/dev/sda":                     true,
		"/dev/null":                    false,
		"/srv/keys/x":                  true,
		"/srv/key":                     false,
	} {
		if got := s.Secret(p); (got != "") != want {
			t.Errorf("Secret(%q) = %q", p, got)
		}
	}
	for sketch, want := range map[string]bool{
		"\x00/.ssh/id": true, "\x00/x": false, "a/\x00/.env": true, "/proc/\x00/environ": true, "\x00/.config/gh/x": true, ".ssh": true, "\x00": false,
	} {
		if got := s.SecretSketch(sketch); (got != "") != want {
			t.Errorf("SecretSketch(%q) = %q", sketch, got)
		}
	}
}

// TestLinks: what the text shows as inside is judged where its links lead.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs rights there")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, out := filepath.Join(base, "ws"), filepath.Join(base, "out")
	for _, d := range []string{ws, out, filepath.Join(ws, "sub"), filepath.Join(ws, ".git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"esc": out, "in": "sub", "hooks": ".git", "loop": "loop", "up": "..", "abs": filepath.Join(ws, "sub"), "env": ".env"} {
		if err := os.Symlink(to, filepath.Join(ws, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := &paths.Space{Workspace: ws, Links: paths.Links, Scratch: []string{}}
	for rel, want := range map[string]paths.Area{
		"new/file": paths.Inside, "in/x": paths.Inside, "abs/x": paths.Inside, "esc/x": paths.Outside, "esc": paths.Outside,
		"hooks/x": paths.Protected, "loop/x": paths.Unknown, "up/x": paths.Outside, "in/../x": paths.Inside, "esc/../ws/x": paths.Inside, "up/ws/x": paths.Inside,
	} {
		if got := s.Write(ws + "/" + rel); got != want {
			t.Errorf("Write(%s) = %v, want %v", rel, got, want)
		}
	}
	if s.Secret(ws+"/env") == "" {
		t.Error("a link to .env is no secret")
	}
	if s.In(ws + "/esc/x") {
		t.Error("behind a link that leads out is inside")
	}
	if !s.In(ws+"/in/x") || !s.In(ws) {
		t.Error("inside is not inside")
	}
	if _, err := paths.Links("relative"); err == nil {
		t.Error("a relative path was followed")
	}
}
