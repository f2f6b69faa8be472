// Package shell reads one command line as bash would and says which programs
// it starts: an ordered list of stages, each with the command that is really
// launched once wrappers (env, timeout, xargs, sh -c, find -exec ...) are
// taken off. A line that bash might read in a way that is not certain from its
// text is refused as a whole, with the reason; nothing is guessed.
//
// The package knows the shell's language and how wrappers read their
// arguments. It does not know which programs are harmful: that is
// internal/permission.
//
// Invariants, held by a test that compares with bash itself:
//   - every program that bash starts for a line that was not refused is the
//     program of one of its stages or of a wrapper taken off it;
//   - a word with Known set has exactly the value that the program receives;
//   - a refused line still lists every stage that was found, including those
//     inside loops, groups and functions, so that a deny rule can see them;
//     what was found there is a lower bound, never a proof.
//
// The rules come from THREATS.md 3.1 to 3.6.
package shell
