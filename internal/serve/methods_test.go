package serve

import (
	"encoding/base64"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// methodCase is one method of the protocol: how it is called when all is well,
// and what it answers then.
type methodCase struct {
	params func(session string) map[string]any
	// kind is what a good call is refused with on a host without the feature;
	// "" for a success.
	kind msp.ErrorKind
	// bad are params, beside the good ones, that are refused as such.
	bad map[string]any
	// free methods need no loaded session.
	free bool
	// stored methods read a session that is not loaded.
	stored bool
}

// with is params of a session: name, value, name, value.
func with(pairs ...any) func(string) map[string]any {
	return func(session string) map[string]any {
		p := map[string]any{"sessionId": session, "commandId": msptest.CommandID()}
		for i := 0; i < len(pairs); i += 2 {
			p[pairs[i].(string)] = pairs[i+1]
		}
		return p
	}
}

func without(pairs ...any) func(string) map[string]any {
	return func(string) map[string]any {
		p := with(pairs...)("")
		delete(p, "sessionId")
		delete(p, "commandId")
		return p
	}
}

func methodCases() map[string]methodCase {
	id := func() string { return ident.V7(time.Now()) }
	prompt := []any{map[string]any{"type": "text", "text": "hello"}}
	answer := []any{map[string]any{"questionId": "q", "selectedLabel": "A"}}
	picture := base64.StdEncoding.EncodeToString([]byte("picture"))
	subagent := methodCase{params: with("subagentId", "s"), kind: msp.ErrorKindCommandRejected, bad: map[string]any{"subagentId": nil}}
	words := methodCase{params: with("subagentId", "s", "body", "b"), kind: msp.ErrorKindCommandRejected, bad: map[string]any{"body": 7}}
	workflow := methodCase{params: with("workflowRunId", "w"), kind: msp.ErrorKindCommandRejected, bad: map[string]any{"workflowRunId": 7}}
	return map[string]methodCase{
		msp.MethodSessionStart: {params: func(string) map[string]any {
			return map[string]any{"commandId": id(), "workspaceRoot": "/home/me/place"}
		}, bad: map[string]any{"workspaceRoot": "relative"}, free: true},
		msp.MethodSessionResume:   {params: with(), bad: map[string]any{"history": "all"}, stored: true},
		msp.MethodSessionFork:     {params: with(), bad: map[string]any{"cutPoint": map[string]any{}}, kind: msp.ErrorKindForkBoundaryInvalid, free: true},
		msp.MethodSessionList:     {params: without("limit", 5), bad: map[string]any{"limit": 500}, free: true},
		msp.MethodSessionRead:     {params: with(), bad: map[string]any{"excludeItems": "yes"}, stored: true},
		msp.MethodSessionSideChat: {params: with(), bad: map[string]any{"commandId": "x"}, free: true},

		msp.MethodTurnStart:     {params: with("input", prompt), bad: map[string]any{"input": []any{}}},
		msp.MethodTurnSteer:     {params: with("input", prompt, "expectedTurnId", id()), bad: map[string]any{"expectedTurnId": "x"}},
		msp.MethodTurnInterrupt: {params: with("retract", true), bad: map[string]any{"retract": "yes"}},
		msp.MethodTurnCancel:    {params: with("turnId", id()), bad: map[string]any{"turnId": "x"}},
		msp.MethodTurnUnqueue:   {params: with("turnId", id()), bad: map[string]any{"turnId": nil}},

		msp.MethodSessionCompact:            {params: with(), bad: map[string]any{"turnId": "x"}},
		msp.MethodSessionSetModel:           {params: with("model", map[string]any{"modelId": "m2", "profileId": nil}), bad: map[string]any{"model": "m2"}},
		msp.MethodSessionRename:             {params: with("name", "n"), bad: map[string]any{"name": " "}},
		msp.MethodSessionSetReasoningEffort: {params: with("reasoningEffort", "low"), bad: map[string]any{"reasoningEffort": "lots"}},
		msp.MethodSessionUserShell:          {params: with("commandText", "ls"), bad: map[string]any{"commandText": ""}},
		msp.MethodSessionSetApprovalMode:    {params: with("mode", "denyUnmatched"), bad: map[string]any{"mode": "never"}},

		msp.MethodModelList:          {params: with(), bad: map[string]any{"sessionId": 7}, stored: true},
		msp.MethodSkillList:          {params: with(), bad: map[string]any{"sessionId": 7}},
		msp.MethodHookList:           {params: with(), bad: map[string]any{"sessionId": 7}},
		msp.MethodPluginList:         {params: with(), bad: map[string]any{"sessionId": 7}},
		msp.MethodSkillSetActivation: {params: with("selector", "s", "scope", "user", "activation", "off"), kind: msp.ErrorKindSkillNotFound, bad: map[string]any{"activation": "maybe"}},

		msp.MethodTaskBackground: {params: with("taskId", "t"), bad: map[string]any{"taskId": 7}},
		msp.MethodTaskStop:       {params: with("taskId", "t"), bad: map[string]any{"taskId": nil}},
		msp.MethodTaskStopAll:    {params: with(), bad: map[string]any{"commandId": "x"}},

		msp.MethodGoalSet:    {params: with("objective", "o"), bad: map[string]any{"objective": "  "}},
		msp.MethodGoalEdit:   {params: with("objective", "o"), bad: map[string]any{"objective": nil}},
		msp.MethodGoalClear:  {params: with(), bad: map[string]any{"objective": "o"}},
		msp.MethodGoalPause:  {params: with(), bad: map[string]any{"objective": "o"}},
		msp.MethodGoalResume: {params: with(), bad: map[string]any{"objective": "o"}},

		msp.MethodMediaUpload: {
			params: with("uploadId", "u", "mediaType", "image/png", "chunkBase64", picture, "chunkIndex", 0, "chunkCount", 1, "totalBytes", 7),
			bad:    map[string]any{"totalBytes": 3},
		},
		msp.MethodViewSubscribe:   {params: with(), bad: map[string]any{"after": 7}},
		msp.MethodViewUnsubscribe: {params: with(), bad: map[string]any{"sessionId": nil}, free: true},
		msp.MethodViewPage:        {params: with("limit", 10), bad: map[string]any{"limit": 0}, stored: true},
		msp.MethodItemReadOutput:  {params: with("itemId", "i", "outputRef", "o"), kind: msp.ErrorKindNotFound, bad: map[string]any{"lengthBytes": 0}, stored: true},

		msp.MethodApprovalDecide: {
			params: with("approvalId", "a", "choiceId", "allow_once", "feedback", nil, "requirementId", map[string]any{"approvalId": "a", "sourceIndex": 0}),
			bad:    map[string]any{"requirementId": "a"},
		},
		msp.MethodApprovalListPending: {params: with(), bad: map[string]any{"sessionId": 7}, stored: true},
		msp.MethodUserInputAnswer:     {params: with("userInputId", "u", "answers", answer), bad: map[string]any{"answers": "A"}},
		msp.MethodUserInputCancel:     {params: with("userInputId", "u"), bad: map[string]any{"reason": 7}},
		msp.MethodUserInputClarify: {
			params: with("userInputId", "u", "clarification", map[string]any{"format": "text", "content": "c"}),
			bad:    map[string]any{"clarification": map[string]any{"format": "html", "content": "c"}},
		},
		msp.MethodUserInputInterrupt: {params: with("userInputId", "u"), bad: map[string]any{"answers": 7}},

		msp.MethodUsageRead: {params: without(), free: true},
		msp.MethodFeedbackSubmit: {
			params: without("classification", "bug", "note", "n", "withFiles", false), kind: msp.ErrorKindCapabilityRequired, free: true,
		},
		msp.MethodComputerUseSettingsRead:   {params: without(), kind: msp.ErrorKindComputerUseUnavailable, bad: map[string]any{"showBuiltIns": 7}, free: true},
		msp.MethodComputerUseSettingsUpdate: {params: without("screenshots", "ask"), kind: msp.ErrorKindComputerUseUnavailable, bad: map[string]any{"blockApps": 7}, free: true},

		msp.MethodSubagentSendMessage: words, msp.MethodSubagentFollowupTask: words,
		msp.MethodSubagentInterrupt: subagent, msp.MethodSubagentStop: subagent, msp.MethodSubagentClose: subagent,
		msp.MethodSubagentResume: subagent, msp.MethodSubagentReopen: subagent, msp.MethodSubagentReadResult: subagent,
		msp.MethodWorkflowCancel: workflow, msp.MethodWorkflowPause: workflow,
		msp.MethodWorkflowChildControl: {
			params: with("workflowRunId", "w", "childId", "c", "attempt", 1, "action", "skip"), kind: msp.ErrorKindCommandRejected,
			bad: map[string]any{"action": "jump"},
		},
	}
}

// TestEveryMethod calls each method of the protocol: as it is meant, with
// params that are no good, for a session that nobody knows and for one that is
// not loaded.
func TestEveryMethod(t *testing.T) {
	cases := methodCases()
	for _, spec := range msp.Methods() {
		tt, ok := cases[spec.Name]
		if spec.Name == msp.MethodInitialize {
			continue // TestFrames
		}
		if !ok {
			t.Errorf("%s has no case", spec.Name)
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			c := ready(t, &msp.ClientCapabilities{RequestedCapabilities: []string{"userShell"}})
			session := c.host.add("", "/home/me/place").id
			params := tt.params(session)
			if tt.kind == "" {
				if _, err := c.Request(c.ctx, spec.Name, params); err != nil {
					t.Errorf("a good call: %v", err)
				}
			} else {
				c.refusedAs(tt.kind, spec.Name, params)
			}
			for member, value := range tt.bad {
				bad := maps.Clone(tt.params(session))
				bad[member] = value
				c.refusedAs(msp.ErrorKindInvalidParams, spec.Name, bad)
			}
			if spec.Command {
				bad := tt.params(session)
				delete(bad, "commandId")
				c.refusedAs(msp.ErrorKindInvalidParams, spec.Name, bad)
			}
			if tt.free {
				return
			}
			c.refusedAs(msp.ErrorKindSessionNotFound, spec.Name, tt.params(ident.V7(time.Now())))
			c.host.mu.Lock()
			c.host.unloaded[session] = true
			c.host.mu.Unlock()
			if !tt.stored {
				c.refusedAs(msp.ErrorKindSessionNotLoaded, spec.Name, tt.params(session))
			} else if _, err := c.Request(c.ctx, spec.Name, tt.params(session)); (err != nil) != (tt.kind != "") {
				t.Errorf("a session that is not loaded: %v", err)
			}
		})
	}
	for name := range cases {
		if _, ok := msp.LookupMethod(name); !ok {
			t.Errorf("%s is no method", name)
		}
	}
}

// TestRefusalsOfTheHost holds what each refusal of a host looks like on the
// wire (MSP.md 9).
func TestRefusalsOfTheHost(t *testing.T) {
	c := ready(t, nil)
	_, s := c.start()
	tests := []struct {
		no   host.Refusal
		code int64
		kind msp.ErrorKind
		look func(msp.ErrorData) bool
	}{
		{host.Refusal{Kind: host.RefusedCommand, Reason: host.ReasonMissingRun}, -32030, "commandRejected", func(d msp.ErrorData) bool { return d.Reason == "missing_run" && d.CommandID != "" }},
		{host.Refusal{Kind: host.NoSuchApproval, ApprovalID: "a"}, -32050, "approvalNotFound", func(d msp.ErrorData) bool { return d.ApprovalID == "a" }},
		{host.Refusal{Kind: host.ApprovalResolved, ApprovalID: "a", Settled: &host.Settled{Outcome: "approved", By: "user", Sequence: 1}}, -32051, "approvalAlreadyResolved", func(d msp.ErrorData) bool {
			return d.Resolution != nil && d.Resolution.Decision == "approved" && d.Resolution.ResolvedBy == "user" && d.Resolution.ViewCursor != ""
		}},
		{host.Refusal{Kind: host.BadChoice, ApprovalID: "a", ChoiceID: "c"}, -32052, "approvalChoiceInvalid", func(d msp.ErrorData) bool { return d.ChoiceID == "c" }},
		{host.Refusal{Kind: host.StaleRequirement, ApprovalID: "a", Requirement: &host.Requirement{ApprovalID: "a", SourceIndex: 1}}, -32053, "approvalRequirementStale", func(d msp.ErrorData) bool {
			return d.CurrentRequirementID != nil && d.CurrentRequirementID.SourceIndex == 1
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			no := tt.no
			no.Message = "no"
			s.mu.Lock()
			s.refuse = &no
			s.mu.Unlock()
			_, err := c.Request(c.ctx, msp.MethodApprovalDecide, methodCases()[msp.MethodApprovalDecide].params(s.id))
			e := msp.AsError(orNil(err))
			if e.Code != tt.code || e.Kind() != tt.kind || !tt.look(e.Data) {
				t.Errorf("told as %+v", e)
			}
		})
	}
	no := &host.Refusal{Kind: host.UserInputSettled, UserInputID: "u", Message: "no", Settled: &host.Settled{Outcome: "answered", Sequence: 1}}
	s.mu.Lock()
	s.refuse = no
	s.mu.Unlock()
	e := c.refusedAs(msp.ErrorKindUserInputAlreadySettled, msp.MethodUserInputCancel, methodCases()[msp.MethodUserInputCancel].params(s.id))
	if e.Data.Settlement == nil || e.Data.Settlement.Outcome != "answered" || e.Data.Settlement.ViewCursor == "" {
		t.Errorf("told as %+v", e.Data)
	}
}

// TestUploads leaves a picture with the host in pieces and uses it.
func TestUploads(t *testing.T) {
	c := ready(t, nil)
	_, s := c.start()
	chunk := func(index int, data string) map[string]any {
		return with("uploadId", "u", "mediaType", "image/png", "chunkBase64", base64.StdEncoding.EncodeToString([]byte(data)),
			"chunkIndex", index, "chunkCount", 2, "totalBytes", 6)(s.id)
	}
	use := func() map[string]any {
		return with("input", []any{map[string]any{"type": "image", "uploadId": "u"}})(s.id)
	}
	c.refusedAs(msp.ErrorKindUploadNotFound, msp.MethodMediaUpload, chunk(1, "def"))
	c.refusedAs(msp.ErrorKindUploadNotFound, msp.MethodTurnStart, use())
	must[msp.MediaUploadResult](c, msp.MethodMediaUpload, chunk(0, "abc"))
	c.refusedAs(msp.ErrorKindUploadNotFound, msp.MethodTurnStart, use())
	must[msp.MediaUploadResult](c, msp.MethodMediaUpload, chunk(1, "def"))
	var got []host.Image
	s.mu.Lock()
	s.onSubmit = func(_ host.Command, t host.TurnRequest) { got = t.Images }
	s.mu.Unlock()
	must[msp.TurnStartResult](c, msp.MethodTurnStart, use())
	if len(got) != 1 || string(got[0].Data) != "abcdef" || got[0].MediaType != "image/png" {
		t.Errorf("the host got %+v", got)
	}
}

func TestModelsMarkTheActiveOne(t *testing.T) {
	c := ready(t, nil)
	_, s := c.start()
	active := func() []string {
		var out []string
		for _, m := range must[msp.ModelListResult](c, msp.MethodModelList, msp.ModelListParams{SessionID: &s.id}).Models {
			if m.IsActive {
				out = append(out, m.ModelID)
			}
		}
		return out
	}
	if got := active(); !slices.Equal(got, []string{"m1"}) {
		t.Errorf("active are %v", got)
	}
	for _, id := range []string{"m2", "of nobody's list"} {
		must[msp.SessionSetModelResult](c, msp.MethodSessionSetModel, msp.SessionSetModelParams{
			SessionID: s.id, CommandID: msptest.CommandID(), Model: msp.ModelSelection{ModelID: id, ProviderID: "p"},
		})
		if got := active(); !slices.Equal(got, []string{id}) {
			t.Errorf("active are %v, want %s alone", got, id)
		}
	}
}
