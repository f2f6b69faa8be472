package tool

import "context"

// Gate decides whether a call may do what it is about to do. The tools ask and
// never decide; who answers (a profile, rules, a reviewer, a person) is not
// their business. Check may wait for a person and must return when ctx ends.
type Gate interface {
	Check(ctx context.Context, ask Ask) (Grant, error)
}

// AskKind says what kind of act needs an answer.
type AskKind string

// The acts. Reading and writing inside the workspace are asked for as well, so
// that rules can name paths.
const (
	AskShell          AskKind = "shell"           // run Command in Path
	AskRead           AskKind = "read"            // read Path, inside
	AskWrite          AskKind = "write"           // write Path, inside
	AskReadOutside    AskKind = "read_outside"    // read Path, outside
	AskWriteOutside   AskKind = "write_outside"   // write Path, outside
	AskWriteProtected AskKind = "write_protected" // write Path in .git, .muse or .agents
)

// Ask is one act that a call is about to do.
type Ask struct {
	Kind AskKind
	Call Call
	// Path is absolute: the file, or the directory that a command runs in.
	Path string
	// Command is the command line of AskShell, as the model wrote it.
	Command string
}

// Grant is the answer to an Ask.
type Grant struct {
	Allowed bool
	// Reason is shown to the model when the act is not allowed.
	Reason string
	// Launcher, when not nil, replaces the set's launcher for this command.
	Launcher Launcher
}

// InsideOnly is the gate that is used when there is none: commands are left to
// the launcher, files inside the workspace may be used, nothing else may.
type InsideOnly struct{}

// Check implements Gate.
func (InsideOnly) Check(_ context.Context, ask Ask) (Grant, error) {
	switch ask.Kind {
	case AskShell, AskRead, AskWrite:
		return Grant{Allowed: true}, nil
	}
	return Grant{}, nil
}
