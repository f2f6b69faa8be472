package redact

import (
	"bytes"
	"regexp"
	"sync"
)

// rule finds secrets in text by their shape.
type rule struct {
	name  string
	hints []string // one of them stands in every text that can match
	re    string
	group int // the part of the match that is the secret
}

// shapes are looked for in every text (seed 000, Secrets; CLI.md 7.3).
var shapes = []rule{
	{"private-key", []string{"PRIVATE KEY"}, `-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`, 0},
	{"jwt", []string{"eyJ"}, `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, 0},
	{"sk-key", []string{"sk-"}, `\bsk-[A-Za-z0-9_-]{16,}`, 0},
	{"github-token", []string{"gh", "github_pat_"}, `\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})`, 0},
	{"gitlab-token", []string{"glpat-"}, `\bglpat-[A-Za-z0-9_-]{16,}`, 0},
	{"hf-token", []string{"hf_"}, `\bhf_[A-Za-z0-9]{16,}`, 0},
	{"aws-key", []string{"AKIA", "ASIA"}, `\b(?:AKIA|ASIA)[0-9A-Z]{12,}`, 0},
	{"google-key", []string{"AIza"}, `\bAIza[0-9A-Za-z_-]{20,}`, 0},
	{"slack-token", []string{"xox"}, `\bxox[a-z]-[A-Za-z0-9-]{8,}`, 0},
	{"url-password", []string{"://"}, `://[^/\s:@"'\\]*:([^/\s@"'\\]+)@`, 1},
	{"bearer", []string{"earer", "EARER", "asic ", "ASIC "}, `(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{12,})`, 1},
	{"option", []string{"-"}, `(?i)(?:^|\s)--?[a-z0-9-]*(?:api-?key|passw(?:or)?d|passphrase|secret|token)[a-z0-9-]*[ =]+["']?([^\s"'\\-][^\s"'\\]{3,})`, 1},
	// name = value and "name": "value", also where quotes are escaped.
	{"assignment", nil, `(?i)[A-Za-z0-9_.-]*(?:api.?key|authorization|cookie|credential|passw(?:or)?d|passphrase|secret|token)[A-Za-z0-9_.-]*\\*["']?\s*[:=]\s*(?:(?:bearer|basic|token)\s+)?\\*["']?([^\s"'\\,;&<>(){}\[\]]{4,})`, 1},
}

// keyWords make a member of an object secret (seed 000, Secrets).
const keyWords = `(?i)api.?key|authorization|bearer|cookie|credential|passw(?:or)?d|passphrase|secret|token`

// assignmentHints are what every match of the assignment rule has in it, in
// any case.
var assignmentHints = [][]byte{[]byte("key"), []byte("authorization"), []byte("cookie"), []byte("credential"), []byte("passw"), []byte("passphrase"), []byte("secret"), []byte("token")}

// plainKeys match keyWords but hold no secret: sizes, names of a backend.
var plainKeys = map[string]bool{
	"credential_backend": true, "token_type": true, "cookie_policy": true, "tokenizer": true,
}

type compiled struct {
	rule
	re    *regexp.Regexp
	hints [][]byte
}

type ruleSet struct {
	shapes []compiled
	key    *regexp.Regexp
}

// rules compiles the patterns when they are first needed.
var rules = sync.OnceValue(func() *ruleSet {
	s := &ruleSet{key: regexp.MustCompile(keyWords)}
	for _, r := range shapes {
		c := compiled{rule: r, re: regexp.MustCompile(r.re)}
		for _, h := range r.hints {
			c.hints = append(c.hints, []byte(h))
		}
		s.shapes = append(s.shapes, c)
	}
	return s
})

// Rules names the rules, for the proof.
func Rules() []string {
	names := []string{"key", "repeated"}
	for _, r := range shapes {
		names = append(names, r.name)
	}
	return names
}

// secretKey reports whether a member of that name is secret.
func secretKey(key []byte) bool {
	return !plainKeys[string(bytes.ToLower(key))] && rules().key.Match(key)
}

// span is a secret in a text.
type span struct {
	start, end int
	rule       string
}

// find looks for secrets by shape. Spans do not overlap and are in order.
func find(text []byte) []span {
	var spans []span
	var lower []byte
	for _, r := range rules().shapes {
		if r.name == "assignment" {
			if lower == nil {
				lower = bytes.ToLower(text)
			}
			if !containsAny(lower, assignmentHints) {
				continue
			}
		} else if !containsAny(text, r.hints) {
			continue
		}
		for _, m := range r.re.FindAllSubmatchIndex(text, -1) {
			s := span{m[2*r.group], m[2*r.group+1], r.name}
			if s.start < s.end && !placeholder(text[s.start:s.end]) && !amount(text[m[0]:s.start], text[s.start:s.end]) {
				spans = addSpan(spans, s)
			}
		}
	}
	return spans
}

func containsAny(text []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(text, w) {
			return true
		}
	}
	return false
}

// addSpan adds s unless it overlaps one that is there: earlier rules are the
// more telling ones.
func addSpan(spans []span, s span) []span {
	at := len(spans)
	for i, o := range spans {
		if s.start < o.end && o.start < s.end {
			return spans
		}
		if s.start < o.start && i < at {
			at = i
		}
	}
	spans = append(spans, span{})
	copy(spans[at+1:], spans[at:])
	spans[at] = s
	return spans
}

// harmless are values that stand for a secret or for none.
var harmless = map[string]bool{
	"null": true, "none": true, "true": true, "false": true, "undefined": true, "redacted": true, "string": true, "required": true,
}

// placeholder reports text that is no secret: one of ours, a variable, a word
// or a row of stars that says there is none.
func placeholder(b []byte) bool {
	return bytes.HasPrefix(b, []byte(mark)) || b[0] == '$' || b[0] == '%' ||
		len(bytes.Trim(b, "*xX.-")) == 0 || harmless[string(bytes.ToLower(b))]
}

// amount reports a number of tokens, as in output_tokens=4096.
func amount(name, value []byte) bool {
	return len(bytes.Trim(value, "0123456789.")) == 0 && bytes.Contains(bytes.ToLower(name), []byte("token"))
}

// mark starts every placeholder.
const mark = "[REDACTED:"
