package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/workspace"
)

// Options say which tools there are and what they work with.
type Options struct {
	// Workspace is the boundary of the file tools and where commands start.
	// Required; the caller closes it after the set.
	Workspace *workspace.Workspace
	// Launcher starts commands; nil refuses them all.
	Launcher Launcher
	// Gate is asked before each act; nil is InsideOnly.
	Gate Gate
	// Shell is the absolute path of bash; "" looks in the usual places.
	Shell string
	// Environ is the environment that commands inherit from, as NAME=value.
	// Names that look like credentials are left out except those in KeepEnv.
	Environ []string
	KeepEnv []string
	// SessionID, ThreadID and SessionLog (a path) are told to commands.
	SessionID, ThreadID, SessionLog string
	// OutputDir is the session's tool-outputs directory, where results too
	// long for the model are kept in full (CLI.md 4). It need not exist. ""
	// keeps them in a temporary directory that goes with the set.
	OutputDir string
	// MaxOutputBytes bounds the text of one result; 0 is the default of
	// 32,000. Otherwise it is at least 9.
	MaxOutputBytes int
	// ShellLimit is how long the shell tool waits; 0 is 10 minutes.
	ShellLimit time.Duration
	// Images says that the model takes pictures.
	Images bool

	DisableShell         bool // no bash, bash_input, shell
	DisableWrite         bool // no write_file, edit_file
	EnableShellTool      bool // shell in the place of bash and bash_input
	UserInputAutoResolve bool // request_user_input, answered by its timer
	// Asker, when not nil, puts request_user_input to a person.
	Asker Asker

	// After is the clock of request_user_input; nil is time.After.
	After func(time.Duration) <-chan time.Time
	// BackgroundEnd, when not nil, is told when a command that went to the
	// background has ended by itself. It is called from a goroutine of its own.
	BackgroundEnd func(BackgroundEnd)
}

// defaultMaxOutput is about 8,000 tokens: enough for a failing test run, not
// enough to crowd a conversation out.
const defaultMaxOutput = 32_000

// minMaxOutput is the smallest limit that --max-tool-output-bytes takes
// (CLI.md 1.3).
const minMaxOutput = 9

// Set is the tools of one session. It is safe for concurrent use.
type Set struct {
	opt   Options
	tools []Tool
	spool spool
	seen  seenFiles
	cmds  commands
	todos todoPlan

	mu      sync.Mutex
	schemas map[string]*schema
}

// New builds the tools that the options ask for.
func New(o Options) (*Set, error) {
	if o.Workspace == nil {
		return nil, errors.New("build tools: no workspace")
	}
	if o.MaxOutputBytes != 0 && o.MaxOutputBytes < minMaxOutput {
		return nil, fmt.Errorf("build tools: the output limit must be 0 or at least %d bytes", minMaxOutput)
	}
	if o.MaxOutputBytes == 0 {
		o.MaxOutputBytes = defaultMaxOutput
	}
	if o.Launcher == nil {
		o.Launcher = NoSandbox{}
	}
	if o.Gate == nil {
		o.Gate = InsideOnly{}
	}
	if o.After == nil {
		o.After = time.After
	}
	s := &Set{opt: o, schemas: map[string]*schema{}}
	s.spool.dir = o.OutputDir
	all := []Tool{
		&readFile{s}, &searchFiles{s}, &writeFile{s}, &editFile{s},
	}
	if o.EnableShellTool {
		all = append(all, &shellTool{s})
	} else {
		all = append(all, &bash{s}, &bashInput{s})
	}
	all = append(all, &reportProgress{}, &writeTodos{s})
	if o.UserInputAutoResolve || o.Asker != nil {
		all = append(all, &requestUserInput{s})
	}
	for _, t := range all {
		spec := t.Spec()
		if spec.Shell && o.DisableShell || spec.Writes && o.DisableWrite {
			continue
		}
		if err := s.Add(t); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Add puts another tool into the set, after those that are there. It is for
// building the set, before calls are run.
func (s *Set) Add(t Tool) error {
	name := t.Spec().Name
	if _, ok := s.Lookup(name); ok {
		return fmt.Errorf("add tool: there are two tools named %s", name)
	}
	s.tools = append(s.tools, t)
	return nil
}

// Only leaves the named tools in the set. A name that no build of this program
// has is an error; one that other options took out already is not.
func (s *Set) Only(names []string) error {
	known := []string{"shell", "bash", "bash_input", "write_file", "edit_file", "request_user_input"}
	for _, t := range s.tools {
		known = append(known, t.Spec().Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no tool named %q", name)
		}
	}
	s.tools = slices.DeleteFunc(s.tools, func(t Tool) bool { return !slices.Contains(names, t.Spec().Name) })
	return nil
}

// Specs lists the tools in the order in which the model is told of them, which
// is the same for the whole session.
func (s *Set) Specs() []Spec {
	out := make([]Spec, len(s.tools))
	for i, t := range s.tools {
		out[i] = t.Spec()
	}
	return out
}

// Lookup finds a tool by name.
func (s *Set) Lookup(name string) (Tool, bool) {
	i := slices.IndexFunc(s.tools, func(t Tool) bool { return t.Spec().Name == name })
	if i < 0 {
		return nil, false
	}
	return s.tools[i], true
}

// Prepare finds the tool a model named and checks the arguments it wrote
// against the tool's schema. A failure is a Result that tells the model what
// to do differently. The arguments returned are valid JSON and fit the schema;
// members with null for "not given" are gone. The texts of every result, of this
// function and of the tool it returns, are valid UTF-8.
func (s *Set) Prepare(name, args string) (Tool, jsontext.Value, *Result) {
	t, ok := s.Lookup(name)
	if !ok {
		r := validResult(Fail(s.unknown(name)))
		return nil, nil, &r
	}
	value, err := s.check(t, args)
	if err != nil {
		r := validResult(Fail(err.Error()))
		return nil, nil, &r
	}
	return validated{t}, value, nil
}

// Run prepares and runs one call. A panic in a tool becomes a failed result:
// one faulty tool must not end a session.
func (s *Set) Run(ctx context.Context, call Call) (result Result) {
	t, args, failed := s.Prepare(call.Name, string(call.Args))
	if failed != nil {
		return *failed
	}
	defer func() {
		if p := recover(); p != nil {
			result = validResult(Fail(fmt.Sprintf("%s ended with an internal error: %v", call.Name, p)))
		}
	}()
	call.Args = args
	return t.Run(ctx, call)
}

// Close ends the commands that still run in the background, with their process
// groups, and removes temporary files.
func (s *Set) Close() error {
	s.cmds.close()
	return s.spool.close()
}

// unknown names the tools that come near to a name that does not exist.
func (s *Set) unknown(name string) string {
	names := make([]string, 0, len(s.tools))
	for _, t := range s.tools {
		names = append(names, t.Spec().Name)
	}
	msg := fmt.Sprintf("there is no tool named %q", shorten(name, 80))
	if near := nearest(name, names, 3); len(near) > 0 {
		return msg + "; did you mean " + orList(near) + "?"
	}
	return msg + "; the tools are " + strings.Join(names, ", ")
}

// gate asks whether an act is allowed. ok is false when it is not; the result
// then tells the model.
func (s *Set) gate(ctx context.Context, ask Ask) (Grant, *Result) {
	grant, err := s.opt.Gate.Check(ctx, ask)
	if err != nil {
		r := Fail("permission could not be decided: " + err.Error())
		r.NoOutput = true
		return grant, &r
	}
	if grant.Allowed {
		return grant, nil
	}
	reason := "permission denied"
	if grant.Reason != "" {
		reason += ": " + grant.Reason
	}
	r := Fail(reason)
	r.NoOutput = true
	return grant, &r
}
