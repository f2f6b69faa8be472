// Package tui is the terminal UI: a client of the session host and nothing
// more. What it shows is folded from the session's events (package
// view/session), so everything on the screen is in the log; what a person does
// becomes a command of the host, with the same identity and digest that the
// session protocol would give it.
//
// The UI is one goroutine, [ui.loop]. Keys, events and the answers to commands
// come to it through channels; nothing else touches its state. Time comes from
// outside, nothing polls, and nothing is drawn while nothing happens.
package tui
