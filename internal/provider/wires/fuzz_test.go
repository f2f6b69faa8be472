package wires

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// A wire starts goroutines for its connection and its limits; none may be left
// when the tests have ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// FuzzReply feeds bytes to every wire as the reply of a service. Whatever they
// are, the wire ends in exactly one of two ways: a completed reply with nothing
// behind it, or a classified failure.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		"data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n",
		"data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"name\":\"bash\",\"arguments\":\"{\"}}\n\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"x\",\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"bash\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"name\":\"bash\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n",
		"{\"object\":\"response\",\"output\":[{\"type\":\"message\",\"content\":[{\"text\":\"x\"}]}]}",
		"data: \xff\n\n", ": c\n", "",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	var body []byte
	var document bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if document {
			w.Header().Set("Content-Type", "application/json")
		} else {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write(body) // the client reads it or reports
	}))
	f.Cleanup(server.Close)
	providers := map[string]provider.Provider{}
	for _, wire := range []string{OpenAI, OpenAIChat, Anthropic} {
		p, err := Open(Options{Wire: wire, Transport: transport.Options{BaseURL: server.URL}})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(p.Close)
		providers[wire] = p.Provider
	}
	f.Fuzz(func(t *testing.T, reply []byte, asDocument bool) {
		body, document = reply, asDocument
		for wire, p := range providers {
			done := 0
			err := p.Stream(t.Context(), request(user("go")), func(part provider.Part) error {
				if done > 0 {
					t.Errorf("%s: %+v behind the end", wire, part)
				}
				if part.Completed != nil {
					done++
				}
				if c := part.ToolCall; c != nil && (c.CallID == "" || c.Args == "") {
					t.Errorf("%s: call %+v", wire, c)
				}
				if r := part.Reasoning; r != nil && wire == OpenAIChat && r.Opaque != "" && !jsontext.Value(r.Opaque).IsValid() {
					t.Errorf("%s: reasoning %+v", wire, r)
				}
				return nil
			})
			var e *provider.Error
			switch {
			case err == nil && done != 1:
				t.Errorf("%s: no error and %d ends", wire, done)
			case err != nil && (done > 0 || !errors.As(err, &e) || !e.Class.Known() || e.Error() == ""):
				t.Errorf("%s: %d ends and %v (%T)", wire, done, err, err)
			}
		}
	})
}
