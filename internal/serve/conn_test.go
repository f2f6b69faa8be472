package serve

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
	fold "github.com/openmuse/muse/internal/view/session"
)

// TestFrames sends raw lines and reads raw replies: what the framing and the
// handshake answer (MSP.md 2, 4 and 9).
func TestFrames(t *testing.T) {
	hello := `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"clientInfo":{"name":"test","version":"0"}}}`
	tests := []struct {
		name, line string
		code       int
		kind       string
		id         string
		greeted    bool
	}{
		{"no JSON", `{`, -32700, "parseError", "null", false},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":1,"a":2}}`, -32600, "invalidRequest", "1", false},
		{"half a character", `{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"a":"\ud800"}}`, -32600, "invalidRequest", `"x"`, false},
		{"no object", `[1]`, -32600, "invalidRequest", "null", false},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"initialize"}`, -32600, "invalidRequest", "1", false},
		{"no version", `{"id":1,"method":"initialize"}`, -32600, "invalidRequest", "1", false},
		{"no method", `{"jsonrpc":"2.0","id":1}`, -32600, "invalidRequest", "1", false},
		{"a method that is no text", `{"jsonrpc":"2.0","id":1,"method":7}`, -32600, "invalidRequest", "1", false},
		{"an id that is no id", `{"jsonrpc":"2.0","id":1.5,"method":"initialize"}`, -32600, "invalidRequest", "null", false},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"initialize"}`, -32600, "invalidRequest", "null", false},
		{"too early", `{"jsonrpc":"2.0","id":"1","method":"session/list"}`, -32600, "notInitialized", `"1"`, false},
		{"too early and unknown", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, -32600, "notInitialized", "1", false},
		{"no client", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, -32602, "invalidParams", "1", false},
		{"a client without a proper name", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"A B","version":"0"}}}`, -32602, "invalidParams", "1", false},
		{"params that are a list", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`, -32602, "invalidParams", "1", false},
		{"twice", hello, -32600, "alreadyInitialized", `"h"`, true},
		{"unknown", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, -32601, "methodNotFound", "1", true},
		{"experimental", `{"jsonrpc":"2.0","id":1,"method":"account/read"}`, -32601, "experimentalRequired", "1", true},
		{"no command id", `{"jsonrpc":"2.0","id":1,"method":"session/start","params":{}}`, -32602, "invalidParams", "1", true},
		{"a command id of another version", `{"jsonrpc":"2.0","id":1,"method":"session/start","params":{"commandId":"0198f0ab-9999-4000-8000-0000000000c1"}}`, -32602, "invalidParams", "1", true},
		{"a relative workspace", `{"jsonrpc":"2.0","id":1,"method":"session/start","params":{"commandId":"0198f0ab-9999-7000-8000-0000000000c1","workspaceRoot":"x"}}`, -32602, "invalidParams", "1", true},
		{"workspaces of null", `{"jsonrpc":"2.0","id":1,"method":"session/start","params":{"commandId":"0198f0ab-9999-7000-8000-0000000000c1","workspaceRoots":null}}`, -32602, "invalidParams", "1", true},
		{"workspaces that disagree", `{"jsonrpc":"2.0","id":1,"method":"session/start","params":{"commandId":"0198f0ab-9999-7000-8000-0000000000c1","workspaceRoot":"/a","workspaceRoots":["/b"]}}`, -32602, "invalidParams", "1", true},
		{"a tool server without the capability", `{"jsonrpc":"2.0","id":1,"method":"session/start","params":{"commandId":"0198f0ab-9999-7000-8000-0000000000c1","config":{"mcpServers":{"x":{"transport":"stdio","command":"x"}}}}}`, -32010, "capabilityRequired", "1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			input := tt.line + "\n"
			if tt.greeted {
				input = hello + "\r\n\n" + input
			}
			var out bytes.Buffer
			if err := New(options(newFakeHost())).Serve(t.Context(), strings.NewReader(input), &out); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if tt.greeted {
				lines = lines[1:]
			}
			if len(lines) != 1 {
				t.Fatalf("%d replies: %q", len(lines), lines)
			}
			var got struct {
				ID    jsonRaw         `json:"id"`
				Error msp.ErrorObject `json:"error"`
			}
			if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
				t.Fatal(err)
			}
			if got.Error.Code != int64(tt.code) || string(got.Error.Data.Kind) != tt.kind || string(got.ID) != tt.id {
				t.Errorf("answers %s, want %d %s to %s", lines[0], tt.code, tt.kind, tt.id)
			}
		})
	}
}

// jsonRaw is JSON as it was written.
type jsonRaw string

func (r *jsonRaw) UnmarshalJSON(b []byte) error {
	*r = jsonRaw(b)
	return nil
}

func TestOversizedFrames(t *testing.T) {
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"test","version":"0"}}}` + "\n"
	long := strings.Repeat("x", msp.FrameCap)
	input := `{"jsonrpc":"2.0","id":"big","method":"turn/start","params":{"x":"` + long + `"}}` + "\n" + `{"x":"` + long + `"}` + "\n" + hello
	var out bytes.Buffer
	if err := New(options(newFakeHost())).Serve(t.Context(), strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{`"inputTooLarge"`, `"parseError"`, `"serverInfo"`} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("reply %d lacks %s: %.200q", i, want, lines)
		}
	}
	if !strings.Contains(lines[0], `"limitBytes":10485760`) || !strings.Contains(lines[0], `"id":"big"`) {
		t.Errorf("the frame that was too large is answered by %s", lines[0])
	}
}

func TestHandshake(t *testing.T) {
	c := connect(t, nil)
	no := false
	r := c.hello(&msp.ClientCapabilities{
		RequestedCapabilities: []string{"sessionListStream", "rawLog", "feedback", "nonsense", "userShell"}, UserInputDialogs: &no,
	})
	want := []msp.CapabilityName{msp.CapabilityNameUserShell, msp.CapabilityNameSessionListStream}
	if !slices.Equal(r.GrantedCapabilities, want) {
		t.Errorf("granted %v, want %v", r.GrantedCapabilities, want)
	}
	if r.Schema.Fingerprint != msp.PinnedFingerprint || r.Schema.Version != 1 || r.SessionDurability != msp.SessionDurabilityDurable {
		t.Errorf("initialize answers %+v", r)
	}
}

func TestNothingIsPushedBeforeInitialized(t *testing.T) {
	c := connect(t, nil)
	if _, err := c.Request(c.ctx, msp.MethodInitialize, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "test", Version: "0"}}); err != nil {
		t.Fatal(err)
	}
	_, s := c.start()
	s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: "early"})
	must[msp.SessionReadResult](c, msp.MethodSessionRead, msp.SessionReadParams{SessionID: s.id})
	if got := c.Events(0); len(got) != 0 {
		t.Fatalf("pushed before initialized: %v", methodsOf(got))
	}
	if err := c.Notify(msp.NoteInitialized, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Await(c.ctx, 0, "the end of the turn", is(msp.NoteTurnCompleted)); err != nil {
		t.Fatal(err)
	}
	if got := methodsOf(c.Events(0)); got[0] != msp.NoteSessionStarted {
		t.Errorf("the order was not kept: %v", got)
	}
}

func is(method string) func(msptest.Event) bool {
	return func(e msptest.Event) bool { return e.Method == method }
}

func methodsOf(events []msptest.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Method)
	}
	return out
}

func TestTurn(t *testing.T) {
	c := ready(t, nil)
	started, _ := c.start()
	if started.ViewCursor != "" || started.Session.Status != msp.SessionStatusIdle {
		t.Errorf("a new session is %+v", started)
	}
	command := msptest.CommandID()
	p := msp.TurnStartParams{SessionID: started.Session.SessionID, CommandID: command, Input: text("hello")}
	ack := must[msp.TurnStartResult](c, msp.MethodTurnStart, p)
	if ack.TurnID != command || !ack.StartedNewTurn || ack.Disposition != msp.TurnStartDispositionStarted {
		t.Errorf("acknowledged with %+v", ack)
	}
	if _, err := c.Await(c.ctx, 0, "the end of the turn", is(msp.NoteTurnCompleted)); err != nil {
		t.Fatal(err)
	}
	if again := must[msp.TurnStartResult](c, msp.MethodTurnStart, p); again != ack {
		t.Errorf("the command sent again is answered %+v, first %+v", again, ack)
	}
	p.Input = text("other")
	if e := c.refusedAs(msp.ErrorKindCommandRejected, msp.MethodTurnStart, p); e.Data.Reason != "command_id_conflict" || e.Data.CommandID != command {
		t.Errorf("the conflict is told as %+v", e.Data)
	}
	read := must[msp.SessionReadResult](c, msp.MethodSessionRead, msp.SessionReadParams{SessionID: started.Session.SessionID, ExcludeItems: new(bool)})
	if read.History.Mode != msp.HistoryModeInline || len(*read.History.Items) != 2 || read.Session.TurnCount != 1 {
		t.Errorf("the session reads %+v", read)
	}
	if read.LastTurn == nil || read.LastTurn.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("the last turn reads %+v", read.LastTurn)
	}
}

// TestReplyComesFirst holds that an event that a command causes follows the
// command's reply.
func TestReplyComesFirst(t *testing.T) {
	h := newFakeHost()
	s := h.add("", "/home/me/place")
	var in, out bytes.Buffer
	line := func(id int, method string, params any) {
		l, err := msp.EncodeRequest(msp.IntID(int64(id)), method, params)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(l)
	}
	line(1, msp.MethodInitialize, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "test", Version: "0"}})
	in.WriteString(`{"jsonrpc":"2.0","method":"initialized"}` + "\n")
	line(2, msp.MethodViewSubscribe, msp.ViewSubscribeParams{SessionID: s.id})
	for n := range 50 {
		line(3+n, msp.MethodTurnStart, msp.TurnStartParams{SessionID: s.id, CommandID: msptest.CommandID(), Input: text("x")})
	}
	if err := New(options(h)).Serve(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	replies, starts := 0, 0
	for l := range strings.Lines(out.String()) {
		if strings.Contains(l, `"disposition"`) {
			replies++
		}
		if strings.Contains(l, `"method":"turn/started"`) {
			if starts++; starts > replies {
				t.Fatalf("turn %d starts before its command is answered", starts)
			}
		}
	}
	if replies != 50 || starts != 50 {
		t.Errorf("%d replies and %d turns, want 50 each", replies, starts)
	}
}

func TestResumeFromCursor(t *testing.T) {
	c := ready(t, nil)
	s := c.host.add("", "/home/me/place")
	for n := range 3 {
		s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: fmt.Sprint(n)})
	}
	resume := func(cursor *string) msp.SessionResumeResult {
		return must[msp.SessionResumeResult](c, msp.MethodSessionResume, msp.SessionResumeParams{
			SessionID: s.id, CommandID: msptest.CommandID(), Cursor: cursor,
		})
	}
	r := resume(nil)
	if r.History.Mode != msp.HistoryModeInline || len(*r.History.Items) != 6 || r.ViewCursor == "" {
		t.Fatalf("resumed with %+v", r.History)
	}
	if len(c.Events(0)) != 0 {
		t.Errorf("what the history holds was pushed as well: %v", methodsOf(c.Events(0)))
	}
	mark := c.Mark()
	page := must[msp.ViewPageResult](c, msp.MethodViewPage, msp.ViewPageParams{SessionID: s.id, Limit: 1000})
	middle := page.Events[len(page.Events)/2].Params.At().ViewCursor
	r = resume(&middle)
	if r.History.Mode != msp.HistoryModeNone || r.History.NoneReason != msp.HistoryNoneReasonCursorSuffix {
		t.Errorf("resumed with %+v", r.History)
	}
	rest := page.Events[len(page.Events)/2+1:]
	if _, err := c.Await(c.ctx, mark, "the newest event", func(e msptest.Event) bool {
		v, ok := e.Params.(msp.View)
		return ok && v.At().ViewCursor == r.ViewCursor
	}); err != nil {
		t.Fatal(err)
	}
	if got := c.Events(mark); len(got) != len(rest) {
		t.Errorf("pushed %v, want the %d events after the cursor", methodsOf(got), len(rest))
	}
	mark = c.Mark()
	empty := ""
	if r = resume(&empty); r.History.Mode != msp.HistoryModeNone {
		t.Errorf("resumed with %+v", r.History)
	}
	if _, err := c.Await(c.ctx, mark, "the newest event", is(msp.NoteTurnCompleted)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"v:" + s.id + ":999999", "v:00000000-0000-7000-8000-000000000000:1", "x", r.ViewCursor + "0000000"} {
		e := c.refusedAs(msp.ErrorKindNotFound, msp.MethodSessionResume, msp.SessionResumeParams{
			SessionID: s.id, CommandID: msptest.CommandID(), Cursor: &bad,
		})
		if e.Data.Reason != "missingAnchor" {
			t.Errorf("cursor %s is refused with %+v", bad, e.Data)
		}
	}
}

func TestSubscriptions(t *testing.T) {
	c := ready(t, nil)
	started, s := c.start()
	id := started.Session.SessionID
	must[msp.ViewUnsubscribeResult](c, msp.MethodViewUnsubscribe, msp.ViewUnsubscribeParams{SessionID: id})
	must[msp.ViewUnsubscribeResult](c, msp.MethodViewUnsubscribe, msp.ViewUnsubscribeParams{SessionID: id})
	mark := c.Mark()
	s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: "unseen"})
	r := must[msp.ViewSubscribeResult](c, msp.MethodViewSubscribe, msp.ViewSubscribeParams{SessionID: id})
	for _, e := range c.Events(mark) {
		if _, view := e.Params.(msp.View); view {
			t.Errorf("pushed %s although nobody subscribed", e.Method)
		}
	}
	s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: "seen"})
	done, err := msptest.AwaitParams[msp.TurnCompletedParams](c.ctx, c.Client, mark, msp.NoteTurnCompleted, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done.ViewCursor == r.ViewCursor {
		t.Error("the cursor did not move")
	}
	c.refusedAs(msp.ErrorKindSessionNotFound, msp.MethodViewSubscribe, msp.ViewSubscribeParams{SessionID: ident.V7(time.Now())})
	c.host.mu.Lock()
	c.host.unloaded[id] = true
	c.host.mu.Unlock()
	c.refusedAs(msp.ErrorKindSessionNotLoaded, msp.MethodViewSubscribe, msp.ViewSubscribeParams{SessionID: id})
	c.refusedAs(msp.ErrorKindSessionNotLoaded, msp.MethodTurnStart, msp.TurnStartParams{SessionID: id, CommandID: msptest.CommandID(), Input: text("x")})
	read := must[msp.SessionReadResult](c, msp.MethodSessionRead, msp.SessionReadParams{SessionID: id})
	if read.Session.Status != msp.SessionStatusNotLoaded || read.History.NoneReason != msp.HistoryNoneReasonExcluded {
		t.Errorf("a session that is not loaded reads %+v", read)
	}
}

// TestRest holds that a session which the client left and which does nothing
// is followed by nobody, so that its host may unload it, and that it can be
// followed again.
func TestRest(t *testing.T) {
	c := ready(t, nil)
	started, s := c.start()
	id := started.Session.SessionID
	run := ident.V7(time.Now())
	s.say(run, event.RunStarted{Prompt: "work"})
	if _, err := c.Await(c.ctx, 0, "the turn", is(msp.NoteTurnStarted)); err != nil {
		t.Fatal(err)
	}
	must[msp.ViewUnsubscribeResult](c, msp.MethodViewUnsubscribe, msp.ViewUnsubscribeParams{SessionID: id})
	if n := s.watching(); n != 1 {
		t.Errorf("%d follow a session that runs, want 1", n)
	}
	mark := c.Mark()
	s.say(run, event.RunTerminal{Terminal: "completed"})
	if _, err := msptest.AwaitParams(c.ctx, c.Client, mark, msp.NoteSessionStatusChanged, func(p *msp.SessionStatusChangedParams) bool {
		return p.Status == msp.SessionStatusIdle
	}); err != nil {
		t.Fatal(err)
	}
	s.awaitWatchers(0)
	must[msp.SessionReadResult](c, msp.MethodSessionRead, msp.SessionReadParams{SessionID: id})
	s.awaitWatchers(0)
	must[msp.ViewSubscribeResult](c, msp.MethodViewSubscribe, msp.ViewSubscribeParams{SessionID: id})
	mark = c.Mark()
	s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: "again"})
	if _, err := c.Await(c.ctx, mark, "the end of the turn", is(msp.NoteTurnCompleted)); err != nil {
		t.Fatal(err)
	}
}

func TestOptOut(t *testing.T) {
	c := ready(t, &msp.ClientCapabilities{OptOutNotificationMethods: []string{msp.NoteItemDelta, msp.NoteSessionStatusChanged, msp.NoteViewGap, "no/such"}})
	_, s := c.start()
	s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: "hello"})
	if _, err := c.Await(c.ctx, 0, "the end of the turn", is(msp.NoteTurnCompleted)); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Events(0) {
		if e.Method == msp.NoteItemDelta || e.Method == msp.NoteSessionStatusChanged {
			t.Errorf("pushed %s although the client opted out", e.Method)
		}
	}
}

// TestSlowClient fills the room of a client that does not read and holds that
// it is told of the hole and can fill it.
func TestSlowClient(t *testing.T) {
	h := newFakeHost()
	s := h.add("", "/home/me/place")
	inR, inW := io.Pipe()
	v := newValve()
	h.onClose = v.release // every request was carried out
	done := make(chan error, 1)
	o := options(h)
	o.room = testRoom
	go func() { done <- New(o).Serve(t.Context(), inR, v) }()
	send := func(id int64, method string, params any) {
		l, err := msp.EncodeRequest(msp.IntID(id), method, params)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inW.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	send(1, msp.MethodInitialize, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "test", Version: "0"}})
	if _, err := inW.Write([]byte(`{"jsonrpc":"2.0","method":"initialized"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	send(2, msp.MethodViewSubscribe, msp.ViewSubscribeParams{SessionID: s.id, After: new(string)})
	big := strings.Repeat("word ", 400)
	for n := range 60 {
		s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: fmt.Sprintf("%d %s", n, big)})
	}
	send(3, msp.MethodSessionRead, msp.SessionReadParams{SessionID: s.id}) // waits until all was folded
	inW.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var gap *msp.ViewGapParams
	var last int64
	pushed := 0
	for l := range strings.Lines(v.got.String()) {
		var f struct {
			Method string  `json:"method"`
			Params jsonRaw `json:"params"`
		}
		if err := json.Unmarshal([]byte(l), &f); err != nil {
			t.Fatal(err)
		}
		var at msp.Position
		switch {
		case f.Method == msp.NoteViewGap:
			gap = new(msp.ViewGapParams)
			if err := json.Unmarshal([]byte(f.Params), gap); err != nil {
				t.Fatal(err)
			}
		case f.Method != "" && json.Unmarshal([]byte(f.Params), &at) == nil && at.ViewCursor != "" && f.Method != msp.NoteSessionStatusChanged && f.Method != msp.NoteSessionClosed:
			n, ok := fold.ParseCursor(s.id, at.ViewCursor)
			if !ok || n <= last {
				t.Fatalf("%s at %s after %d", f.Method, at.ViewCursor, last)
			}
			last = n
			pushed += len(l)
		}
	}
	if gap == nil {
		t.Fatal("nothing tells of the hole")
	}
	if pushed > 2*testRoom {
		t.Errorf("%d bytes of view events waited, the room is %d", pushed, testRoom)
	}
}

func TestApprovalIsAskedAgain(t *testing.T) {
	c := ready(t, nil)
	s := c.host.add("", "/home/me/place")
	run := ident.V7(time.Now())
	s.say(run, event.RunStarted{Prompt: "ask"})
	ms := int64(60_000)
	s.say(run, event.UserInputRequested{
		ID: ident.V4(), CallID: "c1", ToolName: "request_user_input", AutoResolutionMS: &ms,
		Questions: []event.UserQuestion{{ID: "q", Header: "H", Question: "Q?", Mode: "single", Options: []event.UserOption{{Label: "A"}, {Label: "B"}}}},
	})
	r := must[msp.SessionResumeResult](c, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: s.id, CommandID: msptest.CommandID()})
	if len(r.PendingRequests) != 1 || r.Session.Status != msp.SessionStatusRunning {
		t.Fatalf("resumed with %+v", r)
	}
	asked, err := c.Await(c.ctx, 0, "the question", func(e msptest.Event) bool { return e.Request })
	if err != nil {
		t.Fatal(err)
	}
	p := asked.Params.(*msp.UserInputRequestParams)
	list := must[msp.ApprovalListPendingResult](c, msp.MethodApprovalListPending, msp.ApprovalListPendingParams{SessionID: s.id})
	if len(list.UserInputs) != 1 || list.UserInputs[0].UserInputID != p.UserInputID {
		t.Errorf("pending are %+v", list)
	}
	both, label := "x", "A"
	c.refusedAs(msp.ErrorKindUserInputAnswerInvalid, msp.MethodUserInputAnswer, msp.UserInputAnswerParams{
		SessionID: s.id, CommandID: msptest.CommandID(), UserInputID: p.UserInputID,
		Answers: []msp.UserInputAnswer{{QuestionID: "q", FreeText: &both, SelectedLabel: &label}},
	})
	must[msp.UserInputAnswerResult](c, msp.MethodUserInputAnswer, msp.UserInputAnswerParams{
		SessionID: s.id, CommandID: msptest.CommandID(), UserInputID: p.UserInputID,
		Answers: []msp.UserInputAnswer{{QuestionID: "q", SelectedLabel: &label}},
	})
	if len(s.settled) != 1 || s.settled[0].Answers[0].SelectedLabels[0] != "A" {
		t.Errorf("settled with %+v", s.settled)
	}
}
