package permission

import (
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// Action is something a tool is about to do: *ShellLine, *FileRead, *FileWrite,
// *NetworkTarget or *ToolCall.
type Action interface{ action() }

// ShellLine runs a command line.
type ShellLine struct {
	// Text is the line as the model wrote it.
	Text string
	// Dir is the absolute directory it starts in; empty means the workspace.
	Dir string
	// Env are variables that the call adds, "NAME=VALUE".
	Env []string
	// TTY asks for a terminal, Login for a login shell.
	TTY, Login bool
	// Escalated asks to run without the sandbox; Justification is the model's
	// reason.
	Escalated     bool
	Justification string
}

// FileRead reads a file with a file tool.
type FileRead struct{ Path string }

// FileWrite writes, moves or removes a file with a file tool.
type FileWrite struct{ Path string }

// NetworkTarget is a connection to a host. Host is in the canonical form of
// THREATS.md 5: lower case, or an address without brackets.
type NetworkTarget struct {
	Host     string
	Port     int
	Protocol string // "http", "https" or "tcp"
	// URL is what the program asked for, where it is known.
	URL string
}

// Key is the form under which approvals are kept.
func (t NetworkTarget) Key() string {
	host := t.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(t.Port) + ":" + t.Protocol
}

// ToolCall is a call of a tool that does not run in the sandbox: an MCP tool,
// a web fetch.
type ToolCall struct {
	Name string
	// ReadOnly is set when the tool says that it changes nothing.
	ReadOnly bool
	// Args are the call's arguments as JSON.
	Args string
}

func (*ShellLine) action()     {}
func (*FileRead) action()      {}
func (*FileWrite) action()     {}
func (*NetworkTarget) action() {}
func (*ToolCall) action()      {}

// rawArgs is how a request shows the action (seed 000, Approval events:
// "https registry.example.org:443" for a connection).
func rawArgs(a Action) string {
	switch a := a.(type) {
	case *ShellLine:
		return a.Text
	case *FileRead:
		return "read " + a.Path
	case *FileWrite:
		return "write " + a.Path
	case *NetworkTarget:
		host := a.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return a.Protocol + " " + host + ":" + strconv.Itoa(a.Port)
	case *ToolCall:
		return a.Name + " " + a.Args
	}
	return ""
}

// toolName is the tool that a request names when the caller gave none.
func toolName(a Action) string {
	switch a := a.(type) {
	case *ShellLine:
		return "bash"
	case *FileRead:
		return "read_file"
	case *FileWrite:
		return "write_file"
	case *NetworkTarget:
		return "network"
	case *ToolCall:
		return a.Name
	}
	return ""
}

// Show renders an action for a person in one line, control characters escaped.
func Show(a Action) string {
	text := shell.Quote(rawArgs(a))
	if len(text) > 1 && text[0] == '\'' && strings.Count(text, "'") == 2 {
		return text[1 : len(text)-1]
	}
	return text
}
