package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/audit/evidence"
	"github.com/openmuse/muse/internal/audit/hostiledb"
)

// Limits of what one file can name: the evidence is not trusted, and a log
// could name paths without end.
const (
	maxProjects    = 4096
	maxProjectPath = 4096
	maxSmallFile   = 64 << 20 // trust file, tracking file, prompt history
)

// pathSet gathers project paths of one file.
type pathSet map[string]struct{}

func (s pathSet) add(p string) {
	if len(s) < maxProjects && len(p) <= maxProjectPath && absolute(p) {
		s[p] = struct{}{}
	}
}

func (s pathSet) list() []string { return slices.Sorted(maps.Keys(s)) }

// absolute reports whether p is an absolute path of Linux, macOS or Windows.
func absolute(p string) bool {
	if strings.HasPrefix(p, "/") {
		return len(p) > 1
	}
	_, ok := cutDrive(p)
	return ok
}

// cutDrive removes the drive of a Windows path, also in its \\?\ form.
func cutDrive(p string) (string, bool) {
	p = strings.TrimPrefix(p, `\\?\`)
	if len(p) > 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z') {
		return strings.ReplaceAll(p[3:], `\`, "/"), true
	}
	return "", false
}

// inTree says where a project path of the machine would be below the root of
// its disk. The path may name what it likes: Resolve keeps it inside.
func inTree(project string) (p string, fold bool) {
	if rest, ok := cutDrive(project); ok {
		return path.Clean("/" + rest)[1:], true
	}
	return path.Clean("/" + project)[1:], false
}

// logTap looks for project paths in the bytes of a session log as it is
// copied. The keys stand unescaped only where the log itself wrote them:
// inside a text every quote is escaped (seed 000, Where the project path is
// recorded: "so a grep works"). Only the start of each line is kept, and only
// records of the kinds that name a project are searched.
type logTap struct {
	found pathSet
	carry []byte // the start of a line that a buffer ended in
	long  bool   // the rest of the line is passed over
}

// tapLine is how much of a line is looked at: records that name a project are
// short.
const tapLine = 64 << 10

var (
	tapKeys  = [][]byte{[]byte(`"workspace_root":"`), []byte(`"cwd":"`)}
	tapType  = []byte(`payload_type":"`)
	tapTypes = [][]byte{[]byte("runtime.session.metadata"), []byte("runtime.session.route_facts"), []byte("session.workspace_branch")}
)

func newLogTap() *logTap { return &logTap{found: pathSet{}} }

func (t *logTap) see(b []byte) {
	for {
		i := bytes.IndexByte(b, '\n')
		part := b
		if i >= 0 {
			part = b[:i]
		}
		switch {
		case i >= 0 && len(t.carry) == 0 && !t.long:
			t.line(part[:min(len(part), tapLine)])
		case !t.long:
			t.carry = append(t.carry, part[:min(len(part), tapLine-len(t.carry))]...)
			t.long = len(t.carry) >= tapLine
			if i >= 0 || t.long {
				t.line(t.carry)
				t.carry = t.carry[:0]
			}
		}
		if i < 0 {
			return
		}
		t.long = false
		b = b[i+1:]
	}
}

// end looks at a last line without a line feed.
func (t *logTap) end() {
	if len(t.carry) > 0 {
		t.line(t.carry)
		t.carry = nil
	}
}

// line looks at a line, or at its start.
func (t *logTap) line(b []byte) {
	if i := bytes.Index(b[:min(len(b), 512)], tapType); i >= 0 {
		kind := b[i+len(tapType):]
		if !bytes.HasPrefix(kind, tapTypes[0]) && !bytes.HasPrefix(kind, tapTypes[1]) && !bytes.HasPrefix(kind, tapTypes[2]) {
			return
		}
	}
	for _, key := range tapKeys {
		for at := 0; ; {
			i := bytes.Index(b[at:], key)
			if i < 0 {
				break
			}
			at += i + len(key)
			t.value(b, at)
		}
	}
}

// value takes the string that starts at i.
func (t *logTap) value(b []byte, i int) {
	value := b[i:min(len(b), i+maxProjectPath)]
	end := bytes.IndexByte(value, '"')
	for end > 0 && value[end-1] == '\\' && oddBackslashes(value[:end]) {
		next := bytes.IndexByte(value[end+1:], '"')
		if next < 0 {
			return
		}
		end += 1 + next
	}
	if end <= 0 {
		return
	}
	if s, err := jsontext.AppendUnquote(nil, b[i-1:i+end+1]); err == nil {
		t.found.add(string(s))
	}
}

func oddBackslashes(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// trustProjects reads the keys of projects in trust.json.
func trustProjects(r io.Reader, found pathSet) error {
	var doc struct {
		Projects map[string]jsontext.Value `json:"projects"`
	}
	if err := json.UnmarshalRead(io.LimitReader(r, maxSmallFile), &doc, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("read trust file: %w", err)
	}
	for p := range doc.Projects {
		found.add(p)
	}
	return nil
}

// historyProjects reads the project of every object line of the prompt
// history. Bad lines are passed over: the timeline reports them.
func historyProjects(r io.Reader, found pathSet) error {
	b, err := io.ReadAll(io.LimitReader(r, maxSmallFile))
	if err != nil {
		return fmt.Errorf("read prompt history: %w", err)
	}
	for line := range bytes.Lines(b) {
		var entry struct {
			Project string `json:"project"`
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &entry) == nil {
			found.add(entry.Project)
		}
	}
	return nil
}

// trackingProjects takes every absolute path that stands in a tracking file,
// whose shape is not known (seed 000, Confidence).
func trackingProjects(r io.Reader, found pathSet) error {
	dec := jsontext.NewDecoder(io.LimitReader(r, maxSmallFile), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read tracking file: %w", err)
		}
		if tok.Kind() == '"' {
			found.add(tok.String())
		}
	}
}

// indexProjects reads the session index.
func indexProjects(ctx context.Context, open hostiledb.Opener, found pathSet) (err error) {
	db, err := hostiledb.Open(open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Rows(ctx, "sessions", []string{"workspace_root", "workspace_key"}, 1_000_000, func(values []any) bool {
		for _, v := range values {
			if s, ok := v.(string); ok {
				found.add(s)
			}
		}
		return true
	})
}

// discover reads what a home says of its projects, but for the session logs,
// which are looked at while they are copied. Files that cannot be read are
// reported by the collection itself; here they only name nothing.
func (c *collector) discover(ctx context.Context, b *base) []string {
	found := pathSet{}
	for _, rule := range c.catalogue.of("project-from", "") {
		var read func(io.Reader, pathSet) error
		switch rule.System {
		case "trust":
			read = trustProjects
		case "history":
			read = historyProjects
		case "tracking":
			read = trackingProjects
		case "index":
			read = nil
		default:
			continue
		}
		matches, err := c.expand(b, rule.Pattern)
		if err != nil {
			c.problem(b.display(rule.Pattern), err)
		}
		for _, m := range matches {
			if read == nil {
				err = indexProjects(ctx, c.dbOpener(m.place.Path), found)
			} else {
				err = c.readSmall(m.place.Path, read, found)
			}
			if err != nil {
				c.problem(b.display(m.rel), err)
			}
		}
	}
	return found.list()
}

func (c *collector) readSmall(p string, read func(io.Reader, pathSet) error, found pathSet) error {
	f, _, err := c.tree.OpenFile(p)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer f.Close()
	return read(f, found)
}

func (c *collector) dbOpener(p string) hostiledb.Opener {
	return func(suffix string) (io.ReadCloser, error) {
		f, _, err := c.tree.OpenFile(p + suffix)
		return f, err
	}
}

// systemOf tells by its directories which system a home is of.
func systemOf(tree *evidence.Tree, home, hint string) string {
	if hint != "any" {
		return hint
	}
	if _, err := tree.Resolve(path.Join(home, "AppData"), true); err == nil {
		return "windows"
	}
	if _, err := tree.Resolve(path.Join(home, "NTUSER.DAT"), true); err == nil {
		return "windows"
	}
	if _, err := tree.Resolve(path.Join(home, "Library"), false); err == nil {
		return "macos"
	}
	return "linux"
}
