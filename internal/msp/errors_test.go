package msp

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
)

// Every constructor makes an error that fits the schema and the table, and
// together they cover every kind.
func TestErrorConstructors(t *testing.T) {
	cursor := "v:s:1"
	made := []*Error{
		ParseError("x"), InvalidRequest("x"), NotInitialized(), AlreadyInitialized(), MethodNotFound("m"),
		ExperimentalMethod("task/list"), ExperimentalField("turn/start.x"), InvalidParams("", "x"), InvalidParams("a", "x"),
		MisalignedOffset(4), Internal("x"), PageEventTooLarge(cursor), OutputResultTooLarge("i", "o"), Overloaded(),
		InputTooLarge(FrameCap), CapabilityRequired(CapabilityNameUserShell), MissingAnchor("s", cursor),
		OutputNotFound("s", "i", "o"), NotFound("s", "x"), Interrupted(), Cancelled(), SessionNotFound("s"),
		SessionInUse("s", "process 1"), SessionInUse("s", ""), SessionAmbiguous("s", []string{"/a"}),
		ForkBoundaryInvalid("s", "t"), SessionNotLoaded("s"), SessionStreamMismatch("s"), WorkspaceNotTrusted("/w"),
		CommandRejected("c", ReasonMissingRun, "no turn runs"), Backpressured(8), SkillNotFound("x"),
		ComputerUseUnavailable(), UploadNotFound("u"), ViewTruncated("s", &cursor), ViewTruncated("s", nil),
		OutputUnavailable("i", "o", OutputRefAvailabilityMissing), BoundaryPruned("s", cursor, nil),
		BoundaryUnusable("s", cursor, &cursor), NoBoundary("s", "latestCompaction"), ApprovalNotFound("a"),
		ApprovalAlreadyResolved("a", ApprovalResolutionSummary{}), ApprovalChoiceInvalid("a", "x"),
		ApprovalRequirementStale("a", ApprovalRequirementRef{}), ApprovalReviewerUnavailable("a"), UserInputNotFound("u"),
		UserInputAlreadySettled("u", UserInputSettlementSummary{}), UserInputAnswerInvalid("u", "x"),
	}
	covered := map[ErrorKind]bool{}
	for _, e := range made {
		covered[e.Kind()] = true
		text, err := json.Marshal(e.Object())
		if err != nil {
			t.Fatal(err)
		}
		if err := Check[ErrorObject](text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		row, ok := lookupError(e.Kind())
		if !ok || row.Code != e.Code && e.Kind() != ErrorKindExperimentalRequired {
			t.Errorf("%s has code %d, the table %d", e.Kind(), e.Code, row.Code)
		}
		if again := e.Data.Retryable != nil && *e.Data.Retryable; again != (row.Retryable != nil && *row.Retryable) {
			t.Errorf("%s: retryable %v", e.Kind(), again)
		}
	}
	for _, word := range ErrorKind("").values().words {
		if !covered[ErrorKind(word)] {
			t.Errorf("no constructor makes %s", word)
		}
	}
}

func TestBoundaryErrorsAlwaysNameTheLatest(t *testing.T) {
	text, err := json.Marshal(NoBoundary("s", "latestCompaction").Object().Data)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"noBoundary","sessionId":"s","anchor":"latestCompaction","latestBoundaryCursor":null}`
	if string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
}

func TestAsError(t *testing.T) {
	wrapped := fmt.Errorf("start the turn: %w", SessionNotLoaded("s"))
	if got := AsError(wrapped); got.Kind() != ErrorKindSessionNotLoaded {
		t.Errorf("%+v", got)
	}
	if !errors.Is(wrapped, SessionNotLoaded("other")) || errors.Is(wrapped, SessionNotFound("s")) {
		t.Error("kinds are not compared")
	}
	if got := AsError(errors.New("disk full")); got.Code != -32603 || got.Message != "internal error: disk full" {
		t.Errorf("%+v", got)
	}
	if got := NewError("noSuchKind", "x"); got.Kind() != ErrorKindInternal {
		t.Errorf("%+v", got)
	}
}
