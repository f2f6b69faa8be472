package collect

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/audit/evidence"
)

// match is one path that a pattern led to.
type match struct {
	rel   string // relative to the base, in the spelling of the entries
	place evidence.Place
}

// expand finds what a pattern matches below a base. Links on the way are
// followed inside the root.
func (c *collector) expand(b *base, pattern string) ([]match, error) {
	start := match{rel: "", place: evidence.Place{Path: b.path}}
	segments := strings.Split(pattern, "/")
	if at, ok := b.moved[pattern]; ok {
		place, err := c.tree.Resolve(at, b.fold)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return []match{{rel: pattern, place: place}}, err
	}
	for prefix, at := range b.moved {
		if rest, ok := strings.CutPrefix(pattern, prefix+"/"); ok {
			start = match{rel: prefix, place: evidence.Place{Path: at}}
			segments = strings.Split(rest, "/")
		}
	}
	return c.expandFrom([]match{start}, segments, b.fold)
}

func (c *collector) expandFrom(matches []match, segments []string, fold bool) ([]match, error) {
	var first error
	note := func(err error) {
		if first == nil && err != nil && !errors.Is(err, fs.ErrNotExist) {
			first = err
		}
	}
	for _, segment := range segments {
		var next []match
		for _, m := range matches {
			names := []string{segment}
			if strings.ContainsAny(segment, `*?[`) {
				var err error
				names, err = c.list(m.place.Path, segment, fold)
				note(err)
			}
			for _, name := range names {
				place, err := c.tree.Resolve(path.Join(m.place.Path, name), fold)
				if err != nil {
					note(err)
					continue
				}
				place.Linked = place.Linked || m.place.Linked
				if !place.Linked {
					name = path.Base(place.Path) // the spelling on the disk
				}
				next = append(next, match{path.Join(m.rel, name), place})
			}
		}
		matches = next
	}
	return matches, first
}

func (c *collector) list(dir, pattern string, fold bool) ([]string, error) {
	place, err := c.tree.Resolve(dir, fold)
	if err != nil || !place.Info.IsDir() {
		return nil, err
	}
	d, err := c.tree.OpenDir(place.Path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.Entries()
	var names []string
	for _, e := range entries {
		if matchSegment(foldCase(pattern, fold), foldCase(e.Name(), fold)) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// homes finds the homes, each once.
func (c *collector) homes() ([]*base, error) {
	rules := c.catalogue.of("home", "")
	if len(c.opts.Homes) > 0 {
		rules = nil
		for _, glob := range c.opts.Homes {
			rules = append(rules, Rule{System: "any", Pattern: c.relative(glob)})
		}
	}
	whole := &base{path: ".", fold: true}
	var homes []*base
	for _, r := range rules {
		matches, err := c.expand(whole, r.Pattern)
		if err != nil {
			c.problem("/"+r.Pattern, err)
		}
		for _, m := range matches {
			if !m.place.Info.IsDir() || m.place.Path == "." && len(c.opts.Homes) == 0 || slices.ContainsFunc(homes, func(b *base) bool { return b.path == m.place.Path }) {
				continue
			}
			system := systemOf(c.tree, m.place.Path, r.System)
			fold := system != "linux"
			homes = append(homes, &base{
				kind: "home", path: m.place.Path, shown: m.rel, system: system, fold: fold,
				match: c.catalogue.matcher(system, fold), moved: c.relocated(m.place.Path),
				summary: &BaseSummary{Kind: "home", Path: "/" + m.rel, System: system},
			})
		}
	}
	return homes, nil
}

// relative makes a glob given on the command line one below the root; it may
// be written as an absolute path of the machine or of the running system.
func (c *collector) relative(glob string) string {
	g := filepath.ToSlash(glob)
	if root := strings.TrimSuffix(filepath.ToSlash(c.opts.Root), "/"); root != "" && strings.HasPrefix(g, root+"/") {
		g = g[len(root):]
	}
	g = path.Clean("/" + g)[1:]
	if g == "" {
		return "."
	}
	return g
}

// relocated applies the variables that move parts of the caller's own home. A
// relocated part is kept under its default name in the collection, so that
// readers find it; the manifest says where it was.
func (c *collector) relocated(home string) map[string]string {
	if c.opts.Getenv == nil || c.opts.OwnHome == "" {
		return nil
	}
	own, err := c.tree.Resolve(filepath.ToSlash(c.opts.OwnHome), false)
	if err != nil || own.Path != home {
		return nil
	}
	moved := map[string]string{}
	for _, r := range c.catalogue.of("relocate", "") {
		value := filepath.ToSlash(c.opts.Getenv(r.Pattern))
		if value == "" || !path.IsAbs(value) {
			continue
		}
		at := path.Clean(value + r.Note)[1:]
		if at != path.Join(home, r.System) && at != "" {
			moved[r.System] = at
		}
	}
	return moved
}

// projectBases resolves the discovered projects inside the root. Those that
// are not on this disk stay in the summary with nothing collected.
func (c *collector) projectBases() []*base {
	c.mu.Lock()
	names := make([]string, 0, len(c.projects))
	for p := range c.projects {
		names = append(names, p)
	}
	c.mu.Unlock()
	slices.Sort(names)
	var bases []*base
	for _, name := range names {
		p, fold := inTree(name)
		b := &base{kind: "project", fold: fold, summary: &BaseSummary{Kind: "project", Path: strings.ToValidUTF8(name, "\ufffd")}}
		bases = append(bases, b)
		place, err := c.tree.Resolve(p, fold)
		if err != nil || !place.Info.IsDir() {
			b.summary.Missing = true
			continue
		}
		if slices.ContainsFunc(bases, func(o *base) bool { return o != b && o.path == place.Path }) {
			b.summary.Missing = false
			b.summary.Same = true
			continue
		}
		b.path, b.shown = place.Path, place.Path
		b.match = c.catalogue.matcher("", fold)
	}
	return bases
}
