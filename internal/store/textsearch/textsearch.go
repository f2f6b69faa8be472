// Package textsearch looks for words in what was said and done in a session:
// the prompts, the answers, the tool calls and their results. It reads the log
// itself, at the speed of decoding it; nothing is kept.
package textsearch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/store/summary"
)

// Kinds of text.
const (
	Prompt = "prompt"
	Answer = "answer"
	Call   = "call"
	Result = "result"
)

// Hit is the first text in which a word occurs.
type Hit struct {
	At   int64 // µs since the Unix epoch
	Kind string
	// Text is what stands around the word, in one line, folded.
	Text string
}

// around is how many bytes of a text are shown before and behind a word.
const around = 40

// errAll ends a reading when every word was found.
var errAll = errors.New("every word was found")

// Find looks through a log for words, which are in the form of summary.Fold,
// until it has all. The result has a hit for each word, nil for those that do
// not occur. Lines that cannot be read say nothing.
func Find(ctx context.Context, log io.Reader, words []string) ([]*Hit, error) {
	hits := make([]*Hit, len(words))
	left := len(words)
	err := journal.ScanLines(log, func(raw []byte, _ int64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if left == 0 {
			return errAll
		}
		if !spoken(raw) {
			return nil
		}
		v, err := record.Scan(raw)
		if err != nil || string(v.PayloadType) != "runtime.session" {
			return nil
		}
		texts(v.Payload, func(kind, text string) {
			text = summary.Fold(text)
			for i, w := range words {
				at := strings.Index(text, w)
				if hits[i] == nil && at >= 0 {
					hits[i] = &Hit{At: v.RecordedAt, Kind: kind, Text: cutOut(text, at, len(w))}
					left--
				}
			}
		})
		return nil
	})
	if errors.Is(err, errAll) {
		err = nil
	}
	return hits, err
}

// spoken reports whether a line may hold text of a conversation.
func spoken(raw []byte) bool {
	for _, kind := range []string{`"started"`, `"assistant_message_committed"`, `"assistant_tool_calls_committed"`, `"tool_result_batch_committed"`} {
		if bytes.Contains(raw, []byte(kind)) {
			return true
		}
	}
	return false
}

// texts hands over the texts of a run's event (seed 000, Run events).
func texts(payload []byte, fn func(kind, text string)) {
	var p struct {
		Kind  string `json:"kind"`
		Event struct {
			Kind      string `json:"kind"`
			Prompt    string `json:"prompt"`
			Text      string `json:"text"`
			ToolCalls []struct {
				Name string         `json:"name"`
				Args jsontext.Value `json:"args"`
			} `json:"tool_calls"`
			Results []struct {
				Text string `json:"text"`
			} `json:"results"`
		} `json:"event"`
	}
	if json.Unmarshal(payload, &p, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil || p.Kind != "run" {
		return // an event of another shape has no text that is known
	}
	switch e := p.Event; e.Kind {
	case "started":
		fn(Prompt, e.Prompt)
	case "assistant_message_committed":
		fn(Answer, e.Text)
	case "assistant_tool_calls_committed":
		for _, c := range e.ToolCalls {
			fn(Call, c.Name+" "+arguments(c.Args))
		}
	case "tool_result_batch_committed":
		for _, r := range e.Results {
			fn(Result, r.Text)
		}
	}
}

// arguments are a call's arguments as text: JSON in a string, as a rule.
func arguments(v jsontext.Value) string {
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s, jsontext.AllowInvalidUTF8(true)) == nil {
		return s
	}
	return string(v)
}

// cutOut is the part of text around n bytes at a place.
func cutOut(text string, at, n int) string {
	from, to := max(0, at-around), min(len(text), at+n+around)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return text[from:to]
}
