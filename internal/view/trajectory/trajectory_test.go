package trajectory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/record"
)

const sid = "0190a000-0000-7000-8000-000000000001"

func envelope(seq int64, payloadType, payload string) record.Envelope {
	return record.Envelope{
		SchemaVersion: 1, ID: fmt.Sprintf("11111111-0000-4000-8000-%012d", seq), Stream: record.Stream{Kind: "session", ID: sid},
		Sequence: seq, RecordedAt: 1790000000000000 + seq, RecordType: "event", Durability: "durable",
		PayloadType: payloadType, PayloadSchemaVersion: 1, Payload: jsontext.Value(payload),
	}
}

func line(e record.Envelope) string { return string(e.Append(nil)) + "\n" }

func record1(seq int64, payload string) string {
	return line(envelope(seq, "user_shell.command", payload))
}

// document1 is the document as a reader meets it.
type document1 struct {
	Diagnostics struct {
		Duplicates  int `json:"duplicate_records"`
		Gaps        int `json:"gaps"`
		LiveOnly    int `json:"omitted_live_only"`
		Unknown     int `json:"unknown_payload_kinds"`
		Unparseable int `json:"unparseable_lines"`
	} `json:"diagnostics"`
	Events []struct {
		Derived struct {
			Decoded    bool   `json:"decoded"`
			Model      string `json:"model"`
			Session    string `json:"session_id"`
			Step       int    `json:"step_id"`
			Trajectory string `json:"trajectory_id"`
			Turn       int    `json:"turn_count"`
		} `json:"derived"`
		Envelope   jsontext.Value `json:"envelope"`
		Kind       string         `json:"kind"`
		Ordinal    int            `json:"outer_log_ordinal"`
		RecordedAt int64          `json:"recorded_at"`
		Marker     string         `json:"marker"`
		Omitted    jsontext.Value `json:"omitted_record"`
		Position   struct {
			ID       string `json:"id"`
			Sequence int64  `json:"sequence"`
		} `json:"position"`
		Stream jsontext.Value `json:"stream"`
	} `json:"events"`
	SchemaVersion int `json:"export_schema_version"`
	Exporter      struct {
		Display string `json:"display"`
		Semver  string `json:"semver"`
		SHA     string `json:"sha"`
	} `json:"exporter_version"`
	Own struct {
		Log struct {
			Bytes  int64  `json:"bytes"`
			Lines  int64  `json:"lines"`
			Digest string `json:"digest"`
		} `json:"log"`
		Missing     int64            `json:"missing_sequences"`
		Redactions  map[string]int64 `json:"redactions"`
		Unparseable []struct {
			Bytes  int64 `json:"bytes"`
			Line   int64 `json:"line"`
			Offset int64 `json:"offset"`
			Torn   bool  `json:"torn"`
		} `json:"unparseable"`
	} `json:"openmuse"`
	Redaction string `json:"redaction"`
	Build     *struct {
		Display string `json:"display"`
		Semver  string `json:"semver"`
		SHA     string `json:"sha"`
	} `json:"session_build"`
	Abnormal bool `json:"session_terminated_abnormally"`
	Sessions []struct {
		Spawns []map[string]string `json:"accepted_spawns"`
		Copied bool                `json:"is_copied_context"`
		Parent map[string]string   `json:"parent"`
		Root   string              `json:"root_session_id"`
		Gap    bool                `json:"saw_history_gap"`
		End    *struct {
			Reason string `json:"exit_reason"`
			Uptime int64  `json:"uptime_ms"`
		} `json:"session_end"`
		ID         string `json:"session_id"`
		Steps      int    `json:"step_count"`
		Trajectory string `json:"trajectory_id"`
		Turns      int    `json:"turn_count"`
	} `json:"sessions"`
}

func read(t *testing.T, doc string) document1 {
	t.Helper()
	var d document1
	if err := json.Unmarshal([]byte(doc), &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v\n%.2000s", err, doc)
	}
	return d
}

// sample is the log this project carries.
func sample(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "record", "testdata", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWholeDocument(t *testing.T) {
	log := sample(t)
	got := export(t, log, false)
	d := read(t, got)
	if d.SchemaVersion != 1 || d.Redaction != "raw" || d.Abnormal || d.Exporter.Semver != "9.9.9" || d.Build == nil ||
		d.Build.Display != "Muse Code 1.4.4 (0123456789)" {
		t.Errorf("head is wrong: %+v", d)
	}
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	if len(d.Events) != len(lines) {
		t.Fatalf("%d events for %d lines", len(d.Events), len(lines))
	}
	wantKinds := []string{"retained_frame", "record", "record", "record", "gap", "record", "record", "record"}
	for i, e := range d.Events {
		if e.Kind != wantKinds[i] || e.Ordinal != i+1 {
			t.Errorf("event %d is a %s with ordinal %d", i, e.Kind, e.Ordinal)
		}
		if e.Kind != "gap" && string(e.Envelope) != lines[i] {
			t.Errorf("event %d: envelope\n%s\nwant\n%s", i, e.Envelope, lines[i])
		}
		if e.Kind == "gap" && (string(e.Envelope) != "null" || e.Marker != "omitted_live_only" || e.Position.Sequence != 6 || !strings.Contains(string(e.Omitted), "task_tool_delta_v1")) {
			t.Errorf("gap is %+v", e)
		}
	}
	started := d.Events[3].Derived
	if started.Turn != 1 || started.Step != 5 || started.Model != "sample-1" || started.Session == "" || started.Trajectory != "trajectory_"+started.Session {
		t.Errorf("derived %+v", started)
	}
	if before := d.Events[1].Derived; before.Turn != 0 || before.Step != 3 || before.Model != "" || !before.Decoded {
		t.Errorf("derived %+v", before)
	}
	if unknown := d.Events[6].Derived; unknown.Decoded {
		t.Error("an unknown payload counts as decoded")
	}
	s := d.Sessions[0]
	if len(d.Sessions) != 1 || s.Turns != 1 || s.Steps != 8 || s.End == nil || s.End.Reason != "clean" || s.End.Uptime != 9 || s.Gap || s.Root != s.ID {
		t.Errorf("sessions %+v", d.Sessions)
	}
	if g := d.Diagnostics; g.Gaps != 1 || g.LiveOnly != 1 || g.Unknown != 1 || g.Unparseable != 0 || g.Duplicates != 0 {
		t.Errorf("diagnostics %+v", g)
	}
	if d.Own.Log.Bytes != int64(len(log)) || d.Own.Log.Lines != int64(len(lines)) || !strings.HasPrefix(d.Own.Log.Digest, "sha256:") {
		t.Errorf("log facts %+v", d.Own.Log)
	}
}

// TestDamage follows the cases that a run of the original was watched with
// (CLI.md 14): counters, sessions and exact numbers.
func TestDamage(t *testing.T) {
	one := line(envelope(1, "runtime.session", `{"event":{"kind":"started","prompt":"p"},"kind":"run","run_id":"r"}`))
	two := line(envelope(2, "synthetic.unknown", `{"kind":"future","n":9007199254740993,"d":1.234567890123456789}`))
	other := envelope(2, "synthetic.unknown", `{}`)
	other.Stream.ID = "44444444-4444-4444-8444-444444444444"
	far := envelope(5, "session.end", `{"kind":"session_end","record":{"exit_reason":"clean","uptime_ms":1}}`)
	tests := []struct {
		name                                                            string
		log                                                             string
		sessions, events, unparseable, unknown, duplicates, gapSequence int
	}{
		{"whole", one + two, 1, 2, 0, 1, 0, 0},
		{"corrupt line", one + "{corrupt}\n" + two, 1, 2, 1, 1, 0, 0},
		{"record twice", one + two + two, 1, 2, 0, 1, 1, 0},
		{"no identity", `{"synthetic":"no identity"}` + "\n", 0, 0, 1, 0, 0, 0},
		{"cut", one + two + `{"incomplete":`, 1, 2, 1, 1, 0, 0},
		{"numbers missing", one + line(far), 1, 2, 0, 0, 0, 3},
		{"two sessions", one + line(other), 2, 2, 0, 1, 0, 0},
		{"empty", "", 0, 0, 0, 0, 0, 0},
		{"empty lines", "\n" + one + "\n", 1, 1, 0, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := export(t, tt.log, false)
			d := read(t, doc)
			got := []int{len(d.Sessions), len(d.Events), d.Diagnostics.Unparseable, d.Diagnostics.Unknown, d.Diagnostics.Duplicates, int(d.Own.Missing)}
			want := []int{tt.sessions, tt.events, tt.unparseable, tt.unknown, tt.duplicates, tt.gapSequence}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if d.Diagnostics.Gaps != 0 || len(d.Own.Unparseable) != tt.unparseable {
				t.Errorf("%+v", d)
			}
			if tt.unknown > 0 && strings.Contains(tt.log, "9007199254740993") && !strings.Contains(doc, `"n":9007199254740993,"d":1.234567890123456789`) {
				t.Error("numbers are not exact")
			}
		})
	}
}

func TestEnds(t *testing.T) {
	end := func(seq int64, reason string) string {
		return line(envelope(seq, "session.end", `{"kind":"session_end","record":{"exit_reason":"`+reason+`","uptime_ms":7}}`))
	}
	seal := func(seq int64) string {
		return line(envelope(seq, "openmuse.integrity.checkpoint", `{"kind":"integrity_checkpoint","record":{"sealed":true}}`))
	}
	opened := func(seq int64) string {
		return line(envelope(seq, "session.opened.observed", `{"kind":"o","record":{}}`))
	}
	tests := []struct {
		name, log string
		abnormal  bool
		reason    string
	}{
		{"none", opened(1), true, ""},
		{"clean", opened(1) + end(2, "clean"), false, "clean"},
		{"sealed", opened(1) + end(2, "clean") + seal(3), false, "clean"},
		{"went on", opened(1) + end(2, "clean") + opened(3), true, "clean"},
		{"ended again", opened(1) + end(2, "clean") + opened(3) + end(4, "interrupted"), false, "interrupted"},
		{"inferred", opened(1) + end(2, "crash_inferred"), true, "crash_inferred"},
		{"cut after the end", opened(1) + end(2, "clean") + "{", false, "clean"},
		{"no session", "", true, ""},
	}
	for _, tt := range tests {
		d := read(t, export(t, tt.log, false))
		reason := ""
		if len(d.Sessions) > 0 && d.Sessions[0].End != nil {
			reason = d.Sessions[0].End.Reason
		}
		if d.Abnormal != tt.abnormal || reason != tt.reason {
			t.Errorf("%s: abnormal %v, reason %q", tt.name, d.Abnormal, reason)
		}
	}
}

func TestLineage(t *testing.T) {
	log := line(envelope(1, "session.fork.created", `{"fork_session_id":"`+sid+`","source_session_id":"src","schema_version":1}`)) +
		line(envelope(2, "subagent.control.spawn_accepted", `{"kind":"subagent_control","record":{"agent_path":"main/a/1","role":"coder","subagent_id":"sub"}}`))
	s := read(t, export(t, log, false)).Sessions[0]
	wantParent := map[string]string{"link": "fork", "session_id": "src", "trajectory_id": "trajectory_src"}
	if diff := cmp.Diff(wantParent, s.Parent); diff != "" || s.Root != "src" {
		t.Errorf("root %s, parent %s", s.Root, diff)
	}
	wantSpawn := []map[string]string{{"agent_path": "main/a/1", "parent_session_id": sid, "role": "coder", "subagent_id": "sub"}}
	if diff := cmp.Diff(wantSpawn, s.Spawns); diff != "" {
		t.Error(diff)
	}
}

// TestOddPayloads has payloads whose fields are of other types than usual.
func TestOddPayloads(t *testing.T) {
	var log strings.Builder
	seq := int64(0)
	for _, typ := range []string{"runtime.session", "runtime.session.metadata", "run.model.configured", "session.end", "session.fork.created", "subagent.control.spawn_accepted"} {
		for _, p := range []string{`{}`, `{"record":5,"event":"x","kind":7,"run_id":[]}`, `{"record":{"build":"1","run_stream":[],"uptime_ms":"x","exit_reason":4},"event":[],"kind":"run"}`} {
			seq++
			log.WriteString(line(envelope(seq, typ, p)))
		}
	}
	d := read(t, export(t, log.String(), true))
	if len(d.Events) != int(seq) || d.Diagnostics.Unparseable != 0 {
		t.Errorf("%d events, %+v", len(d.Events), d.Diagnostics)
	}
}

// TestFrameHash redacts a frame: its hash is that of the redacted children. A
// frame without secrets keeps its own.
func TestFrameHash(t *testing.T) {
	for _, secret := range []bool{true, false} {
		payload := `{"note":"nothing"}`
		if secret {
			payload = `{"note":"sk-abcdefgh12345678"}`
		}
		f := record.NewPermissionFrame([]record.Envelope{envelope(1, "a", payload), envelope(2, "b", `{}`)}, 1, "tx")
		f.ContentSHA256 = "sha256:0000"
		doc := export(t, string(f.Append(nil))+"\n", true)
		got, err := record.ParseLine(read(t, doc).Events[0].Envelope)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(doc, "sk-abc") {
			t.Error("the secret is still there")
		}
		want := "sha256:0000"
		if secret {
			want = got.Frame.Digest()
		}
		if got.Frame.ContentSHA256 != want {
			t.Errorf("secret %v: hash %s, want %s", secret, got.Frame.ContentSHA256, want)
		}
	}
}

// TestRedactedLogKeepsItsFacts checks that redacting a log without secrets
// changes nothing but the label.
func TestRedactedLogKeepsItsFacts(t *testing.T) {
	for _, log := range append([]string{sample(t)}, shared(t)...) {
		raw, red := export(t, log, false), export(t, log, true)
		red = strings.Replace(red, `"redaction":"redacted"`, `"redaction":"raw"`, 1)
		red = strings.Replace(red, `"redactions":{},`, ``, 1)
		if raw != red {
			t.Errorf("redacting changed more than secrets:\n%s", cmp.Diff(strings.Split(raw, "\n"), strings.Split(red, "\n")))
		}
	}
}

// shared is the recorded logs of the reference material, none if it is not
// there.
func shared(t *testing.T) []string {
	root := os.Getenv("OPENMUSE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
	}
	var logs []string
	for _, pattern := range []string{
		"fixtures/home/.local/share/muse/sessions/*/*/*/*/session.jsonl",
		"fixtures/home/.local/share/muse/sessions/*/*/*/*/subagent/*/session.jsonl", "fixtures/logs/*.jsonl",
	} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			logs = append(logs, string(data))
		}
	}
	if len(logs) == 0 {
		t.Logf("no reference logs under %s; only the project's own are used", root)
	}
	return logs
}

type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrorIsTold(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		b.WriteString(record1(int64(i+1), `{"text":"`+strings.Repeat("x", 300)+`"}`))
	}
	log := b.String()
	for _, left := range []int{0, 300 << 10, 1 << 20} {
		if err := Write(&failing{left}, logBytes(log), Options{}); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes: %v", left, err)
		}
	}
}

// changing is a log that is another one when it is read again.
type changing struct{ logs []logBytes }

func (c *changing) Read(fn func(Line) error) (Facts, error) {
	log := c.logs[0]
	c.logs = c.logs[1:]
	return log.Read(fn)
}

func TestChangedLogIsRefused(t *testing.T) {
	one, two := logBytes(record1(1, `{"n":1}`)), logBytes(record1(1, `{"n":2}`))
	err := Write(io.Discard, &changing{[]logBytes{one, two}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("got %v", err)
	}
	if err := Write(io.Discard, &changing{[]logBytes{one, one}}, Options{}); err != nil {
		t.Error(err)
	}
}

func checkRedactedJSON(t *testing.T, s string) {
	t.Helper()
	if !jsontext.Value(s).IsValid() {
		return
	}
	r := newRedactor()
	r.document([]byte(s))
	// Keys may fall together when two of them hold one secret.
	if !jsontext.Value(r.out).IsValid(jsontext.AllowDuplicateNames(true)) {
		t.Errorf("%s\nbecame\n%s", s, r.out)
	}
	if len(r.masks) == 0 && !bytes.Equal(r.out, []byte(s)) {
		t.Errorf("nothing was masked, but\n%s\nbecame\n%s", s, r.out)
	}
}
