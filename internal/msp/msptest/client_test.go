package msptest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/msp"
)

// scripted plays a host: for every line of the client it writes the lines that
// the script has for it.
func scripted(t *testing.T, answers ...string) *Client {
	t.Helper()
	hostIn, clientOut := io.Pipe()
	clientIn, hostOut := io.Pipe()
	go func() {
		defer hostOut.CloseWithError(io.EOF)
		lines := bufio.NewScanner(hostIn)
		for _, answer := range answers {
			if !lines.Scan() {
				return
			}
			if answer == "" {
				continue
			}
			if _, err := io.WriteString(hostOut, answer+"\n"); err != nil {
				return
			}
		}
		for lines.Scan() { // until the client has closed
		}
	}()
	c, err := New(clientOut, clientIn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.CloseInput()
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if err := c.Wait(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

const greeting = `{"jsonrpc":"2.0","id":1,"result":{"experimentalApi":false,"grantedCapabilities":[],"museHome":"/m","platformFamily":"unix","platformOs":"linux","schema":{"fingerprint":"sha256:0","version":1},"serverInfo":{"name":"h","version":"1"},"userAgent":"h/1"}}`

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(stop)
	return ctx
}

func hello() msp.InitializeParams {
	return msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "openmuse_msptest", Version: "1"}}
}

func TestClientDialogue(t *testing.T) {
	c := scripted(t, greeting, "",
		`{"jsonrpc":"2.0","method":"session/nameChanged","params":{"sessionId":"s","viewCursor":"v:s:1","sourceRange":{"stream":{"kind":"session","id":"s"},"first":{"id":"r","sequence":1},"last":{"id":"r","sequence":1}},"name":"n"},"emittedAtMs":5}`+"\n"+
			`{"jsonrpc":"2.0","id":2,"result":{"commandId":"c","status":"accepted","name":"n"}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32024,"message":"m","data":{"kind":"sessionNotLoaded","sessionId":"s"}}}`)
	ctx := within(t)
	if _, err := c.Initialize(ctx, hello()); err != nil {
		t.Fatal(err)
	}
	mark := c.Mark()
	renamed, err := Call[msp.SessionRenameResult](ctx, c, msp.MethodSessionRename, msp.SessionRenameParams{SessionID: "s", CommandID: "c", Name: "n"})
	if err != nil || renamed.Name != "n" {
		t.Fatalf("%+v, %v", renamed, err)
	}
	changed, err := AwaitParams[msp.SessionNameChangedParams](ctx, c, mark, msp.NoteSessionNameChanged, nil)
	if err != nil || changed.Name != "n" {
		t.Fatalf("%+v, %v", changed, err)
	}
	_, err = Call[msp.TurnCancelResult](ctx, c, msp.MethodTurnCancel, msp.TurnCancelParams{SessionID: "s", CommandID: "d"})
	if !errors.Is(err, msp.SessionNotLoaded("")) {
		t.Errorf("error %v", err)
	}
	if err := c.Faults(); err != nil {
		t.Error(err)
	}
	if left := c.Unfinished(); len(left) > 0 {
		t.Errorf("unfinished: %v", left)
	}
}

// What a host gets wrong is noticed, each kind on its own.
func TestJudgeFindsFaults(t *testing.T) {
	const (
		at    = `"sessionId":"s","viewCursor":"v:s:%","sourceRange":{"stream":{"kind":"run","id":"r"},"first":{"id":"a","sequence":1},"last":{"id":"a","sequence":1}}`
		turn  = `"turnId":"t","commandId":"t"`
		item  = `"itemId":"i","kind":"agentMessage","turnId":"t"`
		begun = `{"jsonrpc":"2.0","method":"item/started","params":{"sessionId":"s","viewCursor":"v:s:1","item":{` + item + `,"revision":1,"status":"inProgress","text":""}},"emittedAtMs":1}`
		delta = `{"jsonrpc":"2.0","method":"item/delta","params":{"sessionId":"s","viewCursor":"v:s:2","itemId":"i","delta":"ab"},"emittedAtMs":1}`
	)
	durable := func(n string) string { return strings.Replace(at, "%", n, 1) }
	completed := func(n, rest string) string {
		return `{"jsonrpc":"2.0","method":"item/completed","params":{` + durable(n) + `,"item":{` + item + rest + `}},"emittedAtMs":1}`
	}
	tests := []struct {
		name  string
		lines []string
		want  string // in the faults; empty for none
	}{
		{"nothing wrong", []string{begun, delta, completed("3", `,"revision":2,"status":"completed","text":"ab"`)}, ""},
		{"truncated text", []string{begun, delta, completed("3", `,"revision":2,"status":"completed","text":"a","truncated":true`)}, ""},
		{"other text", []string{begun, delta, completed("3", `,"revision":2,"status":"completed","text":"abc"`)}, "deltas of i.text"},
		{"same revision", []string{begun, completed("3", `,"revision":1,"status":"completed","text":""`)}, "revision 1 after 1"},
		{"completed in progress", []string{completed("3", `,"revision":1,"status":"inProgress","text":""`)}, "has status inProgress"},
		{"same cursor", []string{delta, delta}, "cursor v:s:2 after number 2"},
		{"foreign cursor", []string{strings.Replace(delta, "v:s:2", "v:x:2", 1)}, "is not v:s:<n>"},
		{"delta of nothing", []string{delta}, "unknown item i"},
		{"no time", []string{strings.Replace(begun, `,"emittedAtMs":1`, "", 1)}, "no emittedAtMs"},
		{"time in the params", []string{strings.Replace(begun, `"params":{`, `"params":{"emittedAtMs":1,`, 1)}, "emittedAtMs: must not be there"},
		{"unknown notification", []string{`{"jsonrpc":"2.0","method":"moon/rose","params":{},"emittedAtMs":1}`}, "unknown notification"},
		{"client's notification", []string{`{"jsonrpc":"2.0","method":"initialized","emittedAtMs":1}`}, "unknown notification"},
		{"opted out", []string{`{"jsonrpc":"2.0","method":"skill/changed","params":{"sessionId":"s"},"emittedAtMs":1}`}, "opted out"},
		{"unasked reply", []string{`{"jsonrpc":"2.0","id":9,"result":{}}`}, "nobody waits for"},
		{"second reply", []string{greeting}, "nobody waits for"},
		{"list as result", []string{`{"jsonrpc":"2.0","id":2,"result":[]}`}, "result: must be an object"},
		{"error without kind", []string{`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"m"}}`}, "without data.kind"},
		{"kind with another code", []string{`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"m","data":{"kind":"notFound"}}}`}, "want -32011"},
		{"other command", []string{`{"jsonrpc":"2.0","id":2,"result":{"commandId":"x","status":"accepted","turnId":"t"}}`}, "was answered as x"},
		{"missing member", []string{`{"jsonrpc":"2.0","id":2,"result":{"commandId":"c","turnId":"t"}}`}, "status"},
		{"turn without beginning", []string{`{"jsonrpc":"2.0","method":"turn/completed","params":{` + durable("4") + `,"turnId":"t","terminal":"completed"},"emittedAtMs":1}`}, "never began"},
		{"turn twice", []string{
			`{"jsonrpc":"2.0","method":"turn/started","params":{` + durable("4") + `,` + turn + `},"emittedAtMs":1}`,
			`{"jsonrpc":"2.0","method":"turn/started","params":{` + durable("5") + `,` + turn + `},"emittedAtMs":1}`,
		}, "began twice"},
		{"textual id of a server request", []string{`{"jsonrpc":"2.0","id":"1","method":"userInput/request","params":{}}`}, "not a higher integer"},
		{"carriage return", []string{delta + "\r"}, "carriage return"},
		{"not JSON", []string{"hello"}, "unreadable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j, err := NewJudge()
			if err != nil {
				t.Fatal(err)
			}
			j.Client([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}`))
			if faults := j.Host([]byte(greeting)); faults != nil {
				t.Fatal(faults)
			}
			j.Client([]byte(`{"jsonrpc":"2.0","method":"initialized"}`))
			j.muted[msp.NoteSkillChanged] = tt.name == "opted out"
			if !j.muted[msp.NoteSkillChanged] {
				j.muted = map[string]bool{}
			}
			j.Client([]byte(`{"jsonrpc":"2.0","id":2,"method":"turn/cancel","params":{"sessionId":"s","commandId":"c"}}`))
			var all []error
			for _, line := range tt.lines {
				all = append(all, j.Host([]byte(line))...)
			}
			joined := errors.Join(all...)
			if tt.want == "" {
				if joined != nil {
					t.Errorf("faults: %v", joined)
				}
				return
			}
			if joined == nil || !strings.Contains(joined.Error(), tt.want) {
				t.Errorf("faults: %v, want %q", joined, tt.want)
			}
		})
	}
}

func TestJudgeKnowsTheHandshake(t *testing.T) {
	j, err := NewJudge()
	if err != nil {
		t.Fatal(err)
	}
	early := []byte(`{"jsonrpc":"2.0","method":"skill/changed","params":{"sessionId":"s"},"emittedAtMs":1}`)
	if faults := j.Host(early); len(faults) != 1 || !strings.Contains(faults[0].Error(), "before initialized") {
		t.Errorf("faults: %v", faults)
	}
	j.Client([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}`))
	if faults := j.Host([]byte(greeting)); faults != nil {
		t.Error(faults)
	}
	if faults := j.Host(early); len(faults) != 1 {
		t.Errorf("faults: %v", faults)
	}
	j.Client([]byte(`{"jsonrpc":"2.0","method":"initialized"}`))
	if faults := j.Host(early); faults != nil {
		t.Error(faults)
	}
}
