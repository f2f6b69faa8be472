// Package verify looks for what should not be in a session log or beside it:
// lines that cannot be read, numbers that are missing or come twice, clocks
// that go back, hashes that do not fit, files that a log names and that are not
// there, and files that no log names.
//
// A finding is never an error: verification goes on to the end of everything.
// What the writer of a log promises differs: logs of Meta's binary carry frame
// hashes whose rule is not known and may have an index with a hash for each
// line; logs of ours carry integrity checkpoints over all their bytes.
package verify
