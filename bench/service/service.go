// Package service is the model service that every measured program talks to:
// the mock service of the tests, and Google's wire, which only a peer speaks.
// It answers at once and is led by the request alone.
package service

import (
	"fmt"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/mockmodel"
)

// Google is the wire of generateContent, beside those of mockmodel.
const Google = "google"

// Answer is the last text of every run.
const Answer = "All steps are done."

// Service is a running model service; each run has its own.
type Service interface {
	// URL is its root: "http://127.0.0.1:port".
	URL() string
	// Calls are the model requests so far, in order of arrival.
	Calls() []mockmodel.Request
	// Connections is how many connections were accepted.
	Connections() int
	Close() error
}

// Work is what a run is asked to do: so many shell calls, one a reply, then
// the answer.
type Work struct {
	Steps int
	// Command is what each step runs; "echo step-<i>" when empty.
	Command string
	// Delay is how long the service thinks before its first reply.
	Delay time.Duration
}

func (w Work) command(step int) string {
	if w.Command != "" {
		return w.Command
	}
	return fmt.Sprintf("echo step-%d", step)
}

// Start starts a service for one run.
func Start(wire string, w Work) (Service, error) {
	if wire == Google {
		return startGoogle(w)
	}
	o := mockmodel.Options{Steps: w.Steps, Answer: Answer, Command: w.command}
	if w.Delay > 0 {
		o.Reply = w.slowly
	}
	return mockmodel.New(o)
}

// slowly is the reply of a service that takes its time once.
func (w Work) slowly(call *mockmodel.Call) mockmodel.Reply {
	step := call.Results + 1
	if step == 1 {
		time.Sleep(w.Delay)
	}
	usage := mockmodel.Usage{Input: int64(call.Bytes)/4 + 1, Output: 20}
	if step <= w.Steps {
		if name, args, ok := call.Shell(w.command(step)); ok {
			return mockmodel.Reply{Calls: []mockmodel.ToolCall{{Name: name, Args: args}}, Usage: usage}
		}
	}
	return mockmodel.Reply{Text: Answer, Usage: usage}
}

// Done reports whether the calls show that every step was carried out: the
// last request has to hold the output of the last step beside the command that
// asked for it.
func (w Work) Done(calls []mockmodel.Request) error {
	if len(calls) < w.Steps+1 {
		return fmt.Errorf("%d model calls where %d steps need %d", len(calls), w.Steps, w.Steps+1)
	}
	if w.Steps == 0 || w.Command != "" {
		return nil
	}
	mark := fmt.Sprintf("step-%d", w.Steps)
	most := 0
	for _, c := range calls[len(calls)-min(len(calls), 3):] {
		most = max(most, strings.Count(string(c.Body), mark))
	}
	if most < 2 {
		return fmt.Errorf("the output of %q never came back", "echo "+mark)
	}
	return nil
}
