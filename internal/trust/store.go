package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/config/atomicfile"
	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/plainfile"
)

// Decision is what a person said about a root.
type Decision string

// The decisions (CLI.md 2.1).
const (
	Trusted   Decision = "trusted"
	Untrusted Decision = "untrusted"
)

// Status is whether a workspace is trusted now, and why not.
type Status struct {
	Root     string
	Trusted  bool
	Decision Decision // "" when nobody was asked
	// Reason says in one line why a root is not trusted.
	Reason string
	// Changed are the gated files that differ from those that were trusted.
	Changed []string
	// Files are the gated files as they are now.
	Files []string
}

// Entry is one remembered decision.
type Entry struct {
	Root     string
	Decision Decision
	// Sum is the fingerprint it is bound to, "" for an entry of another
	// program, which binds to nothing.
	Sum string
}

// Store is trust.json.
type Store struct{ Path string }

// bound is what this program adds to an entry.
type bound struct {
	Sum   string            `json:"content"`
	Files map[string]string `json:"files"`
	// Inode tells a directory from another one put in its place. Device numbers
	// are not kept: they change when a machine starts again.
	Inode uint64 `json:"inode,omitzero"`
}

// Root resolves a directory to the path under which trust is kept: absolute
// and without links.
func Root(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the workspace root: %w", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("find the workspace root: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("find the workspace root: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("find the workspace root: %s is not a directory", real)
	}
	return real, nil
}

// Check says whether a workspace is trusted now. Trust is not inherited from a
// directory above. An error means that the record could not be read: then
// nothing is trusted.
func (s Store) Check(dir string) (Status, error) {
	root, err := Root(dir)
	if err != nil {
		return Status{}, err
	}
	out := Status{Root: root}
	doc, err := s.read()
	if err != nil {
		out.Reason = "the record of trusted workspaces cannot be read"
		return out, err
	}
	decision, was, err := entry(doc, root)
	if err != nil {
		out.Reason = "the record of this workspace cannot be read"
		return out, err
	}
	out.Decision = decision
	switch decision {
	case Trusted:
	case Untrusted:
		out.Reason = "you said that this workspace is not to be trusted"
		return out, nil
	default:
		out.Reason = "nobody has trusted this workspace yet"
		return out, nil
	}
	now, err := Take(root)
	if err != nil {
		out.Reason = "its files cannot be read"
		return out, err
	}
	out.Files = now.Names()
	switch ino := inode(root); {
	case was == nil:
		out.Reason = "it was trusted by a program that does not bind trust to content"
	case was.Inode != 0 && ino != 0 && was.Inode != ino:
		out.Reason = "another directory stands at the trusted path"
	case was.Sum != now.Sum:
		out.Changed = Fingerprint{Files: was.Files}.Changed(now)
		out.Reason = "files that trust lets load have changed: " + few(out.Changed)
	default:
		out.Trusted = true
	}
	return out, nil
}

func few(names []string) string {
	if len(names) > 4 {
		return strings.Join(names[:4], ", ") + fmt.Sprintf(" and %d more", len(names)-4)
	}
	return strings.Join(names, ", ")
}

// Set remembers a decision about a workspace, bound to its gated files as they
// are now. want, if not "", is the fingerprint that the person was shown: when
// the files have changed since, nothing is remembered.
func (s Store) Set(ctx context.Context, dir string, d Decision, want string) (Status, error) {
	root, err := Root(dir)
	if err != nil {
		return Status{}, err
	}
	now, err := Take(root)
	if err != nil {
		return Status{}, err
	}
	if want != "" && want != now.Sum {
		return Status{}, fmt.Errorf("trust %s: its files changed while you were asked", root)
	}
	err = s.change(ctx, func(doc *jsondoc.Document) error {
		value, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if err := doc.Set(value, "projects", root, "decision"); err != nil {
			return err
		}
		if d != Trusted {
			return doc.Delete("projects", root, "openmuse")
		}
		value, err = json.Marshal(bound{Sum: now.Sum, Files: now.Files, Inode: inode(root)}, json.Deterministic(true))
		if err != nil {
			return err
		}
		return doc.Set(value, "projects", root, "openmuse")
	})
	if err != nil {
		return Status{}, fmt.Errorf("remember trust of %s: %w", root, err)
	}
	return Status{Root: root, Trusted: d == Trusted, Decision: d, Files: now.Names()}, nil
}

// Remove forgets a workspace. root may be a path that no longer exists.
func (s Store) Remove(ctx context.Context, root string) (bool, error) {
	if real, err := Root(root); err == nil {
		root = real
	} else if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	found := false
	err := s.change(ctx, func(doc *jsondoc.Document) error {
		if found = doc.Root().Get("projects", root) != nil; !found {
			return nil
		}
		return doc.Delete("projects", root)
	})
	if err != nil {
		return false, fmt.Errorf("forget trust of %s: %w", root, err)
	}
	return found, nil
}

// List gives every remembered decision, by path.
func (s Store) List() ([]Entry, error) {
	doc, err := s.read()
	if err != nil || doc == nil {
		return nil, err
	}
	var out []Entry
	if projects := doc.Root().Get("projects"); projects != nil {
		for _, n := range projects.Members() {
			d, was, err := entry(doc, n.Key())
			if err != nil {
				return nil, err
			}
			e := Entry{Root: n.Key(), Decision: d}
			if was != nil {
				e.Sum = was.Sum
			}
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Root, b.Root) })
	return out, nil
}

// read parses the file; no file gives nil.
func (s Store) read() (*jsondoc.Document, error) {
	data, err := plainfile.Read(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read trusted workspaces: %w", err)
	}
	return parse(s.Path, data)
}

func parse(path string, data []byte) (*jsondoc.Document, error) {
	doc, err := jsondoc.Parse(path, data)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	if root.Kind() != '{' {
		return nil, root.Mismatch("an object")
	}
	if v := root.Get("schema_version"); v != nil {
		if n, err := v.Int(); err != nil || n != 1 {
			return nil, v.Errorf("write 1", "unknown schema version")
		}
	}
	if p := root.Get("projects"); p != nil && p.Kind() != '{' {
		return nil, p.Mismatch("an object of paths")
	}
	return doc, nil
}

// entry reads one decision and what it is bound to.
func entry(doc *jsondoc.Document, root string) (Decision, *bound, error) {
	if doc == nil {
		return "", nil, nil
	}
	n := doc.Root().Get("projects", root)
	if n == nil {
		return "", nil, nil
	}
	if n.Kind() != '{' {
		return "", nil, n.Mismatch("an object")
	}
	d := n.Get("decision")
	if d == nil {
		return "", nil, nil
	}
	text, err := d.Text()
	if err != nil {
		return "", nil, err
	}
	switch Decision(text) {
	case Trusted, Untrusted:
	default:
		return "", nil, d.Errorf("use trusted or untrusted", "unknown decision %q", text)
	}
	own := n.Get("openmuse")
	if own == nil {
		return Decision(text), nil, nil
	}
	var b bound
	if err := json.Unmarshal(own.Raw(), &b); err != nil {
		return "", nil, own.Errorf("remove the entry and trust the workspace again", "cannot be read: %v", err)
	}
	return Decision(text), &b, nil
}

// change edits the file under its lock and keeps every key it does not know.
func (s Store) change(ctx context.Context, edit func(*jsondoc.Document) error) error {
	return atomicfile.UpdateSecret(ctx, s.Path, func(old []byte) ([]byte, error) {
		fresh := old == nil
		if fresh {
			old = []byte("{\n  \"schema_version\": 1,\n  \"projects\": {}\n}\n")
		}
		doc, err := parse(s.Path, old)
		if err != nil {
			return nil, err
		}
		if doc.Root().Get("schema_version") == nil {
			if err := doc.Set(jsontext.Value("1"), "schema_version"); err != nil {
				return nil, err
			}
		}
		if err := edit(doc); err != nil {
			return nil, err
		}
		return doc.Bytes(), nil
	})
}
