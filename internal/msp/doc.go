// Package msp is the wire of the Muse Session Protocol, version 1: every type
// that crosses it, the tables of methods, notifications and errors, how lines
// are framed, how params are decoded, and the JSON Schema and TypeScript that
// describe all of it (MSP.md).
//
// It knows no sessions, no log and no connection; it imports nothing of ours.
//
// The Go types are the one source: `muse schema`, the params decoder and the
// validator all read them. Names of types are the names on the wire. How a
// member is declared says how it travels:
//
//   - T: required;
//   - *T without omitzero: required, nil is written as null;
//   - T with omitzero: optional, the zero value is left out, which is only used
//     where the zero value means nothing (an empty name, an empty enumeration);
//   - *T, slice or map with omitzero: optional, nil is left out, so that zero,
//     false and "" can be sent and can be told from absence;
//   - Nullable with omitzero: absent, null and a value are three things;
//   - the tag msp:"nullable" lets a reader accept null for an optional member,
//     where it means the same as absence; msp:"optional" lets a reader do
//     without a member that we always write.
//
// Times are RFC 3339 text in UTC unless the name ends in Ms, which is
// milliseconds: since 1970 for an instant, otherwise a duration.
package msp
