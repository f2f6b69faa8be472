package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const goodKey = "sk-0123456789abcdefghij"

// keyCase is one run that needs a key.
type keyCase struct {
	flags    Flags
	env      map[string]string
	settings string
	auth     string
	stdin    *string
	preview  bool
}

func (c keyCase) resolve(t *testing.T) (Key, []string, error) {
	t.Helper()
	if c.settings == "" {
		c.settings = `{"schema_version":1}`
	}
	in := Inputs{Flags: c.flags, Getenv: vars(c.env), Settings: parse(t, c.settings)}
	in.Flags.APIKeyStdin = c.stdin != nil
	if c.auth != "" {
		a, err := parseAuth("/c/auth.json", []byte(c.auth))
		if err != nil {
			t.Fatal(err)
		}
		in.Auth = a
	}
	r, err := ResolveEndpoint(in)
	if err != nil {
		t.Fatal(err)
	}
	return ResolveKey(context.Background(), KeyInputs{
		Resolved: &r, Stdin: c.stdin, Getenv: in.Getenv, Settings: in.Settings, Auth: in.Auth, Preview: c.preview,
		Environ: os.Environ(), Now: time.Unix(2_000_000_000, 0),
	})
}

const storedMeta = `{"schema_version":1,"providers":{"meta":{"mechanism":"oauth","api_key":"stored-key-0123456789","access_token":"tok"},"openai":{"api_key":"openai-key-0123456789"}}}`

func TestKeyOrderAndBinding(t *testing.T) {
	const meta = "https://api.meta.ai"
	pinned := `{"schema_version":1,"endpoint_transport":{"base_url":"https://gw.test/v1"}}`
	tests := []struct {
		name     string
		c        keyCase
		want     string // value
		source   string
		origins  []string
		withheld string // in the error or a warning
	}{
		{"stdin first", keyCase{stdin: p(" " + goodKey + "\n"), env: map[string]string{"META_API_KEY": "e"}, auth: storedMeta}, goodKey, "command line --api-key-stdin", []string{meta}, ""},
		{"environment before the store", keyCase{env: map[string]string{"META_API_KEY": "env-key"}, auth: storedMeta}, "env-key", "environment META_API_KEY", []string{meta}, ""},
		{"stored key before the login", keyCase{auth: storedMeta}, "stored-key-0123456789", "stored credentials /c/auth.json:1:62", []string{meta}, ""},
		{"login", keyCase{auth: `{"providers":{"meta":{"access_token":"tok"}}}`}, "tok", "stored credentials /c/auth.json:1:23", []string{meta}, ""},
		{"login that ended", keyCase{auth: `{"providers":{"meta":{"access_token":"tok","expires_at":1999999999}}}`}, "", "", nil, "the stored login expired at 2033-05-18T03:33:19Z"},
		{"login that holds", keyCase{auth: `{"providers":{"meta":{"access_token":"tok","expires_at":"2033-05-18T03:33:21Z"}}}`}, "tok", "stored credentials /c/auth.json:1:23", []string{meta}, ""},
		{"a given key goes where the run goes", keyCase{env: map[string]string{"META_API_KEY": "k"}, flags: Flags{BaseURL: p("http://127.0.0.1:9/v1")}}, "k", "environment META_API_KEY", []string{"http://127.0.0.1:9"}, ""},
		{"a stored key does not", keyCase{auth: storedMeta, flags: Flags{BaseURL: p("https://evil.test/v1")}}, "", "", nil, "the stored key is meant for https://api.meta.ai and is not sent to https://evil.test (command line --base-url)"},
		{"nor by a variable", keyCase{auth: storedMeta, env: map[string]string{"META_BASE_URL": "https://evil.test"}}, "", "", nil, "environment META_BASE_URL"},
		{"nor in the clear", keyCase{auth: storedMeta, flags: Flags{BaseURL: p("http://api.meta.ai/v1")}}, "", "", nil, "not sent to http://api.meta.ai"},
		{"nor to another port", keyCase{auth: storedMeta, flags: Flags{BaseURL: p("https://api.meta.ai:8443/v1")}}, "", "", nil, "not sent to https://api.meta.ai:8443"},
		{"unless settings pin it", keyCase{auth: storedMeta, settings: pinned}, "stored-key-0123456789", "stored credentials /c/auth.json:1:62", []string{meta, "https://gw.test"}, ""},
		{"a pinned address may be named again", keyCase{auth: storedMeta, settings: pinned, flags: Flags{BaseURL: p("https://gw.test/v2")}}, "stored-key-0123456789", "stored credentials /c/auth.json:1:62", []string{meta, "https://gw.test"}, ""},
		{"a pin of another provider is none", keyCase{auth: storedMeta, settings: strings.Replace(pinned, `1,`, `1,"provider":"openai",`, 1), flags: Flags{Provider: p("meta"), BaseURL: p("https://gw.test/v1")}}, "", "", nil, "not sent to https://gw.test"},
		{"the same host by another path", keyCase{auth: storedMeta, flags: Flags{BaseURL: p("https://API.meta.ai:443/v2")}}, "stored-key-0123456789", "stored credentials /c/auth.json:1:62", []string{meta}, ""},
		{"stored address moves the run", keyCase{auth: `{"providers":{"meta":{"api_key":"k","api_base_url":"https://eu.test/v1"}}}`}, "k", "stored credentials /c/auth.json:1:23", []string{"https://eu.test"}, ""},
		{"stored address binds the key", keyCase{auth: `{"providers":{"meta":{"api_key":"k","api_base_url":"https://eu.test/v1"}}}`, flags: Flags{BaseURL: p("https://api.meta.ai/v1")}}, "", "", nil, "meant for https://eu.test"},
		{"a given key ignores the stored address", keyCase{env: map[string]string{"META_API_KEY": "e"}, auth: `{"providers":{"meta":{"api_key":"k","api_base_url":"https://eu.test/v1"}}}`}, "e", "environment META_API_KEY", []string{meta}, ""},
		{"no key", keyCase{}, "", "", nil, "missing meta credentials: set META_API_KEY, run `muse auth set --api-key-stdin`"},
		{"another provider's key", keyCase{flags: Flags{Provider: p("anthropic")}, env: map[string]string{"OPENAI_API_KEY": "x", "META_API_KEY": "y"}}, "", "", nil, "missing anthropic credentials: set ANTHROPIC_API_KEY"},
		{"openrouter", keyCase{flags: Flags{Provider: p("openrouter")}, env: map[string]string{"OPENAI_API_KEY": "x", "OPENROUTER_API_KEY": "y"}}, "y", "environment OPENROUTER_API_KEY", []string{"https://openrouter.ai"}, ""},
		{"second wire, first one's key", keyCase{flags: Flags{Provider: p("openai-chat")}, auth: storedMeta}, "openai-key-0123456789", "stored credentials /c/auth.json:1:128", []string{"https://api.openai.com"}, ""},
		{"own server without a key", keyCase{flags: Flags{Provider: p("openai-chat"), BaseURL: p("http://127.0.0.1:1/v1")}}, "", "built-in default for openai-chat", nil, ""},
		{"own server, stored key stays", keyCase{flags: Flags{Provider: p("openai-chat"), BaseURL: p("http://127.0.0.1:1/v1")}, auth: storedMeta}, "", "built-in default for openai-chat", nil, "is not sent to http://127.0.0.1:1"},
		{"ollama", keyCase{flags: Flags{Provider: p("ollama")}, env: map[string]string{"OPENAI_API_KEY": "x"}}, "", "built-in default for ollama", nil, ""},
		{"auth none", keyCase{env: map[string]string{"META_API_KEY": "k"}, settings: `{"schema_version":1,"endpoint_transport":{"auth":"none"}}`}, "", "settings /c/settings.json:1:43", nil, ""},
		{"echo", keyCase{flags: Flags{Provider: p("echo")}, env: map[string]string{"META_API_KEY": "k"}}, "", "built-in default", nil, ""},
		{"own variable", keyCase{env: map[string]string{"WORK": "w", "META_API_KEY": "k"}, settings: `{"schema_version":1,"openmuse":{"providers":{"meta":{"api_key_env":"WORK"}}}}`}, "w", "environment WORK", []string{meta}, ""},
		{"own provider has no borrowed key", keyCase{flags: Flags{Provider: p("lab")}, env: map[string]string{"OPENAI_API_KEY": "k"}, settings: `{"schema_version":1,"openmuse":{"providers":{"lab":{"wire":"openai","base_url":"https://lab.test"}}}}`}, "", "built-in default for lab", nil, ""},
		{"own provider that wants a key", keyCase{flags: Flags{Provider: p("lab")}, settings: `{"schema_version":1,"openmuse":{"providers":{"lab":{"wire":"openai","base_url":"https://lab.test","api_key_env":"LAB"}}}}`}, "", "", nil, "missing lab credentials: set LAB, run `muse auth set --provider lab --api-key-stdin`"},
		{"stdin without a key", keyCase{stdin: p(" \n")}, "", "", nil, "standard input holds no key"},
		{"two lines", keyCase{env: map[string]string{"META_API_KEY": "a\nb"}}, "", "", nil, "the key from environment META_API_KEY cannot be used"},
		{"clear text", keyCase{env: map[string]string{"META_API_KEY": "k"}, flags: Flags{BaseURL: p("http://gw.test/v1")}}, "k", "environment META_API_KEY", []string{"http://gw.test"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, warnings, err := tt.c.resolve(t)
			said := strings.Join(warnings, "\n")
			if err != nil {
				said += err.Error()
			}
			if (err != nil) != (tt.source == "") {
				t.Fatalf("error %v", err)
			}
			if tt.withheld == "" && said != "" || !strings.Contains(said, tt.withheld) {
				t.Errorf("said %q, want %q", said, tt.withheld)
			}
			if err == nil && (key.Value != tt.want || key.Source.String() != tt.source || !slices.Equal(key.Origins, tt.origins)) {
				t.Errorf("key %q from %s for %v, want %q from %s for %v", key.Value, key.Source, key.Origins, tt.want, tt.source, tt.origins)
			}
		})
	}
}

func TestBrokenStoreOnlyFailsWhoNeedsIt(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "muse")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "auth.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"XDG_CONFIG_HOME": dir, "HOME": dir, "META_API_KEY": "k"}
	for _, key := range []string{"k", ""} {
		env["META_API_KEY"] = key
		in, err := Load(vars(env))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Resolve(in)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ResolveKey(context.Background(), KeyInputs{Resolved: &r, Getenv: vars(env), Auth: in.Auth})
		if (err == nil) != (key != "") || err != nil && !strings.Contains(err.Error(), "auth.json:1:2: the file ends in the middle of a value") {
			t.Errorf("with key %q: %v", key, err)
		}
	}
}

func TestKeyAllowedFor(t *testing.T) {
	k := Key{Value: "v", Origins: []string{"https://api.meta.ai", "http://[::1]:8080"}}
	for raw, want := range map[string]bool{
		"https://api.meta.ai/v1/responses":       true,
		"https://API.META.AI:443/x":              true,
		"https://api.meta.ai./x":                 true,
		"http://api.meta.ai/x":                   false,
		"https://api.meta.ai:444/x":              false,
		"https://api.meta.ai.evil.test/x":        false,
		"https://api.meta.ai@evil.test/x":        false,
		"http://[::1]:8080/x":                    true,
		"http://localhost:8080/x":                false,
		"https://user:pw@api.meta.ai/still-meta": true,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if k.AllowedFor(u) != want {
			t.Errorf("%s: %v", raw, !want)
		}
	}
	if u, _ := url.Parse("https://api.meta.ai"); (Key{Origins: k.Origins}).AllowedFor(u) {
		t.Error("a key without a value was allowed")
	}
}

func TestKeyIsMaskedInText(t *testing.T) {
	k := Key{Value: goodKey}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", k)
	for _, text := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s", k, k, k, k), fmt.Sprintf("%+v", struct{ K Key }{k}), log.String()} {
		if strings.Contains(text, "0123456789") {
			t.Errorf("leaks: %s", text)
		}
	}
	if Mask("short") != "…" || Mask("") != "" || Mask(goodKey) != "…ghij" {
		t.Error("masks")
	}
}

// TestMain lets the test binary play the part of a key command.
func TestMain(m *testing.M) {
	switch os.Getenv("CONFIG_TEST_KEY_COMMAND") {
	case "":
		os.Exit(m.Run())
	case "key":
		fmt.Println("  " + goodKey + "  ")
	case "fail":
		fmt.Fprintln(os.Stderr, "first line\nvault is locked")
		os.Exit(3)
	case "nothing":
	case "much":
		fmt.Print(strings.Repeat("x", 1<<20))
	case "two":
		fmt.Println("a\nb")
	case "stdin":
		// Standard input is empty, not the terminal: reading ends at once.
		if n, err := os.Stdin.Read(make([]byte, 1)); n == 0 && err != nil {
			fmt.Println(goodKey)
		}
	}
	os.Exit(0)
}

func TestKeyCommand(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	quoted := strings.ReplaceAll(self, `\`, `\\`)
	settings := `{"schema_version":1,"openmuse":{"providers":{"meta":{"api_key_command":["` + quoted + `", "-test.run=none"]}}}}`
	tests := []struct{ mode, want, err string }{
		{"key", goodKey, ""},
		{"stdin", goodKey, ""},
		{"fail", "", "exit status 3: vault is locked"},
		{"nothing", "", "is not a key: it is empty"},
		{"much", "", "printed more than 65536 bytes"},
		{"two", "", "is not a key: it has a character"},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			t.Setenv("CONFIG_TEST_KEY_COMMAND", tt.mode)
			key, _, err := keyCase{settings: settings}.resolve(t)
			switch {
			case tt.err == "" && (err != nil || key.Value != tt.want || key.Command == nil || !key.Stored()):
				t.Errorf("key %q, error %v", key.Value, err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("error %v, want %s", err, tt.err)
			}
		})
	}
	t.Run("after the store", func(t *testing.T) {
		if key, _, err := (keyCase{settings: settings, auth: storedMeta}).resolve(t); err != nil || key.Command != nil {
			t.Errorf("%v %v", key, err)
		}
	})
	t.Run("preview does not run it", func(t *testing.T) {
		t.Setenv("CONFIG_TEST_KEY_COMMAND", "fail")
		if key, _, err := (keyCase{settings: settings, preview: true}).resolve(t); err != nil || key.Value != "" || key.Command == nil {
			t.Errorf("%v %v", key, err)
		}
	})
	t.Run("not for another address", func(t *testing.T) {
		t.Setenv("CONFIG_TEST_KEY_COMMAND", "key")
		_, _, err := keyCase{settings: settings, flags: Flags{BaseURL: p("https://evil.test")}}.resolve(t)
		if err == nil || !strings.Contains(err.Error(), "the key of api_key_command is meant for https://api.meta.ai") {
			t.Errorf("%v", err)
		}
	})
	t.Run("missing program", func(t *testing.T) {
		_, _, err := keyCase{settings: `{"schema_version":1,"openmuse":{"providers":{"meta":{"api_key_command":["/no/such/program"]}}}}`}.resolve(t)
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v", err)
		}
	})
	t.Run("ends with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := runKeyCommand(ctx, []string{self}, os.Environ()); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestStoreKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "muse", "auth.json")
	ctx := context.Background()
	if err := StoreKey(ctx, path, "openai", goodKey, "https://gw.test/v1"); err != nil {
		t.Fatal(err)
	}
	if err := StoreKey(ctx, path, "meta", "other-key", ""); err != nil {
		t.Fatal(err)
	}
	a, err := ReadAuth(path)
	if err != nil || len(a.Warnings) != 0 {
		t.Fatalf("%v %v", a, err)
	}
	if e := a.Entry("openai"); e.APIKey != goodKey || e.APIBaseURL != "https://gw.test/v1" || e.Mechanism != "api_key" {
		t.Errorf("%+v", e)
	}
	// A key without an address replaces the pair.
	if err := StoreKey(ctx, path, "openai", "next", ""); err != nil {
		t.Fatal(err)
	}
	a, err = ReadAuth(path)
	if err != nil {
		t.Fatal(err)
	}
	if e := a.Entry("openai"); e.APIKey != "next" || e.APIBaseURL != "" {
		t.Errorf("%+v", e)
	}
	for _, bad := range []string{"", "a b", "a\nb", "ключ", strings.Repeat("x", 20<<10)} {
		if err := StoreKey(ctx, path, "meta", bad, ""); err == nil {
			t.Errorf("stored %.10q", bad)
		}
	}
	if removed, err := RemoveKey(ctx, path, "meta"); err != nil || !removed {
		t.Errorf("%v %v", removed, err)
	}
	if removed, err := RemoveKey(ctx, path, "meta"); err != nil || removed {
		t.Errorf("%v %v", removed, err)
	}
	if removed, err := RemoveKey(ctx, path+"x", "meta"); err != nil || removed {
		t.Errorf("%v %v", removed, err)
	}
}

func TestReadAuthIsLenient(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "auth.json")
	const text = `{"schema_version":99,"new":{},"providers":{"meta":{"api_key":5,"access_token":"t","mechanism":null},"odd":[]}}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := ReadAuth(path)
	if err != nil {
		t.Fatal(err)
	}
	if e := a.Entry("meta"); e == nil || e.AccessToken != "t" || e.APIKey != "" {
		t.Errorf("%+v", e)
	}
	said := strings.Join(a.Warnings, "\n")
	wants := []string{"providers.meta.api_key is not text", "providers.odd: wanted an object"}
	if runtime.GOOS != "windows" {
		wants = append(wants, "can be read by others (mode 0644)")
	}
	for _, want := range wants {
		if !strings.Contains(said, want) {
			t.Errorf("missing %q in %q", want, said)
		}
	}
	for _, bad := range []string{`[]`, `{"providers":[]}`, `{"a":1,"a":2}`, ``} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadAuth(path); err == nil {
			t.Errorf("%s: accepted", bad)
		}
	}
	if a, err := ReadAuth(filepath.Join(dir, "none.json")); err != nil || a.Entry("meta") != nil {
		t.Errorf("missing file: %v %v", a, err)
	}
}
