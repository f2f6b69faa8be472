// Package serve is the session protocol on one connection (MSP.md 2 to 9): the
// handshake, the requests and what refuses them, one total order of everything
// that goes out, the view of each session pushed to whoever subscribed, and
// the questions put to the client. What a session does is the host's business;
// what an event looks like on the wire is the fold's.
//
// Invariants: nothing is pushed before the client said initialized; every
// request gets exactly one reply; a reply to a command stands before the
// events that the command caused; a client that stops reading costs a bounded
// amount of memory and learns by view/gap what it missed.
package serve
