package timeline_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/audit/logtest"
	"github.com/openmuse/muse/internal/view/timeline"
)

// fold reads a log and returns its rows, cloned.
func fold(l *logtest.Log, subagent, thinking bool) []timeline.Row {
	var rows []timeline.Row
	log := timeline.Log{File: "f", Subagent: subagent, Emit: func(r *timeline.Row) { rows = append(rows, r.Clone()) }}
	rd := timeline.Reader{Thinking: thinking}
	offset := int64(0)
	for i, line := range bytes.Split(bytes.TrimSuffix(l.Bytes(), []byte{'\n'}), []byte{'\n'}) {
		events, _ := rd.Line(line, int64(i+1), offset, nil)
		offset += int64(len(line)) + 1
		for j := range events {
			log.Add(&events[j])
		}
	}
	log.End()
	return rows
}

// shown is a row in short: line, type, tool and call, text.
func shown(r timeline.Row) string {
	s := fmt.Sprintf("%d %s", r.Line, r.Type)
	if r.Tool != "" || r.CallID != "" {
		s += fmt.Sprintf(" %s/%s", r.Tool, r.CallID)
	}
	return s + ": " + r.Text.String()
}

const run = "0b7e6f5a-4c3d-4e2f-9a1b-2c3d4e5f6a7b"

// TestCoverage has every row of the coverage table of seed 000.
func TestCoverage(t *testing.T) {
	tests := []struct {
		name     string
		subagent bool
		thinking bool
		build    func(l *logtest.Log)
		want     []string
	}{
		{name: "prompt", build: func(l *logtest.Log) { l.Run(run, `{"kind":"started","prompt":"do \"it\"\n"}`) },
			want: []string{"1 user: do \"it\"\n"}},
		{name: "prompt of a subagent", subagent: true, build: func(l *logtest.Log) { l.Run(run, `{"kind":"started","prompt":"task"}`) },
			want: []string{"1 system: task"}},
		{name: "steer", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"inbox_item_queued","source":{"source":"user_steer"},"payload":{"prompt":"stop"},"body":"b"}`)
			l.Run(run, `{"kind":"inbox_item_queued","source":{"source":"user_steer"},"body":"only body"}`)
		}, want: []string{"1 user: stop", "2 user: only body"}},
		{name: "delivery", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"inbox_item_queued","source":{"source":"schedule"},"payload":{"prompt":"tick"}}`)
		}, want: []string{"1 system: tick"}},
		{name: "answer", build: func(l *logtest.Log) { l.Run(run, `{"kind":"assistant_message_committed","text":"done"}`) },
			want: []string{"1 assistant: done"}},
		{name: "reasoning is left out", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"reasoning_summary_committed","message_id":"m","text":"hm"}`)
			l.Run(run, `{"kind":"reasoning_committed","message_id":"m","text":"raw"}`)
		}},
		{name: "reasoning", thinking: true, build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"reasoning_summary_delta","message_id":"m","summary_index":0,"text":"hm"}`)
			l.Run(run, `{"kind":"reasoning_summary_delta","message_id":"m","summary_index":1,"text":"ha"}`)
			l.Run(run, `{"kind":"reasoning_summary_committed","message_id":"m","text":"hm\n\nha"}`)
			l.Run(run, `{"kind":"reasoning_committed","message_id":"n","text":"","encrypted_content":"Q"}`)
			l.Run(run, `{"kind":"reasoning_committed","message_id":"n","text":"raw"}`)
		}, want: []string{"3 thinking: hm\n\nha", "5 thinking: raw"}},
		{name: "reasoning that was never committed", thinking: true, build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"reasoning_summary_delta","message_id":"m","text":"one"}`)
			l.Run(run, `{"kind":"assistant_message_committed","text":"between"}`)
			l.Run(run, `{"kind":"reasoning_summary_delta","message_id":"m","text":"two"}`)
			l.Run(run, `{"kind":"assistant_message_committed","text":"after"}`)
		}, want: []string{"2 assistant: between", "3 thinking: one\n\ntwo", "4 assistant: after"}},
		{name: "reasoning ends with its run", thinking: true, build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"reasoning_summary_delta","message_id":"m","text":"one"}`)
			l.Run(run, `{"kind":"terminal","terminal":"completed"}`)
			l.Run("other", `{"kind":"started","prompt":"next"}`)
		}, want: []string{"1 thinking: one", "3 user: next"}},
		{name: "tool call", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"assistant_tool_calls_committed","tool_calls":[`+
				`{"args":"{\"command\":\"ls\",\"path\":\"x\"}","call_id":"c1","name":"bash"},`+
				`{"args":"{\"cmd\":\"ls\"}","call_id":"c2","name":"shell"},`+
				`{"args":"{\"url\":\"https://x\"}","call_id":"c3","name":"web_fetch"},`+
				`{"args":"{\"query\":\"q\"}","call_id":"c4","name":"web_search"},`+
				`{"args":"{\"path\":\"p\",\"content\":\"c\"}","call_id":"c5","name":"write_file"},`+
				`{"args":"{\"file_path\":\"f\"}","call_id":"c6","name":"read_file"},`+
				`{"args":"{ \"z\" : 1, \"a\" : null }","call_id":"c7","name":"other"},`+
				`{"args":{"command":"object"},"call_id":"c8","name":"bash"},`+
				`{"args":"not json","call_id":"c9","name":"bash"},`+
				`{"args":"{\"command\":\"\",\"url\":\"u\"}","call_id":"c10","name":"x"}]}`)
		}, want: []string{
			"1 tool_use bash/c1: ls", "1 tool_use shell/c2: ls", "1 tool_use web_fetch/c3: https://x", "1 tool_use web_search/c4: q",
			"1 tool_use write_file/c5: p", "1 tool_use read_file/c6: f", `1 tool_use other/c7: {"a":null,"z":1}`,
			"1 tool_use bash/c8: object", "1 tool_use bash/c9: not json", "1 tool_use x/c10: u",
		}},
		{name: "tool result", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{}","call_id":"c","name":"bash"}]}`)
			l.Run(run, `{"kind":"tool_result_batch_committed","results":[`+
				`{"tool_call_id":"c","text":"{\"exit_code\": 1, \"output\": \"1 failing\"}"},`+
				`{"tool_call_id":"c","text":"{\n  \"output\": \"fine\", \"exit_code\": 0}"},`+
				`{"tool_call_id":"c","text":"{\"output\":\"none\",\"exit_code\":null}"},`+
				`{"tool_call_id":"c","text":"plain"},{"tool_call_id":"c","text":"{\"no\":\"output\"}"},`+
				`{"tool_call_id":"c","text":"{broken"},{"tool_call_id":"unknown","text":"x"}]}`)
		}, want: []string{
			"1 tool_use bash/c: {}", "2 tool_result bash/c: [exit 1] 1 failing", "2 tool_result bash/c: fine", "2 tool_result bash/c: none",
			"2 tool_result bash/c: plain", `2 tool_result bash/c: {"no":"output"}`, "2 tool_result bash/c: {broken", "2 tool_result /unknown: x",
		}},
		{name: "older names of results", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"tool_results_committed","results":[{"call_id":"c","output":"o"}]}`)
			l.Run(run, `{"kind":"tool_result_committed","call_id":"c","result":"r"}`)
			l.Run(run, `{"kind":"tool_result","call_id":"c","tool_result_model_visible_content":"v"}`)
			l.Run(run, `{"kind":"tool_result","tool_call_id":"d","call_id":"c","text":null,"content":["x"]}`)
		}, want: []string{"1 tool_result /c: o", "2 tool_result /c: r", "3 tool_result /c: v", `4 tool_result /d: ["x"]`}},
		{name: "call run by the provider", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"provider_tool_call_completed","call_id":"c","status":"completed","action":{"type":"search","query":"q"},"results":[1]}`)
			l.Run(run, `{"kind":"provider_tool_call_completed","call_id":"d","status":"failed"}`)
		}, want: []string{"1 tool_use search/c: q", "1 tool_result search/c: [1]", "2 tool_use provider_tool/d: ", "2 tool_result provider_tool/d: [failed] "}},
		{name: "end of a run", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"terminal","terminal":"completed","reason":null}`)
			l.Run(run, `{"kind":"terminal","terminal":"failed","reason":"no money"}`)
			l.Run(run, `{"kind":"terminal","terminal":"cancelled","reason":null}`)
		}, want: []string{"2 system: run failed: no money", "3 system: run cancelled:"}},
		{name: "events shown whole", build: func(l *logtest.Log) {
			l.Run(run, `{ "kind" : "context_compaction_installed", "install_id":"i" }`)
			l.Run(run, `{"kind":"run_retracted","retracted_prompt_sequence":4}`)
			l.Run(run, `{"kind":"turn_task_died"}`)
		}, want: []string{
			`1 system: {"install_id":"i","kind":"context_compaction_installed"}`, `2 system: {"kind":"run_retracted","retracted_prompt_sequence":4}`,
			`3 system: {"kind":"turn_task_died"}`,
		}},
		{name: "approval", build: func(l *logtest.Log) {
			l.Approval(run, `{"kind":"requested","pending_action_id":"a","tool_call_id":"c","tool_name":"network","raw_args":"https x:443"}`)
			l.Approval(run, `{"kind":"automated_review_started","review_id":"r"}`)
			l.Approval(run, `{"kind":"automated_review_completed","status":"completed","assessment":{"outcome":"allow","risk_level":"low","user_authorization":"implied","rationale":"it is fine"}}`)
			l.Approval(run, `{"kind":"decision_applied","pending_action_id":"a","decision":"approved","decision_source":{"kind":"llm_judge"},"policy_result":"allow","amendment":null}`)
			l.Approval(run, `{"kind":"automated_review_completed"}`)
			l.Approval(run, `{"kind":"decision_applied","pending_action_id":"unknown","amendment":{"b":1,"a":2}}`)
		}, want: []string{
			"1 system network/c: approval requested: https x:443",
			"3 system network/c: permission decision: allow kind=automated_review_completed risk_level=low user_authorization=implied status=completed it is fine",
			"4 system network/c: permission decision: approved source=llm_judge policy_result=allow amendment=-",
			"5 system network/c: permission decision: - kind=automated_review_completed risk_level=- user_authorization=- status=- -",
			`6 system: permission decision: - source=- policy_result=- amendment={"a":2,"b":1}`,
		}},
		{name: "permission profile", build: func(l *logtest.Log) {
			l.Profile("on_request", "auto_review", ":auto-review", "new_session_default")
			l.Profile("on_request", "auto_review", ":auto-review", "again")
			l.Profile("never", "none", ":yolo", "user_change")
			l.Record("runtime.session.permission_profile_committed", `{"resolved_snapshot":{"approval":null}}`)
		}, want: []string{
			"1 system: permission mode: approval=on_request reviewer=auto_review profile=:auto-review cause=new_session_default format=profile_v1",
			"3 system: permission mode: approval=on_request reviewer=auto_review profile=:auto-review -> approval=never reviewer=none profile=:yolo cause=user_change format=profile_v1",
			"4 system: permission mode: approval=never reviewer=none profile=:yolo -> approval=- reviewer=- profile=- format=profile_v1",
		}},
		{name: "security mode", build: func(l *logtest.Log) {
			l.Record("session.opened.observed", `{"record":{"security_mode":"standard"}}`)
			l.Record("session.opened.observed", `{"record":{"security_mode":"standard"}}`)
			l.Record("session.opened.observed", `{"record":{"security_mode":"yolo"}}`)
			l.Record("session.opened.observed", `{"record":{}}`)
		}, want: []string{"1 system: permission mode: security_mode=standard", "3 system: permission mode: security_mode=standard -> security_mode=yolo"}},
		{name: "user shell", build: func(l *logtest.Log) {
			l.Record("user_shell.command", `{"record":{"command_id":"u","command_text":"git status"}}`)
			l.Record("user_shell.result", `{"command_id":"u","visible_output":"clean","exit_code":1}`)
			l.Record("user_shell.result", `{"record":{"visible_output":"late"}}`)
		}, want: []string{"1 tool_use user_shell/u: git status", "2 tool_result user_shell/u: clean", "3 tool_result user_shell/u: late"}},
		{name: "session name", build: func(l *logtest.Log) {
			l.Record("session.name.changed", `{"new_name":"quiet-lyra","previous_name":null}`)
		},
			want: []string{"1 system: session name: quiet-lyra"}},
		{name: "model rows", build: func(l *logtest.Log) {
			l.Metadata("/p", "a", "")
			l.RunModel(run, "a")
			l.RunModel("r2", "b")
			l.Run("r3", `{"kind":"model_completed","model":"c"}`)
			l.Run(run, `{"kind":"model_completed","model":"ignored"}`)
		}, want: []string{"1 system: model: a provider=meta", "3 system: model: a -> b", "4 system: model: b -> c"}},
		{name: "no provider", build: func(l *logtest.Log) { l.Record("runtime.session.metadata", `{"record":{"model_id":"a"}}`) },
			want: []string{"1 system: model: a"}},
		{name: "user changes the model", build: func(l *logtest.Log) {
			l.Record("runtime.model_reconfigure.completed", `{"record":{"effective":{"model_id":"b"},"previous":{"model_id":"a"},"apply_outcome":"applied"}}`)
			l.Record("runtime.model_reconfigure.completed", `{"record":{"effective":{"model_id":"b"},"previous":{"model_id":"b"}}}`)
			l.RunModel(run, "b")
		}, want: []string{"1 system: model: a", "1 system: model: a -> b apply_outcome=applied", "2 system: model: b -> b"}},
		{name: "intent repeats the prompt", build: func(l *logtest.Log) {
			l.Record("runtime.user_intent.accepted", `{"intent_id":"`+run+`","model_messages":[{"content":[{"kind":"text","text":"hi"}]}]}`)
			l.Run(run, `{"kind":"started","prompt":"hi"}`)
			l.Record("runtime.user_intent.accepted", `{"intent_id":"`+run+`","model_messages":[{"content":[{"kind":"text","text":"hi"}]}]}`)
		}, want: []string{"2 user: hi"}},
		{name: "intent whose run never started", build: func(l *logtest.Log) {
			l.Record("runtime.user_intent.accepted", `{"intent_id":"`+run+`","model_messages":[{"content":[{"text":"one"},{"text":"two"}]}]}`)
			l.Run("other", `{"kind":"started","prompt":"next"}`)
		}, want: []string{"1 user: one\ntwo", "2 user: next"}},
		{name: "subagent control", build: func(l *logtest.Log) {
			l.Record("subagent.control.spawn_accepted", `{"record":{"description":"d","agent_path":"p"}}`)
			l.Record("subagent.control.start_attested", `{}`)
		}, want: []string{
			`1 system: {"payload_type":"subagent.control.spawn_accepted","agent_path":"p","description":"d"}`,
			`2 system: {"payload_type":"subagent.control.start_attested"}`,
		}},
		{name: "bookkeeping gives nothing", build: func(l *logtest.Log) {
			l.Marker()
			l.Branch("main")
			l.Record("runtime.session.route_facts", `{"record":{"cwd":"/p"}}`)
			l.Task(run, "t", `{"kind":"output","chunk":"x","final_result":true}`)
			l.Record("tool_batch.effect.started", `{"kind":"tool_batch_effect","record":{"call_id":"c"}}`)
			l.Run(run, `{"kind":"model_request_configured","base_instructions":"x"}`)
			l.Run(run, `{"kind":"never_heard_of"}`)
			l.Record("runtime.session", `{"kind":"security_mode","event":{"effective_mode":"yolo"}}`)
			l.Record("runtime.session", `{"kind":"agent_tree_initialized","record":{}}`)
			l.Record("session.end", `{"record":{"exit_reason":"clean"}}`)
			l.Record("openmuse.integrity.checkpoint", `{"record":{}}`)
			l.Record("brand.new.type", `{"event":{"kind":"started","prompt":"no"}}`)
		}},
		{name: "types that are not what they should be", build: func(l *logtest.Log) {
			l.Run(run, `{"kind":"started","prompt":{"a":[1, 2]}}`)
			l.Run(run, `{"kind":"assistant_message_committed","text":7}`)
			l.Run(run, `{"kind":"assistant_message_committed"}`)
			l.Run(run, `{"kind":["started"]}`)
			l.Run(run, `{"kind":"assistant_tool_calls_committed","tool_calls":{"a":1}}`)
			l.Run(run, `{"kind":"assistant_tool_calls_committed","tool_calls":[7,{"name":null}]}`)
			l.Record("runtime.session", `[]`)
			l.Record("session.name.changed", `null`)
		}, want: []string{
			`1 user: {"a":[1,2]}`, "2 assistant: 7", "3 assistant: ", "6 tool_use: ", "6 tool_use: ", "8 system: session name: ",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := logtest.New("s")
			tt.build(l)
			var got []string
			for _, r := range fold(l, tt.subagent, tt.thinking) {
				got = append(got, shown(r))
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestColumns has the columns of seed 000 that are joined from other records.
func TestColumns(t *testing.T) {
	l := logtest.New("sid")
	l.At += 590_999 // the milliseconds are cut, not rounded
	l.Metadata("/srv/one", "meta-model", "")
	l.Record("runtime.session.route_facts", `{"record":{"cwd":"/srv/cwd"}}`)
	l.Branch("main")
	l.RunModel("r1", "run-model")
	l.Run("r1", `{"kind":"started","prompt":"a"}`)
	l.Run("r2", `{"kind":"started","prompt":"b"}`)
	l.Run("r2", `{"kind":"model_completed","model":"done-model"}`)
	l.Run("r3", `{"kind":"started","prompt":"c"}`)
	l.Run("r3", `{"kind":"terminal","terminal":"completed"}`)
	l.Record("session.workspace_branch.observed", `{"record":{"reference":{"kind":"detached","name":"x"}}}`)
	l.Metadata("/srv/two", "meta-model", "")
	l.Run("r1", `{"kind":"assistant_message_committed","text":"d"}`)
	type columns struct{ text, project, branch, model string }
	var got []columns
	rows := fold(l, false, false)
	for _, r := range rows {
		if r.Type != timeline.System {
			got = append(got, columns{r.Text.String(), r.Project, r.Branch, r.Model})
		}
		if r.Session != "sid" {
			t.Errorf("session %q", r.Session)
		}
	}
	want := []columns{
		{"a", "/srv/one", "main", "run-model"}, {"b", "/srv/one", "main", "done-model"},
		{"c", "/srv/one", "main", "meta-model"}, {"d", "/srv/two", "", "run-model"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if ts := rows[0].Timestamp(); ts != "2026-10-01T09:00:00.590Z" {
		t.Errorf("first timestamp %s", ts)
	}
}

func TestProjectFallbacks(t *testing.T) {
	for name, tt := range map[string]struct {
		build func(l *logtest.Log)
		want  string
	}{
		"on the payload": {func(l *logtest.Log) { l.Record("runtime.session.metadata", `{"workspace_root":"/direct"}`) }, "/direct"},
		"cwd":            {func(l *logtest.Log) { l.Record("runtime.session.route_facts", `{"record":{"cwd":"/cwd"}}`) }, "/cwd"},
		"nothing":        {func(*logtest.Log) {}, ""},
	} {
		l := logtest.New("s")
		tt.build(l)
		l.Run("r", `{"kind":"started","prompt":"p"}`)
		if rows := fold(l, false, false); rows[0].Project != tt.want {
			t.Errorf("%s: %q, want %q", name, rows[0].Project, tt.want)
		}
	}
}

// TestFrames has children out of order, broken ones, and frames in frames.
func TestFrames(t *testing.T) {
	inner := func(prompt string) string {
		l := logtest.New("s")
		l.Run("r", fmt.Sprintf(`{"kind":"started","prompt":%q}`, prompt))
		return strings.TrimSpace(string(l.Bytes()))
	}
	frame := func(children ...string) string {
		var b strings.Builder
		b.WriteString(`{"retained_frame":"x","children":[`)
		for i, c := range children {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"child_index":%d,"record_json":%q}`, len(children)-i, c)
		}
		return b.String() + `]}`
	}
	l := logtest.New("s")
	l.Line([]byte(frame(inner("second"), inner("first"))))
	l.Line([]byte(frame(`{"cut`)))
	l.Line([]byte(frame(frame(inner("nested")))))
	l.Line([]byte(`{"retained_frame":"x","children":[{"child_index":0},7]}`))
	l.Line([]byte(`{"retained_frame":"x"}`))
	var got []string
	for _, r := range fold(l, false, false) {
		got = append(got, shown(r))
	}
	want := []string{
		"1 user: first", "1 user: second",
		"2 system: parser: unparseable line (retained_frame child: Unterminated string starting at: line 1 column 2 (char 1)): {\"cut",
		"3 user: nested",
		"4 system: parser: unparseable line (retained_frame child: Expecting value: line 1 column 1 (char 0)): ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHeldRowsStayBounded: a run that never names a model and reasoning that is
// never committed hold rows back, but not without end and in their order.
func TestHeldRowsStayBounded(t *testing.T) {
	l := logtest.New("s")
	const n = 5000
	for i := range n {
		l.Run("r", fmt.Sprintf(`{"kind":"reasoning_summary_delta","message_id":"m%d","text":"t"}`, i))
		l.Run("r", fmt.Sprintf(`{"kind":"assistant_message_committed","text":"a%d"}`, i))
	}
	rows := fold(l, false, true)
	if len(rows) != 2*n {
		t.Fatalf("%d rows, want %d", len(rows), 2*n)
	}
	for i, r := range rows {
		if r.Line != int64(i+1) {
			t.Fatalf("row %d is of line %d", i, r.Line)
		}
	}
}

func TestTimes(t *testing.T) {
	for at, want := range map[string]string{
		"1791145226590500": "2026-10-04T20:20:26.590Z", "0": "1970-01-01T00:00:00.000Z", "-1000": "1969-12-31T23:59:59.999Z",
		`"1791145226590500"`: "2026-10-04T20:20:26.590Z", "1.7911452265905e15": "2026-10-04T20:20:26.590Z",
		"null": "", "true": "", "99999999999999999999": "", "9223372036854775807": "", `"soon"`: "",
	} {
		line := fmt.Sprintf(`{"stream":{"id":"s"},"recorded_at":%s,"payload_type":"session.name.changed","payload":{"new_name":"n"}}`, at)
		var rd timeline.Reader
		events, shape := rd.Line([]byte(line), 1, 0, nil)
		if shape != timeline.Envelope || len(events) != 1 {
			t.Fatalf("%s: %v", at, shape)
		}
		log := timeline.Log{Emit: func(r *timeline.Row) {
			if got := r.Timestamp(); got != want {
				t.Errorf("recorded_at %s gives %q, want %q", at, got, want)
			}
		}}
		log.Add(&events[0])
	}
}
