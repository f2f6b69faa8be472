package tool

import (
	"context"
	_ "embed" // the text for the model
	"fmt"
	"strings"
	"sync"
)

//go:embed progressreport.md
var reportProgressText string

const reportProgressSchema = `{"type":"object","properties":{
"current_work":{"type":"string","minLength":1},
"next_work":{"type":"string"},
"percent_complete":{"type":"integer","minimum":0,"maximum":100}},
"required":["current_work"],"additionalProperties":false}`

// reportProgress is the tool report_progress. The report itself is in the
// call's arguments, which every view shows; the tool has nothing to add.
type reportProgress struct{}

var reportProgressSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "report_progress", Description: strings.TrimSpace(reportProgressText),
		Schema: compact(reportProgressSchema), Parallel: true,
	}
})

func (t *reportProgress) Spec() Spec { return reportProgressSpec() }

func (t *reportProgress) Run(_ context.Context, call Call) Result {
	var args struct {
		Current string `json:"current_work"`
		Next    string `json:"next_work"`
		Percent *int   `json:"percent_complete"`
	}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	if call.Progress != nil {
		text := args.Current
		if args.Percent != nil {
			text = fmt.Sprintf("%d%%: %s", *args.Percent, text)
		}
		if args.Next != "" {
			text += "; next: " + args.Next
		}
		call.Progress(text + "\n")
	}
	return Result{Text: `{"ok":true}`}
}
