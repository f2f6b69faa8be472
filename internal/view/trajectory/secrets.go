package trajectory

import (
	"strings"
	"sync"
)

// Which keys name a secret, and which forms a secret has by itself: the list
// of the original's redaction and the forms of the providers that people use
// most (seed 000, Secrets; CLI.md 7.3).

// secretWords are parts of a key that names a secret, in lower case. api key
// is looked for apart, because it is written in three ways.
var secretWords = [...]string{
	"authorization", "bearer", "cookie", "credential", "password", "passwd", "passphrase", "secret", "token", "privatekey", "private_key",
}

// plainKeys are keys of the log's own that contain such a word and hold no
// secret.
var plainKeys = [...]string{"credential_backend", "user_authorization", "tokenizer", "token_type"}

// secretKey reports whether key names a secret.
func secretKey(key string) bool {
	k := strings.ToLower(key)
	for _, p := range plainKeys {
		if k == p {
			return false
		}
	}
	for _, w := range secretWords {
		if strings.Contains(k, w) {
			return true
		}
	}
	return hasAPIKey(k)
}

// hasAPIKey finds "apikey", "api_key", "api-key" and the like.
func hasAPIKey(k string) bool {
	for i := strings.Index(k, "api"); i >= 0; {
		rest := k[i+3:]
		if strings.HasPrefix(rest, "key") || len(rest) > 3 && strings.HasPrefix(rest[1:], "key") {
			return true
		}
		next := strings.Index(rest, "api")
		if next < 0 {
			break
		}
		i += 3 + next
	}
	return false
}

// countsTokens reports whether key may name a number of tokens: then a number
// is no secret.
func countsTokens(key string) bool {
	k := strings.ToLower(key)
	return strings.Contains(k, "token") && !strings.Contains(k, "secret") && !strings.Contains(k, "password")
}

// harmless values are no secret whatever their key.
func harmless(s string) bool {
	switch strings.ToLower(s) {
	case "", "null", "none", "nil", "true", "false", "undefined":
		return true
	}
	return strings.HasPrefix(s, "[redacted")
}

// shape is a form that only secrets have.
type shape struct {
	class  string
	prefix string
	// tail is how many bytes of the alphabet have to follow the prefix.
	tail     int
	alphabet alphabet
	// mixed asks for a digit in the tail, because words have the form, too.
	mixed bool
}

type alphabet int

const (
	alnum  alphabet = iota // letters and digits
	name                   // and - _
	base64                 // and - _ + / = .
	upper                  // capital letters and digits
)

func (a alphabet) has(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
		return true
	case c >= 'a' && c <= 'z':
		return a != upper
	case c == '-' || c == '_':
		return a == name || a == base64
	case c == '+' || c == '/' || c == '=' || c == '.':
		return a == base64
	}
	return false
}

var shapes = [...]shape{
	{"openai_key", "sk-", 8, name, true},
	{"stripe_key", "sk_live_", 8, alnum, false},
	{"stripe_key", "sk_test_", 8, alnum, false},
	{"stripe_key", "rk_live_", 8, alnum, false},
	{"github_token", "ghp_", 16, alnum, false},
	{"github_token", "gho_", 16, alnum, false},
	{"github_token", "ghu_", 16, alnum, false},
	{"github_token", "ghs_", 16, alnum, false},
	{"github_token", "ghr_", 16, alnum, false},
	{"github_token", "github_pat_", 16, name, false},
	{"gitlab_token", "glpat-", 16, name, false},
	{"huggingface_token", "hf_", 16, alnum, false},
	{"aws_key_id", "AKIA", 16, upper, false},
	{"aws_key_id", "ASIA", 16, upper, false},
	{"google_key", "AIza", 30, name, false},
	{"google_token", "ya29.", 16, name, false},
	{"google_secret", "GOCSPX-", 16, name, false},
	{"slack_token", "xoxa-", 8, name, false},
	{"slack_token", "xoxb-", 8, name, false},
	{"slack_token", "xoxc-", 8, name, false},
	{"slack_token", "xoxd-", 8, name, false},
	{"slack_token", "xoxe-", 8, name, false},
	{"slack_token", "xoxe.", 8, name, false},
	{"slack_token", "xoxo-", 8, name, false},
	{"slack_token", "xoxp-", 8, name, false},
	{"slack_token", "xoxr-", 8, name, false},
	{"slack_token", "xoxs-", 8, name, false},
	{"slack_token", "xapp-", 8, name, false},
	{"npm_token", "npm_", 30, alnum, false},
	{"pypi_token", "pypi-", 30, name, false},
	{"groq_key", "gsk_", 30, alnum, false},
	{"xai_key", "xai-", 30, name, false},
	{"replicate_token", "r8_", 30, alnum, false},
	{"digitalocean_token", "dop_v1_", 30, alnum, false},
	{"sendgrid_key", "SG.", 30, base64, false},
	{"age_key", "AGE-SECRET-KEY-1", 30, upper, false},
	{"vault_token", "hvs.", 20, name, false},
}

// shapesByFirst is the shapes by the byte that they begin with.
var shapesByFirst = sync.OnceValue(func() *[256][]shape {
	var table [256][]shape
	for _, sh := range shapes {
		c := sh.prefix[0]
		table[c] = append(table[c], sh)
	}
	return &table
})

// looksRandom reports whether s is more like a key than like a word: letters
// with digits or signs among them, or very long.
func looksRandom(s string) bool {
	var letters, digits, lower, capital bool
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits = true
		case c >= 'a' && c <= 'z':
			letters, lower = true, true
		case c >= 'A' && c <= 'Z':
			letters, capital = true, true
		case c <= ' ':
			return false // several words
		}
	}
	return letters && digits || len(s) >= 20 && lower && capital || len(s) >= 40
}
