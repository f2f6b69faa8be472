package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/search"
	"github.com/openmuse/muse/internal/tui"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/screen"
	"github.com/openmuse/muse/internal/tui/term"
)

// looks reads what settings.json says of the UI: tui.theme, tui.themes,
// tui.keymap, tui.verbose_output, tui.plain. What is wrong there is named on the screen
// and does not keep the UI from opening.
func (r *tuiRun) looks(o *tui.Options) error {
	settings, err := config.ReadSettings(r.setup.paths.SettingsFile())
	if err != nil {
		return err
	}
	fault := func(err error) { o.Faults = append(o.Faults, err.Error()) }
	name := "default"
	if n := settings.Node("tui", "theme"); n != nil {
		if name, err = n.Text(); err != nil {
			fault(err)
			name = "default"
		}
	}
	if r.env.Getenv("NO_COLOR") != "" {
		name = "plain"
	}
	if o.Theme, err = theme(name, settings.Node("tui", "themes", name)); err != nil {
		fault(fmt.Errorf("tui.theme: %w", err))
		if o.Theme, err = screen.NewTheme("default"); err != nil {
			return err
		}
	}
	kind := r.env.Getenv("TERM")
	// Where terminals have types, one without a type can be anything.
	o.Plain = r.opts.plain || kind == "dumb" || kind == "" && runtime.GOOS != "windows"
	if n := settings.Node("tui", "plain"); n != nil {
		plain, err := n.Bool()
		if err != nil {
			fault(err)
		}
		o.Plain = o.Plain || plain
	}
	changes := map[string][]string{}
	if n := settings.Node("tui", "keymap"); n != nil {
		for _, m := range n.Members() {
			keys, err := keyList(m)
			if err != nil {
				fault(err)
				continue
			}
			changes[m.Key()] = keys
		}
	}
	var faults []error
	o.Keys, faults = keymap.New(changes)
	for _, f := range faults {
		fault(f)
	}
	if n := settings.Node("tui", "verbose_output"); n != nil {
		word, err := n.Text()
		if err == nil && !slices.Contains([]string{"less", "edits", "more"}, word) {
			err = fmt.Errorf("tui.verbose_output: there is no %q: there are less, edits, more", word)
		}
		if err != nil {
			fault(err)
		}
		o.Verbose = word == "more"
	}
	return nil
}

// keyList is a key or a list of keys.
func keyList(n *jsondoc.Node) ([]string, error) {
	if n.Kind() == '"' {
		k, err := n.Text()
		return []string{k}, err
	}
	if n.Kind() != '[' {
		return nil, n.Mismatch("a list of keys")
	}
	keys := []string{}
	for _, m := range n.Members() {
		k, err := m.Text()
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// theme is a built-in theme, or one of settings.json: an object that gives
// roles their looks over the theme that "base" names.
func theme(name string, own *jsondoc.Node) (screen.Theme, error) {
	if own == nil {
		return screen.NewTheme(name)
	}
	base := "default"
	if n := own.Get("base"); n != nil {
		var err error
		if base, err = n.Text(); err != nil {
			return screen.Theme{}, err
		}
	}
	t, err := screen.NewTheme(base)
	if err != nil {
		return t, err
	}
	t.Name = name
	for _, m := range own.Members() {
		if m.Key() == "base" {
			continue
		}
		look, err := m.Text()
		if err != nil {
			return t, err
		}
		if t, err = t.With(m.Key(), look); err != nil {
			return t, err
		}
	}
	return t, nil
}

// editor is the person's editor, nil for none.
func (r *tuiRun) editor() func(path string) error {
	line := r.env.Getenv("VISUAL")
	if line == "" {
		line = r.env.Getenv("EDITOR")
	}
	words := strings.Fields(line)
	if len(words) == 0 || !term.CanLend {
		return nil
	}
	return func(path string) error {
		cmd := exec.Command(words[0], append(words[1:len(words):len(words)], path)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Dir = r.root
		return cmd.Run()
	}
}

// files lists the files of the workspace that version control does not ignore.
func (r *tuiRun) files(ctx context.Context) ([]string, error) {
	found, err := search.List(ctx, search.Options{Dir: r.root})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range found.Files {
		out = append(out, f.Path)
	}
	return out, nil
}

// diffLimit bounds the look at the working tree.
const diffLimit = 10 * time.Second

// diff is what the working tree differs in from its last commit. It takes git
// itself, which can run a repository's filters: only for trusted workspaces.
func (r *tuiRun) diff(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, diffLimit)
	defer cancel()
	if _, err := r.git(ctx, "rev-parse", "--git-dir"); err != nil {
		return "", err // outside a repository git diff answers with all of its usage
	}
	base := "HEAD"
	if _, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		// Before the first commit everything that was added is new.
		empty, err := r.git(ctx, "hash-object", "-t", "tree", "--stdin") // of no input
		if err != nil {
			return "", err
		}
		base = strings.TrimSpace(empty)
	}
	return r.git(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", base)
}

// git is what one git command of the workspace prints.
func (r *tuiRun) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Dir = r.root
	cmd.WaitDelay = time.Second
	var out, why bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &why
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %s", args[0], oneLine(why.String()+" "+err.Error(), 300))
	}
	return out.String(), nil
}
