package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/audit/evidence"
)

// The collection's own files.
const (
	manifestName = "manifest.jsonl"
	journalName  = "manifest.jsonl.part"
	summaryName  = "collection.json"
	reportName   = "report.txt"
)

// Options say what to collect and where to put it.
type Options struct {
	Root               string   // of the disk; "/" is the running system
	Homes              []string // globs relative to Root; none means those of the catalogue
	Out                string   // a directory, or a file that ends in .zip
	IncludeCredentials bool
	Catalogue          *Catalogue // nil means the built-in one
	Tool               string     // name and version for the summary
	Now                func() time.Time

	// OwnHome and Getenv apply the relocating variables to the caller's own
	// home when Root is the running system; nil Getenv applies none.
	OwnHome string
	Getenv  func(string) string

	// Progress, if any, is told of every file, one call at a time.
	Progress func(Progress)
}

// Progress is how far a collection is.
type Progress struct {
	Files int64
	Bytes int64
	Path  string // the file just done
}

// ErrNotOurs refuses an output that holds something else.
var ErrNotOurs = errors.New("the output exists and is no unfinished collection")

// base is a home, a project or the root itself: what patterns are relative to.
type base struct {
	kind    string // "home", "project", "system"
	path    string // resolved, in the tree
	shown   string // as the machine's users know it, without leading slash
	system  string
	fold    bool
	match   *matcher
	moved   map[string]string // relocated parts: logical prefix → place in the tree
	summary *BaseSummary
}

// display is the path of rel on the machine.
func (b *base) display(rel string) string { return "/" + path.Join(b.shown, rel) }

type collector struct {
	opts      Options
	catalogue *Catalogue
	tree      *evidence.Tree
	sink      sink
	journal   *journal
	earlier   map[string]Entry // finished in an interrupted attempt, by path
	names     *namer
	outInfo   fs.FileInfo

	jobs chan job
	seen map[string]struct{} // machine paths, so that overlapping rules take a file once

	mu       sync.Mutex
	entries  []Entry
	projects map[string]struct{}
	problems []Problem
	fatal    error
	progress Progress
}

// Run collects. It returns the summary also when some evidence could not be
// read; an error means that the collection could not be made.
func Run(ctx context.Context, opts Options) (*Summary, error) {
	if opts.Catalogue == nil {
		c, err := Builtin()
		if err != nil {
			return nil, err
		}
		opts.Catalogue = c
	}
	tree, err := evidence.Open(opts.Root)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	c := &collector{
		opts: opts, catalogue: opts.Catalogue, tree: tree, names: newNamer(),
		jobs: make(chan job, 64), seen: map[string]struct{}{}, projects: map[string]struct{}{},
	}
	started := opts.Now().UTC()
	if err := c.openOutput(); err != nil {
		return nil, err
	}
	bases, err := c.collectAll(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		// What is done stays for the next attempt.
		return nil, errors.Join(err, c.sink.abort(), c.journal.close())
	}
	s := c.summarize(bases, started)
	if err := c.seal(s); err != nil {
		return nil, errors.Join(err, c.journal.close())
	}
	return s, nil
}

// zipped reports whether the collection is an archive.
func (c *collector) zipped() bool { return strings.EqualFold(filepath.Ext(c.opts.Out), ".zip") }

func (c *collector) journalPath() string {
	if c.zipped() {
		return c.opts.Out + ".part.jsonl"
	}
	return filepath.Join(c.opts.Out, journalName)
}

// openOutput starts or resumes the collection. The journal is read and emptied
// before the archive it speaks of is moved: a crash in between loses progress
// but never mixes two attempts.
func (c *collector) openOutput() error {
	if err := c.checkOutput(); err != nil {
		return err
	}
	entries, err := readEntries(c.journalPath())
	if err != nil {
		return err
	}
	if !c.zipped() && entries == nil {
		// A finished collection is brought up to date the same way.
		if entries, err = readEntries(filepath.Join(c.opts.Out, manifestName)); err != nil {
			return err
		}
	}
	c.earlier = make(map[string]Entry, len(entries))
	for _, e := range entries {
		if e.Status == Collected && e.Kind == "file" {
			c.earlier[e.Path+e.PathHex] = e
		}
	}
	if !c.zipped() {
		if err := os.MkdirAll(c.opts.Out, 0o700); err != nil {
			return fmt.Errorf("create output: %w", err)
		}
	}
	if c.journal, err = createJournal(c.journalPath()); err != nil {
		return err
	}
	if c.zipped() {
		c.sink, err = newZipSink(c.opts.Out)
	} else {
		c.sink, err = newDirSink(c.opts.Out)
	}
	if err != nil {
		return errors.Join(err, c.journal.close())
	}
	if !c.zipped() {
		c.outInfo, err = os.Stat(c.opts.Out)
		if err != nil {
			return fmt.Errorf("look at output: %w", err)
		}
	}
	return nil
}

// checkOutput refuses to overwrite, and to write into the evidence.
func (c *collector) checkOutput() error {
	out, err := filepath.Abs(c.opts.Out)
	if err != nil {
		return fmt.Errorf("output path: %w", err)
	}
	root, err := filepath.Abs(c.opts.Root)
	if err != nil {
		return fmt.Errorf("root path: %w", err)
	}
	live := root == filepath.VolumeName(root)+string(filepath.Separator)
	if rel, err := filepath.Rel(root, out); !live && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("the output %s lies in the evidence %s", c.opts.Out, c.opts.Root)
	}
	if c.zipped() {
		if _, err := os.Lstat(c.opts.Out); err == nil {
			return fmt.Errorf("%s: %w", c.opts.Out, ErrNotOurs)
		}
		return nil
	}
	ok, err := emptyOrOurs(c.opts.Out)
	if err == nil && !ok {
		err = fmt.Errorf("%s: %w", c.opts.Out, ErrNotOurs)
	}
	return err
}

// collectAll walks homes, then what they name, while copiers work beside it.
func (c *collector) collectAll(ctx context.Context) ([]*base, error) {
	var copiers sync.WaitGroup
	for range max(2, min(4, runtime.GOMAXPROCS(0))) {
		copiers.Go(func() {
			for j := range c.jobs {
				c.work(ctx, j)
			}
		})
	}
	homes, err := c.homes()
	bases := homes
	if err == nil {
		for _, b := range homes {
			c.collectBase(ctx, b, "entry")
			c.addProjects(c.discover(ctx, b))
		}
		root := &base{kind: "system", path: ".", system: "", match: c.catalogue.matcher("", true), fold: true, summary: &BaseSummary{Kind: "system", Path: "/"}}
		c.collectBase(ctx, root, "system")
		bases = append(bases, root)
	}
	close(c.jobs)
	copiers.Wait()
	if err == nil {
		err = c.failure()
	}
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	// The logs have been read: now all projects are known.
	c.jobs = make(chan job, 64)
	copiers.Go(func() {
		for j := range c.jobs {
			c.work(ctx, j)
		}
	})
	projects := c.projectBases()
	for _, b := range projects {
		c.collectBase(ctx, b, "project")
	}
	close(c.jobs)
	copiers.Wait()
	return append(bases, projects...), c.failure()
}

func (c *collector) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fatal
}

func (c *collector) fail(err error) {
	c.mu.Lock()
	if c.fatal == nil {
		c.fatal = err
	}
	c.mu.Unlock()
}

func (c *collector) stopped(ctx context.Context) bool {
	return ctx.Err() != nil || c.failure() != nil
}

// problem notes something about the evidence that no manifest entry shows.
func (c *collector) problem(p string, err error) {
	c.mu.Lock()
	c.problems = append(c.problems, Problem{Path: strings.ToValidUTF8(p, "\ufffd"), Reason: err.Error()})
	c.mu.Unlock()
}

func (c *collector) addProjects(paths []string) {
	c.mu.Lock()
	for _, p := range paths {
		c.projects[p] = struct{}{}
	}
	c.mu.Unlock()
}

// add files a finished entry.
func (c *collector) add(e Entry) {
	if err := c.journal.add(&e); err != nil {
		c.fail(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, e)
	for _, p := range e.Projects {
		c.projects[p] = struct{}{}
	}
	if e.Status == Collected || e.Status == Partial {
		if e.Kind == "file" {
			c.progress.Files++
			c.progress.Bytes += e.Copied
		}
		if c.opts.Progress != nil {
			c.progress.Path = e.Path
			c.opts.Progress(c.progress)
		}
	}
}
