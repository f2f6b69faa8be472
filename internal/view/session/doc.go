// Package session is the view of one session as the session protocol shows it:
// a fold from recorded events to view notifications, items and the state
// behind a snapshot, and the pages and histories that are cut from them
// (MSP.md 6).
//
// The view is a function of the log and of nothing else. A [Fold] keeps no
// clock and draws no ids: what it says of a record depends on that record and
// those before it, so a fold over a replay says the same, cursor for cursor,
// as the fold that ran live. Only live-only events (text and output on their
// way) add notifications that a replay does not have; they are marked, take
// numbers that no kept event takes, and are never paged.
//
// Cursors are numbers derived from the place in the log: the k-th notification
// of record s has the number s*[Stride]+k. Nothing has to be stored for a
// cursor to mean the same in another process.
//
// Memory is bounded: a Fold holds what is open, a [View] a window of encoded
// notifications. What is older is folded again from the log ([PageLog]).
package session
