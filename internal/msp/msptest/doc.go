// Package msptest speaks the Muse Session Protocol from the client's side, for
// tests of a host. A Client holds every frame of the host against the JSON
// Schema that `muse schema` prints, against the Go types, and against the rules
// of order that clients rely on (MSP.md 10): nothing before the handshake, one
// reply a request, rising cursors, deltas that concatenate to the committed
// value, an end for whatever began. A fault does not end the dialogue; Faults
// lists all of them at its end.
package msptest
