package muse

import (
	"fmt"
	"slices"
	"strings"
)

// Exit is how a process ended.
type Exit struct {
	Code   int    `json:"code"`             // -1 when a signal ended it
	Signal int    `json:"signal,omitempty"` // 0 when it exited by itself
	Name   string `json:"signal_name,omitempty"`
}

func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("signal %d (%s)", e.Signal, e.Name)
	}
	return fmt.Sprintf("exit %d", e.Code)
}

// Exit codes of the documented headless surface (seed 002, exit codes).
const (
	ExitCompleted  = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitInterrupt  = 130
	ExitTerminated = 143

	signalInterrupt  = 2
	signalTerminated = 15
	shellSignalBase  = 128 // a launcher script reports 128 + signal
)

// Class is the verdict on one run.
type Class string

// Classes of a run.
const (
	// ClassCompleted: a completed terminal and exit 0. Nothing else is success.
	ClassCompleted Class = "completed"
	// ClassFailed: a failed terminal.
	ClassFailed Class = "failed"
	// ClassCancelled: a cancelled terminal.
	ClassCancelled Class = "cancelled"
	// ClassUsage: exit 2; the command line was refused, no model was asked.
	ClassUsage Class = "usage_error"
	// ClassStartup: the process failed before it printed a record.
	ClassStartup Class = "startup_failed"
	// ClassNoTerminal: the stream stopped without a terminal.
	ClassNoTerminal Class = "no_terminal"
	// ClassUndecodable: the stream could not be read, so a zero exit proves
	// nothing.
	ClassUndecodable Class = "undecodable"
	// ClassMismatch: a completed terminal but a nonzero exit.
	ClassMismatch Class = "exit_mismatch"
	// ClassInterrupted and ClassTerminated: ended by SIGINT or SIGTERM, also as
	// 130 and 143.
	ClassInterrupted Class = "interrupted"
	ClassTerminated  Class = "terminated"
	// ClassKilled: ended by another signal.
	ClassKilled Class = "killed"
	// ClassTimedOut and ClassStalled: stopped by the supervisor.
	ClassTimedOut Class = "timed_out"
	ClassStalled  Class = "stalled"
	// ClassStrict: strict mode refused the stream.
	ClassStrict Class = "strict_violation"
)

// Classify gives the verdict from the exit and the stream. Success is gated on
// the terminal and the exit code together; task failures have no say.
func Classify(exit Exit, o *Outcome) Class {
	signal := exit.Signal
	if signal == 0 && exit.Code > shellSignalBase && exit.Code < shellSignalBase+65 {
		signal = exit.Code - shellSignalBase
	}
	switch {
	case signal == signalInterrupt:
		return ClassInterrupted
	case signal == signalTerminated:
		return ClassTerminated
	case signal != 0:
		return ClassKilled
	case exit.Code == ExitUsage && o.Terminal == "":
		return ClassUsage
	}
	switch o.Terminal {
	case TerminalCompleted:
		if exit.Code != 0 {
			return ClassMismatch
		}
		if o.Reply == "" && (o.Lost > 0 || newer(o.SchemaVersions) || newer(o.PayloadVersions)) {
			return ClassUndecodable // an empty success would hide what was lost
		}
		return ClassCompleted
	case TerminalCancelled:
		return ClassCancelled
	case "":
		switch {
		case o.Records > 0:
			return ClassNoTerminal
		case o.Lost > 0 && exit.Code == 0:
			return ClassUndecodable
		case exit.Code == 0:
			return ClassNoTerminal
		default:
			return ClassStartup
		}
	default:
		return ClassFailed
	}
}

func newer(versions []int) bool {
	return slices.ContainsFunc(versions, func(v int) bool { return v > schemaVersion })
}

// Failure says why a run did not succeed, in the words of the run itself.
type Failure struct {
	Reason string `json:"reason"`
	// Transient: a model service failed in a way that another attempt may not
	// see again (overload, rate limit, 5xx, broken connection).
	Transient bool `json:"transient"`
	// StepLimit: --max-model-steps ended the run.
	StepLimit bool `json:"step_limit"`
}

// Explain derives the failure of a run that is not completed. stderr is the
// tail of what the process wrote there; it is asked only when the stream has
// no reason.
func Explain(class Class, o *Outcome, stderr string) *Failure {
	if class == ClassCompleted {
		return nil
	}
	f := &Failure{}
	if o.Reason != nil {
		f.Reason = *o.Reason
	}
	if f.Reason == "" {
		f.Reason = lastComplaint(stderr)
	}
	switch class {
	case ClassUsage:
		if f.Reason == "" {
			f.Reason = "the command line was refused"
		}
		return f
	case ClassFailed, ClassCancelled, ClassStartup, ClassNoTerminal, ClassUndecodable, ClassMismatch:
		f.StepLimit = strings.Contains(f.Reason, "did not reach a terminal state within") || strings.Contains(f.Reason, "max steps")
		f.Transient = !f.StepLimit && class != ClassCancelled && class != ClassMismatch && IsTransient(f.Reason)
	}
	if f.Reason == "" {
		f.Reason = "no reason was given (" + string(class) + ")"
	}
	return f
}

// IsTransient reports whether a failure text is about a model service that may
// work again shortly. A text it does not know is not transient: repeating work
// that has effects needs a reason.
func IsTransient(reason string) bool {
	lower := strings.ToLower(reason)
	for _, phrase := range permanentPhrases() {
		if strings.Contains(lower, phrase) {
			return false
		}
	}
	for _, code := range []string{"400", "401", "402", "403", "404", "413", "422"} {
		if statusIn(lower, code) {
			return false
		}
	}
	for _, code := range []string{"408", "429", "500", "502", "503", "504", "520", "522", "524", "529"} {
		if statusIn(lower, code) {
			return true
		}
	}
	if mentionsRateLimit(reason) {
		return true
	}
	for _, phrase := range transientPhrases() {
		if strings.Contains(lower, phrase) {
			return true
		}
	}
	return false
}

// statusIn reports whether code is used as an HTTP status in lower: next to a
// word that announces one, or at the start. A bare number elsewhere (a line
// number, a size) is no status.
func statusIn(lower, code string) bool {
	for from := 0; ; {
		i := strings.Index(lower[from:], code)
		if i < 0 {
			return false
		}
		i += from
		from = i + len(code)
		if i > 0 && wordByte(lower[i-1]) || from < len(lower) && wordByte(lower[from]) {
			continue
		}
		before := strings.TrimRight(lower[max(0, i-24):i], " :=([\"'")
		if before == "" && i == 0 {
			return true
		}
		for _, word := range []string{"error", "status", "http", "code", "status code", "http/1.1", "http/2", "returned", "server"} {
			if strings.HasSuffix(before, word) {
				return true
			}
		}
	}
}

func permanentPhrases() []string {
	return []string{
		"billing", "payment required", "insufficient_quota", "insufficient quota", "credit balance",
		"authentication", "unauthorized", "invalid api key", "api key", "credentials", "permission denied", "forbidden",
		"does not exist", "you lack access", "invalid request", "invalid_request", "invalid run configuration",
		"context compaction", "context length", "context_length", "hard threshold", "content policy", "content_filter",
		"required mcp startup failed", "unknown option", "schema",
	}
}

func transientPhrases() []string {
	return []string{
		"overloaded", "temporarily unavailable", "service unavailable", "internal server error", "server error", "server_error",
		"bad gateway", "gateway timeout", "timed out", "timeout", "deadline exceeded", "try again",
		"connection reset", "connection refused", "connection closed", "connection error", "broken pipe", "unexpected eof",
		"stream ended", "stream closed", "stream disconnected", "stream idle", "idle stream", "stream error", "stream was interrupted",
		"network is unreachable", "no route to host", "temporary failure in name resolution", "dns", "tls handshake", "transport error", "network error",
		"model stream", "retries exhausted", "retry budget",
	}
}

// lastComplaint picks the line of stderr that says what went wrong: the last
// one marked as an error, else the last that is no routine notice (STREAM.md
// (e)).
func lastComplaint(stderr string) string {
	last := ""
	for _, line := range slices.Backward(strings.Split(stderr, "\n")) {
		line = strings.TrimSpace(line)
		lower := strings.ToLower(line)
		switch {
		case line == "":
		case strings.HasPrefix(lower, "muse: error:"), strings.HasPrefix(lower, "error:"), strings.HasPrefix(lower, "agent loop failed:"):
			return clip(line, 1000)
		case last != "", strings.HasPrefix(lower, "usage:"), strings.HasPrefix(lower, "muse:"):
		default:
			last = line
		}
	}
	return clip(last, 1000)
}
