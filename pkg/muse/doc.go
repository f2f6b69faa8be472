// Package muse drives a Muse Code binary headless and reads what it prints.
//
// It covers one supervised run: build the command line (three documented
// profiles), keep the prompt out of the process list, start the process in a
// group of its own, read its JSONL stream with a typed reader, fold the stream
// into an outcome (reply, terminal, tool calls, model, quota facts), sum token
// usage from the session log, and classify the exit. Everything works against
// any binary that keeps the `muse exec --json` contract; nothing here depends
// on the internals of one agent.
//
// The pieces can be used alone:
//
//   - [Reader] turns stdout bytes into [Event] values; [Collector] folds events
//     into an [Outcome]. Both use constant memory however long the stream is.
//   - [Supervised], [Direct] and [Legacy] build argument lists and state their
//     refusals as errors.
//   - [Start] runs a process whose descendants can neither hang the reader nor
//     outlive a stop unnoticed.
//   - [FindSessionLog] and [SumUsage] read token usage; [Watch] tells quiet and
//     stalled runs apart from busy ones on an injected clock.
//   - [Run] does all of it for one prompt.
//
// Invariants: a decode problem never raises, it becomes a capped [Diagnostic];
// a task that failed never makes a run fail; what a stream does not say stays
// unknown (nil or empty) and is never guessed.
package muse
