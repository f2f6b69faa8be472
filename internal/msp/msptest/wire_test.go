package msptest_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// What the program makes of lines that a careful client never sends
// (MSP.md 2).
func TestOddLines(t *testing.T) {
	const list = `"jsonrpc":"2.0","method":"session/list"`
	big := strings.Repeat("x", msp.FrameCap)
	tests := []struct {
		name, line string
		id         msp.RequestId
		want       msp.ErrorKind // empty when it has to succeed
	}{
		{"carriage return", `{"id":101,` + list + "}\r", msp.IntID(101), ""},
		{"blank lines before it", "\n \r\n" + `{"id":102,` + list + `}`, msp.IntID(102), ""},
		{"textual id", `{"id":"101",` + list + `}`, msp.StringID("101"), ""},
		{"escaped id", `{"id":"\u0061",` + list + `}`, msp.StringID("a"), ""},
		{"negative id", `{"id":-5,` + list + `}`, msp.IntID(-5), ""},
		{"unknown members", `{"future":[1,{}],"id":103,` + list + `,"params":{"futureOptionalField":null}}`, msp.IntID(103), ""},
		{"trace", `{"id":104,` + list + `,"trace":{"traceparent":"00-0-0-00"}}`, msp.IntID(104), ""},
		{"null params", `{"id":105,` + list + `,"params":null}`, msp.IntID(105), ""},
		{"params of another kind", `{"id":106,` + list + `,"params":"x"}`, msp.IntID(106), "invalid"},
		{"wrong version", `{"id":107,"jsonrpc":"1.0","method":"session/list"}`, msp.IntID(107), msp.ErrorKindInvalidRequest},
		{"no version", `{"id":108,"method":"session/list"}`, msp.IntID(108), msp.ErrorKindInvalidRequest},
		{"no method", `{"id":109,"jsonrpc":"2.0"}`, msp.IntID(109), msp.ErrorKindInvalidRequest},
		{"method of another kind", `{"id":110,"jsonrpc":"2.0","method":7}`, msp.IntID(110), msp.ErrorKindInvalidRequest},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":112,\"method\":\"\xff\"}", msp.IntID(112), msp.ErrorKindInvalidRequest},
		{"a member twice", `{"id":113,` + list + `,"method":"session/list"}`, msp.IntID(113), msp.ErrorKindInvalidRequest},
		{"too large", `{"id":111,` + list + `,"params":{"x":"` + big + `"}}`, msp.IntID(111), msp.ErrorKindInputTooLarge},
	}
	c := newHome(t, echoSettings, "").open(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Exchange(c.ctx, tt.id, tt.line)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want == "invalid" && msp.AsError(err).Kind() != msp.ErrorKindInvalidParams && msp.AsError(err).Kind() != msp.ErrorKindInvalidRequest,
				tt.want != "" && tt.want != "invalid" && (err == nil || msp.AsError(err).Kind() != tt.want):
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if tt.want == msp.ErrorKindInputTooLarge {
				if limit := msp.AsError(err).Data.LimitBytes; limit == nil || *limit != msp.FrameCap {
					t.Errorf("limit %v", limit)
				}
			}
		})
	}
	for name, line := range map[string]string{
		"no JSON":            `hello`,
		"cut JSON":           `{"jsonrpc":"2.0","id":1`,
		"too large, no id":   `{"x":"` + big + `"}`,
		"too large, late id": `{"x":"` + big + `","id":9}`,
	} {
		t.Run(name, func(t *testing.T) {
			mark := c.Mark()
			if err := c.WriteLine(line); err != nil {
				t.Fatal(err)
			}
			e, err := c.Await(c.ctx, mark, "an error without id", func(e msptest.Event) bool { return e.Method == "" })
			if err != nil {
				t.Fatal(err)
			}
			if refusal := e.Params.(*msp.Error); refusal.Kind() != msp.ErrorKindParseError || refusal.Code != -32700 {
				t.Errorf("%+v", refusal)
			}
		})
	}
	// Notifications and replies that nobody knows are passed over; the connection
	// lives on.
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"moon/rose"}`, `{"jsonrpc":"2.0","id":77,"result":{}}`,
		`{"jsonrpc":"2.0","id":78,"error":{"code":1,"message":"no"}}`, `{"jsonrpc":"2.0","method":"userInput/engaged","params":{"sessionId":7}}`,
	} {
		if err := c.WriteLine(line); err != nil {
			t.Fatal(err)
		}
	}
	must[msp.SessionListResult](c, msp.MethodSessionList, nil)
	c.leave()
}

func TestOptOutAndGrants(t *testing.T) {
	h := newHome(t, echoSettings, "")
	quiet := h.openAs(t, msp.InitializeParams{
		ClientInfo: msp.ClientInfo{Name: "flows", Version: "1"},
		Capabilities: &msp.ClientCapabilities{OptOutNotificationMethods: []string{
			msp.NoteItemDelta, msp.NoteSessionStarted, msp.NoteSessionStatusChanged, msp.NoteApprovalResolved, "no/such",
		}},
	})
	id := quiet.start().Session.SessionID
	ack, mark := quiet.submit(id, "hello")
	quiet.finished(mark, ack.TurnID)
	for _, e := range quiet.Events(0) {
		if e.Method == msp.NoteSessionListChanged {
			t.Error("session/listChanged without the grant")
		}
	}
	quiet.leave() // the judge saw none of the others

	streamed := h.openAs(t, msp.InitializeParams{
		ClientInfo:   msp.ClientInfo{Name: "flows", Version: "1"},
		Capabilities: &msp.ClientCapabilities{RequestedCapabilities: []string{"sessionListStream"}},
	})
	mark = streamed.Mark()
	fresh := streamed.start().Session.SessionID
	await(streamed, mark, msp.NoteSessionListChanged, func(p *msp.SessionListChangedParams) bool { return p.Session.SessionID == fresh })
	must[msp.SessionRenameResult](streamed, msp.MethodSessionRename, msp.SessionRenameParams{SessionID: fresh, CommandID: msptest.CommandID(), Name: "listed"})
	await(streamed, mark, msp.NoteSessionListChanged, func(p *msp.SessionListChangedParams) bool { return p.Session.Name == "listed" })
	streamed.leave()
}

func TestListPagesAndFilters(t *testing.T) {
	h := newHome(t, echoSettings, "")
	c := h.open(t)
	var made []string
	for _, name := range []string{"alpha one", "beta two", "alpha three"} {
		id := c.start().Session.SessionID
		ack, mark := c.submit(id, name)
		c.finished(mark, ack.TurnID)
		must[msp.SessionRenameResult](c, msp.MethodSessionRename, msp.SessionRenameParams{SessionID: id, CommandID: msptest.CommandID(), Name: name})
		made = append(made, id)
	}
	list := func(p msp.SessionListParams) (ids []string, r msp.SessionListResult) {
		for {
			r = must[msp.SessionListResult](c, msp.MethodSessionList, p)
			for _, s := range r.Sessions {
				ids = append(ids, s.SessionID)
			}
			if r.NextCursor == nil {
				return ids, r
			}
			p.Cursor = r.NextCursor
		}
	}
	want := strings.Join([]string{made[2], made[1], made[0]}, " ")
	for _, limit := range []int64{1, 2, 50} {
		if ids, r := list(msp.SessionListParams{Limit: &limit}); strings.Join(ids, " ") != want || r.AppliedFilter != nil {
			t.Errorf("in pages of %d: %v, want %s", limit, ids, want)
		}
	}
	ids, r := list(msp.SessionListParams{Filter: &msp.SessionListFilter{Text: &msp.SessionListTextFilter{
		Fields: []msp.SessionListTextField{msp.SessionListTextFieldName}, AllOf: []string{"alpha"},
	}}})
	if strings.Join(ids, " ") != made[2]+" "+made[0] || r.AppliedFilter == nil {
		t.Errorf("by text: %v, filter %+v", ids, r.AppliedFilter)
	}
	ids, _ = list(msp.SessionListParams{Filter: &msp.SessionListFilter{SessionID: &msp.SessionListSessionIdFilter{AnyOf: []string{made[1]}}}})
	if strings.Join(ids, " ") != made[1] {
		t.Errorf("by id: %v", ids)
	}
	if ids, r := list(msp.SessionListParams{Filter: &msp.SessionListFilter{}}); len(ids) != 3 || r.AppliedFilter == nil {
		t.Errorf("an empty filter: %v, %+v", ids, r.AppliedFilter)
	}
	if ids, _ := list(msp.SessionListParams{WorkspaceRoot: new(h.workspace + "/elsewhere")}); len(ids) != 0 {
		t.Errorf("of another root: %v", ids)
	}
	c.leave()
}

// Only ids in flight must differ: after its reply an id is free again.
func TestSameIDTwice(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	text, err := json.Marshal(msp.TurnStartParams{SessionID: id, CommandID: msptest.CommandID(), Input: textInput("hi")})
	if err != nil {
		t.Fatal(err)
	}
	line := `{"jsonrpc":"2.0","id":"one","method":"turn/start","params":` + string(jsontext.Value(text)) + `}`
	if _, err := c.Exchange(c.ctx, msp.StringID("one"), line); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exchange(c.ctx, msp.StringID("one"), line); err != nil {
		t.Errorf("a free id is refused: %v", err)
	}
	c.leave()
}
