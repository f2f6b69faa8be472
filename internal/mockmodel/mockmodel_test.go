package mockmodel

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// ask posts a body and returns the status and the reply.
func ask(t *testing.T, s *Server, path, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(s.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

const schema = `{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":["integer","null"]},"why":{"type":"string"}},"required":["command","why"]}`

func TestStepsFollowFromTheRequest(t *testing.T) {
	s := start(t, Options{Steps: 2})
	for _, tt := range []struct{ name, path, body, want string }{
		{"Responses, first", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"go"}],"tools":[{"type":"function","name":"bash","parameters":` + schema + `}]}`, `echo step-1`},
		{"Responses, namespace", "/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"function_call_output","call_id":"1","output":"x"}],"tools":[{"type":"namespace","name":"ns","tools":[{"type":"function","name":"bash","parameters":` + schema + `}]}]}`, `"namespace":"ns"`},
		{"Responses, end", "/responses", `{"input":[{"role":"user","content":"go"},{"type":"function_call_output"},{"type":"function_call_output"}],"tools":[{"type":"function","name":"bash","parameters":` + schema + `}]}`, `"text":"All steps are done."`},
		{"Responses, next turn", "/responses", `{"input":[{"role":"user","content":"go"},{"type":"function_call_output"},{"type":"function_call_output"},{"role":"user","content":"again"}],"tools":[{"type":"function","name":"bash","parameters":` + schema + `}]}`, `echo step-1`},
		{"Chat", "/v1/chat/completions", `{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":null},{"role":"tool","content":"x"},{"role":"user","content":"<notice>"}],"tools":[{"function":{"name":"shell","parameters":` + schema + `}}]}`, `step-2`},
		{"Messages", "/v1/messages", `{"messages":[{"role":"user","content":"go"},{"role":"user","content":[{"type":"tool_result"},{"type":"text","text":"n"}]}],"tools":[{"name":"Bash","input_schema":` + schema + `}]}`, `step-2`},
		{"no tools", "/v1/messages", `{"messages":[{"role":"user","content":"go"}]}`, `"stop_reason":"end_turn"`},
		{"no shell tool", "/v1/chat/completions", `{"messages":[],"tools":[{"function":{"name":"x","parameters":{"type":"object"}}}]}`, `shell tool.`},
	} {
		if status, got := ask(t, s, tt.path, tt.body); status != 200 || !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), tt.want) {
			t.Errorf("%s: %d %s", tt.name, status, got)
		}
	}
	if status, _ := ask(t, s, "/v1/responses", `{`); status != 400 {
		t.Errorf("a bad request got %d", status)
	}
	if status, _ := ask(t, s, "/elsewhere", `{}`); status != 404 {
		t.Errorf("a wrong path got %d", status)
	}
	calls := s.Calls()
	if len(calls) != 9 || len(s.Requests()) != 10 || calls[0].Gap != 0 || calls[1].Gap <= 0 {
		t.Errorf("%d calls, gaps %v and %v", len(calls), calls[0].Gap, calls[1].Gap)
	}
}

func TestShellArguments(t *testing.T) {
	for _, tt := range []struct{ tools, want string }{
		{`bash ` + schema, `bash {"command":"ls","why":"run a step"}`},
		{`exec_command {"properties":{"cmd":{"type":"string"}},"required":["cmd"]}`, `exec_command {"cmd":"ls"}`},
		{`shell {"properties":{"command":{"type":"array"}}}`, `shell {"command":["bash","-c","ls"]}`},
		{`run_commands {"properties":{"commands":{"type":"array"},"wait":{"type":"boolean"},"n":{"type":"number"},"l":{"type":"array"}},"required":["commands","wait","n","l"]}`, `run_commands {"commands":["ls"],"l":[],"n":10000,"wait":false}`},
		{`odd {"properties":{"script":{"type":"string"}}}`, `odd {"script":"ls"}`},
		{`read {"properties":{"path":{"type":"string"}}}`, ` `},
	} {
		name, schema, _ := strings.Cut(tt.tools, " ")
		c := &Call{Tools: []Tool{{Name: "other", Schema: []byte(`{"type":"object"}`)}, {Name: name, Schema: []byte(schema)}}}
		tool, args, ok := c.Shell("ls")
		if got := tool + " " + args; got != tt.want || ok != (tool != "") {
			t.Errorf("%s: %s", tt.tools, got)
		}
	}
}

func TestKeysFailuresAndLists(t *testing.T) {
	s := start(t, Options{Key: "k", Failures: []Failure{{Status: 503, Body: "busy"}}})
	if status, got := ask(t, s, "/v1/responses", `{"input":[]}`); status != 401 || !strings.Contains(got, "invalid_api_key") {
		t.Errorf("without a key: %d %s", status, got)
	}
	open := start(t, Options{Failures: []Failure{{Status: 503, Body: "busy"}}, NoCatalogue: true})
	if status, got := ask(t, open, "/v1/responses", `{"input":[]}`); status != 503 || got != "busy" {
		t.Errorf("failure: %d %s", status, got)
	}
	if status, _ := ask(t, open, "/v1/responses", `{"input":[]}`); status != 200 {
		t.Errorf("after the failure: %d", status)
	}
	get := func(s *Server, path, key string) string {
		req, err := http.NewRequest(http.MethodGet, s.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s", resp.StatusCode, body)
	}
	if got := get(s, "/muse-code/models", "k"); !strings.Contains(got, `200 {"data":[{"id":"mock-1","metadata":{"muse-code":{"is_hidden":false,"limit":{"context":200000`) {
		t.Errorf("catalogue: %s", got)
	}
	if got := get(s, "/v1/models", "k"); !strings.Contains(got, `200 {"data":[{"id":"mock-1"`) {
		t.Errorf("list: %s", got)
	}
	if got := get(open, "/muse-code/models", ""); !strings.HasPrefix(got, "404 ") {
		t.Errorf("without a catalogue: %s", got)
	}
}
