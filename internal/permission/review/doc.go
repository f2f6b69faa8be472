// Package review says what one stage of a shell line does: which class it falls
// in and why. It starts nothing and asks nobody; what a class means in a mode
// is decided by internal/permission.
//
// There are two standards. A stage is ReadOnly only by an allow list: the
// program, every option it is given and everything that could change them must
// be known to be harmless. Whether a stage is dangerous is a deny list, which
// may miss something, because the sandbox contains what slips (THREATS.md 0).
//
// The rules are one table (table*.go) of what each program's options do, and
// functions for the programs that carry a language of their own: git, sed, awk,
// tar, the interpreters and the package managers (THREATS.md 3.7 to 3.10).
package review
