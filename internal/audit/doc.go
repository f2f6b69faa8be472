// Package audit reads the logs of a coding agent after the fact: on the machine
// itself, on a mounted disk, in a collection made by package collect. It finds
// the logs in an input, merges what they say into one timeline, sums it up,
// shows one session, verifies and redacts.
//
// Invariants: what is read is not trusted and never changed; every log is read
// to its end whatever is in it; a line that cannot be read is a finding and
// never an error; memory does not grow with the size or the number of logs.
package audit
