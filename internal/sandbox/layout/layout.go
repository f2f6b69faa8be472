// Package layout says what a sandboxed command sees at which path: an ordered
// list of mounts over a read-only copy of the host's tree. Later mounts lie
// on top of earlier ones. Every launcher carries out the same list.
//
// All paths are absolute, clean and free of symbolic links: a mount that has
// to be resolved through a link could be led elsewhere.
package layout

import (
	"fmt"
	"path/filepath"
)

// Kind is what a mount puts at its target.
type Kind uint8

// The kinds.
const (
	// ReadOnly and Writable show the source, with everything mounted below it.
	ReadOnly Kind = iota + 1
	Writable
	// Fresh is an empty file system in memory.
	Fresh
	// Devices is a private /dev with the harmless devices, its own terminals
	// and its own shared memory.
	Devices
	// Processes is the process list of the sandbox alone, read-only.
	Processes
	// Seal makes the mount that is at the target read-only. It is for Fresh
	// mounts, once everything in them is in place.
	Seal
)

// Mount is one step.
type Mount struct {
	Kind   Kind
	Source string // ReadOnly and Writable
	Target string
}

// Identity is a file that a path must lead to.
type Identity struct {
	Path     string
	Dev, Ino uint64
}

// Plan is the whole view.
type Plan struct {
	// Mounts are carried out in order, over the host's tree made read-only.
	Mounts []Mount
	// Writable lists the only directories below which a mount may be
	// writable, and Protected what must not be writable even there.
	Writable, Protected []string
	// Identities are checked once everything is mounted: a directory that was
	// swapped for another one while the mounts were made is noticed.
	Identities []Identity
	// Hidden lists the masked paths: they must show nothing.
	Hidden []string
}

// Check reports a path that no launcher may be given.
func (p *Plan) Check() error {
	for _, m := range p.Mounts {
		for _, path := range []string{m.Source, m.Target} {
			if path == "" && m.Kind != ReadOnly && m.Kind != Writable {
				continue
			}
			if !filepath.IsAbs(path) || filepath.Clean(path) != path {
				return fmt.Errorf("mount path %q is not absolute and clean", path)
			}
		}
	}
	return nil
}
