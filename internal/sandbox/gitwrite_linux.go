package sandbox

import (
	"github.com/openmuse/muse/internal/sandbox/layout"
	"github.com/openmuse/muse/internal/sandbox/reserve"
)

// mounts adds the repository to a plan.
func (g *gitWrite) mounts(p *planner, held []reserve.Name) error {
	for _, dir := range append(g.added(), g.dir) {
		p.writable(dir, dir)
	}
	if err := p.identify(g.dir); err != nil {
		return err
	}
	fixed, err := g.fixed(held)
	if err != nil {
		return err
	}
	for _, path := range fixed {
		p.add(layout.ReadOnly, path, path)
		p.plan.Protected = append(p.plan.Protected, path)
	}
	return nil
}
