package collect

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"

	"github.com/openmuse/muse/internal/audit/evidence"
)

// maxDepth bounds how deep a directory is followed; a real one is a dozen deep.
const maxDepth = 256

// heldDir is an open directory of the evidence that copies still need.
type heldDir struct {
	*evidence.Dir
	users atomic.Int32
}

func hold(d *evidence.Dir) *heldDir {
	h := &heldDir{Dir: d}
	h.users.Store(1)
	return h
}

func (h *heldDir) keep() { h.users.Add(1) }

func (h *heldDir) drop() error {
	if h.users.Add(-1) == 0 {
		return h.Close()
	}
	return nil
}

// job is one file to copy, or a database with the files that belong to it.
type job struct {
	dir   *heldDir
	base  *base
	rule  string
	files []found
}

type found struct {
	name string // in dir
	rel  string // relative to the base
	real string // resolved path in the tree, when a link led there
	out  string // name in the collection
}

// collectBase takes everything that the rules of kind match below b.
func (c *collector) collectBase(ctx context.Context, b *base, kind string) {
	if b.match == nil {
		return
	}
	for _, rule := range c.catalogue.of(kind, b.system) {
		if c.stopped(ctx) {
			return
		}
		matches, err := c.expand(b, rule.Pattern)
		if err != nil {
			c.problem(b.display(rule.Pattern), err)
		}
		for _, m := range matches {
			c.collectMatch(ctx, b, rule.Pattern, m)
		}
	}
}

func (c *collector) collectMatch(ctx context.Context, b *base, rule string, m match) {
	real := ""
	if m.place.Linked || b.moved != nil && m.place.Path != path.Join(b.path, m.rel) {
		real = m.place.Path
	}
	if c.leftOut(b, m.rel, m.place.Info) {
		return
	}
	if m.place.Info.IsDir() {
		d, err := c.tree.OpenDir(m.place.Path)
		if err != nil {
			c.unreadable(b, m.rel, m.place.Info, rule, err)
			return
		}
		w := walker{c: c, b: b, rule: rule}
		w.dir(ctx, hold(d), m.rel, real, m.place.Info, 0)
		return
	}
	parent, err := c.tree.OpenDir(path.Dir(m.place.Path))
	if err != nil {
		c.unreadable(b, m.rel, m.place.Info, rule, err)
		return
	}
	w := walker{c: c, b: b, rule: rule}
	h := hold(parent)
	w.oneFile(ctx, h, m, real)
	if err := h.drop(); err != nil {
		c.problem(b.display(path.Dir(m.rel)), err)
	}
}

// leftOut files an entry for what a rule leaves out, and says that it did.
func (c *collector) leftOut(b *base, rel string, info fs.FileInfo) bool {
	if r, ok := b.match.find("exclude", rel); ok {
		c.once(b, rel, info, func(e *Entry) { e.Status, e.Rule, e.Reason = Excluded, r.Pattern, r.Note })
		return true
	}
	if r, ok := b.match.find("credential", rel); ok && !c.opts.IncludeCredentials {
		c.once(b, rel, info, func(e *Entry) { e.Status, e.Rule, e.Reason = Credential, r.Pattern, r.Note })
		return true
	}
	return false
}

// once files an entry if the path has none yet.
func (c *collector) once(b *base, rel string, info fs.FileInfo, fill func(*Entry)) {
	p := b.display(rel)
	if !c.claim(p) {
		return
	}
	e := newEntry(p, info)
	e.Base = b.display("")
	fill(&e)
	c.add(e)
}

// claim takes a machine path for the caller; only the walking goroutine asks.
func (c *collector) claim(p string) bool {
	if _, taken := c.seen[p]; taken {
		return false
	}
	c.seen[p] = struct{}{}
	return true
}

func (c *collector) unreadable(b *base, rel string, info fs.FileInfo, rule string, err error) {
	c.once(b, rel, info, func(e *Entry) { e.Status, e.Rule, e.Reason = Unreadable, rule, err.Error() })
}

type walker struct {
	c    *collector
	b    *base
	rule string
}

// dir takes a directory with all below it. It drops its hold on d.
func (w *walker) dir(ctx context.Context, d *heldDir, rel, real string, info fs.FileInfo, depth int) {
	c, b := w.c, w.b
	defer func() {
		if err := d.drop(); err != nil {
			c.problem(b.display(rel), err)
		}
	}()
	if c.stopped(ctx) || c.outInfo != nil && os.SameFile(info, c.outInfo) {
		return
	}
	if depth > maxDepth {
		c.unreadable(b, rel, info, w.rule, errors.New("nested too deep"))
		return
	}
	p := b.display(rel)
	if c.claim(p) {
		e := newEntry(p, info)
		e.Status, e.Base, e.Rule, e.Resolved = Collected, b.display(""), w.rule, real
		e.Out = c.names.name(p)
		if err := c.sink.dir(e.Out, info); err != nil {
			c.fail(err)
			return
		}
		c.add(e)
	}
	entries, err := d.Entries()
	if err != nil {
		c.problem(p, err)
	}
	w.files(ctx, d, rel, real, entries)
	for _, e := range entries {
		if !e.IsDir() || c.stopped(ctx) {
			continue
		}
		sub := path.Join(rel, e.Name())
		info, err := d.Lstat(e.Name())
		if err != nil {
			c.problem(b.display(sub), err)
			continue
		}
		if c.leftOut(b, sub, info) {
			continue
		}
		child, err := d.Sub(e.Name())
		if err != nil {
			c.unreadable(b, sub, info, w.rule, err)
			continue
		}
		w.dir(ctx, hold(child), sub, joinReal(real, e.Name()), info, depth+1)
	}
}

func joinReal(real, name string) string {
	if real == "" {
		return ""
	}
	return path.Join(real, name)
}

// files sends the files among entries to the copiers: a database together with
// what belongs to it.
func (w *walker) files(ctx context.Context, d *heldDir, rel, real string, entries []fs.DirEntry) {
	c, b := w.c, w.b
	sidecars := sidecarsOf(entries)
	for _, e := range entries {
		if e.IsDir() || c.stopped(ctx) {
			continue
		}
		sub := path.Join(rel, e.Name())
		info, err := e.Info()
		if err != nil {
			c.problem(b.display(sub), err)
			continue
		}
		if c.leftOut(b, sub, info) {
			continue
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := d.Readlink(e.Name())
			c.once(b, sub, info, func(e *Entry) {
				e.Status, e.Rule, e.Target = Link, w.rule, strings.ToValidUTF8(target, "\ufffd")
				if err != nil {
					e.Reason = err.Error()
				}
			})
		case !info.Mode().IsRegular():
			c.once(b, sub, info, func(e *Entry) { e.Status, e.Rule = Special, w.rule })
		case sidecars[e.Name()] == nil:
			// Belongs to a database, or is copied for itself elsewhere.
		default:
			w.send(d, rel, real, sidecars[e.Name()])
		}
	}
}

// oneFile takes a file that a pattern named, under the name it was found by,
// and with it what belongs to it when it is a database.
func (w *walker) oneFile(ctx context.Context, d *heldDir, m match, real string) {
	name, shown := path.Base(m.place.Path), path.Base(m.rel)
	if real != "" {
		real = path.Dir(real)
	}
	if name != shown {
		// A link gave the file another name: take it alone.
		if p := w.b.display(m.rel); w.c.claim(p) {
			d.keep()
			w.c.jobs <- job{dir: d, base: w.b, rule: w.rule, files: []found{{name: name, rel: m.rel, real: m.place.Path, out: w.c.names.name(p)}}}
		}
		return
	}
	var entries []fs.DirEntry
	for _, n := range []string{name, name + "-wal", name + "-shm", name + "-journal"} {
		if info, err := d.Lstat(n); err == nil {
			entries = append(entries, fs.FileInfoToDirEntry(info))
		}
	}
	w.files(ctx, d, path.Dir(m.rel), real, entries)
}

func (w *walker) send(d *heldDir, rel, real string, names []string) {
	j := job{dir: d, base: w.b, rule: w.rule}
	for _, name := range names {
		sub := path.Join(rel, name)
		if p := w.b.display(sub); w.c.claim(p) {
			j.files = append(j.files, found{name: name, rel: sub, real: joinReal(real, name), out: w.c.names.name(p)})
		}
	}
	if len(j.files) > 0 {
		d.keep()
		w.c.jobs <- j
	}
}

// sidecarsOf maps each regular file to the set it is copied in: itself, and
// for a SQLite database also its -wal, -shm and -journal. Files that are in
// another's set map to nil.
func sidecarsOf(entries []fs.DirEntry) map[string][]string {
	sets := map[string][]string{}
	for _, e := range entries {
		if e.Type().IsRegular() {
			sets[e.Name()] = []string{e.Name()}
		}
	}
	for _, e := range entries {
		for _, suffix := range []string{"-wal", "-shm", "-journal"} {
			if db, ok := strings.CutSuffix(e.Name(), suffix); ok && len(sets[db]) > 0 && sets[e.Name()] != nil {
				sets[db] = append(sets[db], e.Name())
				delete(sets, e.Name())
			}
		}
	}
	return sets
}
