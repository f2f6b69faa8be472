package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/permission/paths"
)

// Grant is what a session, a child or a reviewer may do at most. It is made
// once and never changes. A grant of a child comes from its parent's by
// [Grant.Narrow], which intersects: there is no other way to make one from
// another, and no field that could be set afterwards. The zero Grant may do
// nothing.
type Grant struct{ g grantData }

// grantData is comparable by its methods only; slices in it are never shared
// with a caller.
type grantData struct {
	mode      Mode
	sandboxed bool
	network   NetworkMode
	// tools and targets are sets; everyTool and everyTarget stand for all.
	tools     []string
	everyTool bool
	targets   []string
	write     bool
	shell     bool
	trusted   bool
	escalate  bool
	remember  bool
	unbounded bool
	// masks are closed paths: a child has all of its parent's.
	masks []string
	// root is the directory that may be written: a child's lies in its
	// parent's. "" means that the grant names none.
	root string
}

// GrantSpec says what is wanted. In a root grant it is what there is; for a
// child every field only narrows, and a nil field keeps what the parent has.
type GrantSpec struct {
	Mode      *Mode
	Sandboxed *bool
	Network   *NetworkMode
	// Tools lists the tools by name; nil keeps the parent's, or all.
	Tools []string
	// Targets are connections ("host:port:protocol") that need no question.
	Targets []string
	// Write, Shell: may change files, may run commands.
	Write, Shell *bool
	// Trusted: the workspace is trusted.
	Trusted *bool
	// Escalate: may ask to leave the sandbox. Remember: answers may be kept
	// beyond the session. Unbounded: may read outside the workspace unasked.
	// A child never has the first two.
	Escalate, Remember, Unbounded *bool
	// Masks are further closed paths.
	Masks []string
	// Root is the directory that may be written.
	Root string
}

// RootGrant makes the grant of a session from its profile, flags and policy.
// What the spec leaves out is the strict value.
func RootGrant(s GrantSpec) Grant {
	g := grantData{
		mode: OnRequest, sandboxed: true, network: NetworkRestricted, everyTool: s.Tools == nil, tools: sortedSet(s.Tools),
		targets: sortedSet(s.Targets), masks: sortedSet(s.Masks), root: clean(s.Root),
	}
	if s.Mode != nil {
		g.mode = *s.Mode
	}
	if s.Network != nil {
		g.network = *s.Network
	}
	g.sandboxed = s.Sandboxed == nil || *s.Sandboxed
	g.write, g.shell, g.trusted = isSet(s.Write), isSet(s.Shell), isSet(s.Trusted)
	g.escalate, g.remember, g.unbounded = isSet(s.Escalate), isSet(s.Remember), isSet(s.Unbounded)
	return Grant{g}
}

// Narrow makes the grant of a child: the intersection of what it wants and what
// g has. Leaving the sandbox and remembering answers are never a child's.
func (g Grant) Narrow(want GrantSpec) Grant {
	w := g.g // what is not asked for stays
	if want.Mode != nil {
		w.mode = *want.Mode
	}
	if want.Sandboxed != nil {
		w.sandboxed = *want.Sandboxed
	}
	if want.Network != nil {
		w.network = *want.Network
	}
	if want.Tools != nil {
		w.everyTool, w.tools = false, sortedSet(want.Tools)
	}
	if want.Targets != nil {
		w.targets = sortedSet(want.Targets)
	}
	narrow := func(dst *bool, v *bool) {
		if v != nil {
			*dst = *v
		}
	}
	narrow(&w.write, want.Write)
	narrow(&w.shell, want.Shell)
	narrow(&w.trusted, want.Trusted)
	narrow(&w.unbounded, want.Unbounded)
	w.masks = sortedSet(append(slices.Clone(w.masks), want.Masks...))
	if want.Root != "" {
		w.root = clean(want.Root)
	}
	out := g.intersect(w)
	out.g.escalate, out.g.remember = false, false
	return out
}

// intersect is the heart of it: each dimension is the stricter of the two.
func (g Grant) intersect(w grantData) Grant {
	p := g.g
	out := grantData{
		mode:      p.mode,
		sandboxed: p.sandboxed || w.sandboxed,
		network:   p.network,
		write:     p.write && w.write,
		shell:     p.shell && w.shell,
		trusted:   p.trusted && w.trusted,
		escalate:  p.escalate && w.escalate,
		remember:  p.remember && w.remember,
		unbounded: p.unbounded && w.unbounded,
		masks:     sortedSet(append(slices.Clone(p.masks), w.masks...)),
		root:      p.root,
		everyTool: p.everyTool && w.everyTool,
	}
	if w.mode.freedom() < p.mode.freedom() {
		out.mode = w.mode
	}
	if w.network.freedom() < p.network.freedom() {
		out.network = w.network
	}
	switch {
	case p.everyTool:
		out.tools = slices.Clone(w.tools)
	case w.everyTool:
		out.tools = slices.Clone(p.tools)
	default:
		out.tools = both(p.tools, w.tools)
	}
	out.targets = both(p.targets, w.targets)
	if w.root != "" && (p.root == "" || under(w.root, p.root)) {
		out.root = w.root
	}
	return Grant{out}
}

// Mode is the approval mode.
func (g Grant) Mode() Mode {
	if g.g.mode == "" {
		return DenyUnmatched
	}
	return g.g.mode
}

// Sandboxed reports whether commands run in the sandbox. The zero Grant runs
// none.
func (g Grant) Sandboxed() bool { return g.g.sandboxed || g.g.mode == "" }

// Network is how commands reach the network.
func (g Grant) Network() NetworkMode {
	if g.g.network == "" {
		return NetworkRestricted
	}
	return g.g.network
}

// AllowsTool reports whether a tool may be called at all.
func (g Grant) AllowsTool(name string) bool {
	return g.g.everyTool || slices.Contains(g.g.tools, name)
}

// Tools lists the tools, and whether there are others beside them.
func (g Grant) Tools() (names []string, every bool) { return slices.Clone(g.g.tools), g.g.everyTool }

// AllowsTarget reports whether a connection needs no question.
func (g Grant) AllowsTarget(key string) bool { return slices.Contains(g.g.targets, key) }

// Targets lists the connections that need no question.
func (g Grant) Targets() []string { return slices.Clone(g.g.targets) }

// MayWrite, AllowsShell, Trusted, MayEscalate, MayRemember and Unbounded are
// the single rights; see GrantSpec.
func (g Grant) MayWrite() bool { return g.g.write }

// AllowsShell reports whether commands may run.
func (g Grant) AllowsShell() bool { return g.g.shell }

// Trusted reports whether the workspace is trusted.
func (g Grant) Trusted() bool { return g.g.trusted }

// MayEscalate reports whether a command may ask to leave the sandbox.
func (g Grant) MayEscalate() bool { return g.g.escalate }

// MayRemember reports whether an answer may be kept beyond the session.
func (g Grant) MayRemember() bool { return g.g.remember }

// Unbounded reports whether reads outside the workspace need no question.
func (g Grant) Unbounded() bool { return g.g.unbounded }

// Masks lists the closed paths.
func (g Grant) Masks() []string { return slices.Clone(g.g.masks) }

// Root is the directory that may be written, or "".
func (g Grant) Root() string { return g.g.root }

// Within reports whether g allows nothing that parent does not.
func (g Grant) Within(parent Grant) bool {
	c, p := g.g, parent.g
	if g.Mode().freedom() > parent.Mode().freedom() || g.Network().freedom() > parent.Network().freedom() {
		return false
	}
	if !g.Sandboxed() && parent.Sandboxed() {
		return false
	}
	for _, r := range [][2]bool{{c.write, p.write}, {c.shell, p.shell}, {c.trusted, p.trusted}, {c.escalate, p.escalate}, {c.remember, p.remember}, {c.unbounded, p.unbounded}, {c.everyTool, p.everyTool}} {
		if r[0] && !r[1] {
			return false
		}
	}
	for _, t := range c.tools {
		if !parent.AllowsTool(t) {
			return false
		}
	}
	for _, t := range c.targets {
		if !parent.AllowsTarget(t) {
			return false
		}
	}
	for _, m := range p.masks {
		if !slices.Contains(c.masks, m) {
			return false
		}
	}
	return p.root == "" || c.root != "" && under(c.root, p.root)
}

func isSet(b *bool) bool { return b != nil && *b }

func sortedSet(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

func both(a, b []string) []string {
	var out []string
	for _, x := range a {
		if slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

func clean(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(strings.ReplaceAll(p, `\`, "/"))
}

func under(p, dir string) bool {
	s := paths.Space{Workspace: dir}
	return s.In(p)
}
