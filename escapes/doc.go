// Command escapes tries to get out of the sandbox, from inside, and looks from
// outside whether it worked.
//
//	go run ./escapes                                  every attempt, and every way to fail closed
//	go run ./escapes -only git                        those with "git" in their name
//	go run ./escapes -adapter escapes/adapters/none   control: without a sandbox
//
// An attempt has two judges: what it says itself, and the state of the host
// before and after. A control run must say ESCAPED where the table says that
// the attempt can work, so that no attempt can rot into always passing; run it
// as a throw-away user only, though every attempt is harmless when it succeeds.
//
// The second table breaks the environment instead (no bubblewrap, a false one,
// no namespaces, ...) and makes sure that no command starts.
//
// An adapter is a program called as "ADAPTER WORKSPACE MASK... -- COMMAND...".
package main
