package tool

import (
	"context"
	_ "embed" // the text for the model
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

//go:embed userinput.md
var requestUserInputText string

const requestUserInputSchema = `{"type":"object","properties":{
"questions":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"object","properties":{
"id":{"type":"string","minLength":1},
"header":{"type":"string","maxLength":12},
"question":{"type":"string","minLength":1,"maxLength":500},
"options":{"type":"array","minItems":2,"maxItems":3,"items":{"type":"object","properties":{
"label":{"type":"string","minLength":1},"description":{"type":"string"}},
"required":["label"],"additionalProperties":false}},
"selection":{"enum":["single","multiple"]}},
"required":["id","question","options"],"additionalProperties":false}},
"auto_resolution_ms":{"type":"integer","minimum":60000,"maximum":240000}},
"required":["questions"],"additionalProperties":false}`

// defaultAutoResolution is the shortest time that the tool takes (CLI.md 5).
const defaultAutoResolution = 60_000

// requestUserInput is the tool request_user_input. With Options.Asker a person
// is asked; without one it answers by itself after its timer (CLI.md 1.3,
// --user-input-auto-resolve).
type requestUserInput struct{ set *Set }

var requestUserInputSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "request_user_input", Description: strings.TrimSpace(requestUserInputText),
		Schema: compact(requestUserInputSchema),
	}
})

func (t *requestUserInput) Spec() Spec { return requestUserInputSpec() }

// Asker puts the questions of request_user_input to a person. AskUser returns
// when they are settled or ctx ends.
type Asker interface {
	AskUser(ctx context.Context, call Call, q UserQuestions) UserReply
}

// UserQuestions are one call's questions. AutoResolve is the time after which
// the model wants to go on without an answer, 0 for none.
type UserQuestions struct {
	Questions   []UserQuestion
	AutoResolve time.Duration
}

// UserQuestion is one question with its options.
type UserQuestion struct {
	ID        string       `json:"id"`
	Header    string       `json:"header"`
	Question  string       `json:"question"`
	Options   []UserOption `json:"options"`
	Selection string       `json:"selection"` // "single" or "multiple"; "" is single
}

// UserOption is one option of a question.
type UserOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// How questions end (MSP.md 13, UserInputOutcome).
const (
	UserAnswered    = "answered"
	UserCancelled   = "cancelled"
	UserInterrupted = "interrupted"
	UserClarified   = "clarified"
	UserTimedOut    = "timedOut"
	UserAborted     = "aborted"
)

// UserReply is how the questions ended.
type UserReply struct {
	Outcome       string
	Answers       []UserAnswer
	Clarification string // with UserClarified: what the person wants to know
	Reason        string
}

// UserAnswer answers one question.
type UserAnswer struct {
	QuestionID string
	Selected   []string
	FreeText   string
	Note       string
}

type userAnswer struct {
	ID           string   `json:"id"`
	Selected     []string `json:"selected,omitempty"`
	FreeText     string   `json:"free_text,omitzero"`
	Note         string   `json:"note,omitzero"`
	AutoResolved bool     `json:"auto_resolved,omitzero"`
}

func (t *requestUserInput) Run(ctx context.Context, call Call) Result {
	var args struct {
		Questions []UserQuestion `json:"questions"`
		Wait      int            `json:"auto_resolution_ms"`
	}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	if why := ambiguous(args.Questions); why != "" {
		return Fail(why)
	}
	if t.set.opt.Asker != nil {
		wait := time.Duration(args.Wait) * time.Millisecond
		reply := t.set.opt.Asker.AskUser(ctx, call, UserQuestions{Questions: args.Questions, AutoResolve: wait})
		return replied(args.Questions, reply, wait)
	}
	if args.Wait == 0 {
		args.Wait = defaultAutoResolution
	}
	wait := time.Duration(args.Wait) * time.Millisecond
	select {
	case <-t.set.opt.After(wait):
	case <-ctx.Done():
		return Fail("cancelled before the question was answered")
	}
	return replied(args.Questions, UserReply{Outcome: UserTimedOut}, wait)
}

// ambiguous says which questions or options could not be told apart in an
// answer, "" for none.
func ambiguous(questions []UserQuestion) string {
	ids := map[string]bool{}
	for _, q := range questions {
		if ids[q.ID] {
			return fmt.Sprintf("questions: two have the id %q", shorten(q.ID, 40))
		}
		ids[q.ID] = true
		labels := map[string]bool{}
		for _, o := range q.Options {
			if labels[o.Label] {
				return fmt.Sprintf("question %q: two options have the label %q", shorten(q.ID, 40), shorten(o.Label, 40))
			}
			labels[o.Label] = true
		}
	}
	return ""
}

// replied is what the model reads of a reply.
func replied(questions []UserQuestion, r UserReply, wait time.Duration) Result {
	switch r.Outcome {
	case UserAnswered:
		var answers []userAnswer
		for _, a := range r.Answers {
			answers = append(answers, userAnswer{ID: a.QuestionID, Selected: a.Selected, FreeText: a.FreeText, Note: a.Note})
		}
		return answered(map[string]any{"answers": answers})
	case UserTimedOut:
		var answers []userAnswer
		for _, q := range questions {
			answers = append(answers, userAnswer{ID: q.ID, Selected: []string{q.recommended()}, AutoResolved: true})
		}
		return answered(map[string]any{"answers": answers, "note": fmt.Sprintf(
			"nobody answered within %d s; the recommended or first option was taken", int(wait.Seconds()))})
	case UserClarified:
		return answered(map[string]any{"clarification": r.Clarification, "note": "the person did not answer yet and says this instead; " +
			"settle it, then ask again if the answer is still needed"})
	case UserCancelled:
		reason := "the person dismissed the question without an answer"
		if r.Reason != "" {
			reason += ": " + r.Reason
		}
		return Fail(reason)
	}
	if r.Reason != "" {
		return Fail(r.Reason)
	}
	return Fail("cancelled before the question was answered")
}

func answered(v map[string]any) Result {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return Fail("the answer cannot be written: " + err.Error())
	}
	return Result{Text: string(text)}
}

// recommended is the option that is marked so, else the first.
func (q UserQuestion) recommended() string {
	for _, o := range q.Options {
		if strings.Contains(strings.ToLower(o.Label), "(recommended)") {
			return o.Label
		}
	}
	return q.Options[0].Label
}
