package msptest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// Every method of the table against the program: before the handshake, with
// params that it cannot take, and about a session that does not exist. What a
// method does when it succeeds is tested where it is made.
func TestEveryMethodRefuses(t *testing.T) {
	h := newHome(t, echoSettings, "")
	early := &client{Process: h.launch(t), t: t, ctx: t.Context(), home: h}
	for _, m := range msp.Methods() {
		if m.Name != msp.MethodInitialize {
			refused(early, msp.ErrorKindNotInitialized, m.Name, nil)
		}
	}
	c := h.openAs(t, msp.InitializeParams{
		ClientInfo:   msp.ClientInfo{Name: "flows", Version: "1"},
		Capabilities: &msp.ClientCapabilities{RequestedCapabilities: []string{"userShell", "sessionMcp", "feedback"}},
	})
	refused(c, msp.ErrorKindAlreadyInitialized, msp.MethodInitialize, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "x", Version: "1"}})
	refused(c, msp.ErrorKindMethodNotFound, "moon/rise", nil)
	refused(c, msp.ErrorKindExperimentalRequired, msp.MethodTaskList, msp.TaskListParams{SessionID: msptest.CommandID()})

	for _, m := range msp.Methods() {
		if m.Name == msp.MethodInitialize || m.Params() == nil {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			c := *c
			c.t = t
			if ungranted(m.Name) {
				refused(&c, msp.ErrorKindCapabilityRequired, m.Name, nil)
				return
			}
			refused(&c, msp.ErrorKindInvalidParams, m.Name, jsontext.Value(`[]`))
			refused(&c, msp.ErrorKindInvalidParams, m.Name, jsontext.Value(wrongTypes(t, m)))
			if params := needsSession(t, m); params != nil {
				refused(&c, msp.ErrorKindSessionNotFound, m.Name, params)
			}
		})
	}
	c.leave()
}

// ungranted says that this host never grants the capability that a method
// needs, so that it refuses before it looks at anything else.
func ungranted(method string) bool { return method == msp.MethodFeedbackSubmit }

// wrongTypes are params in which every member is a list of lists, which nothing
// on the wire is.
func wrongTypes(t *testing.T, m msp.MethodSpec) string {
	t.Helper()
	members := map[string]jsontext.Value{}
	for _, name := range membersOf(t, m) {
		members[name] = jsontext.Value(`[[]]`)
	}
	text, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func membersOf(t *testing.T, m msp.MethodSpec) []string {
	t.Helper()
	var names []string
	for f := range reflect.TypeOf(m.Params()).Elem().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// needsSession are valid params about a session that does not exist, or nil for
// a method that needs none.
func needsSession(t *testing.T, m msp.MethodSpec) any {
	t.Helper()
	switch m.Name {
	case msp.MethodSessionStart, msp.MethodModelList, msp.MethodSessionList, msp.MethodViewUnsubscribe,
		msp.MethodFeedbackSubmit, msp.MethodComputerUseSettingsRead, msp.MethodComputerUseSettingsUpdate:
		return nil
	}
	params := m.Params()
	v := reflect.ValueOf(params).Elem()
	for i := range v.NumField() {
		f, field := v.Field(i), v.Type().Field(i)
		if strings.Contains(field.Tag.Get("json"), "omitzero") {
			continue
		}
		switch {
		case f.Kind() == reflect.String && strings.HasSuffix(field.Name, "ID"):
			f.SetString(msptest.CommandID())
		case f.Type() == reflect.TypeFor[string]():
			f.SetString("x")
		case f.Kind() == reflect.Int64:
			f.SetInt(1)
		case f.Type() == reflect.TypeFor[[]msp.TurnInputPart]():
			f.Set(reflect.ValueOf(textInput("x")))
		case f.Type() == reflect.TypeFor[[]msp.UserInputAnswer]():
			f.Set(reflect.ValueOf([]msp.UserInputAnswer{{QuestionID: "q", FreeText: new("x")}}))
		}
	}
	switch p := params.(type) {
	case *msp.SessionSetModelParams:
		p.Model.ModelID = "x"
	case *msp.SessionSetReasoningEffortParams:
		p.ReasoningEffort = msp.ReasoningEffortLow
	case *msp.SessionSetApprovalModeParams:
		p.Mode = msp.ApprovalModeOnRequest
	case *msp.SkillSetActivationParams:
		p.Activation, p.Scope = msp.SkillActivationStateOn, msp.SkillActivationScopeUser
	case *msp.WorkflowChildControlParams:
		p.Action = msp.WorkflowChildActionSkip
	case *msp.UserInputClarifyParams:
		p.Clarification = msp.UserInputClarification{Format: "text", Content: "x"}
	case *msp.MediaUploadParams:
		p.ChunkBase64, p.MediaType, p.ChunkIndex, p.TotalBytes = "eA==", "image/png", 0, 1
	}
	return params
}
