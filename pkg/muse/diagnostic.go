package muse

import (
	"fmt"
	"slices"
	"strings"
)

// DiagnosticKind names one way in which a stream, a log or a process differed
// from what the contract says. The strings are stable.
type DiagnosticKind string

// Kinds of diagnostics.
const (
	DiagNotJSON          DiagnosticKind = "not_json"                     // a stdout line that is not JSON (noise)
	DiagNotEnvelope      DiagnosticKind = "not_an_envelope"              // JSON, but not a record
	DiagTruncatedLine    DiagnosticKind = "truncated_line"               // last line ends in mid-record
	DiagLineTooLong      DiagnosticKind = "line_too_long"                // skipped: longer than the limit
	DiagInvalidUTF8      DiagnosticKind = "invalid_utf8"                 // read with replacement characters
	DiagDuplicateKey     DiagnosticKind = "duplicate_key"                // the last value was used
	DiagUnknownType      DiagnosticKind = "unknown_payload_type"         // skipped
	DiagNewerSchema      DiagnosticKind = "newer_schema_version"         // read as far as understood
	DiagNewerPayload     DiagnosticKind = "newer_payload_schema_version" // read as far as understood
	DiagField            DiagnosticKind = "unexpected_field"             // a known record lacks a field, or it has another type
	DiagSequence         DiagnosticKind = "sequence_gap"                 // record numbers are not contiguous
	DiagSession          DiagnosticKind = "session_mismatch"             // a record of another session
	DiagMissingTerminal  DiagnosticKind = "missing_terminal"             // the stream ended without run.terminal.*
	DiagSecondTerminal   DiagnosticKind = "second_terminal"              // a run ended twice; the first is kept
	DiagReplyCut         DiagnosticKind = "reply_cut"                    // streamed text beyond the limit was not kept
	DiagToolCall         DiagnosticKind = "tool_call"                    // a tool record that fits no call
	DiagStdoutDecode     DiagnosticKind = "stdout_decode"                // summary: lines were lost; names the versions seen
	DiagUsage            DiagnosticKind = "usage"                        // token usage is missing or incomplete
	DiagStdoutHeld       DiagnosticKind = "stdout_held"                  // a descendant kept stdout open after the exit
	DiagLeftover         DiagnosticKind = "leftover_processes"           // descendants were alive after the exit
	DiagVersionProbe     DiagnosticKind = "version_probe"                // --version failed or has another form
	DiagArtifact         DiagnosticKind = "artifact"                     // an artifact could not be written
	DiagExport           DiagnosticKind = "export"                       // the transcript export failed
	DiagClock            DiagnosticKind = "clock"                        // quiet or stalled stretches
	DiagEmptyReply       DiagnosticKind = "empty_reply"                  // completed without a word
	DiagContributorModel DiagnosticKind = "contributor_model"            // the model trains on this run
)

// Diagnostic is one finding. Equal findings are folded: Count says how often,
// Line (1-based, 0 when it is about no line) where first.
type Diagnostic struct {
	Kind    DiagnosticKind `json:"kind"`
	Line    int64          `json:"line,omitempty"`
	Count   int64          `json:"count"`
	Message string         `json:"message"`
}

func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(string(d.Kind))
	if d.Line > 0 {
		fmt.Fprintf(&b, " (line %d)", d.Line)
	}
	b.WriteString(": " + d.Message)
	if d.Count > 1 {
		fmt.Fprintf(&b, " (%d times)", d.Count)
	}
	return b.String()
}

// diagnosticsPerKind caps how many different findings of one kind are kept: a
// stream of a million unknown records must not grow the report.
const diagnosticsPerKind = 5

// DiagnosticLog collects diagnostics with a cap for each kind. The zero value
// is ready for use. It is not safe for concurrent use.
type DiagnosticLog struct {
	found []Diagnostic
	more  map[DiagnosticKind]int64
}

// Add records one finding.
func (l *DiagnosticLog) Add(kind DiagnosticKind, line int64, format string, args ...any) {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	kept := 0
	for i := range l.found {
		d := &l.found[i]
		if d.Kind != kind {
			continue
		}
		if d.Message == message {
			d.Count++
			return
		}
		kept++
	}
	if kept >= diagnosticsPerKind {
		if l.more == nil {
			l.more = map[DiagnosticKind]int64{}
		}
		l.more[kind]++
		return
	}
	l.found = append(l.found, Diagnostic{Kind: kind, Line: line, Count: 1, Message: message})
}

// full reports whether another new finding of this kind would only be counted.
func (l *DiagnosticLog) full(kind DiagnosticKind) bool { return l.more[kind] > 0 }

// count adds one occurrence that is known to be beyond the cap.
func (l *DiagnosticLog) count(kind DiagnosticKind) { l.more[kind]++ }

// Has reports whether anything of this kind was found.
func (l *DiagnosticLog) Has(kind DiagnosticKind) bool {
	return slices.ContainsFunc(l.found, func(d Diagnostic) bool { return d.Kind == kind })
}

// List returns what was found, in order of first appearance, followed by one
// entry for each kind that had more than could be kept.
func (l *DiagnosticLog) List() []Diagnostic {
	list := slices.Clone(l.found)
	kinds := make([]DiagnosticKind, 0, len(l.more))
	for kind := range l.more {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		list = append(list, Diagnostic{Kind: kind, Count: l.more[kind], Message: "more of this kind, not listed"})
	}
	return list
}
