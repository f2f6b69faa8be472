package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/provider"
)

// hang keeps a reply open until its reader leaves.
func hang(w http.ResponseWriter, r *http.Request) {
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// drain reads events until something ends the stream.
func drain(s *Stream) (n int, err error) {
	for {
		if _, err := s.Next(); err != nil {
			return n, err
		}
		n++
	}
}

func TestStream(t *testing.T) {
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "req_7")
		fmt.Fprint(w, ": hi\n\nevent: a\ndata: one\n\ndata: two\n\n")
	})
	s, err := c.Post(t.Context(), "x", []byte("{}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, ok, err := s.Document(); ok || err != nil {
		t.Errorf("document: %v, %v", ok, err)
	}
	for _, want := range []string{"one", "two"} {
		ev, err := s.Next()
		if err != nil || string(ev.Data) != want {
			t.Fatalf("%q, %v", ev.Data, err)
		}
		s.Saw(want)
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("end: %v", err)
	}
	f := s.Facts()
	if f.RequestID != "req_7" || f.Events != 2 || f.LastEvent != "two" || f.BytesRead != 37 || f.FirstEventIn < 0 {
		t.Errorf("facts = %+v", f)
	}
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name        string
		first, idle time.Duration
		handler     http.HandlerFunc
		words       string
		events      int
	}{
		{"no headers", time.Millisecond, time.Hour, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 1ms", 0},
		{"no event", 20 * time.Millisecond, time.Hour, hang, "no answer within 20ms", 0},
		{"only comments", 20 * time.Millisecond, time.Hour, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, ": wait\n\n"); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}, "no answer within 20ms", 0},
		{"silence", time.Hour, 20 * time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: a\n\n")
			hang(w, r)
		}, "silent for 20ms", 1},
		{"silence inside an event", time.Hour, 20 * time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: a\n\ndata: b")
			hang(w, r)
		}, "silent for 20ms", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, Options{FirstEvent: tt.first, Idle: tt.idle}, tt.handler)
			n := 0
			s, err := c.Post(t.Context(), "x", nil, nil)
			if err == nil {
				n, err = drain(s)
				s.Close()
			}
			e := failure(t, err)
			if e.Class != provider.Network || !strings.Contains(e.Message, tt.words) || n != tt.events {
				t.Errorf("after %d events: %s: %v", n, e.Class, e)
			}
		})
	}
}

// A consumer may take longer than the idle limit: only the service is measured.
func TestASlowConsumerIsNotIdle(t *testing.T) {
	const idle = 50 * time.Millisecond
	c := serve(t, Options{Idle: idle, FirstEvent: -1}, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: a\n\ndata: b\n\n")
	})
	s, err := c.Post(t.Context(), "x", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	<-time.After(3 * idle)
	if n, err := drain(s); n != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("%d events, %v", n, err)
	}
}

func TestCancelEndsTheStream(t *testing.T) {
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: a\n\n")
		hang(w, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := c.Post(ctx, "x", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = s.Next()
	if e := failure(t, err); e.Class != provider.Cancelled || !errors.Is(e, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

// conn breaks the connection of a reply.
func conn(w http.ResponseWriter) net.Conn {
	w.(http.Flusher).Flush()
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	return c
}

func TestBrokenStreams(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		class   provider.Class
	}{
		{"reset", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "data: a\n\n")
			c := conn(w)
			_ = c.(*net.TCPConn).SetLinger(0) // an RST instead of a FIN
			_ = c.Close()
		}, provider.Network},
		{"closed without the last chunk", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "data: a\n\n")
			_ = conn(w).Close()
		}, provider.Network},
		{"cut inside an event", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "data: a\n\ndata: b")
		}, provider.Network},
		{"not utf-8", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "data: a\n\ndata: \xff\n\n")
		}, provider.Server},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, Options{}, tt.handler)
			s, err := c.Post(t.Context(), "x", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			n, err := drain(s)
			if e := failure(t, err); e.Class != tt.class || n != 1 || !e.Class.Retryable() {
				t.Errorf("after %d events: %s: %v", n, e.Class, e)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{BaseURL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Post(t.Context(), "x", nil, nil)
	e := failure(t, err)
	if e.Class != provider.NotReachable || !strings.Contains(e.Message, address) || !strings.Contains(e.Message, "refused") {
		t.Errorf("error = %s: %v", e.Class, e)
	}
}

func TestDocuments(t *testing.T) {
	kind, body := "", ""
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, body)
	})
	for _, tt := range []struct {
		kind string
		ok   bool
		err  bool
	}{
		{"application/json; charset=utf-8", true, false},
		{"text/event-stream", false, false},
		{"text/plain", false, false},
		{"", false, false},
		{"text/html; charset=utf-8", false, true},
	} {
		kind, body = tt.kind, `{"a":1}`
		s, err := c.Post(t.Context(), "x", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := s.Document()
		if ok != tt.ok || (err != nil) != tt.err || ok && string(got) != body {
			t.Errorf("%q: %q, %v, %v", tt.kind, got, ok, err)
		}
		if err != nil && failure(t, err).Class != provider.InvalidRequest {
			t.Errorf("%q: %v", tt.kind, err)
		}
		s.Close()
	}
}
