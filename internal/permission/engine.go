package permission

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/permission/gitconfig"
	"github.com/openmuse/muse/internal/permission/paths"
	"github.com/openmuse/muse/internal/permission/review"
	"github.com/openmuse/muse/internal/shell"
)

// Config is what an Engine is made of. The zero value of most fields is the
// stricter one.
type Config struct {
	// Workspace is the real path of the workspace root. Home and Temp are the
	// home directory and the private temporary directory of commands.
	Workspace, Home, Temp string
	// Scratch are the directories that the sandbox gives commands privately;
	// nil stands for /tmp and /var/tmp.
	Scratch []string
	// Path is the PATH that commands get: a program that is found in the
	// workspace first is the project's.
	Path string
	// Grant is what the session may do at most.
	Grant Grant
	// Reviewer says who is asked about held actions.
	Reviewer ReviewerKind
	// Strict switches the built-in rules for read-only commands off.
	Strict bool
	// Rules are the rules in force, of all scopes but session.
	Rules Rules
	// Masks are files and directories that stay closed: reading them is
	// refused, not asked.
	Masks []string
	// Lexical judges paths by their text only and looks at no file. It is for
	// explaining lines about another machine, and for tests.
	Lexical bool

	// Judge is the automated reviewer, needed for ReviewerAuto.
	Judge Judge
	// Answerer answers what the reviewer does not; nil is DenyAtOnce.
	Answerer Answerer
	// Record writes an approval event; an error means that it is not on disk,
	// and then nothing runs. nil records nothing, which only tests want.
	Record func(ctx context.Context, e ApprovalEvent, call Call) error
	// Remember keeps a rule for this workspace beyond the session; nil means
	// that such a choice is not offered.
	Remember func(ctx context.Context, r Rule) error
	// UserMessages are the person's own words, for the reviewer.
	UserMessages func() []string
	// Now and NewID are the clock and the source of identifiers.
	Now   func() time.Time
	NewID func() string
}

// Engine is the decision point of one session. It is safe for concurrent use.
type Engine struct {
	cfg   Config
	place *review.Place
	bash  func() (string, error)

	mu       sync.Mutex
	epoch    int64
	session  Rules           // rules that answers added for the session
	lines    map[string]bool // exact lines allowed for the session
	targets  map[string]bool // connections allowed for the session
	seen     []*shell.Stage  // stages that were held, for previews
	children []*Engine
	readers  map[string]*gitconfig.Reader // by directory
}

// New makes an Engine.
func New(cfg Config) (*Engine, error) {
	if !filepath.IsAbs(cfg.Workspace) && !cfg.Lexical {
		return nil, fmt.Errorf("permission: workspace %q is not an absolute path", cfg.Workspace)
	}
	if cfg.Reviewer == ReviewerAuto && cfg.Judge == nil {
		return nil, errors.New("permission: automated review is asked for, but there is no reviewer")
	}
	for i := range cfg.Rules {
		if err := cfg.Rules[i].Validate(); err != nil {
			return nil, fmt.Errorf("permission: rule %d (%s): %w", i+1, cfg.Rules[i].Source, err)
		}
	}
	if cfg.Answerer == nil {
		cfg.Answerer = DenyAtOnce{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	e := &Engine{
		cfg: cfg, epoch: 1, bash: FindBash,
		lines: map[string]bool{}, targets: map[string]bool{}, readers: map[string]*gitconfig.Reader{},
	}
	e.place = newPlace(cfg)
	return e, nil
}

// newPlace sets up what lines are judged against.
func newPlace(cfg Config) *review.Place {
	p := &review.Place{Space: paths.Space{Workspace: filepath.ToSlash(cfg.Workspace), Home: filepath.ToSlash(cfg.Home), Temp: filepath.ToSlash(cfg.Temp), Scratch: cfg.Scratch, Masks: cfg.Masks}}
	if cfg.Lexical {
		return p
	}
	p.Space.Links = paths.Links
	p.Git = gitconfig.NewReader(cfg.Workspace).Config
	p.Exists = func(rel string) bool { return exists(filepath.Join(cfg.Workspace, filepath.FromSlash(rel))) }
	p.Dashes = dashes
	p.Shadowed = shadowed(&p.Space, cfg.Path)
	return p
}

// placeFor is what lines that start in dir are judged against: git finds its
// repository from there.
func (e *Engine) placeFor(dir string) *review.Place {
	if e.cfg.Lexical || dir == e.place.Space.Workspace {
		return e.place
	}
	r, ok := e.readers[dir]
	if !ok {
		if len(e.readers) >= maxReaders {
			clear(e.readers)
		}
		r = gitconfig.NewReader(filepath.FromSlash(dir))
		e.readers[dir] = r
	}
	p := *e.place
	p.Git = r.Config
	return &p
}

// maxReaders bounds how many directories' repositories are remembered.
const maxReaders = 64

// Epoch is the current permission epoch. It grows with every change of what is
// allowed; permits of an earlier epoch are void.
func (e *Engine) Epoch() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.epoch
}

// Grant is what the session may do at most.
func (e *Engine) Grant() Grant { return e.currentGrant() }

// SetGrant changes what the session may do, as a person's change of profile
// does. Answers and permits given before are void, and so are those of
// children, which shrink with their parent.
func (e *Engine) SetGrant(g Grant, reviewer ReviewerKind) error {
	if reviewer == ReviewerAuto && e.cfg.Judge == nil {
		return errors.New("permission: automated review is asked for, but there is no reviewer")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg.Grant, e.cfg.Reviewer = g, reviewer
	e.epoch++
	clear(e.lines)
	clear(e.targets)
	for _, c := range e.children {
		c.shrink(g)
	}
	return nil
}

// SetMode changes the approval mode from the next decision on, as a client of
// a session does while questions may be open: those stay open and can be
// answered, and what answers granted stays granted. g is the session's grant
// under the new mode. Children shrink with their parent.
func (e *Engine) SetMode(g Grant, reviewer ReviewerKind) error {
	if reviewer == ReviewerAuto && e.cfg.Judge == nil {
		return errors.New("permission: automated review is asked for, but there is no reviewer")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg.Grant, e.cfg.Reviewer = g, reviewer
	for _, c := range e.children {
		c.shrink(g)
	}
	return nil
}

func (e *Engine) shrink(parent Grant) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg.Grant = parent.intersect(e.cfg.Grant.g)
	e.epoch++
	clear(e.lines)
	clear(e.targets)
	for _, c := range e.children {
		c.shrink(e.cfg.Grant)
	}
}

// Child makes the engine of a child: the same rules, the intersection of what
// it asks for and what its parent has, and none of what answers granted its
// parent so far. A root that is not in the parent's is an error.
func (e *Engine) Child(want GrantSpec) (*Engine, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	cfg := e.cfg
	cfg.Grant = e.cfg.Grant.Narrow(want)
	cfg.Rules = slices.Concat(e.cfg.Rules, e.session.without(Allow))
	cfg.Remember = nil
	if want.Root != "" {
		if cfg.Grant.Root() != clean(want.Root) || !e.place.Space.In(clean(want.Root)) {
			return nil, fmt.Errorf("permission: the root of a child, %s, is outside its parent's", want.Root)
		}
		cfg.Workspace = want.Root
	}
	child, err := New(cfg)
	if err != nil {
		return nil, err
	}
	e.children = append(e.children, child)
	return child, nil
}

// without drops the rules of one effect.
func (rs Rules) without(x Effect) Rules {
	return slices.DeleteFunc(slices.Clone(rs), func(r Rule) bool { return r.Effect == x })
}

// AddRule adds a rule for the session. Rules that allow raise nothing that
// other rules deny.
func (e *Engine) AddRule(r Rule) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("permission: add a rule: %w", err)
	}
	r.Scope = ScopeSession
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session = append(e.session, r)
	e.epoch++
	return nil
}

// Rules lists the rules in force.
func (e *Engine) Rules() Rules {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.cfg.Rules, e.session)
}

// Decide judges an action without asking anybody. The outcome is final unless
// it is Held.
func (e *Engine) Decide(ctx context.Context, a Action) (*Decision, error) {
	return e.decide(ctx, a, toolName(a))
}

// decide judges an action of a tool. Rules for the tool itself come first: they
// can refuse it or make it ask, and what they allow is judged like any other.
func (e *Engine) decide(ctx context.Context, a Action, tool string) (*Decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	d := &Decision{Action: a, epoch: e.epoch}
	var err error
	switch a := a.(type) {
	case *ShellLine:
		err = e.decideLine(d, a)
	case *FileRead:
		e.decideRead(d, a)
	case *FileWrite:
		e.decideWrite(d, a)
	case *NetworkTarget:
		e.decideTarget(d, a)
	case *ToolCall:
		e.decideTool(d, a)
		return d, nil
	default:
		return nil, fmt.Errorf("permission: unknown action %T", a)
	}
	if err != nil {
		return nil, err
	}
	if _, network := a.(*NetworkTarget); !network && !e.cfg.Grant.AllowsTool(tool) {
		d.refuse("this session has no tool " + tool)
		return d, nil
	}
	rule := e.toolRule(tool)
	switch {
	case rule == nil || d.Outcome == Refused:
	case rule.Effect == Deny:
		d.Rule = rule
		d.refuse(because(rule))
	case rule.Effect == Ask && d.Outcome == Allowed:
		d.Rule = rule
		e.hold(d, because(rule))
	}
	return d, nil
}

func (e *Engine) toolRule(tool string) *Rule {
	match := func(r *Rule) bool { return r.matchTool(tool) }
	return strongest(e.cfg.Rules.decide(match), e.session.decide(match))
}

// allow and refuse settle a decision.
func (d *Decision) allow(reason string) { d.Outcome, d.Reason = Allowed, reason }

func (d *Decision) refuse(reason string) {
	d.Outcome, d.Reason, d.Choices, d.Run = Refused, reason, nil, nil
}

// hold leaves a decision open, unless nobody may be asked.
func (e *Engine) hold(d *Decision, reason string, more ...Choice) {
	switch e.cfg.Grant.Mode() {
	case Never:
		d.refuse(reason + "; the approval mode never asks")
		return
	case DenyUnmatched:
		d.refuse(reason + "; the approval mode refuses what would need an answer")
		return
	}
	d.hold(reason, more)
}

// hold holds the decision with a menu.
func (d *Decision) hold(reason string, more []Choice) {
	d.Outcome, d.Reason = Held, reason
	d.Choices = append([]Choice{{ID: AllowOnce, Label: "Allow once", Decision: DecisionApproved, Scope: Once}}, more...)
	d.Choices = append(d.Choices, Choice{ID: Abort, Label: "Reject", Decision: DecisionAborted, Scope: Once, Feedback: true})
}
