package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/audit/evidence"
)

// FileKind says what a file of the input is (seed 000, Transcript stores).
type FileKind int

// The kinds.
const (
	SessionLog  FileKind = iota + 1 // session.jsonl
	SubagentLog                     // subagent/<id>/session.jsonl
	History                         // tui-history.jsonl
	Trust                           // trust.json of the config root
)

// File is one file of the input that the timeline wants.
type File struct {
	Kind    FileKind
	Label   string // how the file is shown: the input's path, then the path in it
	Size    int64
	ModTime time.Time
	Dir     string // the directory it is in, for files beside it; its own tree's path
	Parents []*File

	open  func() (io.ReadCloser, error) // from the start
	store store
	at    string // in store
}

// Open opens the file from its start.
func (f *File) Open() (io.ReadCloser, error) { return f.open() }

// ID is the session or subagent id that the file's directory names.
func (f *File) ID() string {
	if f.Dir != "." {
		return path.Base(f.Dir)
	}
	abs, err := filepath.Abs(filepath.FromSlash(f.Label))
	if err != nil {
		return ""
	}
	return filepath.Base(filepath.Dir(abs))
}

// store is where files beside a log are looked for: a directory tree or an
// archive. Names are slash-separated.
type store interface {
	// list names the entries of a directory; a directory's name ends in "/".
	list(dir string) ([]string, error)
	open(name string) (io.ReadCloser, error)
	size(name string) (int64, error)
	Close() error
}

// Input is a set of files found under some paths.
type Input struct {
	Files    []*File
	Problems []Problem
	stores   []store
}

// Problem is something in the input that could not be read.
type Problem struct {
	Path string
	Err  error
}

// Close releases the input.
func (in *Input) Close() error {
	var err error
	for _, s := range in.stores {
		err = errors.Join(err, s.Close())
	}
	return err
}

// Find looks for logs in each of paths: a log, a session's directory, a data
// root, a home, a collection, a mounted disk, or a zip file of any of those.
// Links are not followed out of a path that is given.
func Find(paths []string) (*Input, error) {
	in := &Input{}
	for _, p := range paths {
		if err := in.add(p); err != nil {
			return nil, errors.Join(err, in.Close())
		}
	}
	in.link()
	return in, nil
}

func (in *Input) add(p string) error {
	info, err := os.Stat(p)
	if err != nil {
		return fmt.Errorf("open input: %w", err)
	}
	switch {
	case info.IsDir():
		return in.addTree(p, "")
	case !info.Mode().IsRegular():
		return fmt.Errorf("open input: %s: %w", p, evidence.ErrNotRegular)
	case strings.EqualFold(filepath.Ext(p), ".zip"):
		return in.addZip(p)
	}
	return in.addFile(p)
}

// addFile takes one file. For a subagent's log the tree starts at the session
// it belongs to, because its project stands in its parent's log.
func (in *Input) addFile(p string) error {
	dir, only := filepath.Dir(p), filepath.Base(p)
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("open input: %w", err)
	}
	for filepath.Base(filepath.Dir(abs)) == "subagent" {
		only = filepath.Join("subagent", filepath.Base(abs), only)
		abs = filepath.Dir(filepath.Dir(abs))
		dir = abs
	}
	return in.addTree(dir, filepath.ToSlash(only))
}

// addTree searches a directory, or takes the one file only.
func (in *Input) addTree(dir, only string) error {
	tree, err := evidence.Open(dir)
	if err != nil {
		return err
	}
	s := &treeStore{tree: tree}
	in.stores = append(in.stores, s)
	w := treeWalk{in: in, store: s, seen: map[string]bool{}}
	if only != "" {
		w.explicit(only)
		return nil
	}
	w.dir(".", 0)
	return nil
}

type treeStore struct{ tree *evidence.Tree }

func (s *treeStore) open(name string) (io.ReadCloser, error) {
	f, _, err := s.tree.OpenFile(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return f, nil
}

func (s *treeStore) size(name string) (int64, error) {
	place, err := s.tree.Resolve(name, false)
	if err != nil {
		return 0, err
	}
	if !place.Info.Mode().IsRegular() {
		return 0, evidence.ErrNotRegular
	}
	return place.Info.Size(), nil
}

func (s *treeStore) list(dir string) ([]string, error) {
	d, err := s.tree.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.Entries()
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		switch {
		case e.IsDir():
			names = append(names, e.Name()+"/")
		case e.Type().IsRegular():
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (s *treeStore) Close() error { return s.tree.Close() }

// treeWalk searches a directory for files the timeline wants.
type treeWalk struct {
	in    *Input
	store *treeStore
	seen  map[string]bool
}

// maxWalkDepth bounds the search; a log lies some ten levels below a home.
const maxWalkDepth = 64

// passedOver are directories that hold no log of their own and are large, or
// hold files that look like one (seed 000, Parser plan: Not wanted).
func passedOver(name string) bool {
	switch name {
	case "node_modules", ".git", ".msp-view-v1", "approval-review", "tool-outputs":
		return true
	}
	return false
}

func (w *treeWalk) dir(dir string, depth int) {
	if depth > maxWalkDepth || w.seen[dir] {
		return
	}
	w.seen[dir] = true
	d, err := w.store.tree.OpenDir(dir)
	if err != nil {
		w.problem(dir, err)
		return
	}
	entries, err := d.Entries()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		w.problem(dir, err)
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if !passedOver(e.Name()) && (dir != "." || !w.system(e.Name())) {
				w.dir(p, depth+1)
			}
		case e.Type()&fs.ModeSymlink != 0:
			w.link(p, e.Name(), depth)
		case wanted(p) != 0:
			w.file(p, wanted(p))
		}
	}
}

// link follows what people make links of when they move their logs to another
// disk, inside the tree; other links are passed over.
func (w *treeWalk) link(p, name string, depth int) {
	if name != "muse" && name != "sessions" {
		return
	}
	place, err := w.store.tree.Resolve(p, false)
	if err == nil && place.Info.IsDir() {
		w.dir(place.Path, depth+1)
	}
}

// system passes over what is no disk below the root of a running system.
func (w *treeWalk) system(name string) bool {
	return filepath.Dir(w.store.tree.Name()) == w.store.tree.Name() && (name == "proc" || name == "sys" || name == "dev")
}

// wanted says what a path is, by its name (seed 000, Parser plan: wants).
func wanted(p string) FileKind {
	switch path.Base(p) {
	case "session.jsonl":
		if path.Base(path.Dir(path.Dir(p))) == "subagent" {
			return SubagentLog
		}
		return SessionLog
	case "tui-history.jsonl":
		return History
	case "trust.json":
		if strings.EqualFold(path.Base(path.Dir(p)), "muse") {
			return Trust
		}
	}
	return 0
}

// explicit takes a file that the user named, whatever it is called: what is no
// log is found out by its content.
func (w *treeWalk) explicit(name string) {
	abs, err := filepath.Abs(filepath.Join(w.store.tree.Name(), name))
	kind := FileKind(0)
	if err == nil {
		kind = wanted(filepath.ToSlash(abs))
	}
	if kind == 0 {
		kind = SessionLog
		if path.Base(name) == "trust.json" {
			kind = Trust
		}
	}
	place, err := w.store.tree.Resolve(name, false)
	if err != nil {
		w.problem(name, err)
		return
	}
	w.file(place.Path, kind)
}

func (w *treeWalk) problem(p string, err error) {
	w.in.Problems = append(w.in.Problems, Problem{Path: w.label(p), Err: err})
}

func (w *treeWalk) label(p string) string {
	return filepath.ToSlash(filepath.Join(w.store.tree.Name(), filepath.FromSlash(p)))
}

func (w *treeWalk) file(p string, kind FileKind) {
	f, info, err := w.store.tree.OpenFile(p)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		w.problem(p, err)
		return
	}
	w.in.Files = append(w.in.Files, &File{
		Kind: kind, Label: w.label(p), Size: info.Size(), ModTime: info.ModTime(), Dir: path.Dir(p),
		store: w.store, at: p,
		open: func() (io.ReadCloser, error) { return w.store.open(p) },
	})
}

// link ties subagent logs to the logs above them, nearest first, and drops
// files that were found twice.
func (in *Input) link() {
	type key struct {
		s  store
		at string
	}
	byLabel := map[string]bool{}
	byPlace := map[key]*File{}
	files := in.Files[:0]
	for _, f := range in.Files {
		abs, err := filepath.Abs(f.Label)
		if err != nil {
			abs = f.Label
		}
		if byLabel[abs] {
			continue
		}
		byLabel[abs] = true
		byPlace[key{f.store, f.at}] = f
		files = append(files, f)
	}
	in.Files = files
	for _, f := range in.Files {
		if f.Kind != SubagentLog {
			continue
		}
		for dir := f.Dir; path.Base(path.Dir(dir)) == "subagent"; {
			dir = path.Dir(path.Dir(dir))
			if p := byPlace[key{f.store, path.Join(dir, "session.jsonl")}]; p != nil {
				f.Parents = append(f.Parents, p)
			} else if p := in.parentAlone(f, dir); p != nil {
				f.Parents = append(f.Parents, p)
			}
		}
	}
}

// parentAlone is the log above a subagent log that was named alone.
func (in *Input) parentAlone(f *File, dir string) *File {
	p := path.Join(dir, "session.jsonl")
	if _, err := f.store.size(p); err != nil {
		return nil // there is none
	}
	return &File{Kind: SessionLog, Label: p, Dir: dir, store: f.store, at: p, open: func() (io.ReadCloser, error) { return f.store.open(p) }}
}

// Of is the part of the input that belongs to one session: its log and those
// of its subagents. It is closed with the whole.
func (in *Input) Of(session *File) *Input {
	part := &Input{}
	for _, f := range in.Files {
		if f == session || len(f.Parents) > 0 && f.Parents[len(f.Parents)-1] == session {
			part.Files = append(part.Files, f)
		}
	}
	return part
}
