// Package redact removes secrets from logs that are handed on. The keys and
// shapes are those of Meta's own export (seed 000, Secrets) with a few that
// came later; a secret that is found once is removed everywhere, also where
// nothing around it gives it away, and the same secret gets the same
// placeholder in all files of one run.
//
// Invariants: a line that is JSON stays JSON of the same shape, and is copied
// byte for byte where nothing is removed; the proof says what was removed where
// and holds neither a secret nor a hash of one, because a hash of a short
// secret gives it away; the originals are not touched.
package redact
