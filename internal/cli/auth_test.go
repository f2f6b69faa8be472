package cli

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

const aKey = "sk-0123456789abcdefghij"

func TestAuthSetStatusLogout(t *testing.T) {
	h := newCLIHome(t, "")
	h.in = "  " + aKey + "\n"
	code, out, errs := h.run("auth", "set", "--api-key-stdin")
	if code != 0 || out != "" || errs != "stored the key for meta in ~/.config/muse/auth.json\n" {
		t.Fatalf("set: exit %d, %q, %q", code, out, errs)
	}
	if got := h.read("auth.json"); !strings.Contains(got, `"api_key": "`+aKey+`"`) || !strings.Contains(got, `"schema_version": 1`) {
		t.Errorf("stored %s", got)
	}
	if info, err := os.Stat(h.path("auth.json")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	code, out, errs = h.run("auth", "status")
	if code != 0 || !strings.Contains(out, "meta: …ghij from stored credentials ~/.config/muse/auth.json:7:7, sent to https://api.meta.ai\n") || strings.Contains(out+errs, "0123") {
		t.Errorf("status: exit %d\n%s%s", code, out, errs)
	}
	code, _, errs = h.run("auth", "logout")
	if code != 0 || strings.Contains(h.read("auth.json"), aKey) {
		t.Errorf("logout: exit %d %s\n%s", code, errs, h.read("auth.json"))
	}
	if code, _, errs = h.run("auth", "remove"); code != 0 || errs != "nothing is stored for meta\n" {
		t.Errorf("again: exit %d %q", code, errs)
	}
	if code, out, _ = h.run("auth", "status", "--provider", "meta"); code != 1 || !strings.HasPrefix(out, "meta: missing meta credentials: set META_API_KEY") {
		t.Errorf("status without a key: exit %d %q", code, out)
	}
}

func TestAuthSetKeepsTheRest(t *testing.T) {
	h := newCLIHome(t, "")
	const before = "{\"schema_version\":3,\"providers\":{\"meta\":{\"mechanism\":\"oauth\",\"access_token\":\"tok\",\"new_field\":[1,  2]}},\"mcp_oauth:x\":{\"a\":1}}"
	h.write("auth.json", before, 0o644)
	h.in = aKey
	if code, _, errs := h.run("auth", "set", "--api-key-stdin"); code != 0 {
		t.Fatal(errs)
	}
	want := strings.Replace(before, "[1,  2]", "[1,  2],\"api_key\":\""+aKey+"\"", 1)
	if got := h.read("auth.json"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if info, err := os.Stat(h.path("auth.json")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}

func TestAuthErrors(t *testing.T) {
	tests := []struct {
		name  string
		stdin string
		args  []string
		code  int
		want  string
	}{
		{"no flag", aKey, []string{"set"}, 2, "add --api-key-stdin"},
		{"key as an argument", "", []string{"set", aKey}, 2, "never from the command line"},
		{"key as a subcommand", "", []string{aKey}, 2, "unknown command for muse auth"},
		{"nothing on stdin", " \n", []string{"set", "--api-key-stdin"}, 1, "standard input holds no key"},
		{"a file instead", strings.Repeat("x", 100<<10), []string{"set", "--api-key-stdin"}, 1, "more than a key"},
		{"two lines", "a\nb", []string{"set", "--api-key-stdin"}, 1, "a line break"},
		{"unknown provider", aKey, []string{"set", "--api-key-stdin", "--provider", "mata"}, 2, `did you mean "meta"?`},
		{"offline provider", aKey, []string{"set", "--api-key-stdin", "--provider", "echo"}, 2, "needs no key"},
		{"address", aKey, []string{"set", "--api-key-stdin", "--base-url", "example"}, 2, "invalid value for --base-url"},
		{"subcommand", "", []string{"sett"}, 2, `did you mean "set"?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newCLIHome(t, "")
			h.in = tt.stdin
			code, out, errs := h.run(append([]string{"auth"}, tt.args...)...)
			if code != tt.code || out != "" || !strings.Contains(errs, tt.want) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, out, errs)
			}
			if strings.Contains(errs, aKey) {
				t.Error("the key is repeated")
			}
			if _, err := os.Stat(h.path("auth.json")); err == nil {
				t.Error("something was stored")
			}
		})
	}
}
