// Package sandbox is the OS boundary around the commands that the agent runs:
// what a running command can touch, whatever was approved (seed 003, "Two
// layers that answer different questions").
//
// One Spec describes the boundary. A Session keeps it for one agent session
// and builds processes inside it; a launcher makes the boundary with the
// means of the system: fresh Linux namespaces (native), the bubblewrap
// program, or Seatbelt on macOS. Whatever the launcher, the first program
// inside is our own binary, the helper. It takes away what is left to take
// away, looks at the finished boundary from inside, reports, and starts the
// command only when the host process, which has looked for itself, agrees.
//
// Invariants:
//
//   - No confirmation, no command. There is no weaker mode to fall back to, and
//     nothing in a command can ask for one.
//   - Protected names (.git, .muse, .agents) are read-only inside whether they
//     exist or not.
//   - The only way out is the network gate, when the mode has one.
//   - Nothing that a command starts outlives it.
package sandbox
