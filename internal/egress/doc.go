// Package egress is the network gate of the sandbox: the one way out of a
// command's network namespace. It speaks HTTP (forward and CONNECT) and
// SOCKS5 on one listener per command, and lets a connection through only when
// its host, port and protocol were allowed (seed 003, "The sandbox fails
// closed"; THREATS.md 5).
//
// The first connection to a new key is held: somebody is asked, and until
// there is an answer, or a limit is reached, nothing leaves, not even a name
// lookup. Names are resolved once, after that, and never to an address that
// is not public; only an address written as such can be allowed there, and
// the addresses of cloud metadata services never.
//
// What a client sends is read and written anew, not passed on: a request
// cannot reach another host than the one that was decided about by saying
// something else in a header, in the name of a TLS session or in bytes that
// two programs read differently.
package egress
