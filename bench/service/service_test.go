package service

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/mockmodel"
)

func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       Sizes
	}{
		{"chat", `{"messages":[{"role":"system","content":"ab"},{"role":"user","content":"x"}],"tools":[{"type":"function"},{"type":"function"}]}`,
			Sizes{Tools: len(`[{"type":"function"},{"type":"function"}]`), ToolCount: 2, Instructions: len(`{"role":"system","content":"ab"}`)}},
		{"responses", `{"instructions":"abc","input":[{"role":"developer","content":"d"},{"type":"reasoning"}],"tools":[]}`,
			Sizes{Tools: 2, Instructions: len(`"abc"`) + len(`{"role":"developer","content":"d"}`)}},
		{"a plain prompt", `{"instructions":"abc","input":"x"}`, Sizes{Instructions: 5}},
		{"messages", `{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a"}]}`,
			Sizes{Tools: len(`[{"name":"a"}]`), ToolCount: 1, Instructions: len(`[{"type":"text","text":"s"}]`)}},
		{"google", `{"systemInstruction":{"parts":[]},"contents":[],"tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]}]}`,
			Sizes{Tools: len(`[{"functionDeclarations":[{"name":"a"},{"name":"b"}]}]`), ToolCount: 2, Instructions: len(`{"parts":[]}`)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Body = len(tt.body)
			got, err := Measure(mockmodel.Request{Body: []byte(tt.body)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := Measure(mockmodel.Request{Body: []byte(`{"tools":`)}); err == nil {
		t.Error("half a request was measured")
	}
}

func TestDone(t *testing.T) {
	calls := func(bodies ...string) []mockmodel.Request {
		var out []mockmodel.Request
		for _, b := range bodies {
			out = append(out, mockmodel.Request{Body: []byte(b)})
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		work  Work
		calls []mockmodel.Request
		ok    bool
	}{
		{"nothing to do", Work{}, calls("hi"), true},
		{"no call at all", Work{}, nil, false},
		{"one step", Work{Steps: 1}, calls("hi", "echo step-1 gave step-1"), true},
		{"command without output", Work{Steps: 1}, calls("hi", "echo step-1"), false},
		{"too few calls", Work{Steps: 2}, calls("hi", "step-2 step-2"), false},
		{"a call after the last", Work{Steps: 1}, calls("hi", "step-1 step-1", "what is the title?"), true},
		{"another command", Work{Steps: 1, Command: "sleep 1"}, calls("hi", "slept"), true},
	} {
		if err := tt.work.Done(tt.calls); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestGoogleResults(t *testing.T) {
	const body = `{"contents":[
{"role":"user","parts":[{"text":"first"}]},
{"role":"model","parts":[{"functionCall":{"name":"sh","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"sh","response":{}}}]},
{"role":"user","parts":[{"text":"second"}]},
{"role":"user","parts":[{"functionResponse":{"name":"sh","response":{}}},{"functionResponse":{"name":"sh","response":{}}}]}]}`
	var req googleRequest
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatal(err)
	}
	if got := req.results(); got != 2 {
		t.Errorf("%d results behind the newest prompt, want 2", got)
	}
}

func TestGoogleFillsTheAskedForm(t *testing.T) {
	const schema = `{"type":"OBJECT","properties":{"why":{"type":"STRING"},"next":{"type":"STRING","enum":["user","model"]},
"score":{"type":"NUMBER"},"sure":{"type":"boolean"},"list":{"type":"array"},"extra":{"type":"string"}},"required":["why","next","score","sure","list"]}`
	var s googleSchema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s.fill(), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"list":[],"next":"user","score":0,"sure":false,"why":""}`; string(got) != want {
		t.Errorf("filled with %s, want %s", got, want)
	}
}

func TestGoogleServesTheWork(t *testing.T) {
	g := &google{work: Work{Steps: 1}}
	var req googleRequest
	const tools = `"tools":[{"functionDeclarations":[{"name":"run_shell_command","parameters":{"type":"OBJECT","properties":{"command":{"type":"STRING"}},"required":["command"]}}]}]`
	if err := json.Unmarshal([]byte(`{"contents":[{"role":"user","parts":[{"text":"go"}]}],`+tools+`}`), &req); err != nil {
		t.Fatal(err)
	}
	reply := func() string {
		b, err := json.Marshal(g.reply(&req, 100))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := reply(); !strings.Contains(got, `"functionCall":`) || !strings.Contains(got, `echo step-1`) {
		t.Errorf("no call in %s", got)
	}
	g.work.Steps = 0
	if got := reply(); !strings.Contains(got, Answer) {
		t.Errorf("no answer in %s", got)
	}
}
