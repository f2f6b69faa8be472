// Package talk is the dialogue between the agent and the sandbox helper, over
// a socket that only the two hold: the host sends an Order, the helper a
// Report with its listening socket beside it, the host a Permit. Both ends are
// the same binary, so there are no versions.
package talk
