package serve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
)

// unread is a host with a session of some size and a client that has said
// hello and reads nothing.
type unread struct {
	t      *testing.T
	server *Server
	closed atomic.Bool
	s      *fakeSession
	in     *io.PipeWriter
	done   chan error
	id     int64
}

func newUnread(t *testing.T, ctx context.Context, out io.Writer, grace time.Duration) *unread {
	t.Helper()
	h := newFakeHost()
	s := h.add("", "/home/me/place")
	for n := range 40 {
		s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: fmt.Sprintf("%d %s", n, strings.Repeat("word ", 400))})
	}
	o := options(h)
	o.room, o.Grace = testRoom, grace
	r, w := io.Pipe()
	u := &unread{t: t, s: s, in: w, done: make(chan error, 1)}
	h.onClose = func() { u.closed.Store(true) }
	u.server = New(o)
	go func() { u.done <- u.server.Serve(ctx, r, out) }()
	u.send(msp.MethodInitialize, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "test", Version: "0"}})
	if _, err := w.Write([]byte(`{"jsonrpc":"2.0","method":"initialized"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *unread) send(method string, params any) {
	u.t.Helper()
	u.id++
	line, err := msp.EncodeRequest(msp.IntID(u.id), method, params)
	if err != nil {
		u.t.Fatal(err)
	}
	if _, err := u.in.Write(line); err != nil {
		u.t.Fatal(err)
	}
}

func (u *unread) wait() error {
	u.t.Helper()
	select {
	case err := <-u.done:
		return err
	case <-time.After(time.Minute):
		u.t.Fatal("the host does not end")
		return nil
	}
}

// TestAnswersDoNotPileUp asks for much more than there is room for, in
// requests that are small and are all there before the first one is answered,
// and reads none of it.
func TestAnswersDoNotPileUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u := newUnread(t, ctx, newValve(), time.Hour)
	all, busy := false, make(chan struct{})
	u.s.onSubmit = func(host.Command, host.TurnRequest) { <-busy }
	u.send(msp.MethodSessionResume, msp.SessionResumeParams{CommandID: ident.V7(time.Now()), SessionID: u.s.id})
	u.send(msp.MethodTurnStart, msp.TurnStartParams{CommandID: ident.V7(time.Now()), SessionID: u.s.id, Input: text("x")})
	for range 400 {
		u.send(msp.MethodSessionRead, msp.SessionReadParams{SessionID: u.s.id, ExcludeItems: &all})
	}
	close(busy)
	out := u.server.client.Load().out
	out.mu.Lock()
	for out.bytes <= replyRooms*out.room {
		out.changed.Wait()
	}
	out.mu.Unlock()
	cancel()
	if err := u.wait(); err == nil {
		t.Error("a client that read nothing is no error")
	}
	if n := u.s.asked.Load(); n == 0 || n > 200 {
		t.Errorf("the session was looked at %d times for 400 answers that nobody reads", n)
	}
}

// TestClientThatCannotBeWritten ends the host although the client keeps its
// other side open.
func TestClientThatCannotBeWritten(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	u := newUnread(t, t.Context(), w, time.Minute)
	if err := u.wait(); err == nil {
		t.Error("a client that cannot be written is no error")
	}
	if !u.closed.Load() {
		t.Error("the sessions were not ended")
	}
	u.in.Close()
}

// TestSignalWithAClientThatDoesNotRead ends within the time that is left before
// a kill, although the grace of an orderly end is longer.
func TestSignalWithAClientThatDoesNotRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	all := false
	u := newUnread(t, ctx, newValve(), time.Hour)
	u.send(msp.MethodSessionRead, msp.SessionReadParams{SessionID: u.s.id, ExcludeItems: &all})
	cancel()
	u.in.Close()
	if err := u.wait(); err == nil {
		t.Error("a client that read nothing is no error")
	}
	if !u.closed.Load() {
		t.Error("the sessions were not ended")
	}
}
