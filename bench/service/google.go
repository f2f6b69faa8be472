package service

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/mockmodel"
)

// google serves generateContent and its streaming form (the REST reference of
// the Gemini API). It knows what one client needs and no more.
type google struct {
	work Work
	http *http.Server
	url  string
	done chan struct{}

	mu    sync.Mutex
	calls []mockmodel.Request
	ended time.Time
	conns int
}

func startGoogle(w Work) (*google, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the mock model: %w", err)
	}
	g := &google{work: w, url: "http://" + l.Addr().String(), done: make(chan struct{})}
	g.http = &http.Server{Handler: http.HandlerFunc(g.serve), ReadHeaderTimeout: time.Minute, ConnState: g.connection}
	go func() {
		defer close(g.done)
		// Serve always ends with an error; Close makes it ErrServerClosed.
		_ = g.http.Serve(l)
	}()
	return g, nil
}

func (g *google) URL() string { return g.url }

func (g *google) Close() error {
	err := g.http.Close()
	<-g.done
	return err
}

func (g *google) Calls() []mockmodel.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]mockmodel.Request(nil), g.calls...)
}

func (g *google) Connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.conns
}

func (g *google) connection(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		g.mu.Lock()
		g.conns++
		g.mu.Unlock()
	}
}

// googleRequest is what is read of a request.
type googleRequest struct {
	Contents []struct {
		Role  string       `json:"role"`
		Parts []googlePart `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		Functions []struct {
			Name       string         `json:"name"`
			Parameters jsontext.Value `json:"parameters"`
			JSONSchema jsontext.Value `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		Schema     *googleSchema `json:"responseSchema"`
		JSONSchema *googleSchema `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

type googlePart struct {
	Text   string `json:"text"`
	Result *struct {
		Name string `json:"name"`
	} `json:"functionResponse"`
}

func (g *google) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	_, method, _ := strings.Cut(r.URL.Path, ":")
	switch method {
	case "countTokens":
		g.write(w, map[string]any{"totalTokens": len(body)/4 + 1})
		return
	case "generateContent", "streamGenerateContent":
	default:
		http.NotFound(w, r)
		return
	}
	var req googleRequest
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.record(mockmodel.Request{Wire: Google, Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body, At: at})
	defer g.end()
	reply, err := json.Marshal(g.reply(&req, len(body)))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if method == "streamGenerateContent" {
		w.Header().Set("Content-Type", "text/event-stream")
		reply = []byte("data: " + string(reply) + "\r\n\r\n")
	}
	_, _ = w.Write(reply) // a client that left shows in the next request
}

func (g *google) record(r mockmodel.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended.IsZero() {
		r.Gap = r.At.Sub(g.ended)
	}
	g.calls = append(g.calls, r)
}

func (g *google) end() {
	g.mu.Lock()
	g.ended = time.Now()
	g.mu.Unlock()
}

func (g *google) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// A client that left shows in the next request.
	_ = json.MarshalWrite(w, v)
}

func (g *google) reply(req *googleRequest, size int) any {
	part := map[string]any{"text": Answer}
	if schema := req.schema(); schema != nil {
		// A question beside the conversation, in a form of the client's own.
		text, err := json.Marshal(schema.fill(), json.Deterministic(true))
		if err == nil {
			part["text"] = string(text)
		}
	} else if step := req.results() + 1; step <= g.work.Steps {
		call := &mockmodel.Call{}
		for _, t := range req.Tools {
			for _, f := range t.Functions {
				s := f.Parameters
				if s == nil {
					s = f.JSONSchema
				}
				call.Tools = append(call.Tools, mockmodel.Tool{Name: f.Name, Schema: lowerTypes(s)})
			}
		}
		if name, args, ok := call.Shell(g.work.command(step)); ok {
			part = map[string]any{"functionCall": map[string]any{"name": name, "args": jsontext.Value(args)}}
		}
	}
	return map[string]any{
		"candidates": []any{map[string]any{
			"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": map[string]any{"promptTokenCount": size/4 + 1, "candidatesTokenCount": 20, "totalTokenCount": size/4 + 21},
		"modelVersion":  "mock-1",
	}
}

func (r *googleRequest) schema() *googleSchema {
	if r.Config.JSONSchema != nil {
		return r.Config.JSONSchema
	}
	return r.Config.Schema
}

// results counts the tool results behind the newest text of the user.
func (r *googleRequest) results() int {
	n := 0
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			switch {
			case p.Result != nil:
				n++
			case c.Role == "user" && p.Text != "":
				n = 0
			}
		}
	}
	return n
}

// googleSchema is a JSON Schema whose types may be in capitals.
type googleSchema struct {
	Type       string                   `json:"type"`
	Enum       []any                    `json:"enum"`
	Properties map[string]*googleSchema `json:"properties"`
	Required   []string                 `json:"required"`
}

// fill is a value that fits: the first choice, else the empty value.
func (s *googleSchema) fill() any {
	if s == nil {
		return ""
	}
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch strings.ToLower(s.Type) {
	case "object":
		v := map[string]any{}
		for _, name := range s.Required {
			v[name] = s.Properties[name].fill()
		}
		return v
	case "array":
		return []any{}
	case "boolean":
		return false
	case "integer", "number":
		return 0
	}
	return ""
}

// lowerTypes spells a schema's types as JSON Schema does ("STRING" is the
// API's own spelling).
func lowerTypes(v jsontext.Value) jsontext.Value {
	s := string(v)
	for _, name := range []string{"STRING", "OBJECT", "ARRAY", "INTEGER", "NUMBER", "BOOLEAN"} {
		s = strings.ReplaceAll(s, `"type":"`+name+`"`, `"type":"`+strings.ToLower(name)+`"`)
	}
	return jsontext.Value(s)
}
