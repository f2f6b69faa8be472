package instructions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/plainfile"
	"github.com/openmuse/muse/internal/workspace"
)

// Limits of CLI.md 6.
const (
	maxRulesFile  = 256_000 // a larger file is left out
	maxRulesTotal = 65_536  // what is more in total is cut
)

// Options say whose rules are read.
type Options struct {
	Dir       string // the workspace
	ConfigDir string // muse's configuration directory
	Home      string // "" = the user has none
	CodexHome string // $CODEX_HOME; "" = .codex in Home
	// Trusted lets the project's rules in.
	Trusted bool
	// NoForeign leaves out what other agents keep in the user's home.
	NoForeign bool
}

// Rules are the rules in force.
type Rules struct {
	// Blocks are the user's rules and then the project's from the top of the
	// working tree down to the workspace: later ones go before earlier ones.
	Blocks []Block
	// Warnings are for the person, one line each: what was left out or cut.
	Warnings []string
}

// rulesFile is one file that was read.
type rulesFile struct {
	path  string // as named to the person
	name  string // relative to the top of the working tree
	scope string // directory it holds for, relative to that top
	user  bool
	text  string
	info  fs.FileInfo
}

// Load reads the rules files. A file that cannot be used is a warning: bad
// rules must not keep a session from starting.
func Load(o Options) Rules {
	var r Rules
	user := r.userRules(o)
	files := user
	if o.Trusted {
		for _, f := range r.projectRules(o.Dir) {
			if len(user) > 0 && os.SameFile(user[0].info, f.info) {
				continue // the workspace is where the user's own rules are
			}
			files = append(files, f)
		}
	}
	r.cut(files)
	for _, f := range files {
		if f.text != "" {
			r.Blocks = append(r.Blocks, rulesBlock(f))
		}
	}
	return r
}

// userRules returns the first of the user's files that exists.
func (r *Rules) userRules(o Options) []rulesFile {
	var paths []string
	if o.ConfigDir != "" {
		paths = append(paths, filepath.Join(o.ConfigDir, "AGENTS.md"), filepath.Join(o.ConfigDir, "CLAUDE.md"))
	}
	codex := o.CodexHome
	if codex == "" && o.Home != "" {
		codex = filepath.Join(o.Home, ".codex")
	}
	if !o.NoForeign {
		if o.Home != "" {
			paths = append(paths, filepath.Join(o.Home, ".claude", "CLAUDE.md"))
		}
		if codex != "" {
			paths = append(paths, filepath.Join(codex, "AGENTS.md"))
		}
	}
	for _, p := range paths {
		f, err := openRegular(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			r.warn("%s is not used: %v", p, err)
			continue
		}
		file, ok := r.read(f, rulesFile{path: p, user: true})
		if ok {
			return []rulesFile{file}
		}
	}
	return nil
}

func openRegular(p string) (*os.File, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, workspace.ErrNotRegular
	}
	return plainfile.Open(p) // what stands there now may be a pipe
}

// levelNames are the names looked for in a directory; the first hit counts.
var levelNames = [...]string{"AGENTS.md", ".agents/AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"}

// projectRules reads one file for each directory from the top of the working
// tree down to dir.
func (r *Rules) projectRules(dir string) []rulesFile {
	top, _ := workspace.VCSRoot(dir)
	ws, err := workspace.Open(top)
	if err != nil {
		r.warn("the project's rules are not used: %v", err)
		return nil
	}
	defer ws.Close()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(ws.Dir(), dir)
	if err != nil || !filepath.IsLocal(rel) {
		rel = "."
	}
	levels := []string{"."}
	if rel != "." {
		at := ""
		for _, part := range strings.Split(filepath.ToSlash(rel), "/") {
			at = path.Join(at, part)
			levels = append(levels, at)
		}
	}
	var files []rulesFile
	for _, level := range levels {
		for _, name := range levelNames {
			if f, ok := r.projectFile(ws, level, path.Join(level, name)); ok {
				files = append(files, f)
				break
			}
		}
	}
	return files
}

func (r *Rules) projectFile(ws *workspace.Workspace, level, name string) (rulesFile, bool) {
	h, err := ws.Root().Reach(name, workspace.Read)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.warn("%s is not used: %v", name, err)
		}
		return rulesFile{}, false
	}
	defer h.Close()
	if h.Info == nil {
		return rulesFile{}, false
	}
	f, _, err := h.Open()
	if err != nil {
		r.warn("%s is not used: %v", name, err)
		return rulesFile{}, false
	}
	return r.read(f, rulesFile{path: filepath.Join(ws.Dir(), filepath.FromSlash(name)), name: name, scope: level})
}

// read fills in the text of an open file and closes it. ok is false when the
// file has none that can be used.
func (r *Rules) read(f *os.File, file rulesFile) (rulesFile, bool) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		r.warn("%s is not used: %v", file.path, err)
		return file, false
	}
	file.info = info
	data, err := io.ReadAll(io.LimitReader(f, maxRulesFile+1))
	switch {
	case err != nil:
		r.warn("%s is not used: %v", file.path, err)
		return file, false
	case len(data) > maxRulesFile:
		r.warn("%s is not used: it has %d bytes, the limit for a rules file is %d", file.path, info.Size(), maxRulesFile)
		return file, false
	case strings.IndexByte(string(data), 0) >= 0:
		r.warn("%s is not used: it is not text", file.path)
		return file, false
	}
	text := strings.TrimPrefix(string(data), "\uFEFF")
	file.text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	return file, file.text != ""
}

// cut brings the files below the total limit. Room goes to the user's file
// first and then to the deepest of the project's, which is the most specific.
func (r *Rules) cut(files []rulesFile) {
	room := maxRulesTotal
	take := func(f *rulesFile) {
		if len(f.text) > room {
			kept := cutText(f.text, room)
			r.warn("%s is cut to %d of %d bytes: rules files have %d in total", f.path, len(kept), len(f.text), maxRulesTotal)
			f.text = kept
		}
		room -= len(f.text)
	}
	for i := range files {
		if files[i].user {
			take(&files[i])
		}
	}
	for i := len(files) - 1; i >= 0; i-- {
		if !files[i].user {
			take(&files[i])
		}
	}
}

// cutText is at most n bytes of text, whole lines where that loses little.
func cutText(text string, n int) string {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	text = text[:n]
	if i := strings.LastIndexByte(text, '\n'); i > n*3/4 {
		text = text[:i]
	}
	return text
}

func (r *Rules) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}
