package jsonline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var samples = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `-1.5e+10`, `true`, `false`, `null`, ` { "a" : [ 1 , 2 ] } `,
	`{"a":{"b":{"c":"d\n\"\\\u00e9"}},"e":[{},[],"x"]}`,
	`"\ud83d\ude00"`, `"\ud800"`, `"é—\u2028"`, `{"a":1,"a":2}`,
	`{"text":"` + strings.Repeat("long text with \\\"quotes\\\" and \\n breaks ", 20) + `","n":[1,2,3]}`,
}

// mutate damages a sample in the ways a disk, a crash or an attacker does.
func mutate(rng *rand.Rand, s string) string {
	b := []byte(s)
	for range 1 + rng.IntN(3) {
		if len(b) == 0 {
			return ""
		}
		i := rng.IntN(len(b))
		switch rng.IntN(5) {
		case 0:
			b[i] = byte(rng.IntN(256))
		case 1:
			b = append(b[:i:i], b[i+1:]...)
		case 2:
			b = append(b[:i:i], append([]byte{`{}[]":,\u0 -.eE1tn`[rng.IntN(18)]}, b[i:]...)...)
		case 3:
			b = b[:i]
		case 4:
			j := rng.IntN(len(b))
			b[i], b[j] = b[j], b[i]
		}
	}
	return string(b)
}

// TestValidAgrees holds the scanner against the standard library, which is
// stricter only about the words NaN and Infinity.
func TestValidAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	good, bad := 0, 0
	for i := range 200_000 {
		s := samples[i%len(samples)]
		if i >= len(samples) {
			s = mutate(rng, s)
		}
		if strings.Contains(s, "NaN") || strings.Contains(s, "Infinity") {
			continue
		}
		want := json.Valid([]byte(s))
		if want {
			good++
		} else {
			bad++
		}
		if got := Valid([]byte(s)); got != want {
			t.Fatalf("Valid(%q) = %v, want %v", s, got, want)
		}
		if strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") {
			if got := Object([]byte(s), func(_, _ []byte) {}); got != want {
				t.Fatalf("Object(%q) = %v, want %v", s, got, want)
			}
		}
		if said := Reason([]byte(s)); (said == "no fault was found") != want {
			t.Fatalf("Reason(%q) = %s", s, said)
		}
	}
	if good < 1000 || bad < 1000 {
		t.Errorf("%d good and %d bad samples: the test is lopsided", good, bad)
	}
}

func TestWalk(t *testing.T) {
	raw := []byte(`{ "a" : 1 , "b\"x":[ "p" , {"q":"}]"} , [] ],"c":{"d":null},"a":2 }`)
	var got []string
	for f := Members(raw); f.Next(); {
		got = append(got, string(f.Key)+"="+string(f.Val))
	}
	if want := `a=1|b\"x=[ "p" , {"q":"}]"} , [] ]|c={"d":null}|a=2`; strings.Join(got, "|") != want {
		t.Errorf("members: %s", strings.Join(got, "|"))
	}
	got = nil
	for e := Elements(Get(raw, `b\"x`)); e.Next(); {
		got = append(got, string(e.Val))
	}
	if want := `"p"|{"q":"}]"}|[]`; strings.Join(got, "|") != want {
		t.Errorf("elements: %s", strings.Join(got, "|"))
	}
	if v := Get(raw, "a"); string(v) != "2" {
		t.Errorf("the last of two members: %s", v)
	}
	for _, other := range []string{`1`, `"x"`, `[]`, ``, `null`} {
		if f := Members([]byte(other)); f.Next() {
			t.Errorf("%q has members", other)
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct{ lit, want string }{
		{`plain`, "plain"},
		{`\"\\\/\b\f\n\r\t`, "\"\\/\b\f\n\r\t"},
		{`\u00e9\ud83d\ude00`, "é😀"},
		{`\ud83d`, "\ufffd"}, {`\ud83dx`, "\ufffdx"}, {`\ude00\ud83d`, "\ufffd\ufffd"}, {`\ud83d\u0041`, "\ufffdA"},
		{"bad\xffbyte", "bad\ufffdbyte"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := string(Text([]byte(tt.lit))); got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.lit, got, tt.want)
		}
	}
}

// TestAppendLiteral: whatever goes in, what comes out is a JSON string of the
// same text that acts on no terminal.
func TestAppendLiteral(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	parts := []string{"a", "word ", `\n`, `\"`, `\\`, `\u001b`, `\ud83d`, `\ude00`, "é", "—", "\u202e", "\u009b", "\x7f", "\xff", "\u2028", "\ufeff", "漢", `\u00e9`, `\\ud8`}
	for range 20_000 {
		var lit []byte
		for range rng.IntN(12) {
			lit = append(lit, parts[rng.IntN(len(parts))]...)
		}
		out := AppendLiteral([]byte(`"`), lit)
		out = append(out, '"')
		var back string
		if err := json.Unmarshal(out, &back); err != nil || !utf8.Valid(out) {
			t.Fatalf("%q became %q: %v", lit, out, err)
		}
		if back != string(Text(lit)) {
			t.Fatalf("%q became %q", lit, back)
		}
		for _, r := range string(out) {
			if Unsafe(r) {
				t.Fatalf("%q lets %U through", out, r)
			}
		}
	}
}

func TestAppendCompact(t *testing.T) {
	tests := []struct{ raw, want string }{
		{`{ "b" : 1, "a" : [ 1.50 , "x\u0079" ], "a\u0061":null }`, `{"a":[1.50,"xy"],"aa":null,"b":1}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`"x"`, `"x"`}, {` 12 `, `12`}, {`{}`, `{}`}, {`[ ]`, `[]`},
	}
	for _, tt := range tests {
		if got := string(AppendCompact(nil, []byte(tt.raw))); got != tt.want {
			t.Errorf("%s became %s, want %s", tt.raw, got, tt.want)
		}
	}
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	if got := string(AppendCompact(nil, []byte(deep))); got != deep {
		t.Error("a deep value changed")
	}
}

func TestInt(t *testing.T) {
	tests := []struct {
		val  string
		want int64
		ok   bool
	}{
		{"1790845200000000", 1790845200000000, true}, {"-5", -5, true}, {"1.5e3", 1500, true},
		{"1e400", 0, false}, {"NaN", 0, false}, {`"5"`, 0, false}, {"null", 0, false}, {"9223372036854775808", 0, false},
	}
	for _, tt := range tests {
		if got, ok := Int([]byte(tt.val)); got != tt.want || ok != tt.ok {
			t.Errorf("Int(%s) = %d, %v", tt.val, got, ok)
		}
	}
}

func TestReason(t *testing.T) {
	tests := []struct{ line, want string }{
		{`{"schema_version":1,"id":"0000`, "Unterminated string starting at: line 1 column 26 (char 25)"},
		{`{"a":1,}`, "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"},
		{`{"a" 1}`, "Expecting ':' delimiter: line 1 column 6 (char 5)"},
		{`{"a":1 "b"`, "Expecting ',' delimiter: line 1 column 8 (char 7)"},
		{`{"a":`, "Expecting value: line 1 column 6 (char 5)"},
		{`{}x`, "Extra data: line 1 column 3 (char 2)"},
		{`"é` + "\x00" + `"`, "Invalid control character at: line 1 column 3 (char 2)"},
		{`"\x"`, `Invalid \escape: line 1 column 2 (char 1)`},
		{`"\u12"`, `Invalid \uXXXX escape: line 1 column 3 (char 2)`},
		{`[`, "Expecting value: line 1 column 2 (char 1)"},
		{strings.Repeat("[", MaxDepth+5), "Nested too deep: line 1 column 10002 (char 10001)"},
	}
	for _, tt := range tests {
		if got := Reason([]byte(tt.line)); got != tt.want {
			t.Errorf("%.40q: %s, want %s", tt.line, got, tt.want)
		}
	}
}

// TestReasonAgrees compares the wording with a Python that has the same
// decoder, where there is one.
func TestReasonAgrees(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to compare with")
	}
	rng := rand.New(rand.NewPCG(11, 4))
	var input bytes.Buffer
	var lines []string
	for len(lines) < 3000 {
		s := mutate(rng, samples[rng.IntN(len(samples))])
		if s = strings.TrimSpace(s); s == "" || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\ufeff") || Valid([]byte(s)) {
			continue
		}
		lines = append(lines, s)
		fmt.Fprintln(&input, strconv.QuoteToASCII(s))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", `
import ast, json, sys
for line in sys.stdin:
    try:
        json.loads(ast.literal_eval(line)); print("ok")
    except ValueError as e:
        print(e)
`)
	cmd.Stdin = &input
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("python3 did not run: %v", err)
	}
	said := bufio.NewScanner(bytes.NewReader(out))
	for _, line := range lines {
		if !said.Scan() {
			t.Fatal("python3 said too little")
		}
		// Newer releases have a text of their own for a comma too many.
		if want := said.Text(); Reason([]byte(line)) != want && !strings.HasPrefix(want, "Illegal trailing comma") {
			t.Errorf("%q: %s, want %s", line, Reason([]byte(line)), want)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		ok := Valid(b)
		if !ok {
			Reason(b)
			return
		}
		out := AppendCompact(nil, b)
		if !Valid(out) {
			t.Fatalf("%q became %q", b, out)
		}
		for m := Members(b); m.Next(); {
			AppendLiteral(nil, m.Key)
		}
	})
}

func BenchmarkObject(b *testing.B) {
	line := []byte(samples[len(samples)-1])
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		Object(line, func(_, _ []byte) {})
	}
}
