package msptest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
)

// service is a stand-in for the model service, as small as the one that the
// published quickstart uses (MSP.md 3): it answers a prompt with text, or asks
// for one shell command and answers its output with text.
type service struct {
	*httptest.Server

	mu     sync.Mutex
	bodies []string
	calls  atomic.Int64  // calls asked for so far, so that each has its own id
	hold   chan struct{} // what "wait for me" and "say nothing" wait for
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{hold: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /muse-code/models", s.models)
	mux.HandleFunc("POST /responses", s.responses)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// settings and auth make a home use the service.
func (s *service) settings() string {
	return fmt.Sprintf(`{"schema_version":1,"endpoint_transport":{"base_url":%q,"auth":"bearer"}}`, s.URL)
}

const serviceAuth = `{"schema_version":1,"providers":{"meta":{"api_key":"test-key"}}}`

// requests returns the bodies of the model calls so far.
func (s *service) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

func (s *service) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"object":"list","data":[{"id":"muse-spark-test","object":"model","metadata":{"muse-code":{"release_date":"2026-01-01","is_hidden":false,"limit":{"context":200000,"output":32000}}}}]}`)
}

func (s *service) responses(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the host gave the request up
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	prompt, answered := newest(body)
	if strings.Contains(prompt, "fail for good") {
		http.Error(w, `{"error":{"message":"no such thing","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	if strings.Contains(prompt, "fail once") && s.calls.Add(1) == 1 {
		http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	emit := func(event any) {
		text, err := json.Marshal(event)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
		w.(http.Flusher).Flush()
	}
	type object = map[string]any
	emit(object{"type": "response.created", "response": object{"id": "resp_1", "model": "muse-spark-test"}})
	switch {
	case answered:
		emit(object{"type": "response.output_text.delta", "delta": "the command ran"})
	case strings.Contains(prompt, "run a command"):
		emit(object{"type": "response.function_call_arguments.done", "name": "bash", "call_id": "call_1",
			"arguments": `{"command":"touch made-by-bash && echo from-bash","description":"make a file"}`})
	case strings.Contains(prompt, "run stages"):
		emit(object{"type": "response.function_call_arguments.done", "name": "bash", "call_id": fmt.Sprintf("call_%d", s.calls.Add(1)),
			"arguments": `{"command":"touch one && echo staged > two","description":"make files"}`})
	case strings.Contains(prompt, "ask me"):
		emit(object{"type": "response.function_call_arguments.done", "name": "request_user_input", "call_id": fmt.Sprintf("call_ask_%d", s.calls.Add(1)),
			"arguments": `{"questions":[{"id":"db","header":"Database","question":"Which one?","options":[{"label":"Postgres"},{"label":"SQLite","description":"one file"}]},` +
				`{"id":"when","question":"When?","options":[{"label":"now"},{"label":"later"}]}]}`})
	case strings.Contains(prompt, "log "):
		n := s.calls.Add(1)
		emit(object{"type": "response.function_call_arguments.done", "name": "bash", "call_id": fmt.Sprintf("call_%d", n),
			"arguments": fmt.Sprintf(`{"command":"echo %d >> runs.log","description":"note the run"}`, n)})
	case strings.Contains(prompt, "print a lot"):
		emit(object{"type": "response.function_call_arguments.done", "name": "bash", "call_id": fmt.Sprintf("call_%d", s.calls.Add(1)),
			"arguments": `{"command":"i=0; while [ $i -lt 20000 ]; do echo \"zeile $i \u00fc\u00e4\"; i=$((i+1)); done","description":"print many lines"}`})
	case strings.Contains(prompt, "say nothing"):
		select {
		case <-s.hold:
		case <-r.Context().Done():
			return
		}
	default:
		emit(object{"type": "response.output_text.delta", "delta": "hello "})
		if strings.Contains(prompt, "wait for me") {
			select {
			case <-s.hold:
			case <-r.Context().Done():
				return
			}
		}
		emit(object{"type": "response.output_text.delta", "delta": "there"})
	}
	emit(object{"type": "response.completed", "response": object{"id": "resp_1", "status": "completed",
		"usage": object{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}})
}

// newest is the text of the last input item of a model request, or that it is
// the output of a call.
func newest(body []byte) (text string, output bool) {
	var request struct {
		Input []struct {
			Type    string `json:"type"`
			Content any    `json:"content"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Input) == 0 {
		return "", false
	}
	last := request.Input[len(request.Input)-1]
	return fmt.Sprint(last.Content), last.Type == "function_call_output"
}
