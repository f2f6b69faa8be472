package muse

import (
	"errors"
	"io"
	"time"
)

// ReadStrict reads a whole stream under seed 002's rules: pure JSONL of valid
// records (see [ReaderOptions.Strict]), one session, exactly one terminal, and
// a final text. Any violation rejects all of it with a [*StrictError]; a
// terminal that is not completed is no violation.
func ReadStrict(src io.Reader, opts ReaderOptions) (*Outcome, error) {
	opts.Strict = true
	r := NewReader(src, opts)
	c := NewCollector(r.Diagnostics(), CollectorOptions{})
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		c.Observe(e, time.Time{})
	}
	o := c.Finish(r, time.Time{})
	if err := strictOutcome(r.Diagnostics(), o); err != nil {
		return nil, err
	}
	return o, nil
}

// strictOutcome checks the rules about a whole stream.
func strictOutcome(diags *DiagnosticLog, o *Outcome) error {
	fail := func(why string) error { return &StrictError{Err: errors.New(why)} }
	switch {
	case o.Terminal == "":
		return fail("no final event: the stream has no run.terminal.*")
	case diags.Has(DiagSecondTerminal):
		return fail("more than one terminal")
	case diags.Has(DiagSession):
		return fail("records of more than one session")
	case o.Terminal == TerminalCompleted && (o.ReplySource != ReplyTerminal || o.Reply == ""):
		return fail("no final text: the completed terminal carries none")
	}
	return nil
}
