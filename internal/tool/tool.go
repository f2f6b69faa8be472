// Package tool holds the tools the model sees, one a file, each with its text
// for the model in an .md file beside it. A tool does its work inside a
// workspace boundary and says what happened; whether it may run is decided
// before it is called, and what it said is recorded after.
package tool

import (
	"context"
	"os/exec"

	"github.com/go-json-experiment/json/jsontext"
)

// Tool is one function offered to the model. Run is safe for concurrent use
// when Parallel reports true for the call; others run one at a time.
type Tool interface {
	Spec() Spec
	// Run does the work. It never panics on bad arguments and never returns an
	// error: a failed call is a Result the model can read. It returns within
	// a second of ctx's end, with all processes of the call gone.
	Run(ctx context.Context, call Call) Result
}

// Spec is what the model is told and what the loop enforces.
type Spec struct {
	Name        string
	Description string         // the tool's .md text
	Schema      jsontext.Value // JSON Schema (2020-12) of the arguments
	// Effects says that the tool can change something outside the process:
	// its intent is made durable before it runs.
	Effects bool
	// Parallel says that calls may run beside other parallel calls.
	Parallel bool
	// Writes and Shell place the tool under --disable-write and
	// --disable-shell.
	Writes, Shell bool
}

// Call is one call whose arguments are JSON and fit the schema.
type Call struct {
	ID     string // call id, also names spill files
	TaskID string
	Name   string
	Args   jsontext.Value
	// Progress, when not nil, takes output as it is produced. It is for
	// people and streams that watch; the result is in Result.
	Progress func(chunk string)
}

// Result is what the model and the log get.
type Result struct {
	// Text is the result as the model reads it. For a failed call it starts
	// with "tool failed: " (CLI.md 5).
	Text string
	// Outcome is "success" or "failure" (STREAM.md, correlation_facts).
	Failed bool
	// Reason is the failure in one line, for the task's failed record.
	Reason string
	Edit   *Edit
	Images []Image
	Spill  *Spill
	// NoOutput suppresses the task's output record: the call was refused by
	// its environment before anything ran.
	NoOutput bool
	// Todos, when not nil, is the new plan.
	Todos []Todo
}

// Edit is a file change, as edit_facts on the stream shows it.
type Edit struct {
	Path    string // relative to the workspace, forward slashes
	Added   int    // lines added
	Removed int
}

// Image is a picture for models that take them.
type Image struct {
	MediaType string
	Data      []byte
}

// Spill is a file that holds a result too long for the model.
type Spill struct {
	Path  string // absolute
	Name  string // relative to the session directory
	Kind  string // "bash", "read_file-page", …
	Bytes int64
	SHA   string // "sha256:<hex>" of the file
}

// Todo is one line of the model's plan.
type Todo struct {
	Text   string
	Status string // "pending", "in_progress", "completed"
}

// Fail is a failed result with reason as the model reads it.
func Fail(reason string) Result {
	return Result{Text: "tool failed: " + reason, Failed: true, Reason: reason}
}

// Launcher builds the process for a shell command that was allowed. What it
// may touch is the launcher's business (see internal/sandbox).
type Launcher interface {
	// Command returns a process that is not started yet and a function to call
	// once it has ended. The caller sets the standard streams, the process
	// group and, for a terminal, the session. ctx is for the preparation only:
	// the process may outlive it, and the caller ends it as a group. An error
	// means that no command may run.
	Command(ctx context.Context, c Command) (cmd *exec.Cmd, release func() error, err error)
}

// Command is one program to start.
type Command struct {
	Path string   // absolute
	Args []string // with the program's name first
	Dir  string   // absolute
	Env  []string
}
