package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

// OutputSchema is the JSON Schema that the final answer must fit.
type OutputSchema struct {
	Schema jsontext.Value
	// Validate says what is wrong with an answer, in words for the model.
	Validate func(answer jsontext.Value) error
	// Corrections is how many times the model may mend its answer.
	Corrections int
}

// answer judges a reply without calls: it is the run's answer, or a notice
// goes back to the model.
func (t *turn) answer(r *reply) (*event.Notice, Outcome, error) {
	text := r.text()
	if strings.TrimSpace(text) == "" && r.done.Finish == provider.FinishFilter {
		return nil, t.fail("the model's service withheld the answer (content filter)"), nil
	}
	if strings.TrimSpace(text) == "" {
		if t.corrected("empty_answer", 1) {
			return notice("empty_answer", "empty answer",
				"Your reply was empty. Go on with the work, or give your final answer in words."), Outcome{}, nil
		}
		return nil, t.fail("the model gave an empty answer"), nil
	}
	if t.Output == nil {
		return nil, Outcome{Run: t.run, Terminal: "completed", Text: text}, nil
	}
	value := jsontext.Value(strings.TrimSpace(text))
	err := errNotJSON
	if value.IsValid() {
		err = t.Output.Validate(value)
	}
	if err == nil {
		return nil, Outcome{Run: t.run, Terminal: "completed", Text: text}, nil
	}
	if t.corrected("output_schema", t.Output.Corrections) {
		return notice("output_schema", "answer does not fit the schema",
			"Your final answer must be exactly one JSON value that fits the asked JSON Schema, with nothing before or after it. It does not: "+err.Error()+". Answer again."), Outcome{}, nil
	}
	return nil, t.fail(fmt.Sprintf("the answer does not fit the output schema after %d correction(s): %v", t.Output.Corrections, err)), nil
}

var errNotJSON = errors.New("it is not one JSON value")

// corrected counts one more correction of a kind; false when limit are used.
func (t *turn) corrected(kind string, limit int) bool {
	if t.corrections == nil {
		t.corrections = map[string]int{}
	}
	if t.corrections[kind] >= limit {
		return false
	}
	t.corrections[kind]++
	return true
}

func notice(source, summary, body string) *event.Notice {
	return &event.Notice{Disposition: "delivered", Source: event.NoticeSource{Source: source}, Summary: summary, Body: body}
}
