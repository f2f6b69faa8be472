// Package repository finds Git repositories below a workspace and takes the
// sting out of ones that a sandboxed command planted there.
//
// A repository is a place where the user's own git, or the prompt of their
// shell, runs programs: hooks, file system monitors, filters and pagers named
// in its configuration. The ones that exist when a command starts are kept
// read-only. One that appears while it runs cannot be prevented, since git
// takes any directory of the right shape for a repository; it is looked at
// when the command has ended, and held if it could run anything (THREATS.md
// 4.4, "known gap"): the one file without which git does not see it is
// renamed, and can be renamed back.
package repository

import "strings"

// Shape is how git would recognise a repository.
type Shape uint8

// The shapes.
const (
	// Dir is a directory named .git.
	Dir Shape = iota + 1
	// Pointer is a file named .git that leads to a repository elsewhere.
	Pointer
	// Link is a symbolic link named .git.
	Link
	// Bare is a directory with the inside of a repository.
	Bare
)

// Place is one repository.
type Place struct {
	// Path is relative to the root, with forward slashes: "vendor/lib/.git",
	// or for Bare the directory itself, "." for the root.
	Path  string
	Shape Shape
	// Dev and Ino identify the entry.
	Dev, Ino uint64
}

// Found is what a scan saw.
type Found struct {
	Places []Place // sorted by path
	// Truncated is set when there were more directories than a scan looks at.
	Truncated bool
	// Dirs is the number of directories looked at.
	Dirs int
}

// Names that make a repository.
const (
	gitName   = ".git"
	headName  = "HEAD"
	commonDir = "commondir"
)

// insideNames collects the entries by which git tells the inside of a
// repository, whatever they are: it follows links here.
type insideNames struct{ head, common, objects, refs bool }

// add folds case: some file systems find HEAD under any spelling.
func (n *insideNames) add(name string) {
	if len(name) > len(commonDir) {
		return
	}
	switch strings.ToLower(name) {
	case "head":
		n.head = true
	case commonDir:
		n.common = true
	case "objects":
		n.objects = true
	case "refs":
		n.refs = true
	}
}

func (n *insideNames) repository() bool { return n.head && (n.common || n.objects && n.refs) }
