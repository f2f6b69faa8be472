package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// sharedLogs lists the recorded logs of the reference material, or skips.
func sharedLogs(t *testing.T) []string {
	t.Helper()
	root := os.Getenv("OPENMUSE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	var paths []string
	for _, pattern := range []string{
		"fixtures/home/.local/share/muse/sessions/*/*/*/*/session.jsonl",
		"fixtures/home/.local/share/muse/sessions/*/*/*/*/subagent/*/session.jsonl",
		"fixtures/logs/*.jsonl",
		"fixtures/streams/*.jsonl",
	} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		t.Skipf("no reference logs under %s; set OPENMUSE_SHARED", root)
	}
	return paths
}

// TestRecordedLogsRoundTrip decodes every whole line of the recorded logs and
// streams and encodes it again from the decoded fields alone.
func TestRecordedLogsRoundTrip(t *testing.T) {
	for _, path := range sharedLogs(t) {
		checkRoundTrip(t, path)
	}
}

// TestOwnLogRoundTrip does the same for the log this project carries, which
// has each shape, escapes, raw non-ASCII text and unknown payloads.
func TestOwnLogRoundTrip(t *testing.T) {
	checkRoundTrip(t, filepath.Join("testdata", "session.jsonl"))
}

func checkRoundTrip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	var p Parser
	for i, raw := range lines {
		body, whole := bytes.CutSuffix(raw, []byte("\n"))
		if len(body) == 0 {
			continue
		}
		line, err := p.ParseLine(body)
		if err != nil {
			if !whole && i == len(lines)-1 {
				continue // cut on purpose
			}
			t.Errorf("%s:%d: %v", path, i+1, err)
			continue
		}
		if !line.Exact() || line.Extra {
			t.Errorf("%s:%d: decoded and encoded again:\n%s\nwant\n%s", path, i+1, line.Append(nil), body)
		}
		if line.Kind == KindFrame {
			for _, c := range line.Frame.Children {
				e, err := c.Envelope()
				if err != nil {
					t.Errorf("%s:%d: %v", path, i+1, err)
				} else if got := string(e.Append(nil)); got != c.RecordJSON {
					t.Errorf("%s:%d: child %d: got %s", path, i+1, c.Index, got)
				}
			}
		}
	}
}

const plain = `{"schema_version":1,"id":"a","stream":{"kind":"session","id":"s"},"sequence":3,"recorded_at":1790845200100000,` +
	`"record_type":"event","durability":"durable","causation_id":null,"payload_type":"x.y","payload_schema_version":2,"payload":{"k":1}}`

func TestParseLine(t *testing.T) {
	base := Envelope{
		SchemaVersion: 1, ID: "a", Stream: Stream{"session", "s"}, Sequence: 3, RecordedAt: 1790845200100000,
		RecordType: "event", Durability: "durable", PayloadType: "x.y", PayloadSchemaVersion: 2, Payload: jsontext.Value(`{"k":1}`),
	}
	with := func(change func(*Envelope)) *Envelope {
		e := base
		change(&e)
		return &e
	}
	tests := []struct {
		name  string
		in    string
		want  *Envelope
		extra bool
	}{
		{"plain", plain, &base, false},
		{"unknown field", strings.Replace(plain, `"id":"a"`, `"id":"a","new":[{"x":"}"}]`, 1), &base, true},
		{"unknown stream field", strings.Replace(plain, `"id":"s"`, `"id":"s","n":0`, 1), &base, true},
		{"a marker's key in an envelope", strings.Replace(plain, `"id":"a"`, `"id":"a","position":5`, 1), &base, true},
		{"a frame's key in an envelope", strings.Replace(plain, `"id":"a"`, `"children":0,"id":"a"`, 1), &base, true},
		{"causation", strings.Replace(plain, `null`, `"c"`, 1), with(func(e *Envelope) { e.CausationID = "c" }), false},
		{"escaped key", strings.Replace(plain, `"sequence"`, `"seq\u0075ence"`, 1), &base, false},
		{"escaped value", strings.Replace(plain, `"x.y"`, `"x\u002ey"`, 1), &base, false},
		{"space", "  " + strings.ReplaceAll(plain, `,"`, `, "`) + "\t\r", &base, false},
		{"payload kept as it is", strings.Replace(plain, `{"k":1}`, `{ "k" : 1.0 }`, 1),
			with(func(e *Envelope) { e.Payload = jsontext.Value(`{ "k" : 1.0 }`) }), false},
		{"payload first", `{"payload":{"k":1},` + strings.Replace(plain[1:], `,"payload":{"k":1}`, ``, 1), &base, false},
		{"largest numbers", strings.Replace(plain, `"sequence":3`, `"sequence":9223372036854775807`, 1),
			with(func(e *Envelope) { e.Sequence = 9223372036854775807 }), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line, err := ParseLine([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, line.Envelope); diff != "" {
				t.Error(diff)
			}
			if line.Extra != tt.extra || string(line.Raw) != tt.in {
				t.Errorf("extra %v, raw %s", line.Extra, line.Raw)
			}
		})
	}
}

func TestParseLineRefuses(t *testing.T) {
	replace := func(old, now string) string { return strings.Replace(plain, old, now, 1) }
	tests := []struct{ name, in, want string }{
		{"empty", ``, "line ends"},
		{"cut", plain[:60], "line ends"},
		{"two values", plain + plain, "after"},
		{"array", `[]`, "not a JSON object"},
		{"line feed", strings.Replace(plain, `,"id"`, ",\n\"id\"", 1), "line feed"},
		{"key twice", replace(`"sequence":3`, `"sequence":3,"sequence":3`), "duplicate"},
		{"key twice in the payload", replace(`{"k":1}`, `{"k":1,"k":2}`), "duplicate"},
		{"bad UTF-8", replace(`"a"`, "\"\xff\""), "UTF-8"},
		{"lone surrogate", replace(`"a"`, `"\ud800"`), "surrogate"},
		{"missing field", replace(`"sequence":3,`, ``), "no field sequence"},
		{"missing stream id", replace(`,"id":"s"`, ``), "stream"},
		{"null id", replace(`"id":"a"`, `"id":null`), "id is not a string"},
		{"text sequence", replace(`"sequence":3`, `"sequence":"3"`), "whole number"},
		{"fraction", replace(`"sequence":3`, `"sequence":3.0`), "whole number"},
		{"exponent", replace(`"sequence":3`, `"sequence":3e0`), "whole number"},
		{"too large", replace(`"sequence":3`, `"sequence":9223372036854775808`), "whole number"},
		{"stream is text", replace(`{"kind":"session","id":"s"}`, `"s"`), "stream"},
		{"payload is text", replace(`{"k":1}`, `"k"`), "payload is not an object"},
		{"frame without children", `{"retained_frame":"f","frame_schema_version":1,"outer_log_ordinal":1,"transaction_id":"t","content_sha256":"s"}`, "children"},
		{"marker without position", `{"retained_marker":"m","id":"a","sequence":1,"schema_version":1,"stream":{"kind":"session","id":"s"},"omitted_record":{}}`, "position"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseLine([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestParserKeepsNamesApart(t *testing.T) {
	// The second stream id reads like the first one with its escape resolved,
	// but is another.
	first := strings.Replace(plain, `"id":"s"`, `"id":"a\\u0062"`, 1)
	second := strings.Replace(plain, `"id":"s"`, `"id":"a\u0062"`, 1)
	var p Parser
	for i, want := range []string{`a\u0062`, "ab"} {
		line, err := p.ParseLine([]byte([]string{first, second}[i]))
		if err != nil {
			t.Fatal(err)
		}
		if line.Envelope.Stream.ID != want {
			t.Errorf("stream id %q, want %q", line.Envelope.Stream.ID, want)
		}
	}
}

func TestPermissionFrame(t *testing.T) {
	children := []Envelope{
		{SchemaVersion: 1, ID: "a", Sequence: 1, Payload: jsontext.Value(`{"text":"é \" \u2028"}`)},
		{SchemaVersion: 1, ID: "b", Sequence: 2, Payload: jsontext.Value(`{}`)},
	}
	f := NewPermissionFrame(children, 1, "tx")
	line, err := ParseLine(f.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, line.Frame); diff != "" {
		t.Error(diff)
	}
	for i, c := range line.Frame.Children {
		e, err := c.Envelope()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(children[i], *e); diff != "" {
			t.Error(diff)
		}
	}
	if f.ContentSHA256 != f.Digest() {
		t.Error("digest is not that of the children")
	}
	f.Children[0].RecordJSON = strings.Replace(f.Children[0].RecordJSON, "é", "e", 1)
	if f.ContentSHA256 == f.Digest() {
		t.Error("digest did not change with a child")
	}
}

// FuzzParseLine holds the strict parser, the lenient scanner and the JSON
// library against each other.
func FuzzParseLine(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "session.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for raw := range bytes.Lines(data) {
		f.Add(bytes.TrimSuffix(raw, []byte("\n")))
	}
	f.Add([]byte(plain))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		line, err := ParseLine(raw)
		v, scanErr := Scan(raw)
		if !bytes.Equal(before, raw) {
			t.Fatal("input was changed")
		}
		if err != nil {
			return
		}
		if scanErr != nil {
			t.Fatalf("strict parser accepts, scanner says %v", scanErr)
		}
		if v.Kind != line.Kind {
			t.Fatalf("kinds %v and %v", v.Kind, line.Kind)
		}
		// What is written from the decoded form reads back the same.
		again, err := ParseLine(line.Append(nil))
		if err != nil {
			t.Fatalf("own output refused: %v", err)
		}
		if diff := cmp.Diff(line, again, cmp.FilterPath(func(p cmp.Path) bool {
			return p.String() == "Raw" || p.String() == "Extra"
		}, cmp.Ignore())); diff != "" {
			t.Fatal(diff)
		}
		if line.Kind == KindEnvelope {
			checkAgainstLibrary(t, raw, line.Envelope, v)
		}
	})
}

func checkAgainstLibrary(t *testing.T, raw []byte, e *Envelope, v View) {
	t.Helper()
	var want struct {
		SchemaVersion int    `json:"schema_version"`
		ID            string `json:"id"`
		Stream        struct {
			Kind string `json:"kind"`
			ID   string `json:"id"`
		} `json:"stream"`
		Sequence             int64          `json:"sequence"`
		RecordedAt           int64          `json:"recorded_at"`
		RecordType           string         `json:"record_type"`
		Durability           string         `json:"durability"`
		CausationID          string         `json:"causation_id"`
		PayloadType          string         `json:"payload_type"`
		PayloadSchemaVersion int            `json:"payload_schema_version"`
		Payload              jsontext.Value `json:"payload"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatalf("strict parser accepts, library says %v", err)
	}
	w := Envelope{
		want.SchemaVersion, want.ID, Stream(want.Stream), want.Sequence, want.RecordedAt, want.RecordType,
		want.Durability, want.CausationID, want.PayloadType, want.PayloadSchemaVersion, want.Payload,
	}
	if diff := cmp.Diff(&w, e); diff != "" {
		t.Fatal(diff)
	}
	seen := Envelope{
		int(v.SchemaVersion), Text(v.ID), Stream{Text(v.StreamKind), Text(v.StreamID)}, v.Sequence, v.RecordedAt,
		Text(v.RecordType), Text(v.Durability), Text(v.CausationID), Text(v.PayloadType), int(v.PayloadSchemaVersion), v.Payload,
	}
	if diff := cmp.Diff(&w, &seen); diff != "" {
		t.Fatal(diff)
	}
}

// TestFrameDigest checks the documented rule against a hash computed by other
// means: sha256 over each child's text and a line feed.
func TestFrameDigest(t *testing.T) {
	f := Frame{Children: []FrameChild{{0, `{"a":1}`}, {1, `{"b":"é"}`}}}
	const want = "sha256:15fe1da20ad309b9e00d566ad8d37a12f29595a2bd492e95cef8f3c9d7f5f195"
	if got := f.Digest(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	line, err := ParseLine(first)
	if err != nil {
		t.Fatal(err)
	}
	if got := line.Frame.Digest(); got != line.Frame.ContentSHA256 {
		t.Errorf("digest %s, the log says %s", got, line.Frame.ContentSHA256)
	}
}
