package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/layout"
	"github.com/openmuse/muse/internal/sandbox/repository"
)

// Where our own things are inside.
const (
	runDir     = "/run"
	helperPath = "/run/muse/sandbox-helper"
	cachePath  = "/run/muse/cache"
)

// privatePlaces are replaced by private ones: what the host has there is out
// of sight.
func privatePlaces() []string { return []string{"/run", "/tmp", "/var/tmp", "/dev"} }

// planner puts one command's view together (THREATS.md 4.1).
type planner struct {
	s      *Session
	plan   layout.Plan
	names  []string        // protected names that exist
	pinned map[string]bool // directories mounted on themselves
}

// makePlan is the view for the protected names and repositories that exist
// now. The order of the steps is the order of the mounts.
func (s *Session) makePlan(names held, found []rootFound) (*layout.Plan, error) {
	p := &planner{s: s, pinned: map[string]bool{}}
	for _, n := range names.roots {
		p.names = append(p.names, n.Path)
	}
	masks := p.existingMasks()
	p.system()
	if err := p.roots(); err != nil {
		return nil, err
	}
	places, err := p.pins(found, masks)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Concat(places, p.names) {
		p.add(layout.ReadOnly, path, path)
		p.plan.Protected = append(p.plan.Protected, path)
	}
	if s.git != nil {
		if err := s.git.mounts(p, names.git); err != nil {
			return nil, err
		}
	}
	p.caches()
	for _, path := range masks {
		if err := p.mask(path); err != nil {
			return nil, err
		}
	}
	if p.mounted(runDir) {
		p.add(layout.Seal, "", runDir)
	}
	return &p.plan, p.plan.Check()
}

func (p *planner) add(kind layout.Kind, source, target string) {
	p.plan.Mounts = append(p.plan.Mounts, layout.Mount{Kind: kind, Source: source, Target: target})
}

func (p *planner) mounted(target string) bool {
	return slices.ContainsFunc(p.plan.Mounts, func(m layout.Mount) bool { return m.Target == target })
}

// system replaces what the host shares between its programs.
func (p *planner) system() {
	p.add(layout.Devices, "", "/dev")
	p.add(layout.Processes, "", "/proc")
	for _, dir := range []string{runDir, "/var/run"} {
		if isRealDir(dir) {
			p.add(layout.Fresh, "", dir)
			if dir != runDir {
				p.add(layout.Seal, "", dir)
			}
		}
	}
	for _, t := range [][2]string{{"/tmp", p.s.state.tmp()}, {"/var/tmp", p.s.state.varTmp()}} {
		if isRealDir(t[0]) {
			p.writable(t[1], t[0])
		}
	}
	p.host("/run/current-system") // programs on NixOS
	p.host("/run/opengl-driver")
	if p.s.spec.Network == Enabled {
		p.resolver()
	}
	for _, path := range p.wanted() {
		if p.private(path) {
			p.add(layout.ReadOnly, path, path)
		}
	}
}

func (p *planner) writable(source, target string) {
	p.add(layout.Writable, source, target)
	p.plan.Writable = append(p.plan.Writable, target)
}

// host shows a directory of the host's /run that is harmless and needed.
func (p *planner) host(path string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		p.add(layout.ReadOnly, real, path)
	}
}

// resolver shows the name server's address where /etc/resolv.conf leads
// into /run.
func (p *planner) resolver() {
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err == nil && inside(real, runDir) {
		p.add(layout.ReadOnly, real, real)
	}
}

// private reports whether path would be hidden by a private place.
func (p *planner) private(path string) bool {
	return slices.ContainsFunc(privatePlaces(), func(dir string) bool { return inside(path, dir) })
}

// wanted are paths that commands need to read even when they lie in a private
// place: the home directory and the repository around each root.
func (p *planner) wanted() []string {
	var paths []string
	if home := p.s.spec.Home; home != "" && isRealDir(home) {
		paths = append(paths, home)
	}
	if p.s.spec.ReadOnly {
		paths = append(paths, p.s.spec.Workspace)
	}
	for _, root := range p.s.spec.dirs() {
		paths = append(paths, gitDirectories(root)...)
		if around := enclosing(filepath.Dir(root)); around != "" {
			paths = append(paths, around)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// roots makes the writable directories writable, outer ones first.
func (p *planner) roots() error {
	roots := slices.Clone(p.s.spec.roots)
	slices.SortFunc(roots, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, root := range roots {
		p.writable(root, root)
		if err := p.identify(root); err != nil {
			return err
		}
	}
	return nil
}

// pins mounts every directory above a nested repository, and above a mask
// inside a writable directory, on itself: a mount point cannot be renamed, so
// nothing can be put in the place of what is protected below it. It returns
// the repositories to protect.
func (p *planner) pins(found []rootFound, masks []string) (places []string, err error) {
	for _, f := range found {
		for _, place := range f.places {
			if place.Shape == repository.Link || place.Path == "." {
				continue // a link is looked at afterwards; the root has names of its own
			}
			abs := filepath.Join(f.root, filepath.FromSlash(place.Path))
			if err := p.pinAbove(abs); err != nil {
				return nil, err
			}
			var st unix.Stat_t
			if err := unix.Lstat(abs, &st); err != nil || st.Ino != place.Ino {
				continue // went away since the scan
			}
			p.plan.Identities = append(p.plan.Identities, layout.Identity{Path: abs, Dev: place.Dev, Ino: place.Ino})
			places = append(places, abs)
		}
	}
	for _, m := range masks {
		if err := p.pinAbove(m); err != nil {
			return nil, err
		}
	}
	pins := slices.Sorted(maps.Keys(p.pinned)) // outer ones first
	for _, dir := range pins {
		p.writable(dir, dir)
	}
	return places, nil
}

// pinAbove notes the directories between path and the root that it is in.
func (p *planner) pinAbove(path string) error {
	root := ""
	for _, r := range p.s.spec.roots {
		if path != r && inside(path, r) && len(r) > len(root) {
			root = r
		}
	}
	if root == "" || slices.ContainsFunc(p.names, func(n string) bool { return inside(path, n) }) {
		return nil // not writable anyway
	}
	var above []string
	for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
		above = append(above, dir)
	}
	for _, dir := range slices.Backward(above) {
		if p.pinned[dir] {
			continue
		}
		if err := p.identify(dir); errors.Is(err, fs.ErrNotExist) {
			return nil // went away since the scan
		} else if err != nil {
			return err
		}
		p.pinned[dir] = true
	}
	return nil
}

// identify notes which directory a path must lead to inside.
func (p *planner) identify(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("%s changed while the sandbox was planned", path)
	}
	p.plan.Identities = append(p.plan.Identities, layout.Identity{Path: path, Dev: st.Dev, Ino: st.Ino})
	return nil
}

// caches mounts the private cache at a fixed place, and where programs look
// that know no variable.
func (p *planner) caches() {
	source := filepath.Join(workspaceDir(p.s.spec.StateDir, p.s.spec.Workspace), "cache")
	if p.mounted(runDir) {
		p.writable(source, cachePath)
	}
	if home := p.userCache(); home != "" {
		p.writable(source, home)
	}
}

// userCache is the user's cache directory when it can be covered.
func (p *planner) userCache() string {
	dir := filepath.Join(p.s.spec.Home, ".cache")
	if p.s.spec.Home == "" || !isRealDir(dir) {
		return ""
	}
	for _, root := range p.s.spec.dirs() {
		if inside(root, dir) {
			return "" // the workspace is in there
		}
	}
	return dir
}

// existingMasks are the paths to hide, as they are on the host: without
// links, and without those that are hidden together with another one.
func (p *planner) existingMasks() []string {
	covered := p.userCache()
	var real []string
	for _, m := range append([]string{p.s.spec.StateDir}, p.s.spec.Masks...) {
		if _, err := os.Lstat(m); err != nil {
			continue // not there, or not within our reach
		}
		path, err := resolve(m)
		if err != nil || path == "/" {
			continue // leads nowhere
		}
		if covered != "" && inside(path, covered) || p.replaced(path) {
			continue // something private takes its place
		}
		real = append(real, path)
	}
	slices.Sort(real)
	var masks []string
	for _, path := range slices.Compact(real) {
		if !slices.ContainsFunc(masks, func(up string) bool { return inside(path, up) }) {
			masks = append(masks, path)
		}
	}
	return masks
}

// replaced reports a path in a private place that nothing brings back.
func (p *planner) replaced(path string) bool {
	if !p.private(path) {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(p.wanted(), p.s.spec.roots), func(dir string) bool { return inside(path, dir) })
}

func (p *planner) mask(path string) error {
	for _, root := range p.s.spec.dirs() {
		if inside(root, path) {
			return fmt.Errorf("the workspace %s is inside the masked path %s", root, path)
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("mask %s: %w", path, err)
	}
	if !info.IsDir() {
		p.add(layout.ReadOnly, p.s.state.nothing(), path)
		p.plan.Hidden = append(p.plan.Hidden, path)
		return nil
	}
	open := p.visibleBelow(path)
	if len(open) == 0 {
		p.add(layout.ReadOnly, p.s.state.closed(), path)
		p.plan.Hidden = append(p.plan.Hidden, path)
		return nil
	}
	p.add(layout.Fresh, "", path)
	for _, v := range open {
		p.add(layout.ReadOnly, v, v)
	}
	p.add(layout.Seal, "", path)
	return nil
}

func (p *planner) visibleBelow(mask string) []string {
	var open []string
	for _, v := range p.s.spec.Visible {
		if real, err := resolve(v); err == nil && real != mask && inside(real, mask) {
			open = append(open, real)
		}
	}
	return open
}
