// Package permission decides whether an action may run: a shell line, a file
// access, a network connection, a tool call. It is one decision point for every
// tool, child and changed input; tools ask and never decide.
//
// A decision has three outcomes. Allow and Deny are final. Hold needs an
// answer: from the automated reviewer where the profile asks for one, then from
// whoever answers (a person, or a policy for headless runs). [Engine.Decide]
// only judges; [Engine.Authorize] also gets the answer and records each step as
// an approval event before it counts.
//
// Invariants:
//   - deny beats ask beats allow, whatever the mode, and a line that cannot be
//     decomposed never gets past a deny rule;
//   - one stage that cannot pass holds the whole line, a rejection runs nothing;
//   - what is allowed is one text in one directory with one set of environment
//     changes at one permission epoch, and is redeemed at most once;
//   - a child has what its parent has, or less ([Grant]);
//   - what cannot be recorded does not run.
//
// The package does not enforce anything: the operating system's boundary is
// internal/sandbox. The rules come from seed 003 and THREATS.md 3 and 7.
package permission
