// Package mockmodel is a model service on loopback for tests and benchmarks. It
// speaks the three wires (Responses, Chat Completions, Messages), answers at
// once, records what it was sent and breaks in every way a service can.
//
// What it answers follows from the request alone: it counts the tool results
// behind the newest user message, so that any client, in any number of
// processes, is led through the same steps.
package mockmodel

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The wires a request can come in.
const (
	Responses = "responses"
	Chat      = "chat"
	Messages  = "messages"
)

// Options say what the server answers.
type Options struct {
	// Steps is how many shell calls are asked for, one a reply, before the
	// answer. The shell tool is found in the client's own list.
	Steps int
	// Command is what step i (from 1) runs; "echo step-i" when nil.
	Command func(i int) string
	// Answer is the final text; "All steps are done." when empty.
	Answer string
	// Reply, when not nil, decides the reply instead.
	Reply func(*Call) Reply
	// Failures are played in order, one a model request, before any reply.
	Failures []Failure
	// Key, when not empty, is the only key that is let in.
	Key string
	// Catalogue are the models listed; nil means one, "mock-1".
	Catalogue []Model
	// NoCatalogue answers /muse-code/models with 404, as a plain service does.
	NoCatalogue bool
	// Quirks are deviations of the Chat Completions wire.
	Quirks Quirks
	// Address is where to listen; 127.0.0.1 with a free port when empty.
	Address string
}

// Quirks are ways in which servers of Chat Completions differ.
type Quirks struct {
	NoIndex    bool   // tool calls without index
	NoIDs      bool   // tool calls without id
	WholeCalls bool   // a tool call is one delta
	NoUsage    bool   // no usage chunk
	NoDone     bool   // no [DONE]
	OneChunk   bool   // the reply is one JSON document, not a stream
	Reasoning  string // the member reasoning comes in; "reasoning_content" when empty
}

// Model is one row of the catalogue.
type Model struct {
	ID              string
	Context, Output int64
	ReleaseDate     string
	Hidden          bool
}

// Request is one recorded request.
type Request struct {
	Wire   string // "" for anything but a model call
	Method string
	Path   string
	Header http.Header
	Body   []byte
	At     time.Time
	// Gap is the time from the end of the last model reply to the arrival of
	// this request: the client's own time for a step. 0 for the first.
	Gap time.Duration
}

// Server is a running mock service.
type Server struct {
	opts Options
	http *http.Server
	url  string
	done chan struct{} // closed when serving has ended

	mu       sync.Mutex
	requests []Request
	played   int // failures used
	ended    time.Time
	conns    int
}

// New starts a server. It stops with Close.
func New(opts Options) (*Server, error) {
	if opts.Address == "" {
		opts.Address = "127.0.0.1:0"
	}
	if opts.Catalogue == nil {
		opts.Catalogue = []Model{{ID: "mock-1", Context: 200_000, Output: 32_000, ReleaseDate: "2026-01-01"}}
	}
	l, err := net.Listen("tcp", opts.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for the mock model: %w", err)
	}
	s := &Server{opts: opts, url: "http://" + l.Addr().String(), done: make(chan struct{})}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute, ConnState: s.connection}
	go func() {
		defer close(s.done)
		// Serve always ends with an error; Close makes it ErrServerClosed.
		_ = s.http.Serve(l)
	}()
	return s, nil
}

// URL is the server's root: "http://127.0.0.1:port". The Responses and Chat
// Completions wires use URL()+"/v1" as their base.
func (s *Server) URL() string { return s.url }

// Close stops the server, breaking replies that are under way.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Requests is a copy of what was received so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Calls are the recorded model requests alone.
func (s *Server) Calls() []Request {
	var out []Request
	for _, r := range s.Requests() {
		if r.Wire != "" {
			out = append(out, r)
		}
	}
	return out
}

// Connections is how many connections were accepted.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

func (s *Server) connection(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.mu.Lock()
		s.conns++
		s.mu.Unlock()
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	wire := wireOf(r)
	s.record(Request{Wire: wire, Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body, At: at})
	if s.opts.Key != "" && keyOf(r) != s.opts.Key {
		refuse(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided")
		return
	}
	switch {
	case wire != "":
		s.model(r.Context(), w, wire, body)
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/muse-code/models") && !s.opts.NoCatalogue:
		writeJSON(w, s.catalogue())
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") && !strings.Contains(r.URL.Path, "muse-code"):
		writeJSON(w, s.list())
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended.IsZero() {
		r.Gap = r.At.Sub(s.ended)
	}
	s.requests = append(s.requests, r)
}

// failure takes the next failure, nil when none is left.
func (s *Server) failure() *Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.played >= len(s.opts.Failures) {
		return nil
	}
	s.played++
	return &s.opts.Failures[s.played-1]
}

func wireOf(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/responses"):
		return Responses
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat
	case strings.HasSuffix(path, "/messages"):
		return Messages
	}
	return ""
}

func keyOf(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// model answers one model request.
func (s *Server) model(ctx context.Context, w http.ResponseWriter, wire string, body []byte) {
	call, err := parse(wire, body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	failure := s.failure()
	if failure != nil && failure.Break == "" {
		failure.write(w)
		s.end()
		return
	}
	reply := s.reply(call)
	events := encode(wire, call, reply, s.opts.Quirks)
	defer s.end()
	if wire == Chat && s.opts.Quirks.OneChunk && failure == nil {
		writeJSON(w, document(call, reply))
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Request-Id", call.RequestID)
	if failure != nil {
		failure.breakOff(ctx, w, events)
		return
	}
	if reply.Every > 0 {
		reply.paced(ctx, w, events)
		return
	}
	for _, e := range events {
		_, _ = w.Write(e.bytes) // a client that left shows in the next one
	}
}

// paced sends one event after the other in even steps.
func (r Reply) paced(ctx context.Context, w http.ResponseWriter, events []event) {
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for _, e := range events {
		if _, err := w.Write(e.bytes); err != nil {
			return // the client left
		}
		flush(w)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) end() {
	s.mu.Lock()
	s.ended = time.Now()
	s.mu.Unlock()
}

func (s *Server) reply(call *Call) Reply {
	if s.opts.Reply != nil {
		return s.opts.Reply(call)
	}
	answer := s.opts.Answer
	if answer == "" {
		answer = "All steps are done."
	}
	usage := Usage{Input: int64(call.Bytes)/4 + 1, Output: 20}
	step := call.Results + 1
	if step > s.opts.Steps || len(call.Tools) == 0 {
		return Reply{Text: answer, Usage: usage}
	}
	command := fmt.Sprintf("echo step-%d", step)
	if s.opts.Command != nil {
		command = s.opts.Command(step)
	}
	name, args, ok := call.Shell(command)
	if !ok {
		return Reply{Text: "There is no shell tool.", Usage: usage}
	}
	return Reply{Calls: []ToolCall{{Name: name, Args: args}}, Usage: usage}
}
