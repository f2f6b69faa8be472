package msptest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// promised is what a host said before it died.
type promised struct {
	mu    sync.Mutex
	acks  map[string]ack // by commandId
	shown map[string]told
}

type ack struct {
	method string
	params any
	result jsontext.Value
}

func (p *promised) acked(id string, a ack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acks[id] = a
}

// Hosts that are killed at any instant under load: a new one resumes at once,
// commands are answered as before, no event that was shown is lost and no tool
// runs twice.
func TestKilledAtAnyInstant(t *testing.T) {
	rounds := 50
	if testing.Short() {
		rounds = 6
	}
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t, "--trust-workspace")
	started := must[msp.SessionStartResult](c, msp.MethodSessionStart, msp.SessionStartParams{
		CommandID: msptest.CommandID(), WorkspaceRoot: &h.workspace, ApprovalMode: new(msp.ApprovalModeAllowAll),
	})
	id := started.Session.SessionID
	c.leave()

	p := &promised{acks: map[string]ack{}, shown: map[string]told{}}
	random := rand.New(rand.NewPCG(1, uint64(rounds)))
	for round := range rounds {
		host := h.open(t, "--trust-workspace")
		must[msp.SessionResumeResult](host, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
		p.verify(t, host, id)
		stop := make(chan struct{})
		var load sync.WaitGroup
		load.Go(func() { p.load(host, id, round, stop) })
		// The instant is the point of the test, nothing is synchronised by it.
		<-time.After(time.Duration(random.IntN(500_000)) * time.Microsecond)
		if _, err := host.Kill(); err != nil {
			t.Fatal(err)
		}
		close(stop)
		load.Wait()
		for _, e := range durable(t, id, host.Events(0)) {
			p.shown[e.cursor] = e
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	last := h.open(t, "--trust-workspace")
	must[msp.SessionResumeResult](last, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	p.verify(t, last, id)
	last.leave()
	if len(p.acks) == 0 || len(p.shown) == 0 {
		t.Errorf("%d commands and %d events: the load did nothing", len(p.acks), len(p.shown))
	}
	ranOnce(t, filepath.Join(h.workspace, "runs.log"))
}

// load sends commands until the host is gone.
func (p *promised) load(c *client, session string, round int, stop <-chan struct{}) {
	ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
	defer cancel()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		id := msptest.CommandID()
		var method string
		var params any
		switch n % 4 {
		case 0, 2:
			method, params = msp.MethodTurnStart, msp.TurnStartParams{SessionID: session, CommandID: id, Input: textInput(fmt.Sprintf("log %d-%d", round, n))}
		case 1:
			method, params = msp.MethodSessionRename, msp.SessionRenameParams{SessionID: session, CommandID: id, Name: fmt.Sprintf("n%d-%d", round, n)}
		default:
			method, params = msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: session, CommandID: id}
		}
		result, err := c.Request(ctx, method, params)
		if err != nil {
			if msp.AsError(err).Kind() == msp.ErrorKindInternal {
				return // the host is gone
			}
			continue // a refusal of this instant: nothing was promised
		}
		if method != msp.MethodTurnInterrupt { // its memory ends with the host (MSP.md 5)
			p.acked(id, ack{method, params, result})
		}
		if n%4 == 0 {
			_, err := msptest.AwaitParams(ctx, c.Client, 0, msp.NoteTurnCompleted, func(p *msp.TurnCompletedParams) bool { return p.TurnID == id })
			if err != nil {
				return // the host is gone
			}
		}
	}
}

// verify holds a new host to what the dead ones said.
func (p *promised) verify(t *testing.T, c *client, session string) {
	t.Helper()
	now := map[string]told{}
	for _, e := range c.pages(session, 1000, "") {
		now[e.cursor] = e
	}
	for cursor, e := range p.shown {
		if now[cursor] != e {
			t.Errorf("shown at %s:\n%s %s\nand now\n%s %s", cursor, e.method, e.params, now[cursor].method, now[cursor].params)
			return
		}
	}
	for id, a := range p.acks {
		result, err := c.Request(c.ctx, a.method, a.params)
		if a.method == msp.MethodTurnStart && err != nil && msp.AsError(err).Kind() == msp.ErrorKindCommandRejected {
			// A turn that was accepted and never began is settled as abandoned; from
			// then on that is the answer (MSP.md 5).
			delete(p.acks, id)
			continue
		}
		if err != nil || string(result) != string(a.result) {
			t.Errorf("%s %s was answered %s and now %s, %v", a.method, id, a.result, result, err)
			return
		}
	}
}

// ranOnce holds that no call of a tool ran twice.
func ranOnce(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("no tool ran: %v", err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if seen[line] {
			t.Errorf("ran twice: %s", line)
		}
		seen[line] = true
	}
}
