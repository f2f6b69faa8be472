package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/egress"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/sandbox"
	"github.com/openmuse/muse/internal/tool"
)

// Guard puts the session's two layers between the tools and the machine: the
// permission engine answers whether an action may run, the sandbox bounds what
// a command can touch. It is the tools' gate and the loop's decision point.
type Guard struct {
	session *Session
	engine  *permission.Engine
	// box opens the sandbox with the first command; nil: it was switched off in
	// so many words.
	box func() (*sandbox.Session, error)

	mu      sync.Mutex
	opened  *sandbox.Session
	reviews map[string]reviewed // by call id
	persons map[string]string   // command lines of a person, by call id
	held    map[string]bool     // ids of the questions whose actions are being decided
	anew    string              // the id of the next question, "" for any
}

// reviewed is a command line that was allowed and waits to be started.
type reviewed struct {
	line *permission.ShellLine
	run  *permission.Execution
}

// Guard builds the guard of the session. cfg.Record and the ids of approval
// events are the session's. box opens the sandbox; nil means that it was
// switched off.
func (s *Session) Guard(cfg permission.Config, box func() (*sandbox.Session, error)) (*Guard, error) {
	g := &Guard{session: s, reviews: map[string]reviewed{}, persons: map[string]string{}, held: map[string]bool{}}
	if box != nil {
		g.box = sync.OnceValues(func() (*sandbox.Session, error) {
			opened, err := box()
			g.mu.Lock()
			defer g.mu.Unlock()
			g.opened = opened
			return opened, err
		})
	}
	cfg.Record = func(ctx context.Context, e permission.ApprovalEvent, c permission.Call) error {
		g.hold(ctx, e)
		fields, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode approval event: %w", err)
		}
		_, err = s.rec.Record(event.Event{Run: c.RunID, Body: event.Approval{Kind: e.ApprovalKind(), Fields: jsontext.Value(fields)}})
		return err
	}
	cfg.Now, cfg.NewID, cfg.UserMessages = s.opts.Now, g.approvalID, s.userMessages
	var err error
	if g.engine, err = permission.New(cfg); err != nil {
		return nil, err
	}
	return g, nil
}

// SetMode changes the approval mode from the next decision on.
func (g *Guard) SetMode(grant permission.Grant, reviewer permission.ReviewerKind) error {
	return g.engine.SetMode(grant, reviewer)
}

// Close removes what the sandbox kept. Its commands must have ended.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		return nil
	}
	return g.opened.Close()
}

// ticket gathers the ids of the questions of one decision.
type ticket struct{ ids []string }

type ticketKey struct{}

// decide has an action decided. Until it returns its questions are held.
func (g *Guard) decide(ctx context.Context, a permission.Action, c permission.Call) (*permission.Decision, error) {
	t := &ticket{}
	if id := g.session.askedAnew(c.ToolCallID); id != "" {
		g.mu.Lock()
		g.anew = id
		g.mu.Unlock()
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.anew = ""
		for _, id := range t.ids {
			delete(g.held, id)
		}
	}()
	return g.engine.Authorize(context.WithValue(ctx, ticketKey{}, t), a, c)
}

// approvalID is the id of a question: its own one when it is asked anew.
func (g *Guard) approvalID() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id := g.anew; id != "" {
		g.anew = ""
		return id
	}
	return ident.V7(g.session.opts.Now())
}

func (g *Guard) hold(ctx context.Context, e permission.ApprovalEvent) {
	requested, ok := e.(*permission.ApprovalRequested)
	t, held := ctx.Value(ticketKey{}).(*ticket)
	if !ok || !held {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t.ids = append(t.ids, requested.PendingActionID)
	g.held[requested.PendingActionID] = true
}

// Holds reports whether an action waits for the answer to a question.
func (g *Guard) Holds(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[id]
}

// call says which call an action belongs to, for approval events.
func (g *Guard) call(id, task, name string) permission.Call {
	run := g.session.currentRun()
	return permission.Call{
		RunID: run, ToolCallID: id, ToolName: name, TaskID: task,
		RunStream:     &permission.StreamRef{Kind: "run", ID: run},
		SessionStream: &permission.StreamRef{Kind: "session", ID: g.session.id},
	}
}

// Authorize implements agent.Config.Authorize: command lines are decided
// before their intent is recorded; files are decided when a tool has found out
// which file it is.
func (g *Guard) Authorize(ctx context.Context, c tool.Call) (policy, refused string, err error) {
	line, ok := shellLine(c)
	if !ok {
		return "allow:policy", "", nil
	}
	d, err := g.decide(ctx, line, g.call(c.ID, c.TaskID, c.Name))
	if err != nil {
		return "", "", err
	}
	if d.Outcome != permission.Allowed {
		return "", "permission denied: " + d.Reason, nil
	}
	g.mu.Lock()
	g.reviews[c.ID] = reviewed{line, d.Run}
	g.mu.Unlock()
	return "allow:" + decidedBy(d), "", nil
}

func decidedBy(d *permission.Decision) string {
	if d.Approval == nil {
		return "policy"
	}
	return string(d.Approval.Source.Kind)
}

// shellLine is the command line that a call wants to run; false for calls that
// run none. The schema of the tool has been checked.
func shellLine(c tool.Call) (*permission.ShellLine, bool) {
	if c.Name != "bash" && c.Name != "shell" {
		return nil, false
	}
	var args struct {
		Command       string `json:"command"`
		Workdir       string `json:"workdir"`
		TTY           bool   `json:"tty"`
		Login         bool   `json:"login"`
		Permissions   string `json:"sandbox_permissions"`
		Justification string `json:"justification"`
	}
	if json.Unmarshal(c.Args, &args) != nil {
		return &permission.ShellLine{}, true
	}
	return &permission.ShellLine{
		Text: args.Command, Dir: args.Workdir, TTY: args.TTY, Login: args.Login,
		Escalated: args.Permissions == "require_escalated", Justification: args.Justification,
	}, true
}

// Check implements tool.Gate.
func (g *Guard) Check(ctx context.Context, ask tool.Ask) (tool.Grant, error) {
	var action permission.Action
	switch ask.Kind {
	case tool.AskShell:
		return g.checkShell(ask), nil
	case tool.AskRead, tool.AskReadOutside:
		if g.session.ownOutput(ask.Path) {
			return tool.Grant{Allowed: true}, nil
		}
		action = &permission.FileRead{Path: ask.Path}
	case tool.AskWrite, tool.AskWriteOutside, tool.AskWriteProtected:
		action = &permission.FileWrite{Path: ask.Path}
	default:
		return tool.Grant{Reason: fmt.Sprintf("nothing is known of the act %q", ask.Kind)}, nil
	}
	d, err := g.decide(ctx, action, g.call(ask.Call.ID, ask.Call.TaskID, ask.Call.Name))
	if err != nil {
		return tool.Grant{}, err
	}
	if _, write := action.(*permission.FileWrite); write && d.Outcome == permission.Allowed {
		g.session.keepBefore(ask.Call.ID, ask.Path)
	}
	return tool.Grant{Allowed: d.Outcome == permission.Allowed, Reason: d.Reason}, nil
}

// AllowPerson lets a command line run that a person typed: it needs no answer,
// and it runs in the session's sandbox like every other.
func (g *Guard) AllowPerson(callID, line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.persons[callID] = line
}

// ownOutput reports whether path is a result of this session that was too long
// for the model: it may read what it was told to read.
func (s *Session) ownOutput(path string) bool {
	if s.place == nil {
		return false
	}
	rel, err := filepath.Rel(s.place.OutputsDir(), path)
	return err == nil && filepath.IsLocal(rel)
}

// checkShell hands out what was allowed for the call, once.
func (g *Guard) checkShell(ask tool.Ask) tool.Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	if line, ok := g.persons[ask.Call.ID]; ok {
		delete(g.persons, ask.Call.ID)
		if line != ask.Command {
			return tool.Grant{Reason: "this is not the command that the person typed"}
		}
		return tool.Grant{Allowed: true, Launcher: personLauncher{g, ask.Call}}
	}
	r, ok := g.reviews[ask.Call.ID]
	delete(g.reviews, ask.Call.ID)
	if !ok || r.line.Text != ask.Command {
		return tool.Grant{Reason: "this command was not reviewed"}
	}
	return tool.Grant{Allowed: true, Launcher: launcher{guard: g, call: ask.Call, reviewed: r}}
}

// launcher starts one reviewed command: what runs is what was reviewed.
type launcher struct {
	guard *Guard
	call  tool.Call
	reviewed
}

// Command implements tool.Launcher.
func (l launcher) Command(ctx context.Context, c tool.Command) (*exec.Cmd, func() error, error) {
	x := l.run
	if c.Dir != x.Dir {
		return nil, nil, fmt.Errorf("the command would start in %s and was reviewed for %s", c.Dir, x.Dir)
	}
	if err := x.Redeem(l.line.Text, x.Dir, l.line.Env); err != nil {
		return nil, nil, err
	}
	env := append(append(c.Env, x.Set...), x.Env...)
	command := tool.Command{Path: x.Path, Args: x.Args, Dir: x.Dir, Env: env}
	if x.Unsandboxed {
		return tool.Unsandboxed{}.Command(ctx, command)
	}
	return l.guard.launch(ctx, l.call, command)
}

// launch prepares a command within the session's boundary.
func (g *Guard) launch(ctx context.Context, call tool.Call, c tool.Command) (*exec.Cmd, func() error, error) {
	if g.box == nil {
		return tool.Unsandboxed{}.Command(ctx, c)
	}
	box, err := g.box()
	if err != nil {
		return nil, nil, noSandbox(err)
	}
	cmd, release, err := box.Command(ctx, sandbox.Command{
		Path: c.Path, Args: c.Args, Dir: c.Dir, Env: c.Env, Origin: egress.Origin{CallID: call.ID, Tool: call.Name},
	})
	if err != nil {
		return nil, nil, noSandbox(err)
	}
	return cmd, func() error { return noSandbox(release()) }, nil
}

// personLauncher starts a command line that a person typed.
type personLauncher struct {
	guard *Guard
	call  tool.Call
}

// Command implements tool.Launcher.
func (l personLauncher) Command(ctx context.Context, c tool.Command) (*exec.Cmd, func() error, error) {
	c.Env = append(c.Env, permission.FixedEnvironment()...)
	return l.guard.launch(ctx, l.call, c)
}

// noSandbox marks a boundary that could not be confirmed in the tools' terms.
func noSandbox(err error) error {
	if !errors.Is(err, sandbox.ErrUnavailable) {
		return err
	}
	cause := strings.TrimPrefix(err.Error(), sandbox.ErrUnavailable.Error()+": ")
	return fmt.Errorf("%w: %s", tool.ErrNoSandbox, cause)
}

// Connect decides about a connection that a command wants to make.
func (g *Guard) Connect(ctx context.Context, r egress.Request) egress.Answer {
	target := &permission.NetworkTarget{Host: r.Host, Port: int(r.Port), Protocol: string(r.Protocol), URL: r.URL}
	d, err := g.decide(ctx, target, g.call(r.Origin.CallID, "", r.Origin.Tool))
	switch {
	case err != nil:
		return egress.Answer{Reason: err.Error()}
	case d.Outcome != permission.Allowed:
		return egress.Answer{Reason: d.Reason}
	}
	return egress.Answer{Allow: true, Session: d.Approval == nil || d.Approval.Scope != permission.Once}
}
