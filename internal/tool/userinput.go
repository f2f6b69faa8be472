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

// requestUserInput is the tool request_user_input where nobody can answer: it
// answers by itself after its timer (CLI.md 1.3, --user-input-auto-resolve).
type requestUserInput struct{ set *Set }

var requestUserInputSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "request_user_input", Description: strings.TrimSpace(requestUserInputText),
		Schema: compact(requestUserInputSchema),
	}
})

func (t *requestUserInput) Spec() Spec { return requestUserInputSpec() }

type userQuestion struct {
	ID      string `json:"id"`
	Options []struct {
		Label string `json:"label"`
	} `json:"options"`
}

type userAnswer struct {
	ID           string   `json:"id"`
	Selected     []string `json:"selected"`
	AutoResolved bool     `json:"auto_resolved"`
}

func (t *requestUserInput) Run(ctx context.Context, call Call) Result {
	args := struct {
		Questions []userQuestion `json:"questions"`
		Wait      int            `json:"auto_resolution_ms"`
	}{Wait: defaultAutoResolution}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	select {
	case <-t.set.opt.After(time.Duration(args.Wait) * time.Millisecond):
	case <-ctx.Done():
		return Fail("cancelled before the question was answered")
	}
	var answers []userAnswer
	for _, q := range args.Questions {
		answers = append(answers, userAnswer{ID: q.ID, Selected: []string{q.recommended()}, AutoResolved: true})
	}
	text, err := json.Marshal(map[string]any{"answers": answers, "note": fmt.Sprintf(
		"nobody answered within %d s; the recommended or first option was taken", args.Wait/1000)}, json.Deterministic(true))
	if err != nil {
		return Fail("the answer cannot be written: " + err.Error())
	}
	return Result{Text: string(text)}
}

// recommended is the option that is marked so, else the first.
func (q userQuestion) recommended() string {
	for _, o := range q.Options {
		if strings.Contains(strings.ToLower(o.Label), "(recommended)") {
			return o.Label
		}
	}
	return q.Options[0].Label
}
