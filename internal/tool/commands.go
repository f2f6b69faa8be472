package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/tool/process"
	"github.com/openmuse/muse/internal/workspace"
)

// maxBackground is how many commands may run in the background at once.
const maxBackground = 32

// commands are the commands of a session: those a call waits for and those in
// the background.
type commands struct {
	mu      sync.Mutex
	started int
	running map[string]*command      // by session id, until their end was reported
	waiting map[string]chan struct{} // bash calls that wait for a command, by task id
	left    []*process.Process       // ended by themselves; members of their group may live
	closed  bool
}

// command is one command from its start until its end was reported.
type command struct {
	id          string // "exec-1"; chunks are "exec-1-1", "exec-1-2", …
	line        string
	description string
	tty         bool
	set         *Set
	proc        *process.Process
	out         *process.Output
	owner       Call // the call that started it
	began       time.Time
	ended       chan struct{}

	mu       sync.Mutex
	progress *process.Progress
	chunks   int
	cause    string // why it was stopped, "" when it ended by itself
	waited   int    // calls that wait for it now
	limit    *time.Timer
}

type startOptions struct {
	command, description, workdir string
	tty, login                    bool
	limit                         time.Duration // 0 = none
}

// start asks for permission and starts a command. The caller waits for ended
// and calls report.
func (s *Set) start(ctx context.Context, call Call, o startOptions) (*command, *Result) {
	if err := ctx.Err(); err != nil {
		r := Fail("cancelled before it started")
		return nil, &r
	}
	if strings.IndexByte(o.command, 0) >= 0 {
		r := Fail("command: a NUL character cannot be part of a command; printf '\\0' writes one")
		r.NoOutput = true
		return nil, &r
	}
	dir, no := s.workdir(o.workdir)
	if no != nil {
		return nil, no
	}
	if err := s.cmds.room(); err != nil {
		return nil, failed(err)
	}
	grant, no := s.gate(ctx, Ask{Kind: AskShell, Call: call, Path: dir, Command: o.command})
	if no != nil {
		return nil, no
	}
	launcher := s.opt.Launcher
	if grant.Launcher != nil {
		launcher = grant.Launcher
	}
	shell, err := s.shell()
	if err != nil {
		r := environmentFailure(err)
		return nil, &r
	}
	argv := []string{"bash", "--norc", "--noprofile", "-c", o.command}
	if o.login {
		argv = []string{"bash", "-l", "-c", o.command}
	}
	cmd, release, err := launcher.Command(ctx, Command{Path: shell, Args: argv, Dir: dir, Env: s.childEnv(call, o.tty)})
	if err != nil {
		r := startFailure(shell, dir, err)
		return nil, &r
	}
	c := &command{
		id: s.cmds.nextID(), line: o.command, description: o.description, tty: o.tty,
		set: s, owner: call, began: time.Now(), ended: make(chan struct{}),
	}
	c.out = process.NewOutput(s.opt.MaxOutputBytes, func() (*os.File, error) { return s.spool.open(call, "bash") }, nil)
	c.watch(call)
	c.proc, err = process.Start(cmd, process.Options{
		Output: c.out, TTY: o.tty, Marker: callMarker(call), Release: release,
	})
	if err != nil {
		c.unwatch()
		r := startFailure(shell, dir, fmt.Errorf("start the command: %w", err))
		return nil, &r
	}
	go c.finish()
	if !s.cmds.add(c) {
		c.stop("the session ended")
	}
	if o.limit > 0 {
		reason := fmt.Sprintf("timed out after %d ms and was killed", o.limit.Milliseconds())
		c.mu.Lock()
		c.limit = time.AfterFunc(o.limit, func() { c.stop(reason) })
		c.mu.Unlock()
	}
	return c, nil
}

// workdir is the absolute directory a command starts in.
func (s *Set) workdir(path string) (string, *Result) {
	if path == "" {
		dir := s.opt.Workspace.Dir()
		return dir, missingDir("workspace", dir)
	}
	loc, err := s.opt.Workspace.Locate(path)
	if err != nil {
		return "", failed(err)
	}
	if !loc.Inside() {
		r := Fail("workdir: absolute path is outside the workspace")
		return "", &r
	}
	h, err := loc.Root.Reach(loc.Rel, workspace.Read)
	if err != nil {
		r := Fail("workdir: " + errorText(err))
		return "", &r
	}
	defer h.Close()
	switch {
	case h.Info == nil:
		r := Fail("workdir: " + noSuchFile)
		return "", &r
	case !h.Info.IsDir():
		r := Fail("workdir: not a directory")
		return "", &r
	}
	// What the workspace holds open may have been removed from its place.
	return h.Abs(), missingDir("workdir", h.Abs())
}

// missingDir is the failure for a directory that no command can start in, nil
// when there is nothing against it.
func missingDir(what, dir string) *Result {
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	why := "not a directory"
	if err != nil {
		why = errorText(err)
	}
	r := Fail(what + ": " + why)
	r.NoOutput = true
	return &r
}

// shell finds bash by its absolute path; the PATH of the session decides only
// where the system has none.
func (s *Set) shell() (string, error) {
	if s.opt.Shell != "" {
		return s.opt.Shell, nil
	}
	for _, path := range bashPaths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	for _, kv := range s.opt.Environ {
		if list, ok := strings.CutPrefix(kv, "PATH="); ok {
			for _, dir := range filepath.SplitList(list) {
				path := filepath.Join(dir, bashName)
				if info, err := os.Stat(path); err == nil && !info.IsDir() && filepath.IsAbs(path) {
					return path, nil
				}
			}
		}
	}
	return "", errors.New("bash was not found on this system")
}

// finish waits for the command's end, whoever waits for its report.
func (c *command) finish() {
	<-c.proc.Done()
	c.mu.Lock()
	if c.limit != nil {
		c.limit.Stop()
	}
	byItself, alone := c.cause == "", c.waited == 0
	close(c.ended) // with the lock: unwatch must see either the end or that it will be told
	c.mu.Unlock()
	if tell := c.set.opt.BackgroundEnd; byItself && alone && tell != nil {
		exit := c.proc.Exit()
		tell(BackgroundEnd{SessionID: c.id, CallID: c.owner.ID, Command: c.line, ExitCode: exit.Code, Status: exit.Status})
	}
}

// BackgroundEnd is a command that ended while no call waited for it. Its
// output is kept for a bash_input call.
type BackgroundEnd struct {
	SessionID string // what bash_input takes
	CallID    string // the bash call that started it
	Command   string
	ExitCode  int    // -1 when a signal ended it
	Status    string // "exit status: 0"
}

// watch passes the output on to a call that waits for the command.
func (c *command) watch(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited++
	if call.Progress == nil {
		return
	}
	c.progress = process.NewProgress(call.Progress)
	c.out.SetTap(c.progress.Add)
}

// unwatch ends what watch began: the call's Progress is not called any more.
// It reports whether the command still runs; its end is told to BackgroundEnd
// then, if no other call waits.
func (c *command) unwatch() (running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited--
	select {
	case <-c.ended:
	default:
		running = true
	}
	c.out.SetTap(nil)
	if c.progress != nil {
		c.progress.Stop()
		c.progress = nil
	}
	return running
}

// stop ends the command with everything it started.
func (c *command) stop(cause string) {
	c.mu.Lock()
	select {
	case <-c.ended:
	default:
		if c.cause == "" {
			c.cause = cause
		}
	}
	c.mu.Unlock()
	c.proc.Stop()
	select {
	case <-c.proc.Done():
		<-c.ended
	default: // not even SIGKILL ended it in time: it counts as running
	}
}

func (m *commands) room() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return errors.New("the session is ending: no command can be started")
	case len(m.running) >= maxBackground:
		return fmt.Errorf("%d commands run already; end one with bash_input and terminate", len(m.running))
	}
	return nil
}

func (m *commands) nextID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started++
	return fmt.Sprintf("exec-%d", m.started)
}

// add registers a started command. It returns false when the session ended
// meanwhile.
func (m *commands) add(c *command) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	if m.running == nil {
		m.running = map[string]*command{}
	}
	m.running[c.id] = c
	return true
}

// done forgets a command whose end was reported. Processes of its group that
// it left behind are ended with the session.
func (m *commands) done(c *command) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, c.id)
	if c.proc.HasRemains() {
		m.left = append(m.left, c.proc)
	}
}

func (m *commands) find(id string) (*command, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.running[id]
	return c, ok
}

// unknown is the message for a session id that names no running command.
func (m *commands) unknown(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	msg := fmt.Sprintf("no command with session_id %q is running", shorten(id, 40))
	if len(m.running) == 0 {
		return msg + ", nor any other"
	}
	var ids []string
	for id := range m.running {
		ids = append(ids, id)
	}
	return msg + "; running: " + strings.Join(sorted(ids), ", ")
}

// close ends everything that runs, all at once.
func (m *commands) close() {
	m.mu.Lock()
	m.closed = true
	var wait sync.WaitGroup
	for _, c := range m.running {
		wait.Go(func() {
			c.stop("the session ended")
			c.set.spool.discard(c.out.Take().File)
		})
	}
	m.running = nil
	left := m.left
	m.left = nil
	m.mu.Unlock()
	for _, p := range left {
		p.EndGroup()
	}
	wait.Wait()
}
