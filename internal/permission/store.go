package permission

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/config/atomicfile"
	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/plainfile"
)

// ProjectRulesFile is where a repository keeps its own rules, relative to the
// workspace. It is read after trust only, and may only narrow.
const ProjectRulesFile = ".muse/permissions.json"

// ReadProjectRules reads the rules of a trusted workspace. No file means none.
func ReadProjectRules(workspace string) (Rules, error) {
	path := filepath.Join(workspace, filepath.FromSlash(ProjectRulesFile))
	data, err := plainfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the project's rules: %w", err)
	}
	doc, err := jsondoc.Parse(ProjectRulesFile, data)
	if err != nil {
		return nil, err
	}
	return parseRulesFile(doc.Root(), ProjectRulesFile, ScopeProject)
}

// parseRulesFile reads {"schema_version": 1, "rules": [...]}.
func parseRulesFile(n *jsondoc.Node, file string, scope RuleScope) (Rules, error) {
	if n.Kind() != '{' {
		return nil, n.Mismatch("an object")
	}
	var out Rules
	for _, m := range n.Members() {
		var err error
		switch m.Key() {
		case "schema_version":
			var v int64
			if v, err = m.Int(); err == nil && v != 1 {
				err = m.Errorf("write 1", "schema version %d is not known", v)
			}
		case "rules":
			out, err = parseRules(m, file, scope)
		default:
			err = m.Errorf("remove it", "unknown key %q", m.Key())
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Kept is the file of rules that answers added "always, in this workspace". It
// belongs to the user's configuration, out of reach of commands.
type Kept struct {
	// Path is approvals.json in the configuration directory.
	Path string
	// Workspace is the real path of the root the rules hold for.
	Workspace string
}

// KeptFile is the name of the file in the configuration directory.
const KeptFile = "approvals.json"

// Read gives the rules kept for the workspace.
func (k Kept) Read() (Rules, error) {
	data, err := plainfile.Read(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read kept approvals: %w", err)
	}
	doc, err := jsondoc.Parse(k.Path, data)
	if err != nil {
		return nil, err
	}
	n := doc.Root().Get("workspaces", k.Workspace, "rules")
	if n == nil {
		return nil, nil
	}
	return parseRules(n, k.Path, ScopeLocal)
}

// Add keeps a rule; one that is there already is not added twice.
func (k Kept) Add(ctx context.Context, r Rule) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return k.change(ctx, func(rules Rules) Rules {
		r.Scope, r.Source = ScopeLocal, ""
		for _, old := range rules {
			old.Source = ""
			if sameRule(&old, &r) {
				return rules
			}
		}
		return append(rules, r)
	})
}

// Remove forgets the rule at an index of Read's result.
func (k Kept) Remove(ctx context.Context, index int) error {
	missing := false
	err := k.change(ctx, func(rules Rules) Rules {
		if missing = index < 0 || index >= len(rules); missing {
			return rules
		}
		return slices.Delete(slices.Clone(rules), index, index+1)
	})
	if err == nil && missing {
		return fmt.Errorf("there is no kept approval number %d", index+1)
	}
	return err
}

func sameRule(a, b *Rule) bool {
	return slices.Equal(a.Prefix, b.Prefix) && a.Exact == b.Exact && a.Tool == b.Tool && a.Path == b.Path &&
		a.Access == b.Access && a.Network == b.Network && a.Effect == b.Effect
}

type keptRule struct {
	Prefix  []string `json:"prefix,omitempty"`
	Exact   bool     `json:"exact,omitempty"`
	Tool    string   `json:"tool,omitempty"`
	Path    string   `json:"path,omitempty"`
	Access  string   `json:"access,omitempty"`
	Network string   `json:"network,omitempty"`
	Verdict Effect   `json:"verdict"`
}

func (k Kept) change(ctx context.Context, f func(Rules) Rules) error {
	return atomicfile.UpdateSecret(ctx, k.Path, func(old []byte) ([]byte, error) {
		if old == nil {
			old = []byte("{\n  \"schema_version\": 1\n}\n")
		}
		doc, err := jsondoc.Parse(k.Path, old)
		if err != nil {
			return nil, err
		}
		var rules Rules
		if n := doc.Root().Get("workspaces", k.Workspace, "rules"); n != nil {
			if rules, err = parseRules(n, k.Path, ScopeLocal); err != nil {
				return nil, err
			}
		}
		out := []keptRule{}
		for _, r := range f(rules) {
			out = append(out, keptRule{r.Prefix, r.Exact, r.Tool, r.Path, r.Access, r.Network, r.Effect})
		}
		value, err := json.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("encode kept approvals: %w", err)
		}
		if err := doc.Set(jsontext.Value(value), "workspaces", k.Workspace, "rules"); err != nil {
			return nil, err
		}
		return doc.Bytes(), nil
	})
}
