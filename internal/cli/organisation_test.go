package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/permission"
)

// TestOrganisation runs under the two files of a machine's administrator.
func TestOrganisation(t *testing.T) {
	const unset = ""
	for _, tt := range []struct {
		name                       string
		policy, defaults, settings string
		args                       []string
		code                       int
		stderr                     string
		profile                    string // in the log, when the run starts
	}{
		{
			name: "nothing", args: []string{"--provider", "echo"}, profile: ":ask-me",
		}, {
			name: "a provider that is not allowed", policy: `{"schema_version":1,"model_egress":{"allowed_providers":["meta"]}}`,
			args: []string{"--provider", "echo"}, code: 1, stderr: `provider "echo" (command line --provider) is not allowed by the enterprise policy`,
		}, {
			name: "a model that is not allowed", policy: `{"schema_version":1,"model_egress":{"allowed_models":["m"]}}`,
			args: []string{"--provider", "echo", "--model", "other"}, code: 1, stderr: `model "other" (command line --model) is not allowed`,
		}, {
			name: "a model of the settings that is not allowed", policy: `{"schema_version":1,"model_egress":{"allowed_models":["m"],"model_fallback":"m"}}`,
			settings: `{"schema_version":1,"provider":"echo","model":"other"}`, code: 1, stderr: "settings.json:1:39) is not allowed",
		}, {
			name: "no way around the sandbox", policy: `{"schema_version":1,"execution":{"forbid_sandbox_bypass":true}}`,
			args: []string{"--provider", "echo", "--disable-sandbox"}, code: 1, stderr: "without the sandbox",
		}, {
			name: "a policy that cannot be understood", policy: `{"schema_version":1,"exekution":{}}`,
			args: []string{"--provider", "echo"}, code: 1, stderr: `unknown key "exekution"`,
		}, {
			name: "defaults", defaults: `{"schema_version":1,"provider":"echo","permissions":{"default_profile":":read-only"}}`, profile: ":read-only",
		}, {
			name:     "settings over defaults",
			defaults: `{"schema_version":1,"provider":"meta","permissions":{"default_profile":":read-only","profiles":{"house":{"extends":":ask-me"}}}}`,
			settings: `{"schema_version":1,"provider":"echo","permissions":{"default_profile":"house"}}`, profile: "house",
		}, {
			name: "defaults that cannot be understood", defaults: `{"schema_version":1,"permissions":{"default_profile":"none"}}`,
			args: []string{"--provider", "echo"}, code: 1, stderr: `there is no profile "none"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, tt.settings)
			dir := t.TempDir()
			m.planes = permission.Planes{Defaults: filepath.Join(dir, "defaults.json"), Policy: filepath.Join(dir, "policy.json")}
			for path, text := range map[string]string{m.planes.Defaults: tt.defaults, m.planes.Policy: tt.policy} {
				if text != unset {
					if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			code, _, stderr := m.muse(append(append([]string{"exec"}, tt.args...), "hello")...)
			if code != tt.code || !strings.Contains(stderr, tt.stderr) {
				t.Fatalf("exit %d, %s", code, stderr)
			}
			if tt.profile == "" {
				return
			}
			first, _, _ := strings.Cut(m.log(), "\n")
			if !strings.Contains(first, `\"id\":\"`+tt.profile+`\"`) && !strings.Contains(first, `"id":"`+tt.profile+`"`) {
				t.Errorf("the log begins with %s", first)
			}
		})
	}
}

// A session of the read-only profile changes nothing: its commands get a
// workspace that cannot be written, whoever allows them.
func TestReadOnlyProfile(t *testing.T) {
	m := newMachine(t, `{"schema_version":1,"permissions":{"rules":[{"prefix":["touch"],"verdict":"allow"}]}}`)
	if code, out, _ := m.muse("sandbox", "check"); code != 0 {
		t.Skip("no sandbox on this machine: " + out)
	}
	script := filepath.Join(m.home, "model.json")
	if err := os.WriteFile(script, []byte(`{"schema_version":1,"replies":[
		{"tool_calls":[{"name":"bash","args":{"command":"touch made","description":"make a file"}}]},
		{"text":"done"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(profile string) string {
		if code, _, stderr := m.muse("exec", "--provider", "script", "--script", script, "--trust-workspace", "--permission-profile", profile, "go"); code != 0 {
			t.Fatalf("exit %d, %s", code, stderr)
		}
		_, err := os.Stat(filepath.Join(m.workspace, "made"))
		if os.IsNotExist(err) {
			return "nothing"
		}
		return "made"
	}
	if got := run(":read-only"); got != "nothing" {
		t.Error("a command of a read-only session wrote the workspace")
	}
	if got := run(":ask-me"); got != "made" {
		t.Error("the same command does not work otherwise, so the test shows nothing")
	}
}
