package msp

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestDecodeParamsRefuses(t *testing.T) {
	start := `"sessionId":"s","commandId":"c"`
	tests := []struct {
		name, method, params string
		want                 string // in the message; empty when it is taken
	}{
		{"no params", MethodUsageRead, ``, ``},
		{"null params", MethodModelList, `null`, ``},
		{"missing", MethodTurnStart, `{"sessionId":"s","commandId":"c"}`, "input: is missing"},
		{"missing all", MethodTurnStart, ``, "sessionId: is missing"},
		{"list", MethodTurnStart, `[]`, "must be an object"},
		{"text", MethodTurnStart, `"x"`, "must be an object"},
		{"wrong type", MethodTurnStart, `{` + start + `,"input":"x"}`, "input: must be a list"},
		{"deep wrong type", MethodTurnStart, `{` + start + `,"input":[{"type":"text","text":"a"},{"type":"text","text":1}]}`, "input[1].text: must be a string"},
		{"empty input", MethodTurnStart, `{` + start + `,"input":[]}`, "input: must have at least 1 element"},
		{"unknown part type", MethodTurnStart, `{` + start + `,"input":[{"type":"smell"}]}`, "input[0].type: must be one of text, image, skill, video"},
		{"unknown ifBusy", MethodTurnStart, `{` + start + `,"input":[{"type":"text","text":"a"}],"ifBusy":"wait"}`, "ifBusy: must be one of queue, steer, replace"},
		{"unknown members are ignored", MethodTurnStart, `{"futureOptionalField":{"x":[null]},` + start + `,"input":[{"type":"text","text":"a","more":1}]}`, ``},
		{"null for a required member", MethodTurnCancel, `{"sessionId":null,"commandId":"c"}`, "sessionId: must be a string and not null"},
		{"null for an optional member", MethodSessionStart, `{"commandId":"c","workspaceRoots":null}`, "workspaceRoots: must be a list"},
		{"null that means absence", MethodSessionStart, `{"commandId":"c","providerId":null,"approvalMode":null}`, ``},
		{"null cursor", MethodSessionResume, `{"commandId":"c","sessionId":"s","cursor":null}`, ``},
		{"null feedback", MethodApprovalDecide, `{` + start + `,"approvalId":"a","choiceId":"x","requirementId":{"approvalId":"a","sourceIndex":0},"feedback":null}`, ``},
		{"page limit 0", MethodViewPage, `{"sessionId":"s","limit":0}`, "limit: must be at least 1"},
		{"page limit 1001", MethodViewPage, `{"sessionId":"s","limit":1001}`, "limit: must be at most 1000"},
		{"fraction", MethodViewPage, `{"sessionId":"s","limit":1.5}`, "limit: must be an integer"},
		{"number as text", MethodViewPage, `{"sessionId":"s","limit":"1"}`, "limit: must be an integer"},
		{"negative offset", MethodItemReadOutput, `{"sessionId":"s","itemId":"i","outputRef":"o","offsetBytes":-1}`, "offsetBytes: must be at least 0"},
		{"too large for 64 bits", MethodItemReadOutput, `{"sessionId":"s","itemId":"i","outputRef":"o","offsetBytes":99999999999999999999}`, "offsetBytes: must be an integer of 64 bits"},
		{"an open word may be new", MethodViewPage, `{"sessionId":"s","limit":1,"anchor":"moon"}`, ``},
		{"null in a list that may have it", MethodSessionList, `{"filter":{"branch":{"anyOf":["main",null]}}}`, ``},
		{"null in a list that may not", MethodSessionList, `{"filter":{"sessionId":{"anyOf":[null]}}}`, "filter.sessionId.anyOf[0]: must be a string and not null"},
		{"goal/clear with an objective", MethodGoalClear, `{` + start + `,"objective":"x"}`, "objective: must not be there"},
		{"goal/pause with a null objective", MethodGoalPause, `{` + start + `,"objective":null}`, "objective: must not be there"},
		{"goal/resume with something else", MethodGoalResume, `{` + start + `,"other":"x"}`, ``},
		{"server without transport", MethodSessionStart, `{"commandId":"c","config":{"mcpServers":{"a":{}}}}`, "config.mcpServers.a.transport: is missing"},
		{"server with an unknown transport", MethodSessionStart, `{"commandId":"c","config":{"mcpServers":{"a":{"transport":"pigeon"}}}}`, "config.mcpServers.a.transport: must be one of stdio, streamableHttp"},
		{"stdio without command", MethodSessionStart, `{"commandId":"c","config":{"mcpServers":{"a":{"transport":"stdio"}}}}`, "config.mcpServers.a.command: is missing"},
		{"stdio with an empty command", MethodSessionStart, `{"commandId":"c","config":{"mcpServers":{"a":{"transport":"stdio","command":""}}}}`, "config.mcpServers.a.command: must not be empty"},
		{"stdio", MethodSessionStart, `{"commandId":"c","config":{"mcpServers":{"a":{"command":"x","args":["y"],"transport":"stdio","url":"ignored","future":7}},"unknown":1}}`, ``},
		{"http with a bad header", MethodSessionStart, `{"commandId":"c","config":{"mcpServers":{"a":{"transport":"streamableHttp","url":"u","headers":{"h":1}}}}}`, "config.mcpServers.a.headers.h: must be a string"},
		{"a name twice", MethodTurnCancel, `{"sessionId":"s","sessionId":"t","commandId":"c"}`, "duplicate"},
		{"other letter case", MethodTurnCancel, `{"SessionId":"s","commandId":"c"}`, "sessionId: is missing"},
		{"not UTF-8", MethodTurnCancel, "{\"sessionId\":\"\xff\",\"commandId\":\"c\"}", "invalid UTF-8"},
		{"cut", MethodTurnCancel, `{"sessionId":"s","commandId":`, "is not JSON"},
		{"more behind", MethodTurnCancel, `{"sessionId":"s","commandId":"c"}{}`, "has more after its end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec, ok := LookupMethod(tt.method)
			if !ok {
				t.Fatal("no such method")
			}
			into := spec.Params()
			if into == nil {
				into = new(struct{})
			}
			err := DecodeInto(jsontext.Value(tt.params), into)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			refusal, ok := errors.AsType[*Error](err)
			if !ok || refusal.Code != -32602 || refusal.Kind() != ErrorKindInvalidParams {
				t.Fatalf("error %v, want invalidParams", err)
			}
			if !strings.Contains(refusal.Message, tt.want) {
				t.Errorf("message %q, want %q in it", refusal.Message, tt.want)
			}
		})
	}
}

func TestDecodeParamsValues(t *testing.T) {
	got, err := DecodeParams[SessionStartParams](jsontext.Value(`{"commandId":"c","approvalMode":"onRequest","workspaceRoot":"/w","modelId":""}`))
	want := SessionStartParams{CommandID: "c", ApprovalMode: new(ApprovalModeOnRequest), WorkspaceRoot: new("/w"), ModelID: new("")}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	page, err := DecodeParams[ViewSubscribeParams](jsontext.Value(`{"sessionId":"s","after":""}`))
	if err != nil || page.After == nil || *page.After != "" {
		t.Errorf("an empty cursor is not absence: %+v, %v", page, err)
	}
}

// FuzzDecodeParams holds for every method: decoding ends without a panic, a
// refusal is invalidParams, and what was taken is taken again after it was
// written, with the same meaning.
func FuzzDecodeParams(f *testing.F) {
	methods := append(Methods(), ExperimentalMethods()...)
	for i, m := range methods {
		f.Add(uint8(i), []byte(`{}`))
		if m.params != nil {
			sample, err := json.Marshal(sampleOf(m.params), json.Deterministic(true))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), sample)
		}
	}
	f.Add(uint8(0), []byte(`{"clientInfo":{"name":1}}`))
	f.Fuzz(func(t *testing.T, which uint8, params []byte) {
		spec := methods[int(which)%len(methods)]
		first := spec.Params()
		if first == nil {
			return
		}
		if err := DecodeInto(params, first); err != nil {
			if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Kind() != ErrorKindInvalidParams {
				t.Fatalf("%s: %v", spec.Name, err)
			}
			return
		}
		again, err := json.Marshal(first, json.Deterministic(true))
		if err != nil {
			t.Fatalf("%s: cannot write %+v: %v", spec.Name, first, err)
		}
		second := spec.Params()
		if err := DecodeInto(again, second); err != nil {
			t.Fatalf("%s: %s was taken and %s is not: %v", spec.Name, params, again, err)
		}
		last, err := json.Marshal(second, json.Deterministic(true))
		if err != nil || string(last) != string(again) {
			t.Fatalf("%s: %s became %s, %v", spec.Name, again, last, err)
		}
	})
}
