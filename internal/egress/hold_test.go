package egress

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// desk is somebody who is asked.
type desk struct {
	asked   chan Request
	answers chan Answer
	count   atomic.Int32
}

func newDesk() *desk { return &desk{asked: make(chan Request, 16), answers: make(chan Answer, 16)} }

func (d *desk) ask(ctx context.Context, r Request) Answer {
	d.count.Add(1)
	d.asked <- r
	select {
	case a := <-d.answers:
		return a
	case <-ctx.Done():
		return Answer{}
	}
}

type outcome struct {
	code       int
	mark, body string
}

func getLater(t *testing.T, c *http.Client, url string) chan outcome {
	out := make(chan outcome, 1)
	go func() {
		code, mark, body := get(t, c, url)
		out <- outcome{code, mark, body}
	}()
	return out
}

func TestHeldConnectionIsReleased(t *testing.T) {
	w, d := newWorld(t), newDesk()
	w.name("example.org", public)
	w.behind(public + ":80")
	o := w.options()
	o.Ask = d.ask
	c := client(t, serve(t, o))
	got := getLater(t, c, "http://example.org/x?secret=1")
	r := <-d.asked
	if r.String() != "example.org:80:http" || r.URL != "http://example.org/x" || r.Origin.CallID != "call-1" {
		t.Errorf("asked about %+v", r)
	}
	if resolved, dialled := w.looked(); len(resolved)+len(dialled) != 0 {
		t.Errorf("while held %v was resolved and %v dialled", resolved, dialled)
	}
	select {
	case o := <-got:
		t.Fatalf("answered before the approval: %+v", o)
	default:
	}
	d.answers <- Answer{Allow: true}
	if o := <-got; o.code != 200 {
		t.Errorf("got %+v", o)
	}
	if code, _, _ := get(t, c, "http://example.org/again"); code != 200 || d.count.Load() != 1 {
		t.Errorf("the second request: %d, asked %d times", code, d.count.Load())
	}
	if got, want := w.kinds(), "held example.org:80:http, allowed example.org:80:http, allowed example.org:80:http"; got != want {
		t.Errorf("events: %s", got)
	}
}

func TestRefusalIsRemembered(t *testing.T) {
	w, d := newWorld(t), newDesk()
	w.name("example.org", public)
	o := w.options()
	o.Ask = d.ask
	c := client(t, serve(t, o))
	d.answers <- Answer{Reason: "not in this house"}
	for range 2 {
		code, mark, body := get(t, c, "http://example.org/")
		if code != http.StatusForbidden || mark != "denied" {
			t.Errorf("got %d %q %q", code, mark, body)
		}
	}
	if n := d.count.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// However many connections wait, one question is asked for a key, and another
// for another key.
func TestOneQuestionForAKey(t *testing.T) {
	w, d := newWorld(t), newDesk()
	w.name("example.org", public)
	w.behind(public + ":80")
	o := w.options()
	o.Ask = d.ask
	g := New(o)
	c := client(t, serveGate(t, g, Origin{CallID: "call-1"}))
	var waiting []chan outcome
	for range 5 {
		waiting = append(waiting, getLater(t, c, "http://example.org/"))
	}
	<-d.asked
	k := mustKey(t, "example.org:80:http")
	waitFor(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		q := g.asking[k]
		return q != nil && q.waiters == 5
	})
	d.answers <- Answer{Allow: true}
	for _, got := range waiting {
		if o := <-got; o.code != 200 {
			t.Errorf("got %+v", o)
		}
	}
	if n := d.count.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// waitFor waits until another goroutine has got somewhere.
func waitFor(t *testing.T, there func() bool) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatal("waited too long")
		}
	}
}

// "Once" is for the command that asked; "session" is for all.
func TestScopes(t *testing.T) {
	w, d := newWorld(t), newDesk()
	w.name("example.org", public)
	w.behind(public + ":80")
	o := w.options()
	o.Ask = d.ask
	g := New(o)
	first := client(t, serveGate(t, g, Origin{CallID: "call-1"}))
	second := client(t, serveGate(t, g, Origin{CallID: "call-2"}))
	third := client(t, serveGate(t, g, Origin{CallID: "call-3"}))

	d.answers <- Answer{Allow: true}
	if code, _, _ := get(t, first, "http://example.org/"); code != 200 {
		t.Fatalf("first: %d", code)
	}
	d.answers <- Answer{Allow: true, Session: true}
	if code, _, _ := get(t, second, "http://example.org/"); code != 200 {
		t.Fatalf("second: %d", code)
	}
	if n := d.count.Load(); n != 2 {
		t.Errorf("asked %d times for two commands", n)
	}
	if code, _, _ := get(t, third, "http://example.org/"); code != 200 || d.count.Load() != 2 {
		t.Errorf("third: %d, asked %d times", code, d.count.Load())
	}
}

// A waiter of another command is not served by an answer that was for once.
func TestOnceIsNotShared(t *testing.T) {
	w, d := newWorld(t), newDesk()
	w.name("example.org", public)
	w.behind(public + ":80")
	o := w.options()
	o.Ask = d.ask
	g := New(o)
	a := client(t, serveGate(t, g, Origin{CallID: "call-1"}))
	b := client(t, serveGate(t, g, Origin{CallID: "call-2"}))
	gotA := getLater(t, a, "http://example.org/")
	<-d.asked
	gotB := getLater(t, b, "http://example.org/")
	k := mustKey(t, "example.org:80:http")
	waitFor(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.asking[k] != nil && g.asking[k].waiters == 2
	})
	d.answers <- Answer{Allow: true}
	if o := <-gotA; o.code != 200 {
		t.Errorf("the command that asked: %+v", o)
	}
	if r := <-d.asked; r.Origin.CallID != "call-2" {
		t.Errorf("the second question is for %+v", r.Origin)
	}
	d.answers <- Answer{}
	if o := <-gotB; o.code != http.StatusForbidden {
		t.Errorf("the other command: %+v", o)
	}
}

func TestNoAnswerInTime(t *testing.T) {
	w, d := newWorld(t), newDesk()
	o := w.options()
	o.Ask = d.ask
	o.HoldLimit = 20 * time.Millisecond
	code, mark, body := get(t, client(t, serve(t, o)), "http://example.org/")
	if code != http.StatusForbidden || mark != "needs-review" || !strings.Contains(body, "no answer in time") {
		t.Errorf("got %d %q %q", code, mark, body)
	}
}

func TestDenyWins(t *testing.T) {
	w, d := newWorld(t), newDesk()
	w.name("example.org", public)
	w.behind(public + ":80")
	o := w.options()
	o.Ask = d.ask
	o.Allow = []Rule{RuleFor(mustKey(t, "example.org:80:http"))}
	deny, err := ParseDenyRule("example.org:*:*")
	if err != nil {
		t.Fatal(err)
	}
	o.Deny = []Rule{deny}
	if code, _, _ := get(t, client(t, serve(t, o)), "http://example.org/"); code != http.StatusForbidden || d.count.Load() != 0 {
		t.Errorf("got %d, asked %d times", code, d.count.Load())
	}
}

// The end of a command ends what it waited for.
func TestCloseEndsHolds(t *testing.T) {
	w, d := newWorld(t), newDesk()
	o := w.options()
	ended := make(chan struct{})
	o.Ask = func(ctx context.Context, r Request) Answer {
		defer close(ended)
		return d.ask(ctx, r)
	}
	g := New(o)
	l := listen(t)
	s := g.Serve(l, Origin{})
	var wg sync.WaitGroup
	c := client(t, l.Addr().String())
	wg.Go(func() {
		if resp, err := c.Get("http://example.org/"); err == nil {
			resp.Body.Close()
		}
	})
	<-d.asked
	s.Close()
	wg.Wait()
	<-ended
}

func TestAdmit(t *testing.T) {
	w, d := newWorld(t), newDesk()
	o := w.options()
	o.Ask = d.ask
	g := New(o)
	r := Request{Key: mustKey(t, "example.org:443:https")}
	d.answers <- Answer{Allow: true, Session: true}
	for range 2 {
		if err := g.Admit(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.count.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if err := Closed().Admit(context.Background(), r); err == nil {
		t.Error("a closed gate admitted a connection")
	}
}
