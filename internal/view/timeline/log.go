package timeline

import "strings"

// Limits of what a log's fold remembers. Ids are joined within a few lines in
// every sound log; the limits are far above that and keep memory flat.
const (
	maxIDs      = 16384
	maxHeld     = 512     // rows held back
	maxHeldSize = 8 << 20 // bytes of their texts
)

// Defaults stand in for what a log says later, or not at all: a row before the
// first metadata record still belongs to the session's project, and a subagent
// log takes the project of its parent (seed 000, Columns).
type Defaults struct {
	Project, Branch, Model string
}

// Log folds the events of one log into rows. It is for one goroutine.
type Log struct {
	File     string // for the rows
	Subagent bool
	Defaults Defaults
	Emit     func(*Row)

	session string // the first stream id
	strings map[string]string

	root, cwd    string
	branch       string
	branchKnown  bool
	sessionModel string
	lastModel    string // as the model rows tell it

	runModel  recent[string]
	doneModel recent[string]
	calls     recent[string]
	approvals recent[asked]
	lastAsked asked
	lastShell string
	format    string
	profile   string
	security  string
	started   recent[bool]

	held     []held
	heldSize int
	deltas   map[string]*strings.Builder // texts of reasoning that is not committed
}

type asked struct{ tool, call string }

func (l *Log) init() {
	if l.strings != nil {
		return
	}
	l.strings = make(map[string]string)
	l.runModel.max, l.doneModel.max, l.calls.max, l.approvals.max, l.started.max = maxIDs, maxIDs, maxIDs, maxIDs, maxIDs
}

// SessionID is the id of the log's stream, once a record was seen.
func (l *Log) SessionID() string { return l.session }

// Project is the project path in force.
func (l *Log) Project() string {
	switch {
	case l.root != "":
		return l.root
	case l.Defaults.Project != "":
		return l.Defaults.Project
	}
	return l.cwd
}

func (l *Log) branchName() string {
	if l.branchKnown {
		return l.branch
	}
	return l.Defaults.Branch
}

func (l *Log) modelName() string {
	if l.sessionModel != "" {
		return l.sessionModel
	}
	return l.Defaults.Model
}

// intern is b as a string that is held once.
func (l *Log) intern(b []byte) string {
	if s, ok := l.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(l.strings) < 4096 {
		l.strings[s] = s
	}
	return s
}

// row starts a row of an event.
func (l *Log) row(ev *Event, t TurnType) Row {
	r := Row{
		At: ev.At, Timed: ev.Timed, Type: t, Text: ev.Text, Line: ev.Line, Offset: ev.Offset, File: l.File,
		Session: l.session, Project: l.Project(), Branch: l.branchName(), Kind: ev.Kind, Raw: ev.Raw,
	}
	if len(ev.Stream) > 0 {
		r.Session = l.intern(ev.Stream)
	}
	return r
}

// Add takes the next event.
func (l *Log) Add(ev *Event) {
	l.init()
	if l.session == "" && len(ev.Stream) > 0 {
		l.session = l.intern(ev.Stream)
	}
	switch ev.Kind {
	case Prompt:
		l.started.put(ev.Run, true)
		l.settleIntent(ev.Run, false)
		l.send(ev, l.row(ev, l.promptType()))
	case Intent:
		l.intent(ev)
	case Inbox:
		t := System
		if string(ev.Name) == "user_steer" {
			t = User
		}
		l.send(ev, l.row(ev, t))
	case Assistant:
		l.send(ev, l.row(ev, AssistantRow))
	case Thinking, ThinkingDelta:
		l.thinking(ev)
	case ToolCall, ToolResult:
		l.tool(ev)
	case RunEnd:
		l.runEnd(ev)
	case Logged:
		l.send(ev, l.row(ev, System))
	case Asked, Reviewed, Decided:
		l.approval(ev)
	case ProfileFormat:
		l.format = l.intern(ev.Name)
	case Profile:
		l.permissionProfile(ev)
	case SecurityMode:
		l.securityMode(ev)
	case Renamed:
		ev.Text.Prefix = "session name: "
		l.send(ev, l.row(ev, System))
	case Reconfigured:
		l.reconfigured(ev)
	case Branch:
		l.branch, l.branchKnown = l.intern(ev.Name), true
	case Metadata:
		l.metadata(ev)
	case Route:
		l.cwd = l.intern(ev.Name)
	case RunModel:
		l.runModelConfigured(ev)
	case ModelDone:
		l.modelDone(ev)
	case BadChild:
		l.send(ev, l.row(ev, System))
	}
}

func (l *Log) promptType() TurnType {
	if l.Subagent {
		return System // the runtime's task for the child, not typed by the person
	}
	return User
}

// tool joins a result with its call's name.
func (l *Log) tool(ev *Event) {
	t := ToolOutput
	name := l.intern(ev.Name)
	switch {
	case ev.Kind == ToolCall:
		t = ToolUse
		l.calls.put(ev.ID, name)
		if name == userShell {
			l.lastShell = string(ev.ID)
		}
	case name == "":
		name, _ = l.calls.get(ev.ID) // a result without its call has no name
	}
	row := l.row(ev, t)
	row.Tool, row.CallID = name, string(ev.ID)
	if row.CallID == "" && name == userShell {
		row.CallID = l.lastShell
	}
	l.send(ev, row)
}

func (l *Log) runEnd(ev *Event) {
	l.settleModel(ev.Run, "")
	l.settleIntent(ev.Run, true)
	l.settleThinking(nil)
	if len(ev.Name) == 0 || string(ev.Name) == "completed" {
		return
	}
	ev.Text.Prefix = "run " + string(ev.Name) + ":"
	if len(ev.Text.Literal)+len(ev.Text.Plain) > 0 {
		ev.Text.Prefix += " "
	}
	l.send(ev, l.row(ev, System))
}

// End emits what was held back. The log is over.
func (l *Log) End() {
	l.init()
	l.release(len(l.held))
}

// BadLine is the row of a line that cannot be read: the reason, then the line
// in full (seed 000, Bad-line rows). It belongs at the end of the log's rows.
func (l *Log) BadLine(number, offset int64, reason string, line []byte) Row {
	l.init()
	return Row{
		Type: System, Line: number, Offset: offset, File: l.File,
		Session: l.session, Project: l.Project(), Branch: l.branchName(), Model: l.modelName(),
		Text: Text{Prefix: "parser: unparseable line (" + reason + "): ", Plain: line},
	}
}
