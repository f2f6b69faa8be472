package muse

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestScannerAgrees holds the hand-written scanner against the JSON library on
// what is and is not JSON.
func TestScannerAgrees(t *testing.T) {
	for _, text := range append(jsonSamples(), strings.Repeat("[", 200)+strings.Repeat("]", 200)) {
		agree(t, []byte(text))
	}
}

func jsonSamples() []string {
	return []string{
		``, ` `, `{}`, `[]`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" : [1 , 2 ] }`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1 "b":2}`,
		`1`, `-`, `-1`, `01`, `1.`, `1.5`, `1e`, `1e5`, `1E+5`, `1e-`, `.5`, `-0`, `-01`, `+1`, `1x`, `NaN`,
		`"`, `"a`, `"a"`, `"\"`, `"\""`, `"\u12"`, `"\u12G4"`, `"\u1234"`, `"\ud83d\ude00"`, `"\x"`, "\"a\tb\"", "\"a\x00b\"", `"` + strings.Repeat("a", 37) + `"`,
		`"` + strings.Repeat("a", 9) + `\n` + strings.Repeat("b", 17) + `"`, `"é\u00e9"`, `"/\/"`,
		`true`, `tru`, `truex`, `false`, `null`, `nul`, `nulll`, `true false`, `{"a":{"b":{"c":[]}}}`, `{"a":{"b":[}]}`, `{1:2}`, "\ufeff{}",
	}
}

func agree(t *testing.T, data []byte) {
	t.Helper()
	s := scanner{data: data}
	_, err := s.value(0)
	ours := err == nil && s.atEnd()
	theirs := jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if ours != theirs {
		t.Errorf("%q: valid %v, the library says %v (%v)", data, ours, theirs, err)
	}
}

func TestUnescape(t *testing.T) {
	tests := []struct{ in, want string }{
		{`plain`, "plain"},
		{`\"\\\/\b\f\n\r\t`, "\"\\/\b\f\n\r\t"},
		{`\u0041\u00e9\u20ac`, "Aé€"},
		{`\ud83d\ude00!`, "😀!"},
		{`\ud83d`, "\ufffd"},
		{`\ud83dx`, "\ufffdx"},
		{`\ud83d\u0041`, "\ufffdA"},
		{`\ude00`, "\ufffd"},
	}
	for _, tt := range tests {
		if got := string(unescape(nil, []byte(tt.in))); got != tt.want {
			t.Errorf("unescape(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestIntegers(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 1, "-7": -7, "999999999999999999": 999999999999999999} {
		if n, ok := (value{raw: []byte(text), kind: kindNumber}).integer(); !ok || n != want {
			t.Errorf("%s = %d %v", text, n, ok)
		}
	}
	for _, text := range []string{"1.0", "1e3", "99999999999999999999"} {
		if n, ok := (value{raw: []byte(text), kind: kindNumber}).integer(); ok {
			t.Errorf("%s taken for %d", text, n)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, s := range jsonSamples() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Count(data, []byte("[")) > 1000 || bytes.Count(data, []byte("{")) > 1000 {
			t.Skip("the two depth limits count differently")
		}
		agree(t, data)
	})
}
