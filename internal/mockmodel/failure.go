package mockmodel

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/go-json-experiment/json"
)

// Break is a way for a reply to go wrong after it began.
type Break string

// The breaks. Each sends the reply up to the middle of its last item first,
// so that half an answer or half a tool call has been seen.
const (
	Reset      Break = "reset"       // the connection is reset
	Truncate   Break = "truncate"    // the stream ends inside an event
	Short      Break = "short"       // the stream ends between events
	Idle       Break = "idle"        // nothing more comes until the client leaves
	BadUTF8    Break = "bad_utf8"    // an event with bytes that are not UTF-8
	BadJSON    Break = "bad_json"    // an event that is not JSON
	ErrorEvent Break = "error_event" // Failure.Body is sent as an event
	// Silent never answers, not even with a header.
	Silent Break = "silent"
)

// Failure is one failed attempt: a reply with an error status, or, with Break,
// one that begins well.
type Failure struct {
	Status int
	Header map[string]string
	Body   string
	Break  Break
}

// write sends the error reply.
func (f *Failure) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body)) // the client may be gone
}

// breakOff sends half of the reply and then what the break is.
func (f *Failure) breakOff(ctx context.Context, w http.ResponseWriter, events []event) {
	if f.Break == Silent {
		<-ctx.Done()
		return
	}
	half := middle(events)
	for _, e := range events[:half] {
		_, _ = w.Write(e.bytes)
	}
	flush(w)
	next := events[half].bytes
	switch f.Break {
	case Reset:
		reset(w)
	case Truncate:
		_, _ = w.Write(next[:len(next)/2])
	case Short:
	case Idle:
		<-ctx.Done()
	case BadUTF8:
		_, _ = w.Write(bytes.Replace(next, []byte(`"`), []byte("\"\xff"), 1))
	case BadJSON:
		_, _ = w.Write([]byte("data: {\"type\":\n\n"))
	case ErrorEvent:
		_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", f.Body)
	}
}

// middle is the index behind the first event marked as the middle of an item.
func middle(events []event) int {
	last := len(events) / 2
	for i, e := range events {
		if e.middle {
			last = i + 1
		}
	}
	return last
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// reset closes the connection so that the client sees a reset, not an end.
func reset(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	c, _, err := h.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // makes Close send a reset
	}
	_ = c.Close()
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encodeJSON(object{"error": object{"message": message, "type": "invalid_request_error", "code": code}}))
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encodeJSON(v))
}

// object is a JSON object.
type object = map[string]any

func encodeJSON(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("mock model cannot encode its own reply: %v", err))
	}
	return b
}

// catalogue is the list of /muse-code/models in its documented form (MSP.md 3).
func (s *Server) catalogue() any {
	data := []any{}
	for _, m := range s.opts.Catalogue {
		data = append(data, object{"id": m.ID, "object": "model", "metadata": object{"muse-code": object{
			"release_date": m.ReleaseDate, "is_hidden": m.Hidden, "limit": object{"context": m.Context, "output": m.Output},
		}}})
	}
	return object{"object": "list", "data": data}
}

// list is the list of /v1/models.
func (s *Server) list() any {
	data := []any{}
	for _, m := range s.opts.Catalogue {
		data = append(data, object{"id": m.ID, "object": "model", "owned_by": "mock"})
	}
	return object{"object": "list", "data": data}
}
