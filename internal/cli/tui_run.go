package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/buildinfo"
	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/index"
	"github.com/openmuse/muse/internal/trust"
	"github.com/openmuse/muse/internal/tui"
	"github.com/openmuse/muse/internal/tui/prompts"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/view/session"
)

// tuiRun is one terminal UI while it is put together and shown.
type tuiRun struct {
	env     *Env
	opts    *tuiOptions
	remarks *remarkLines
	setup   *setup
	root    string
	store   *sessionStore // nil when nothing is kept
	others  *announcer    // nil when nothing is kept
	ui      tui.Options

	mu  sync.Mutex
	now *setup // as the settings are, once a model was set up in the UI
}

// useSetup makes the settings of now those that new questions are answered from.
func (r *tuiRun) useSetup(now *setup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
}

// current is what the settings say now.
func (r *tuiRun) current() *setup {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil {
		return r.now
	}
	return r.setup
}

// closeWithin is how long the end of the sessions may take.
const closeWithin = 10 * time.Second

func (r *tuiRun) run(ctx context.Context) (err error) {
	in, out, ok := terminal(r.env)
	if !ok {
		return errors.New("the terminal is gone")
	}
	// What would go to stderr would go across the screen.
	r.remarks = &remarkLines{changed: make(chan struct{}, 1)}
	quiet := *r.env
	quiet.Stderr = r.remarks
	stderr := r.env.Stderr
	r.env = &quiet
	defer func() {
		for _, l := range r.remarks.take() {
			fmt.Fprintln(stderr, l)
		}
	}()
	hub, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	if r.ui.Plain {
		err = tui.Run(ctx, term.OpenLines(in, out), r.ui)
	} else {
		err = r.show(ctx, in, out)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	err = errors.Join(err, hub.Close(end))
	if r.store != nil {
		r.others.close()
		err = errors.Join(err, r.store.close())
	}
	return err
}

// remark says something to the person that no event says.
func (r *tuiRun) remark(format string, args ...any) {
	fmt.Fprintln(r.env.Stderr, oneLine(fmt.Sprintf(format, args...), 400))
}

// show shows the UI on a terminal that is taken over.
func (r *tuiRun) show(ctx context.Context, in, out *os.File) error {
	t, err := term.Open(in, out)
	if err != nil {
		return err
	}
	return errors.Join(tui.Run(ctx, t, r.ui), t.Close())
}

// prepare puts the host together. Nothing on disk is touched.
func (r *tuiRun) prepare(ctx context.Context) (*host.Hub, error) {
	var err error
	if r.setup, err = newServeSetup(ctx, r.env, r.opts.configFlags()); err != nil {
		return nil, err
	}
	if r.root, _, err = r.opts.workspaceRoot(r.env); err != nil {
		return nil, err
	}
	factory, err := newFactory(r.env, &r.opts.execOptions, r.setup)
	if err != nil {
		return nil, err
	}
	hubOpts := host.HubOptions{
		DataRoot: r.setup.paths.Data, Workspace: r.root, Ephemeral: r.opts.noSessionLog, Program: "muse",
		Build:   event.Build{SemVer: buildinfo.Release(), SHA: buildinfo.Commit()},
		Factory: factory, Now: r.env.Now,
		Cursor: func(id string, sequence int64) string { return session.Cursor(id, session.LastOf(sequence)) },
	}
	if !r.opts.noSessionLog {
		if r.store, err = openSessions(r.env); err != nil {
			return nil, err
		}
		hubOpts.Names, hubOpts.NameSessions = nameClaims{r.store, r.env}, true
		r.others = newAnnouncer(r.env, r.store, hubOpts.Program, r.remark)
		hubOpts.Presence = presence{r.others}
	}
	hub := host.NewHub(hubOpts)
	if err := r.options(ctx, hub); err != nil {
		if r.store != nil {
			err = errors.Join(err, r.store.close())
		}
		return nil, err
	}
	return hub, nil
}

// options is everything the UI is given.
func (r *tuiRun) options(ctx context.Context, hub *host.Hub) error {
	getenv := r.env.Getenv
	o := tui.Options{
		Host: tuiHost{hub}, SessionID: r.opts.sessionID, Prompt: r.opts.prompt, Workspace: r.root, Home: r.setup.paths.Home,
		Version: buildinfo.Version, Models: r.models, Files: r.files, Now: r.env.Now, After: time.After,
		Remarks: r.remarks.changed, TakeRemarks: r.remarks.take,
		History: prompts.Open(r.setup.paths.Data, !r.opts.noSessionLog && getenv("MUSE_SKIP_PROMPT_HISTORY") == ""),
		Drafts:  prompts.OpenDrafts(r.setup.paths.Data, r.root, !r.opts.noSessionLog && getenv("MUSE_SKIP_PROMPT_HISTORY") == ""),
		Edit:    r.editor(),
		Picture: readPicture, ClipboardPicture: r.clipboard(), Sees: r.sees,
	}
	o.Budget = tui.Budget{Steps: r.opts.maxSteps, CostMicros: int64(r.opts.maxCost * 1e6), Tokens: r.opts.maxTokens, Time: r.opts.maxTime}
	if r.opts.maxCost > 0 && !r.opts.resume && r.setup.loggedOut == nil && !r.setup.priced() {
		return tuiUsage("--max-cost needs the price of %s, which is not known; add it to settings.json (openmuse.models) or use --max-tokens-total", r.setup.Model.V)
	}
	var err error
	if o.Images, err = r.pictures(); err != nil {
		return err
	}
	o.Trusted, o.Diff = r.trusted(), r.diff
	if r.store != nil {
		o.Views = session.Cache{Dir: filepath.Join(r.setup.paths.Data, "sessions", ".msp-view-v1")}
		o.Stored, o.Find, o.Export = r.stored, r.findID, r.export
	}
	if err = r.target(ctx, &o); err != nil {
		return err
	}
	if !r.opts.trustWorkspace && !r.opts.yolo {
		o.Trust = r.trustQuestion
	}
	if err = r.looks(&o); err != nil {
		return err
	}
	o.NoWrite, o.Explain = r.opts.disableWrite, r.explain
	o.SignIn, o.Rules, o.KeptRules = r.signIn(), r.rulebook, r.keptRules
	if missing := r.setup.loggedOut; missing != nil && o.Plain {
		o.Faults = append(o.Faults, keyHelp(missing))
	}
	if o.Resume != "" && r.opts.given("model") {
		o.UseModel, o.UseProvider = r.opts.model, r.opts.provider
	}
	r.ui = o
	return nil
}

// keyHelp says how to get from a missing key to a first answer.
func keyHelp(missing *config.MissingKeyError) string {
	return missing.Error() + `
You can look around meanwhile; a prompt needs a model. Leave with ctrl+d and do one of these:
  a key of the service    muse auth set --provider ` + missing.Provider + ` --api-key-stdin
  a server of your own    muse --provider openai-chat --base-url http://127.0.0.1:11434/v1 --model NAME
  no model, to look on    muse demo`
}

// target is the session that is gone on with.
func (r *tuiRun) target(ctx context.Context, o *tui.Options) error {
	switch {
	case r.opts.resume && r.opts.last:
		s, err := store.Latest(r.setup.paths.Data, r.root)
		if errors.Is(err, store.ErrNotFound) {
			return errors.New("there is no session of this workspace to go on with")
		}
		if err != nil {
			return err
		}
		o.Resume = s.ID
	case r.opts.resume && r.opts.target != "":
		id, err := r.findID(ctx, r.opts.target)
		if err != nil {
			return err
		}
		o.Resume = id
	case r.opts.resume:
		o.PickFirst = true
	case r.opts.sessionID != "":
		if _, err := store.Find(r.setup.paths.Data, r.opts.sessionID); err == nil {
			o.Resume, o.SessionID = r.opts.sessionID, ""
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (r *tuiRun) findID(ctx context.Context, ref string) (string, error) {
	row, err := r.store.find(ctx, ref)
	return row.ID, err
}

// storedMost is how many sessions a list shows.
const storedMost = 200

func (r *tuiRun) stored(ctx context.Context, words string) ([]tui.Stored, error) {
	page, err := r.store.index.List(ctx, index.Query{
		Workspace: r.root, Words: strings.Fields(words), Limit: storedMost, Wait: 2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	var out []tui.Stored
	for _, row := range page.Rows {
		out = append(out, tui.Stored{ID: row.ID, Name: row.Name, Title: row.Title(), Updated: time.UnixMicro(row.Updated), Turns: row.Turns})
	}
	return out, nil
}

func (r *tuiRun) models(ctx context.Context) ([]tui.Model, error) {
	s := r.current()
	list, err := modelRows{s}.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []tui.Model
	for _, m := range list.Models {
		known := models.Lookup(s.ModelInfo.Table, m.ModelID)
		out = append(out, tui.Model{
			ID: m.ModelID, Provider: list.ProviderID, Label: m.DisplayLabel, Efforts: known.Efforts, Current: m.IsDefault, Trains: m.Description != nil,
		})
	}
	return append(out, r.otherModels(list.ProviderID)...), nil
}

func (r *tuiRun) export(ctx context.Context, id, path string) (string, error) {
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(r.root, path)
	}
	return export(ctx, r.env, exportOptions{session: id, out: path})
}

// trustQuestion is what is asked before anything of the workspace is loaded,
// nil when there is nothing to ask.
func (r *tuiRun) trustQuestion() (*tui.TrustQuestion, error) {
	s, err := trustStore(r.env)
	if err != nil {
		return nil, err
	}
	status, err := s.Check(r.root)
	if err != nil || status.Trusted || status.Decision == trust.Untrusted {
		return nil, err
	}
	now, err := trust.Take(r.root)
	if err != nil {
		return nil, err
	}
	q := &tui.TrustQuestion{Files: now.Names(), Changed: status.Changed}
	q.Decide = func(ctx context.Context, yes bool) error {
		decision := trust.Untrusted
		if yes {
			decision = trust.Trusted
		}
		_, err := s.Set(ctx, r.root, decision, now.Sum)
		return err
	}
	return q, nil
}

// trusted reports whether programs may be started that the workspace has a say
// in.
func (r *tuiRun) trusted() bool {
	if r.opts.trustWorkspace || r.opts.yolo {
		return true
	}
	s, err := trustStore(r.env)
	if err != nil {
		return false
	}
	status, err := s.Check(r.root)
	return err == nil && status.Trusted
}

// tuiHost is the hub as the UI sees it.
type tuiHost struct{ hub *host.Hub }

var _ tui.Host = tuiHost{}

func tuiSession(l *host.Live, err error) (tui.Session, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (h tuiHost) Start(ctx context.Context, c host.Command, r host.StartRequest) (tui.Session, error) {
	return tuiSession(h.hub.Start(ctx, c, r))
}

func (h tuiHost) Resume(ctx context.Context, c host.Command, id string) (tui.Session, error) {
	return tuiSession(h.hub.Resume(ctx, c, id))
}

func (h tuiHost) Fork(ctx context.Context, c host.Command, id, lastTurnID string) (tui.Session, error) {
	return tuiSession(h.hub.Fork(ctx, c, id, lastTurnID))
}

// remarkLines collects what is written for people while the screen is taken.
type remarkLines struct {
	mu      sync.Mutex
	lines   []string
	changed chan struct{}
}

// Write implements io.Writer.
func (l *remarkLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	for s := range strings.Lines(string(p)) {
		if s = strings.TrimSpace(s); s != "" && len(l.lines) < 1000 {
			l.lines = append(l.lines, strings.TrimPrefix(s, "muse: "))
		}
	}
	l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

// take returns what was collected and forgets it.
func (l *remarkLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.lines
	l.lines = nil
	return out
}
