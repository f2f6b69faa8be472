package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// Latest is the session whose log was written last: of those that were last
// used in workspace, or of all when workspace is "". Sessions that never
// started do not count. The error is [ErrNotFound] when there is none.
func Latest(root, workspace string) (*Session, error) {
	sh, err := openShards(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("find the latest session: %w", err)
	}
	defer sh.Close()
	all, err := sh.started()
	if err != nil {
		return nil, fmt.Errorf("find the latest session: %w", err)
	}
	same := sameDir(workspace)
	for _, c := range all {
		if workspace != "" {
			used, err := sh.workspace(path.Join(c.shard, c.id, logName))
			if err != nil {
				return nil, fmt.Errorf("find the latest session: %w", err)
			}
			if !same(used) {
				continue
			}
		}
		return sh.session(c.shard, c.id)
	}
	return nil, ErrNotFound
}

type candidate struct {
	shard, id string
	written   time.Time
}

// started lists the sessions that have a log, the last written first.
func (sh *shards) started() ([]candidate, error) {
	var all []candidate
	err := sh.days(func(shard string) (bool, error) {
		entries, err := sh.entries(shard)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if !ident.Valid(e.Name()) || !e.IsDir() {
				continue
			}
			info, err := sh.Lstat(filepath.FromSlash(path.Join(shard, e.Name(), logName)))
			if err != nil && ignorable(err) {
				continue
			}
			if err != nil {
				return false, err
			}
			if info.Mode().IsRegular() {
				all = append(all, candidate{shard, e.Name(), info.ModTime()})
			}
		}
		return false, nil
	})
	// A copied home may give all logs one time; ids that carry their own then
	// decide.
	slices.SortFunc(all, func(a, b candidate) int {
		if c := b.written.Compare(a.written); c != 0 {
			return c
		}
		return strings.Compare(b.shard+b.id, a.shard+a.id)
	})
	return all, err
}

// sameDir compares directories with dir, which may be reached by a symlink.
func sameDir(dir string) func(string) bool {
	names := []string{filepath.Clean(dir)}
	// A workspace that is gone still names its sessions.
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != names[0] {
		names = append(names, real)
	}
	return func(other string) bool {
		if other == "" {
			return false
		}
		other = filepath.Clean(other)
		return slices.ContainsFunc(names, func(n string) bool {
			return n == other || runtime.GOOS == "windows" && strings.EqualFold(n, other)
		})
	}
}

// workspace is the directory a log was last used in, "" when it names none:
// the workspace_root of its last metadata record, else the cwd of its last
// route facts (seed 000, Columns, project_path).
func (sh *shards) workspace(log string) (string, error) {
	f, err := sh.Open(filepath.FromSlash(log))
	if err != nil {
		return "", err
	}
	defer f.Close()
	var root, cwd string
	err = journal.ScanLines(f, func(raw []byte, _ int64) error {
		// Two kinds of record in a whole log matter: nearly every line is
		// passed over at the speed of a search.
		if !bytes.Contains(raw, []byte(`"runtime.session.metadata"`)) && !bytes.Contains(raw, []byte(`"runtime.session.route_facts"`)) {
			return nil
		}
		v, err := record.Scan(raw)
		if err != nil {
			return nil // a bad line names no workspace
		}
		var p struct {
			WorkspaceRoot string `json:"workspace_root"`
			Record        struct {
				WorkspaceRoot string `json:"workspace_root"`
				Cwd           string `json:"cwd"`
			} `json:"record"`
		}
		if json.Unmarshal(v.Payload, &p) != nil {
			return nil // nor does a payload of another shape
		}
		switch string(v.PayloadType) {
		case "runtime.session.metadata":
			root = first(p.Record.WorkspaceRoot, p.WorkspaceRoot, root)
		case "runtime.session.route_facts":
			cwd = first(p.Record.Cwd, cwd)
		}
		return nil
	})
	return first(root, cwd), err
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
