package trajectory

import (
	"strings"
	"testing"
)

// TestPlainText masks secrets in text. Each % in want stands for a mask.
func TestPlainText(t *testing.T) {
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
	tests := []struct{ in, want string }{
		// Shapes.
		{"key sk-abcdefgh12345678 here", "key % here"},
		{"sk-ant-api03-AbCd_1234-xyz9876", "%"},
		{"sk-proj-aB3dE5fG7hI9jK1lM3nO", "%"},
		{"(ghp_abcdefghijklmnopqrstuvwxyz0123456789)", "(%)"},
		{"gho_abcdefghijklmnopqrstuvwxyz0123456789", "%"},
		{"github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv", "%"},
		{"id AKIAIOSFODNN7EXAMPLE.", "id %."},
		{"AIzaSyA-1234567890abcdefghijklmnopqrstu", "%"},
		{"xoxb-1234-5678-abcdefGHIJ", "%"},
		{"glpat-abcdefghij0123456789", "%"},
		{"hf_abcdefghijklmnopqrstuvwxyz", "%"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U", "%"},
		{pem, "%"},
		{"before\n" + pem + "\nafter", "before\n%\nafter"},
		{"cut -----BEGIN OPENSSH PRIVATE KEY-----\nabc", "cut %"},
		{"git clone https://bob:s3cr3t@example.org/x", "git clone https://bob:%@example.org/x"},
		{"postgres://u:p%40ss@db:5432/x", "postgres://u:%@db:5432/x"},
		// Headers.
		{"Authorization: Bearer abcDEF123456", "Authorization: Bearer %"},
		{"authorization: Basic dXNlcjpwYXNz", "authorization: Basic %"},
		{"Authorization: token 0123456789abcdef", "Authorization: token %"},
		{`curl -H "Authorization: Bearer abc.def-123" -H 'Accept: x'`, `curl -H "Authorization: Bearer %" -H 'Accept: x'`},
		{"uses Bearer abcdef1234567890 today", "uses Bearer % today"},
		{"Cookie: sid=31d4d96e; theme=dark\r\nHost: x", "Cookie: %\r\nHost: x"},
		{"X-Api-Key: 12ab34cd56ef", "X-Api-Key: %"},
		// Assignments.
		{"API_KEY=abcdef", "API_KEY=%"},
		{"export DB_PASSWORD=hunter2; ls", "export DB_PASSWORD=%; ls"},
		{"password = \"correct horse\"", "password = \"%\""},
		{"password: correcthorse\nuser: bob", "password: %\nuser: bob"},
		{"  client_secret : zzTop99\n", "  client_secret : %\n"},
		{"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = %"},
		{"https://x.org/?access_token=zz19aa&page=2", "https://x.org/?access_token=%&page=2"},
		{`{"api_key": "k-1", broken`, `{"api_key": "k-1", broken`[:13] + `%", broken`},
		{`-d "{\"password\":\"hunter2\"}"`, `-d "{\"password\":\"%\"}"`},
		{"tool --api-key zz19aa --verbose", "tool --api-key % --verbose"},
		{"tool --token=zz19aa", "tool --token=%"},
		{"{ apiKey => 'zz19aa' }", "{ apiKey => '%' }"},
		// What is no secret.
		{"input_tokens=5321 max_tokens: 100 tokens: 1.5k", ""},
		{"original_output_tokens: 3, token_budget=20000", ""},
		{"the token is passed to the parser: token := next()", ""},
		{"token = getToken(req)", ""},
		{"if token == \"abc1234\" {", ""},
		{"desk-1234567890 and risk-12345678", ""},
		{"sk-learn and sk-based-tools", ""},
		{"export API_KEY=$OTHER_KEY TOKEN=${TOKEN}", ""},
		{"Authorization: required for all users", ""},
		{"Bearer tokens and basic authentication", ""},
		{"type Config struct { Password string }\n  password: string\n", ""},
		{"https://example.org:8080/path@v1.2.3", ""},
		{"time 12:30:45, ratio a:b, std::string", ""},
		{"AKIA is a prefix; AKIAIOSFODNN7EXAMPLEplus more letters", ""},
		{"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", ""},
		{"sha256:156dd95d8dac50c7cc9741815435c2e16aa6e2450477c5005e5220cdd8d50a93", ""},
		{"0b7e6f5a-4c3d-4e2f-9a1b-2c3d4e5f6a7b call_01a0d03f9c8b70709093c97225e2104b", ""},
		{"", ""},
	}
	for _, tt := range tests {
		r := newRedactor()
		got := r.plain(tt.in)
		want := tt.in
		if tt.want != "" {
			want = tt.want
		}
		if shown := hideMasks(got); shown != want && !(tt.want == "" && got == tt.in) {
			t.Errorf("%q\n got %q\nwant %q", tt.in, shown, want)
		}
		if again := newRedactor().plain(got); again != got && hideMasks(again) != hideMasks(got) {
			t.Errorf("%q: masking twice gives %q", tt.in, again)
		}
	}
}

// hideMasks writes % for every mask.
func hideMasks(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "[redacted")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "]")
		b.WriteByte('%')
	}
}

// TestJSON masks secrets in JSON; all else stays byte for byte.
func TestJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"by key", `{"api_key":"k","apiKey":"k2","API-KEY":"k3","user":"bob"}`, `{"api_key":"%","apiKey":"%","API-KEY":"%","user":"bob"}`},
		{"numbers under a key", `{"password":12345,"secret":-1.5e3,"credential":true,"bearer":null}`, `{"password":"%","secret":"%","credential":true,"bearer":null}`},
		{"token counts", `{"input_tokens":5,"token":7,"cached_tokens":0,"usage":{"output_tokens":12}}`, ``},
		{"a token that is text", `{"access_token":"abc","refresh_token":"d"}`, `{"access_token":"%","refresh_token":"%"}`},
		{"below a key", `{"credentials":{"user":"bob","pass":["a",{"b":"c"}]}}`, `{"credentials":{"user":"%","pass":["%",{"b":"%"}]}}`},
		{"a schema", `{"properties":{"token":{"type":"string","description":"The page token"}}}`, ``},
		{"a named value", `{"headers":[{"name":"Authorization","value":"zz"},{"name":"Accept","value":"*/*"}]}`, `{"headers":[{"name":"Authorization","value":"%"},{"name":"Accept","value":"*/*"}]}`},
		{"an option in a list", `["curl","--token","zz","--token","--quiet",5]`, `["curl","--token","%","--token","%",5]`},
		{"space and numbers stay", "{ \"n\" : 1.0e+2 , \"password\" : \"x\" ,\t\"z\":[ ] , \"o\":{ } }\n", "{ \"n\" : 1.0e+2 , \"password\" : \"%\" ,\t\"z\":[ ] , \"o\":{ } }\n"},
		{"escapes stay", `{"t":"é\u00e9\/ \"x\""}`, ``},
		{"JSON in a string", `{"args":"{\"command\": \"x\", \"password\": \"p\"}"}`, `{"args":"{\"command\": \"x\", \"password\": \"%\"}"}`},
		{"JSON in a string in a string", `{"a":"[\"{\\\"token\\\":\\\"t\\\"}\"]"}`, `{"a":"[\"{\\\"token\\\":\\\"%\\\"}\"]"}`},
		{"a secret as a key", `{"sk-abcdefgh12345678":1}`, `{"%":1}`},
		{"empty and plain values", `{"password":"","secret":"none","token":"null"}`, ``},
		{"facts of the log", `{"credential_backend":"file","user_authorization":"explicit","tokenizer":"o200k"}`, ``},
		{"opaque reasoning", `{"payload":{"event":{"encrypted_content":"sk-abcdefgh12345678","kind":"reasoning_committed"}}}`, ``},
		{"opaque by its place only", `{"payload":{"x":{"encrypted_content":"sk-abcdefgh12345678"}}}`, `{"payload":{"x":{"encrypted_content":"%"}}}`},
		{"an array", ` ["sk-abcdefgh12345678", 1 ] `, ` ["%", 1 ] `},
		{"a string", `"sk-abcdefgh12345678"`, `"%"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRedactor()
			r.document([]byte(tt.in))
			want := tt.want
			if want == "" {
				want = tt.in
			}
			if got := hideMasks(string(r.out)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestMasksAreConsistent looks at a secret that is told by its key in one
// place only, and at one that comes twice.
func TestMasksAreConsistent(t *testing.T) {
	log := record1(3, `{"kind":"x","text":"logged in with hunter2hunter2, not with hunter2"}`) +
		record1(4, `{"kind":"x","args":"{\"password\":\"hunter2hunter2\",\"other_secret\":\"zz19\"}"}`) +
		record1(5, `{"kind":"x","text":"zz19 is too short to be sure; sk-abcdefgh12345678; hunter2hunter2"}`) +
		record1(6, `{"kind":"x","other_secret":"zz19","again":"sk-abcdefgh12345678"}`)
	got := export(t, log, true)
	for _, gone := range []string{"hunter2hunter2", "sk-abcdefgh12345678"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s is still there:\n%s", gone, got)
		}
	}
	for mask, n := range map[string]int{"[redacted:1]": 3, "[redacted:2]": 2, "[redacted:3]": 2} {
		if strings.Count(got, mask) != n {
			t.Errorf("%s stands %d times, want %d:\n%s", mask, strings.Count(got, mask), n, got)
		}
	}
	if want := `"redactions":{"key":3,"openai_key":2,"repeated":2}`; !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
	if !strings.Contains(got, "not with hunter2\"") || !strings.Contains(got, "zz19 is too short") {
		t.Errorf("too much is masked:\n%s", got)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"a":[1,{"password":"x"}],"b":"{\"token\":\"y\"}"}`)
	f.Add(`["--token","x",{"name":"Cookie","value":"y"}]`)
	f.Add(`"Authorization: Bearer abc123def456 https://a:b@c -----BEGIN PRIVATE KEY----- --key x"`)
	f.Add(`"api_key=\\\"x\\\" password: 'y' eyJa.eyJb.c sk-12345678 xoxb-12345678"`)
	f.Fuzz(func(t *testing.T, s string) {
		r := newRedactor()
		if got := r.plain(s); got == s {
			if len(r.masks) > 0 && !strings.Contains(s, "[redacted") {
				t.Errorf("masks were made and nothing was replaced")
			}
		}
		checkRedactedJSON(t, s)
	})
}
