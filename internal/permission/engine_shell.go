package permission

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/permission/paths"
	"github.com/openmuse/muse/internal/permission/review"
	"github.com/openmuse/muse/internal/shell"
)

// judge is the line judge for the current state.
func (e *Engine) judge(dir string) *lineJudge {
	g := e.cfg.Grant
	return &lineJudge{
		mode: g.Mode(), sandbox: g.Sandboxed(), write: g.MayWrite(), strict: e.cfg.Strict,
		rules: slices.Concat(e.cfg.Rules, e.session), place: e.placeFor(dir), dir: dir,
	}
}

// Explain reviews a line in the workspace as Decide would, and asks nothing.
func (e *Engine) Explain(text string) *LineReview {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.judge(e.place.Space.Workspace).review(text)
}

// decideLine judges a shell line. The caller holds the lock.
func (e *Engine) decideLine(d *Decision, a *ShellLine) error {
	g := e.cfg.Grant
	dir, err := e.lineDir(a.Dir)
	if err != nil {
		d.refuse(err.Error())
		return nil
	}
	d.key, d.dir = binding(a.Text, dir, a.Env, 0, a.Escalated), filepath.ToSlash(dir)
	l := e.judge(d.dir).review(a.Text)
	d.Line = l
	if l.Held >= 0 {
		d.Class, d.Rule = l.Stages[l.Held].Class, l.Stages[l.Held].Rule
	}
	switch {
	case !g.AllowsShell():
		d.refuse("this session may not run commands")
		return nil
	case l.Verdict == Denied:
		d.refuse(l.Reason)
		return nil
	case a.Escalated && g.Sandboxed():
		e.holdEscalated(d, a)
	case !g.Trusted():
		d.HumanOnly = true
		e.hold(d, "the workspace is not trusted: no program starts in it before that (muse trust add, or --trust-workspace for one run)")
		if d.Outcome == Held {
			d.Choices = slices.DeleteFunc(d.Choices, func(c Choice) bool { return c.Scope != Once })
			d.stages = l.heldStages()
		}
	case l.Verdict != Pass && !e.lines[d.key]:
		e.holdLine(d, l)
	default:
		if reason := e.callChanges(a); reason != "" {
			d.Class = review.Environment
			e.hold(d, reason)
			break
		}
		d.allow(passReason(l, e.lines[d.key]))
	}
	if d.Outcome == Refused {
		return nil
	}
	return e.prepare(d, a, dir)
}

func passReason(l *LineReview, remembered bool) string {
	if l.Verdict != Pass && remembered {
		return "allowed for this session"
	}
	for i := range l.Stages {
		if l.Stages[i].Rule != nil {
			return l.Stages[i].Reason
		}
	}
	return fmt.Sprintf("every stage passes in mode %s", l.Mode)
}

// lineDir resolves the directory of a line: inside the workspace, by its real
// path, so that a link as working directory means what it leads to.
func (e *Engine) lineDir(dir string) (string, error) {
	if dir == "" {
		dir = e.cfg.Workspace
	}
	if e.cfg.Lexical {
		return dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.cfg.Workspace, dir)
	}
	real, err := paths.Links(dir)
	if err != nil {
		return "", fmt.Errorf("the directory of the command: %w", err)
	}
	if !e.place.Space.In(filepath.ToSlash(real)) {
		return "", fmt.Errorf("the directory of the command, %s, is outside the workspace", real)
	}
	return real, nil
}

// callChanges judges what the call itself adds to the line.
func (e *Engine) callChanges(a *ShellLine) string {
	for _, kv := range a.Env {
		name, value, _ := strings.Cut(kv, "=")
		if reason := review.EnvName(name, shell.Word{Value: value, Known: true}); reason != "" {
			return reason
		}
	}
	if a.Login {
		return "a login shell runs profile files before the line that was reviewed"
	}
	return ""
}

// holdEscalated holds a line that is to run without the sandbox: a person must
// answer, and the answer counts once.
func (e *Engine) holdEscalated(d *Decision, a *ShellLine) {
	if !e.cfg.Grant.MayEscalate() {
		d.refuse("leaving the sandbox is not allowed here")
		return
	}
	d.HumanOnly = true
	reason := "asks to run without the sandbox"
	if a.Justification != "" {
		reason += ": " + a.Justification
	}
	e.hold(d, reason)
}

// holdLine holds a line: at the first of its stages that needs an answer, or as
// a whole where it cannot be taken apart.
func (e *Engine) holdLine(d *Decision, l *LineReview) {
	d.stages = l.heldStages()
	if l.Held < 0 {
		e.hold(d, l.Reason, wholeLine(d))
		return
	}
	reason, more := e.stageMenu(d, l.Held)
	e.hold(d, reason, more...)
}

// seenLimit bounds what previews look through.
const seenLimit = 200

func (e *Engine) remember(s *shell.Stage) {
	if len(e.seen) >= seenLimit {
		e.seen = slices.Delete(e.seen, 0, 1)
	}
	e.seen = append(e.seen, s)
}

// prepare makes what an allowed line may start; for a held one it waits in the
// decision until an answer allows it.
func (e *Engine) prepare(d *Decision, a *ShellLine, dir string) error {
	bash := "/bin/bash"
	if !e.cfg.Lexical {
		var err error
		if bash, err = e.bash(); err != nil {
			d.refuse(err.Error())
			return nil
		}
	}
	d.Run = &Execution{
		Path: bash, Args: shellArgs(a.Text, a.Login), Dir: dir, Set: FixedEnvironment(), Env: slices.Clone(a.Env),
		Unsandboxed: a.Escalated, epoch: e.Epoch,
		binding: binding(a.Text, dir, a.Env, e.epoch, a.Escalated),
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// dashes reports whether a directory holds a name that begins with a dash.
func dashes(dir string) (bool, error) {
	entries, err := os.ReadDir(filepath.FromSlash(dir))
	if err != nil {
		return false, fmt.Errorf("look for names that begin with a dash: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "-") {
			return true, nil
		}
	}
	return false, nil
}

// shadowed finds programs of the workspace that PATH puts before the machine's.
// It is nil when no entry of PATH lies in the workspace, as is usual.
func shadowed(space *paths.Space, path string) func(string) bool {
	var inside []string
	for _, dir := range filepath.SplitList(path) {
		if dir == "" || !filepath.IsAbs(dir) || space.In(filepath.ToSlash(dir)) {
			inside = append(inside, dir)
		}
	}
	if len(inside) == 0 {
		return nil
	}
	return func(name string) bool {
		for _, dir := range inside {
			if dir == "" || !filepath.IsAbs(dir) {
				dir = filepath.Join(filepath.FromSlash(space.Workspace), dir)
			}
			if exists(filepath.Join(dir, name)) {
				return true
			}
		}
		return false
	}
}
