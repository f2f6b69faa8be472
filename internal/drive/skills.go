package drive

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed skills
var ownSkills embed.FS

// SkillOptions describe a deployment of skills for driven agents.
type SkillOptions struct {
	// From are directories that hold <skill>/SKILL.md; empty means the skills
	// that come with this program.
	From []string
	// ConfigHome is the driven agent's configuration root; skills go to
	// <ConfigHome>/skills/<skill>/.
	ConfigHome string
	// Provider is what {{ provider_name }} becomes in Markdown files; empty
	// means "Muse Code". Without a deployment the agent may pick up copies that
	// were rendered for another one (seed 001, skills).
	Provider string
	DryRun   bool
	Force    bool // overwrite files that were not deployed from here, or were changed since
}

// SkillAction is what was, or would be, done with one file.
type SkillAction struct {
	Path   string `json:"path"`   // below the skills directory
	Action string `json:"action"` // created, updated, unchanged, refused
	Why    string `json:"why,omitempty"`
}

// SkillReport is the body of `muse drive skills deploy --json`.
type SkillReport struct {
	Type    string        `json:"type"` // "muse.drive.skills"
	Version int           `json:"schema_version"`
	OK      bool          `json:"ok"` // nothing was refused
	Dir     string        `json:"dir"`
	Actions []SkillAction `json:"actions"`
}

// Limits of a source: a skill is a few short texts.
const (
	maxSkillFile  = 1 << 20
	maxSkillFiles = 500
	skillManifest = ".muse-drive.json"
)

// skillFile is one rendered file.
type skillFile struct {
	data       []byte
	executable bool
}

// manifest says what was deployed, so that a user's own file, or a user's
// change to a deployed one, is not overwritten.
type manifest struct {
	Version int               `json:"schema_version"`
	Files   map[string]string `json:"files"` // path → SHA-256 as deployed
}

// DeploySkills renders skills into the driven agent's configuration. It can be
// repeated; it removes nothing.
func DeploySkills(o SkillOptions) (*SkillReport, error) {
	if o.ConfigHome == "" {
		return nil, errors.New("deploy skills: the configuration root is unknown: set HOME or XDG_CONFIG_HOME")
	}
	if o.Provider == "" {
		o.Provider = "Muse Code"
	}
	files, err := skillFiles(o)
	if err != nil {
		return nil, fmt.Errorf("deploy skills: %w", err)
	}
	dir := filepath.Join(o.ConfigHome, "skills")
	report := &SkillReport{Type: "muse.drive.skills", Version: 1, OK: true, Dir: dir}
	if !o.DryRun {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("deploy skills: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && o.DryRun {
		for _, name := range sortedKeys(files) {
			report.Actions = append(report.Actions, SkillAction{Path: name, Action: "created"})
		}
		return report, nil
	}
	if err != nil {
		return nil, fmt.Errorf("deploy skills: %w", err)
	}
	defer root.Close()
	if err := deploy(root, o, files, report); err != nil {
		return nil, fmt.Errorf("deploy skills: %w", err)
	}
	return report, nil
}

func deploy(root *os.Root, o SkillOptions, files map[string]skillFile, report *SkillReport) error {
	m, err := readManifest(root)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(files) {
		action, err := deployFile(root, o, m, name, files[name])
		if err != nil {
			return err
		}
		report.Actions = append(report.Actions, action)
		report.OK = report.OK && action.Action != "refused"
	}
	if o.DryRun {
		return nil
	}
	data, err := json.Marshal(m, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return replaceIn(root, skillManifest, skillFile{data: append(data, '\n')})
}

func readManifest(root *os.Root) (*manifest, error) {
	m := &manifest{Version: 1, Files: map[string]string{}}
	data, err := root.ReadFile(skillManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("read %s: %w", skillManifest, err)
	}
	return m, nil
}

// deployFile writes one file unless it is somebody else's.
func deployFile(root *os.Root, o SkillOptions, m *manifest, name string, file skillFile) (SkillAction, error) {
	want := digestOf(file.data)
	old, err := root.ReadFile(filepath.FromSlash(name))
	action := SkillAction{Path: name}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		action.Action = "created"
	case err != nil:
		return action, err
	case digestOf(old) == want:
		m.Files[name] = want
		action.Action = "unchanged"
		return action, nil
	case !o.Force && m.Files[name] == "":
		action.Action, action.Why = "refused", "a file of that name was not deployed from here"
		return action, nil
	case !o.Force && m.Files[name] != digestOf(old):
		action.Action, action.Why = "refused", "it was changed after it was deployed"
		return action, nil
	default:
		action.Action = "updated"
	}
	if o.DryRun {
		return action, nil
	}
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
		return action, err
	}
	if err := replaceIn(root, name, file); err != nil {
		return action, err
	}
	m.Files[name] = want
	return action, nil
}

// replaceIn replaces a file atomically without leaving the root.
func replaceIn(root *os.Root, name string, file skillFile) error {
	name = filepath.FromSlash(name)
	tmp, mode := name+".tmp", os.FileMode(0o600)
	if file.executable {
		mode = 0o700
	}
	if err := root.WriteFile(tmp, file.data, mode); err != nil {
		return err
	}
	return root.Rename(tmp, name)
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// skillFiles reads and renders all sources: path below the skills directory →
// content.
func skillFiles(o SkillOptions) (map[string]skillFile, error) {
	files := map[string]skillFile{}
	if len(o.From) == 0 {
		own, err := fs.Sub(ownSkills, "skills")
		if err != nil {
			return nil, err
		}
		return files, readSkills(own, "built in", o.Provider, files)
	}
	for _, dir := range o.From {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		err = readSkills(root.FS(), dir, o.Provider, files)
		if err = errors.Join(err, root.Close()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// readSkills takes every <skill>/ of a source that has a SKILL.md.
func readSkills(src fs.FS, name, provider string, files map[string]skillFile) error {
	entries, err := fs.ReadDir(src, ".")
	if err != nil {
		return err
	}
	found := 0
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if _, err := fs.Stat(src, path.Join(e.Name(), "SKILL.md")); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		found++
		if err := readSkill(src, e.Name(), provider, files); err != nil {
			return fmt.Errorf("skill %s of %s: %w", e.Name(), name, err)
		}
	}
	if found == 0 {
		return fmt.Errorf("%s holds no <skill>/SKILL.md", name)
	}
	return nil
}

func readSkill(src fs.FS, skill, provider string, files map[string]skillFile) error {
	return fs.WalkDir(src, skill, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", name)
		case files[name].data != nil:
			return fmt.Errorf("%s is in two sources", name)
		case len(files) >= maxSkillFiles:
			return fmt.Errorf("more than %d files", maxSkillFiles)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > maxSkillFile {
			return fmt.Errorf("%s has more than %d bytes", name, maxSkillFile)
		}
		data, err := fs.ReadFile(src, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".md") {
			data = render(data, provider)
		}
		files[name] = skillFile{data: append([]byte{}, data...), executable: info.Mode().Perm()&0o100 != 0}
		return nil
	})
}

// render replaces the one variable of a skill; other braces are the skill's
// own text.
func render(data []byte, provider string) []byte {
	return []byte(strings.NewReplacer("{{ provider_name }}", provider, "{{provider_name}}", provider).Replace(string(data)))
}
