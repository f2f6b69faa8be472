package timeline_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/audit/logtest"
	"github.com/openmuse/muse/internal/view/timeline"
)

// FuzzLog takes any bytes for the lines of a log: rows come in the order of
// their lines, and what is written of them is valid.
func FuzzLog(f *testing.F) {
	l := logtest.New("s")
	l.Profile("on_request", "auto_review", ":auto-review", "start")
	l.Metadata("/p", "m", "")
	l.Run("r", `{"kind":"started","prompt":"p\u001b"}`)
	l.Run("r", `{"kind":"reasoning_summary_delta","message_id":"m","text":"t"}`)
	l.Run("r", `{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{\"command\":\"ls\"}","call_id":"c","name":"bash"}]}`)
	l.Run("r", `{"kind":"tool_result_batch_committed","results":[{"tool_call_id":"c","text":"{\"output\":\"o\",\"exit_code\":1}"}]}`)
	l.Record("runtime.user_intent.accepted", `{"intent_id":"x","model_messages":[{"content":[{"text":"t"}]}]}`)
	f.Add(l.Bytes(), true)
	f.Add([]byte("{}\n[1]\n\"x\"\n\x00\n{\"stream\":{\"id\":\"\xff\"},\"payload_type\":\"session.name.changed\",\"payload\":{\"new_name\":\"\\ud800\"}}"), false)
	f.Fuzz(func(t *testing.T, data []byte, subagent bool) {
		var out bytes.Buffer
		w := timeline.NewJSONL(&out, true)
		csv := timeline.NewCSV(&out, true)
		last := int64(0)
		log := timeline.Log{Subagent: subagent, Emit: func(r *timeline.Row) {
			if r.Line < last {
				t.Fatalf("line %d after %d", r.Line, last)
			}
			last = r.Line
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
			if err := csv.Write(r); err != nil {
				t.Fatal(err)
			}
		}}
		rd := timeline.Reader{Thinking: true, Extra: true}
		for i, line := range bytes.Split(data, []byte{'\n'}) {
			events, _ := rd.Line(line, int64(i+1), 0, nil)
			for j := range events {
				log.Add(&events[j])
			}
		}
		log.End()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := csv.Close(); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(out.Bytes()) {
			t.Fatal("what is written is not UTF-8")
		}
	})
}
