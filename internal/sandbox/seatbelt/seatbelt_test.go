package seatbelt

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func boundary() Boundary {
	return Boundary{
		Writable:  []string{"/Users/u/ws", "/private/tmp/s", "/Users/u/state/tmp"},
		Protected: []string{"/Users/u/ws/.git", "/Users/u/ws/.muse", "/Users/u/ws/vendor/lib/.git"}, ProtectedNames: []string{".git", ".muse"},
		Pinned: []string{"/Users/u/ws/vendor", "/Users/u/ws/vendor/lib"}, Masked: []string{"/Users/u/.ssh", "/Users/u/ws/.env", "/Users/u/state"}, Visible: []string{"/Users/u/.ssh/known", "/Users/u/state/tmp"},
		ProxyPort: 4567,
	}
}

// rules are the lines of a profile with the parameters put in.
func rules(t *testing.T, b Boundary) []string {
	t.Helper()
	p := Write(b)
	text := p.Text
	for _, kv := range p.Params {
		text = strings.ReplaceAll(text, fmt.Sprintf("(param %q)", kv[0]), fmt.Sprintf("%q", kv[1]))
	}
	if strings.Contains(text, "(param") {
		t.Fatalf("a parameter has no value:\n%s", text)
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.Count(line, "(") != strings.Count(line, ")") {
			t.Errorf("line %d is not balanced: %s", i+1, line)
		}
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}

// verdict applies the rules about an operation on a path as the system does:
// the last one that matches counts. It knows the filters that the profile
// uses.
func verdict(t *testing.T, lines []string, operation, path string) bool {
	t.Helper()
	allowed := false
	for _, line := range lines {
		head := strings.Fields(strings.Trim(line, "()"))
		if len(head) < 2 || head[0] != "allow" && head[0] != "deny" {
			continue
		}
		if !covers(line, operation) || !matches(t, line, path) {
			continue
		}
		allowed = head[0] == "allow"
	}
	return allowed
}

func covers(line, operation string) bool {
	body, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(line, "(allow "), "(deny "), " (")
	for _, op := range strings.Fields(strings.Trim(body, "()")) {
		if op == "default" || op == operation || strings.HasSuffix(op, "*") && strings.HasPrefix(operation, strings.TrimSuffix(op, "*")) {
			return true
		}
	}
	return false
}

func matches(t *testing.T, line, path string) bool {
	t.Helper()
	filters := regexp.MustCompile(`\((literal|subpath|regex) #?"((?:[^"\\]|\\.)*)"\)`).FindAllStringSubmatch(line, -1)
	if len(filters) == 0 {
		return !strings.Contains(line[1:], "(") // no filter: every path
	}
	for _, f := range filters {
		switch value := f[2]; f[1] {
		case "literal":
			if path == value {
				return true
			}
		case "subpath":
			if path == value || strings.HasPrefix(path, value+"/") {
				return true
			}
		case "regex":
			if regexp.MustCompile(value).MatchString(path) {
				return true
			}
		}
	}
	return false
}

func TestFiles(t *testing.T) {
	lines := rules(t, boundary())
	tests := []struct {
		operation, path string
		want            bool
	}{
		{"file-read-data", "/usr/bin/true", true},
		{"file-read-data", "/Users/u/.zshrc", true},
		{"file-read-data", "/Users/u/.ssh", false},
		{"file-read-data", "/Users/u/.ssh/id_ed25519", false},
		{"file-read-data", "/Users/u/.ssh/known", true},
		{"file-read-data", "/Users/u/.sshx", true},
		{"file-write-data", "/Users/u/.ssh/known", false},
		{"file-write-data", "/Users/u/ws/a", true},
		{"file-write-data", "/Users/u/ws/.env", false},
		{"file-read-data", "/Users/u/ws/.env", false},
		{"file-write-data", "/Users/u/state/tmp/a", true},
		{"file-read-data", "/Users/u/state/tmp/a", true},
		{"file-write-data", "/Users/u/state/a", false},
		{"file-read-data", "/Users/u/state/a", false},
		{"file-write-create", "/Users/u/ws/a/b", true},
		{"file-write-unlink", "/Users/u/ws/a", true},
		{"file-write-data", "/private/tmp/s/x", true},
		{"file-write-data", "/private/tmp/other", false},
		{"file-write-data", "/Users/u/ws2/a", false},
		{"file-write-data", "/Users/u/a", false},
		{"file-write-data", "/etc/hosts", false},
		{"file-write-unlink", "/Users/u/ws", false},
		{"file-write-create", "/Users/u/ws/.muse", false},
		{"file-write-data", "/Users/u/ws/.muse/settings.json", false},
		{"file-write-create", "/Users/u/ws/.MUSE", false},
		{"file-write-create", "/Users/u/ws/.Git/hooks/x", false},
		{"file-write-create", "/Users/u/ws/.gitignore", true},
		{"file-write-data", "/Users/u/ws/x.git", true},
		{"file-write-unlink", "/Users/u/ws/.git", false},
		{"file-write-data", "/Users/u/ws/vendor/lib/.git/config", false},
		{"file-write-unlink", "/Users/u/ws/vendor", false},
		{"file-write-unlink", "/Users/u/ws/vendor/lib", false},
		{"file-write-create", "/Users/u/ws/vendor/lib/new", true},
		{"file-write-data", "/dev/null", true},
		{"file-write-data", "/dev/disk0", false},
		{"file-write-setugid", "/Users/u/ws/a", false},
	}
	for _, tt := range tests {
		t.Run(tt.operation+tt.path, func(t *testing.T) {
			if got := verdict(t, lines, tt.operation, tt.path); got != tt.want {
				t.Errorf("allowed: %v", got)
			}
		})
	}
}

func TestNetworkRules(t *testing.T) {
	has := func(lines []string, part string) bool { return strings.Contains(strings.Join(lines, "\n"), part) }
	b := boundary()
	lines := rules(t, b)
	if !has(lines, `(allow network-outbound (remote ip "localhost:4567"))`) || has(lines, "(allow network*)") || has(lines, "unix-socket") || has(lines, "mDNSResponder") {
		t.Errorf("proxy:\n%s", strings.Join(lines, "\n"))
	}
	b.ProxyPort = 0
	if lines := rules(t, b); has(lines, "network") {
		t.Errorf("restricted:\n%s", strings.Join(lines, "\n"))
	}
	b.Network = true
	if lines := rules(t, b); !has(lines, "(allow network*)") || !has(lines, "(deny network* (remote unix-socket))") {
		t.Errorf("enabled:\n%s", strings.Join(lines, "\n"))
	}
	b.Network, b.UnixSockets = false, true
	if lines := rules(t, b); !has(lines, `(allow network-outbound (remote unix-socket (subpath "/Users/u/ws")))`) {
		t.Errorf("unix sockets:\n%s", strings.Join(lines, "\n"))
	}
}

func TestNothingElse(t *testing.T) {
	text := strings.Join(rules(t, boundary()), "\n")
	for _, never := range []string{"com.apple.SecurityServer", "com.apple.securityd", "(allow default)", "appleevent", "iokit", "com.apple.launchservices"} {
		if strings.Contains(text, never) {
			t.Errorf("the profile mentions %s", never)
		}
	}
	if !strings.HasPrefix(text, "(version 1)\n(deny default)\n") {
		t.Errorf("the profile begins\n%.60s", text)
	}
}

// A path cannot end its string and add a rule: it is a parameter.
func TestPathsAreParameters(t *testing.T) {
	b := boundary()
	evil := `/Users/u/") (allow default) ("`
	b.Writable, b.Masked = []string{evil}, []string{evil}
	b.ProtectedNames = nil
	p := Write(b)
	if strings.Contains(p.Text, "allow default") {
		t.Errorf("the path is in the text:\n%s", p.Text)
	}
	args := p.Args()
	if args[0] != "-p" || args[len(args)-1] != "--" || !strings.HasSuffix(args[3], evil) {
		t.Errorf("arguments %q", args)
	}
	b.ProtectedNames = []string{".git"}
	for _, line := range strings.Split(Write(b).Text, "\n") {
		if strings.HasPrefix(line, "(allow default") || strings.Contains(line, "regex") && strings.Count(line, `"`) != 2 {
			t.Errorf("a rule was added: %s", line)
		}
	}
}
