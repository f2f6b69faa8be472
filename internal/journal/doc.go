// Package journal keeps one session's log, session.jsonl: it appends records,
// numbers and dates them, makes them durable, and reads them back in bounded
// memory.
//
// Invariants
//
//   - One writer: the lease is taken before a journal is opened for writing. A
//     file that grew or shrank under the writer is noticed and not written to.
//   - Every record is one write of one whole line. When a write fails, the file
//     is cut back to the last whole record and the journal refuses all further
//     work: nothing half written stays, nothing later pretends to follow.
//   - sequence counts from 1 without gaps over envelopes, frame children and
//     markers together; recorded_at strictly increases, in microseconds
//     (STREAM.md (b)).
//   - What Append returned nil for survives the death of the process; what a
//     later Commit returned nil for survives the death of the machine.
//   - Bytes that were read are never dropped: a torn last line is moved to a
//     file beside the log, a bad line elsewhere stays where it is.
//   - openmuse.integrity.checkpoint records carry a SHA-256 over all earlier
//     bytes of the file, so a later change to any of them can be shown.
package journal
