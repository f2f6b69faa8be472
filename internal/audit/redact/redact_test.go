package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/audit/logtest"
)

// A secret of each shape, put together so that no scanner of sources trips
// over the file.
var (
	skKey    = "sk-" + "abcDEF0123456789abcd"
	ghToken  = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
	ghFine   = "github_pat_" + "11ABCDEFG0abcdefghijkl_mnopqrstuv"
	glToken  = "glpat-" + "abcdefghij0123456789"
	hfToken  = "hf_" + "abcdefghijklmnopqrst"
	awsKey   = "AKIA" + "IOSFODNN7EXAMPLE"
	gKey     = "AIza" + "SyA-abcdefghijklmnopqrstuvwxyz0123"
	slack    = "xoxb-" + "123456789012-abcdefABCDEF"
	jwt      = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".abc-_DEF123"
	password = "hunter2-correct-horse"
)

func edit(t *testing.T, line string) string {
	t.Helper()
	known := newSecrets()
	(&editor{secrets: known}).line([]byte(line))
	e := &editor{secrets: known, literal: newMatcher(known.known())}
	return string(e.line([]byte(line)))
}

func TestShapes(t *testing.T) {
	for name, s := range map[string]string{
		"sk": skKey, "github": ghToken, "github fine": ghFine, "gitlab": glToken, "hugging face": hfToken,
		"aws": awsKey, "google": gKey, "slack": slack, "jwt": jwt,
	} {
		for _, text := range []string{s, "before " + s + " after", "(" + s + ")", "a=" + s + "\n"} {
			raw, err := json.Marshal(map[string]any{"payload": map[string]any{"text": text}})
			if err != nil {
				t.Fatal(err)
			}
			got := edit(t, string(raw))
			if strings.Contains(got, s) || !strings.Contains(got, mark) || !json.Valid([]byte(got)) {
				t.Errorf("%s in %q: %s", name, text, got)
			}
		}
	}
}

func TestKeysAndTexts(t *testing.T) {
	tests := []struct {
		name, line string
		gone       string // must not be in the result
		stays      string // must be
	}{
		{"key", `{"password":"short"}`, "short", `"password":"[REDACTED:`},
		{"key in another case", `{"X-API-Key":"abcd"}`, "abcd", mark},
		{"number under a key", `{"secret":123456}`, "123456", mark},
		{"token counts stay", `{"usage":{"input_tokens":900,"output_tokens":40}}`, mark, `"input_tokens":900`},
		{"token counts in text stay", `{"text":"max_output_tokens=4096"}`, mark, "4096"},
		{"object under a key", `{"credentials":{"user":"bob","pin":"9999"}}`, "bob", `"pin":"[REDACTED:`},
		{"arguments are JSON in a string", `{"args":"{\"api_key\":\"abcd1234\",\"path\":\"x\"}"}`, "abcd1234", `\"path\":\"x\"`},
		{"shell assignment", `{"text":"export DB_PASSWORD=tr0ub4dor && run"}`, "tr0ub4dor", "&& run"},
		{"header", `{"text":"Authorization: Bearer abcdefghijkl1234"}`, "abcdefghijkl1234", "Authorization"},
		{"option", `{"text":"login --token abcdef99 --user bob"}`, "abcdef99", "--user bob"},
		{"address", `{"text":"https://bob:pa55word@example.org/x"}`, "pa55word", "@example.org"},
		{"private key", `{"text":"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nafter"}`, "MIIE", "after"},
		{"a variable is no secret", `{"text":"PASSWORD=$PASSWORD"}`, mark, "$PASSWORD"},
		{"none is no secret", `{"token":null,"secret":"","password":"none"}`, mark, "none"},
		{"in a name", `{"x":{"` + skKey + `":1}}`, skKey, mark},
		{"a line that is no JSON", `{"password":"abcd1234","te`, "abcd1234", `"te`},
		{"backend", `{"credential_backend":"file"}`, mark, "file"},
		{"spacing is kept", `{ "a" : 1 ,  "password" : "zzzz1"  }`, "zzzz1", `{ "a" : 1 ,  "password" : "[`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := edit(t, tt.line)
			if strings.Contains(got, tt.gone) || !strings.Contains(got, tt.stays) {
				t.Errorf("%s\nbecame %s", tt.line, got)
			}
			if json.Valid([]byte(tt.line)) != json.Valid([]byte(got)) {
				t.Errorf("%s is no longer what it was: %s", tt.line, got)
			}
		})
	}
}

func TestUntouchedLinesAreCopied(t *testing.T) {
	line := []byte(`{"a" : "caf\u00e9 \/ x", "b":[1,2 ,3]}`)
	e := &editor{secrets: newSecrets()}
	if got := e.line(line); !same(got, line) {
		t.Errorf("became %s", got)
	}
}

// logs is a session that meets one password in several ways.
func logs(t *testing.T) *audit.Input {
	t.Helper()
	const id = "01a0f000-0000-7000-8000-000000000001"
	l := logtest.New(id)
	l.Metadata("/srv/proj", "muse-spark-1.3", "")
	l.Run("r", `{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{\"command\":\"login\",\"password\":\"`+password+`\"}","call_id":"c","name":"bash"}]}`)
	l.Run("r", `{"kind":"tool_result_batch_committed","results":[{"text":"logged in with `+password+` and `+ghToken+`","tool_call_id":"c"}]}`)
	dir := t.TempDir()
	files := map[string]string{
		"muse/sessions/2026/10/01/" + id + "/session.jsonl":                string(l.Bytes()) + "cut off " + password,
		"muse/sessions/2026/10/01/" + id + "/tool-outputs/t/c-bash.txt":    "line\n" + password + "\n-----BEGIN PRIVATE KEY-----\nMIIEvAIBADAN\n-----END PRIVATE KEY-----\nend",
		"muse/sessions/2026/10/01/" + id + "/approval-review/r.jsonl":      `{"text":"` + ghToken + `"}` + "\n",
		"muse/sessions/2026/10/01/" + id + "/session.peer-history.sqlite3": "SQLite",
		"muse/sessions/2026/10/01/" + id + "/cli-x.log":                    "token=" + skKey + "\n",
		"muse/tui-history.jsonl":                                           "\"use " + password + "\"\n{\"project\":\"/p\",\"session\":\"s\"}\n",
		"muse/trust.json":                                                  "{\n \"projects\": {\"/srv/proj\": {\"decision\": \"trusted\"}}\n}\n",
	}
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := audit.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	s, err := Run(context.Background(), logs(t), Options{Out: out, Tool: "test", Now: func() time.Time { return time.Unix(0, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	if s.Files != 6 || s.LeftOut != 1 {
		t.Errorf("summary %+v", s)
	}
	marks := regexp.MustCompile(`\[REDACTED:[a-z-]+:\d+\]`)
	seen := map[string]map[string]bool{}
	err = filepath.WalkDir(out, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		for _, secret := range []string{password, ghToken, skKey, "MIIEvAIBADAN"} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s still holds %s", p, secret)
			}
		}
		for _, m := range marks.FindAllString(string(b), -1) {
			if seen[filepath.Base(p)] == nil {
				seen[filepath.Base(p)] = map[string]bool{}
			}
			seen[filepath.Base(p)][m] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The password has one placeholder wherever it stood.
	shared := 0
	for m := range seen["session.jsonl"] {
		if seen["tui-history.jsonl"][m] && seen["c-bash.txt"][m] {
			shared++
		}
	}
	if shared != 1 {
		t.Errorf("placeholders: %v", seen)
	}
	proof, err := os.ReadFile(filepath.Join(out, ProofName))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"path":"payload.event.tool_calls.0.args.password"`, `"line":2`, `"type":"left_out"`, `"original_sha256"`, `"rule":"repeated"`} {
		if !bytes.Contains(proof, []byte(want)) {
			t.Errorf("the proof lacks %s:\n%s", want, proof)
		}
	}
	for line := range bytes.Lines(proof) {
		if !json.Valid(line) {
			t.Errorf("the proof has a line that is no JSON: %s", line)
		}
	}
	// What was redacted still reads as a log.
	in, err := audit.Find([]string{out})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if len(in.Files) != 3 {
		t.Errorf("%d files are found in the output", len(in.Files))
	}
	if _, err := Run(context.Background(), logs(t), Options{Out: out, Now: time.Now}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an output that is not empty: %v", err)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"password":"x1y2z3","args":"{\"token\":\"abcd1234\"}"}`))
	f.Add([]byte(`{"text":"` + jwt + ` ` + skKey + `"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) > 1<<14 {
			return
		}
		known := newSecrets()
		(&editor{secrets: known}).line(bytes.Clone(line))
		out := (&editor{secrets: known, literal: newMatcher(known.known())}).line(bytes.Clone(line))
		if json.Valid(line) && !json.Valid(out) {
			t.Fatalf("%q became %q", line, out)
		}
	})
}
