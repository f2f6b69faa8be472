package jsondoc

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", "s.json:1:1: the file is empty; delete it or write a JSON object"},
		{"blank", " \n\t", "s.json:1:1: the file is empty; delete it or write a JSON object"},
		{"utf-16", "\xff\xfe{\x00", "s.json:1:1: the file is UTF-16; save it as UTF-8"},
		{"duplicate", "{\n \"a\": 1,\n \"b\": {\"c\":1, \"c\":2}}", "s.json:3:15: b.c: the key is given twice (first at 3:8); remove one of the two"},
		{"duplicate by escape", `{"a":1,"\u0061":2}`, "s.json:1:8: a: the key is given twice (first at 1:2); remove one of the two"},
		{"comma before brace", "{\n  \"a\": 1,\n}", "s.json:2:9: there is a comma after the last entry; remove the comma"},
		{"comma before bracket", "[1,2,]", "s.json:1:5: there is a comma after the last entry; remove the comma"},
		{"line comment", "{\n  // x\n  \"a\": 1}", "s.json:2:3: comments are not part of JSON; remove the comment"},
		{"block comment", "{\"a\": /* x */ 1}", "s.json:1:7: comments are not part of JSON; remove the comment"},
		{"comment at the end", "{}\n// x", "s.json:2:1: comments are not part of JSON; remove the comment"},
		{"missing comma", "{\"a\":1\n\"b\":2}", "s.json:2:1: "},
		{"missing comma after text", "{\"a\":\"x\"\n\"b\":2}", "s.json:2:1: a comma is missing before this entry; add it"},
		{"single quotes", "{'a':1}", "s.json:1:2: JSON text is quoted with \", not '; change the quotes"},
		{"cut short", "{\"a\": {\"b\": 1", "s.json:1:14: the file ends in the middle of a value; close the open quotes, brackets and braces"},
		{"cut in text", "{\"a\": \"xy", "s.json:1:10: the file ends in the middle of a value"},
		{"text behind", "{} {}", "s.json:1:3: there is text after the end of the JSON value; remove it"},
		{"bad utf-8", "{\"a\": \"\xff\"}", "save the file as UTF-8"},
		{"lone surrogate", `{"a": "\ud800"}`, "s.json:1:"},
		{"deep", strings.Repeat("[", 300) + strings.Repeat("]", 300), "more than 200 levels"},
		{"wide characters count once", "{\"ä\": 1, \"ä\": 2}", "s.json:1:10: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("s.json", []byte(tt.in))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

func TestPositionsAndPaths(t *testing.T) {
	const text = "\ufeff{\r\n  \"schema_version\": 1,\r\n  \"my key\": {\"x\": [true, {\"y\": \"a\\\"b\"}]}\r\n}"
	d, err := Parse("s.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	y := d.Root().Get("my key", "x").Members()[1].Get("y")
	if got := y.Path(); got != `"my key".x[1].y` {
		t.Errorf("path %s", got)
	}
	if line, col := y.Pos(); line != 3 || col != 27 {
		t.Errorf("key at %d:%d", line, col)
	}
	if line, col := y.ValuePos(); line != 3 || col != 32 {
		t.Errorf("value at %d:%d", line, col)
	}
	if s, err := y.Text(); err != nil || s != `a"b` {
		t.Errorf("text %q %v", s, err)
	}
	if got := string(d.Bytes()); got != text {
		t.Errorf("bytes changed: %q", got)
	}
	if _, err := y.Int(); err == nil || !strings.HasSuffix(err.Error(), `wanted a whole number, found the text "a\"b"`) {
		t.Errorf("mismatch: %v", err)
	}
	if _, err := d.Root().Get("my key", "x").Bool(); err == nil || !strings.Contains(err.Error(), `s.json:3:19: "my key".x: wanted true or false, found an array`) {
		t.Errorf("mismatch: %v", err)
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		in    string
		int   int64
		intOK bool
		float float64
		fltOK bool
	}{
		{"0", 0, true, 0, true},
		{"-12", -12, true, -12, true},
		{"1.5", 0, false, 1.5, true},
		{"1e3", 0, false, 1000, true},
		{"9223372036854775808", 0, false, 9223372036854775808, true},
		{"1e999", 0, false, 0, false},
		{`"1"`, 0, false, 0, false},
	}
	for _, tt := range tests {
		d, err := Parse("n", []byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		i, err := d.Root().Int()
		if (err == nil) != tt.intOK || i != tt.int {
			t.Errorf("%s: int %d %v", tt.in, i, err)
		}
		f, err := d.Root().Float()
		if (err == nil) != tt.fltOK || f != tt.float {
			t.Errorf("%s: float %v %v", tt.in, f, err)
		}
	}
}

func TestEdit(t *testing.T) {
	set := func(value string, path ...string) func(*Document) error {
		return func(d *Document) error { return d.Set(jsontext.Value(value), path...) }
	}
	del := func(path ...string) func(*Document) error {
		return func(d *Document) error { return d.Delete(path...) }
	}
	tests := []struct {
		name, in string
		do       func(*Document) error
		want     string
	}{
		{"replace keeps the rest", "{\n\t\"b\" : 1 ,\n\n\t\"a\":[1,  2]\n}\n", set("2", "b"), "{\n\t\"b\" : 2 ,\n\n\t\"a\":[1,  2]\n}\n"},
		{"same value changes nothing", `{"a": [1,  2]}`, set("[1,2]", "a"), `{"a": [1,  2]}`},
		{"add to lines", "{\n    \"a\": 1\n}\n", set(`"x"`, "b"), "{\n    \"a\": 1,\n    \"b\": \"x\"\n}\n"},
		{"add below a blank line", "{\n  \"a\": 1,\n\n  \"b\": 2\n}", set("3", "c"), "{\n  \"a\": 1,\n\n  \"b\": 2,\n  \"c\": 3\n}"},
		{"add to one line", `{"a": 1}`, set("2", "b"), `{"a": 1, "b": 2}`},
		{"add to dense", `{"a":1,"c":2}`, set("2", "b"), `{"a":1,"c":2,"b":2}`},
		{"add to spaced", `{ "a": 1, "c": 2 }`, set("2", "b"), `{ "a": 1, "c": 2, "b": 2 }`},
		{"add to the empty object", "{}\n", set("1", "a"), "{\n  \"a\": 1\n}\n"},
		{"make objects on the way", "{\n  \"a\": 1\n}", set("true", "b", "c", "d"), "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": {\n      \"d\": true\n    }\n  }\n}"},
		{"nested empty object", "{\n  \"a\": {}\n}", set("1", "a", "b"), "{\n  \"a\": {\n    \"b\": 1\n  }\n}"},
		{"nested empty object on one line", `{"a": {}}`, set("1", "a", "b"), `{"a": {"b": 1}}`},
		{"CRLF", "{\r\n  \"a\": 1\r\n}\r\n", set(`{"x":1}`, "b"), "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"x\": 1\r\n  }\r\n}\r\n"},
		{"tabs", "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}", set(`{"y":1}`, "a", "c"), "{\n\t\"a\": {\n\t\t\"b\": 1,\n\t\t\"c\": {\n\t\t\t\"y\": 1\n\t\t}\n\t}\n}"},
		{"short list on its line", "{\n  \"a\": 1\n}", set(`["x","y"]`, "b"), "{\n  \"a\": 1,\n  \"b\": [\"x\", \"y\"]\n}"},
		{"byte order mark", "\ufeff{\"a\": 1}", set("2", "a"), "\ufeff{\"a\": 2}"},
		{"escaped key", `{"a\"b": 1}`, set("2", "c"), `{"a\"b": 1, "c": 2}`},
		{"delete the only one", "{\n  \"a\": 1\n}", del("a"), "{}"},
		{"delete the first", "{\n  \"a\": 1,\n  \"b\": 2\n}", del("a"), "{\n  \"b\": 2\n}"},
		{"delete the last", "{\n  \"a\": 1,\n  \"b\": 2\n}", del("b"), "{\n  \"a\": 1\n}"},
		{"delete between", `{"a": 1, "b": 2, "c": 3}`, del("b"), `{"a": 1, "c": 3}`},
		{"delete nothing", `{"a": 1}`, del("x", "y"), `{"a": 1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Parse("s.json", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.do(d); err != nil {
				t.Fatal(err)
			}
			if got := string(d.Bytes()); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestEditRefusals(t *testing.T) {
	d, err := Parse("s.json", []byte(`{"a": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"through a number": func() error { return d.Set(jsontext.Value("1"), "a", "b") },
		"no path":          func() error { return d.Set(jsontext.Value("1")) },
		"not JSON":         func() error { return d.Set(jsontext.Value("{"), "b") },
		"key not UTF-8":    func() error { return d.Set(jsontext.Value("1"), "\xff") },
	} {
		if do() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := string(d.Bytes()); got != `{"a": 1}` {
		t.Errorf("a refused edit changed the document: %s", got)
	}
}

// FuzzDocument holds the reader against the JSON library and an edit against
// its purpose: the key has the value, all other members keep their bytes.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, "{\n  \"a\": {\"b\": [1, 2]},\n  \"c\": \"x\\\"y\"\n}\n", `[1,{"a":null}]`, "\ufeff{\"a\":-1.5e3}", `{"a":1,"a":2}`, `{"a":1,}`, `{"key":{"x":[]}}`, "{\"a\":1\r\n}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse("f", data)
		body := strings.TrimPrefix(string(data), bom)
		if valid := jsontext.Value(body).IsValid(); valid != (err == nil) && !(err != nil && strings.Contains(err.Error(), "levels of nesting")) && !(len(data) >= 2 && (data[0] == 0xff || data[0] == 0xfe)) {
			t.Fatalf("valid=%v, error %v", valid, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		if string(d.Bytes()) != string(data) {
			t.Fatal("reading changed the text")
		}
		if d.Root().Kind() != '{' {
			return
		}
		before := map[string]string{}
		for _, n := range d.Root().Members() {
			before[n.Key()] = string(n.Raw())
		}
		if err := d.Set(jsontext.Value(`{"n":[1,"z"]}`), "key"); err != nil {
			t.Fatal(err)
		}
		if !sameValue(d.Root().Get("key").Raw(), jsontext.Value(`{"n":[1,"z"]}`)) {
			t.Fatalf("not set: %s", d.Bytes())
		}
		for key, raw := range before {
			if key != "key" && string(d.Root().Get(key).Raw()) != raw {
				t.Fatalf("%q changed: %s", key, d.Bytes())
			}
		}
		if err := d.Delete("key"); err != nil {
			t.Fatal(err)
		}
		if _, had := before["key"]; !had && len(d.Root().Members()) != len(before) {
			t.Fatalf("delete: %s", d.Bytes())
		}
	})
}
