package record

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/event"
)

// filled is a value of t in which every field that the log keeps is set.
func filled(t reflect.Type, n *int) reflect.Value {
	v := reflect.New(t).Elem()
	*n++
	switch {
	case t == reflect.TypeFor[jsontext.Value]():
		v.SetBytes([]byte(`{"a":1}`))
		return v
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", *n%3) + "é\"\n" + string(rune('a'+*n%26)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem(), n))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem(), n)))
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.IsExported() && f.Tag.Get("json") != "-" {
				v.Field(i).Set(filled(f.Type, n))
			}
		}
	}
	return v
}

func everyBody() []event.Event {
	d := logDialect()
	var out []event.Event
	n := 0
	for _, table := range []map[string]reflect.Type{d.factTypes, d.runTypes, d.taskTypes} {
		for _, t := range table {
			e := event.Event{Body: filled(t, &n).Interface().(event.Body)}
			switch event.FamilyOf(e) {
			case event.TaskEvent:
				e.Run, e.Task = "run-1", "task-1"
			case event.RunEvent:
				e.Run = "run-1"
			}
			switch b := e.Body.(type) {
			case event.ModelConfigured:
				b.RunStream, e.Run = event.RunRef("run-1"), "run-1"
				e.Body = b
			case event.EffectStarted, event.EffectTerminal:
				e.Run = "run-1"
			}
			out = append(out, e)
		}
	}
	return out
}

func TestLogDialectGivesBackEveryBody(t *testing.T) {
	events := append(everyBody(),
		event.Event{Body: event.SecurityMode{Approval: "never", EffectiveMode: "yolo", Sandbox: "disabled", Source: "explicit-cli-flag"}},
		event.Event{Run: "run-1", Body: event.Approval{Kind: "requested", Fields: jsontext.Value(`{"kind":"requested","tool_name":"bash"}`)}},
	)
	for _, want := range events {
		b, err := EncodeLog(want, RunPosition{ID: "pos", Sequence: 7})
		if err != nil {
			t.Fatal(err)
		}
		if !sortedKeys(b.Payload) {
			t.Errorf("%T: keys are not sorted: %s", want.Body, b.Payload)
		}
		env := &Envelope{PayloadType: b.PayloadType, Payload: b.Payload}
		got, known, err := DecodeLog(env)
		if err != nil || !known {
			t.Fatalf("%T: known=%v err=%v in %s", want.Body, known, err, b.Payload)
		}
		if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%T (-want +got):\n%s", want.Body, diff)
		}
	}
}

// TestApprovalKindIsWrittenOnce: the fields of an approval that was read from
// a log already hold their kind.
func TestApprovalKindIsWrittenOnce(t *testing.T) {
	b, err := EncodeLog(event.Event{Run: "r", Body: event.Approval{Kind: "requested", Fields: jsontext.Value(`{"tool_name":"bash"}`)}}, RunPosition{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"event":{"kind":"requested","tool_name":"bash"},"kind":"approval","run_id":"r"}`
	if string(b.Payload) != want || b.SchemaVersion != 3 {
		t.Errorf("version %d, payload %s, want %s", b.SchemaVersion, b.Payload, want)
	}
}

// TestDialectsAgree holds one dialect against the other: what a task record
// says in the log it says on the stream.
func TestDialectsAgree(t *testing.T) {
	for _, e := range everyBody() {
		if event.FamilyOf(e) != event.TaskEvent {
			continue
		}
		if _, ref := e.Body.(event.TaskOutputRef); ref {
			continue
		}
		logged, err := EncodeLog(e, RunPosition{})
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := EncodeStream(e, false)
		if err != nil || len(streamed) != 1 {
			t.Fatalf("%T: %d stream records, %v", e.Body, len(streamed), err)
		}
		if !sortedKeys(streamed[0].Payload) {
			t.Errorf("%T: stream keys are not sorted: %s", e.Body, streamed[0].Payload)
		}
		l, s := member(t, logged.Payload, "event"), member(t, streamed[0].Payload, "event")
		if out, ok := e.Body.(event.TaskOutput); ok && out.Images != nil {
			out.Images, e.Body = nil, nil
			again, err := EncodeLog(event.Event{Run: "run-1", Task: "task-1", Body: out}, RunPosition{})
			if err != nil {
				t.Fatal(err)
			}
			l = member(t, again.Payload, "event")
		}
		if l != s {
			t.Errorf("log %s\nstream %s", l, s)
		}
	}
}

func TestUnknownRecordsAreNotErrors(t *testing.T) {
	for _, env := range []Envelope{
		{PayloadType: "session.mailbox.sent", Payload: jsontext.Value(`{"kind":"x","record":{"a":[1]}}`)},
		{PayloadType: "runtime.session", Payload: jsontext.Value(`{"kind":"run","run_id":"r","event":{"kind":"voice_started","level":3}}`)},
		{PayloadType: "runtime.session", Payload: jsontext.Value(`{"kind":"future"}`)},
		{PayloadType: "runtime.retained_fact", Payload: jsontext.Value(`{}`)},
	} {
		if _, known, err := DecodeLog(&env); known || err != nil {
			t.Errorf("%s %s: known=%v err=%v", env.PayloadType, env.Payload, known, err)
		}
	}
}

// TestLooseRecords: of some facts of Muse Code only the type and the members
// are known (seed 000, Session-level records), so they are found under another
// kind and without the wrapping, and one that does not fit is not ours.
func TestLooseRecords(t *testing.T) {
	for _, c := range []struct {
		payloadType, payload string
		want                 event.Body
	}{
		{"user_shell.command", `{"kind":"user_shell","record":{"client_id":null,"command_id":"c","command_text":"ls","queue_item_id":null}}`,
			event.UserShellCommand{CommandID: "c", CommandText: "ls"}},
		{"user_shell.command", `{"command_id":"c","command_text":"ls"}`, event.UserShellCommand{CommandID: "c", CommandText: "ls"}},
		{"runtime.model_reconfigure.completed", `{"kind":"x","record":{"effective":{"model_id":"m"},"previous":{"model_id":"l"},"apply_outcome":"completed"}}`,
			event.ModelReconfigured{ApplyOutcome: "completed", Effective: event.ModelRoute{ModelID: "m"}, Previous: event.ModelRoute{ModelID: "l"}}},
		{"session.name.changed", `{"new_name":"n","previous_name":null,"source":"user"}`, event.NameChanged{NewName: "n", Source: "user"}},
		{"user_shell.result", `{"record":{"exit_code":"zero"}}`, nil},
		{"runtime.session", `{"kind":"run","run_id":"r","event":{"kind":"run_retracted","retracted_prompt_sequence":{"sequence":4}}}`, nil},
	} {
		e, known, err := DecodeLog(&Envelope{PayloadType: c.payloadType, Payload: jsontext.Value(c.payload)})
		if err != nil || known != (c.want != nil) || e.Body != c.want {
			t.Errorf("%s %s: %#v, known=%v, %v", c.payloadType, c.payload, e.Body, known, err)
		}
	}
}

// TestSteeredNotice: the person's words in an inbox item, as either build
// writes them.
func TestSteeredNotice(t *testing.T) {
	for payload, want := range map[string]string{
		`{"kind":"inbox_item_queued","source":{"source":"user_steer"},"payload":{"prompt":"stop"},"body":"b"}`: "stop",
		`{"kind":"inbox_item_queued","source":{"source":"user_steer"},"body":"only body"}`:                     "only body",
		`{"kind":"inbox_item_queued","source":{"source":"step_budget"},"body":"hurry"}`:                        "",
	} {
		e, known, err := DecodeLog(&Envelope{PayloadType: sessionType, Payload: jsontext.Value(`{"kind":"run","run_id":"r","event":` + payload + `}`)})
		if err != nil || !known {
			t.Fatalf("%s: known=%v, %v", payload, known, err)
		}
		if got, steered := e.Body.(event.Notice).Steered(); got.Prompt != want || steered != (want != "") {
			t.Errorf("%s: %q, %v", payload, got.Prompt, steered)
		}
	}
}

// TestReadsRecordedLogs decodes logs of Muse Code itself.
func TestReadsRecordedLogs(t *testing.T) {
	shared := os.Getenv("OPENMUSE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(shared, "fixtures", "logs", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no shared fixtures here: set OPENMUSE_SHARED to read recorded logs")
	}
	kinds := map[string]int{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			line, err := ParseLine(lines.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if line.Envelope == nil {
				continue
			}
			e, known, err := DecodeLog(line.Envelope)
			if err != nil {
				t.Errorf("%v in %s", err, lines.Bytes())
			}
			if known {
				kinds[reflect.TypeOf(e.Body).Name()]++
			}
		}
	}
	for _, want := range []string{"RunStarted", "ModelCompleted", "ToolCalls", "ToolResults", "RunTerminal", "TaskOutput", "EffectTerminal", "SessionEnd"} {
		if kinds[want] == 0 {
			t.Errorf("no %s decoded; got %v", want, kinds)
		}
	}
}

func member(t *testing.T, v jsontext.Value, name string) string {
	t.Helper()
	d := jsontext.NewDecoder(strings.NewReader(string(v)))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			t.Fatalf("no member %s in %s: %v", name, v, err)
		}
		if tok.Kind() == '"' && tok.String() == name {
			raw, err := d.ReadValue()
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
	}
}

func sortedKeys(v jsontext.Value) bool {
	again := v.Clone()
	return again.Format(jsontext.ReorderRawObjects(true)) == nil && string(again) == string(v)
}
