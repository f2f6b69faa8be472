package session

import (
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

// Fold turns recorded events, in log order, into view notifications. The zero
// Fold is not usable; see [New]. It is for one goroutine.
type Fold struct {
	s state

	cur   event.Recorded
	given int64 // durable numbers of the current record given out
	out   []Note
}

// state is everything a fold remembers; it can be saved ([Fold.Save]).
type state struct {
	Session  string
	Sequence int64              // newest record taken in
	Record   msp.RecordPosition // the same, without markers
	Last     int64              // newest number given out
	Head     int64              // newest number of a durable notification

	Created, Updated int64 // µs
	Workspace        string
	FirstPrompt      string
	Client           *msp.ClientInfo
	Fork             *msp.ForkProvenance
	Side             *msp.SideProvenance

	Turns    int64 // completed
	LastTurn *msp.LastTurn
	Run      *run
	Previous *run // the last run that ended
	Intents  map[string]*intent
	Queue    []string // turn ids, in launch order

	Calls      map[string]*call  // open calls, by call id
	Tasks      map[string]string // call id by task id, of open calls
	Reply      *reply
	Shells     map[string]*open // by command id
	Compaction *open
	Approvals  []*approval
	Inputs     []*msp.UserInputRequestParams

	Mode        msp.EffectiveApprovalModeState
	ProfileMode msp.ApprovalMode // what the newest permission profile says
	Model       *msp.EffectiveModel
	Effort      *msp.ReasoningEffortState
	Goal        *msp.Goal
	Todo        *msp.TodoListState
	Branch      *msp.BranchState
	Name        string

	Usage        msp.CumulativeTokenUsage
	CostMicros   int64
	Priced       bool // some call had a price
	Unpriced     bool // some call had none
	Context      *msp.ContextUsage
	Window       int64
	Soft, Hard   int64
	Boundary     int64  // number of the newest compaction's notification
	Summarised   string // and what it names
	BoundaryMark map[string]int64
}

// run is a turn under way, or the one before.
type run struct {
	ID, CommandID string
	Prompt        *msp.Item // nil when nobody said anything
	Usage         *msp.TokenUsage
	Fatal         *event.FatalError
	StepLimit     bool
}

// intent is a prompt that was taken on and has not started.
type intent struct {
	CommandID, DisplayText, Prompt, Kind string
}

// open is an item that has been shown and has not ended.
type open struct {
	Item  msp.Item
	First msp.RecordPosition
	Seen  int64 // bytes of output that came so far
	Holed bool  // a piece did not come: no more is shown until the end
}

// New is the fold of a session of which nothing has been read.
func New(sessionID string) *Fold {
	return &Fold{s: state{
		Session: sessionID, Intents: map[string]*intent{}, Calls: map[string]*call{}, Tasks: map[string]string{},
		Shells: map[string]*open{}, BoundaryMark: map[string]int64{},
		Mode: msp.EffectiveApprovalModeState{Mode: msp.ApprovalModePromptUnmatched, Source: msp.ApprovalModeSourceStartup},
	}}
}

// Apply takes in one event and returns what it says to viewers, oldest first.
// A record that was taken in before says nothing again.
func (f *Fold) Apply(r event.Recorded) []Note {
	f.cur, f.given, f.out = r, 0, nil
	if event.FamilyOf(r.Event) == event.LiveOnly {
		// A marker may hold the event's place in the log.
		f.s.Sequence = max(f.s.Sequence, r.Sequence)
		f.applyLive(r)
		return f.out
	}
	if r.Sequence > 0 {
		if r.Sequence <= f.s.Sequence {
			return nil
		}
		f.s.Sequence, f.s.Record = r.Sequence, f.position()
		if f.s.Created == 0 {
			f.s.Created = r.At
		}
		f.s.Updated = r.At
	}
	f.apply(r)
	return f.out
}

func (f *Fold) apply(r event.Recorded) {
	switch b := r.Body.(type) {
	case event.IntentAccepted:
		f.intentAccepted(b)
	case event.TurnQueued:
		f.turnQueued(b)
	case event.TurnUnqueued:
		f.turnUnqueued(b)
	case event.TurnLaunchFailed:
		f.turnLaunchFailed(b)
	case event.RunStarted:
		f.runStarted(b)
	case event.RunTerminal:
		f.runTerminal(b)
	case event.RunRetracted:
		f.runRetracted(b)
	case event.SessionRewound:
		f.rewound(b)
	case event.RetryScheduled:
		f.retryScheduled(b)
	case event.FatalError:
		f.fatal(b)
	case event.StepBudget:
		f.stepBudget(b)

	case event.AssistantMessage:
		f.assistantMessage(b)
	case event.SummaryCommitted:
		f.summaryCommitted(b)
	case event.ReasoningCommitted:
		f.reasoningCommitted(b)
	case event.Notice:
		f.notice(b)
	case event.ToolCalls:
		f.toolCalls(b)
	case event.ToolResults:
		f.toolResults(b)
	case event.TaskBackgrounded:
		f.backgrounded(b)
	case event.EffectStarted:
		f.effectStarted(b)
	case event.EffectTerminal:
		f.effectTerminal(b)
	case event.TaskScheduled, event.TaskOutput, event.TaskOutputRef, event.TaskFailed, event.TaskCancelled:
		f.applyTask(r)

	case event.UserShellCommand:
		f.shellCommand(b)
	case event.UserShellResult:
		f.shellResult(b)
	case event.UserShellRejected:
		f.shellRejected(b)
	case event.SideOpened:
		f.sideOpened(b)

	case event.Approval:
		f.approvalEvent(b)
	case event.UserInputRequested:
		f.inputRequested(b)
	case event.UserInputSettled:
		f.inputSettled(b)

	case event.ModelCompleted:
		f.modelCompleted(b)
	case event.CompactionStarted:
		f.compactionStarted(b)
	case event.CompactionInstalled:
		f.compactionInstalled(b)
	case event.CompactionSettled:
		f.compactionSettled(b)
	case event.RequestConfigured:
		f.s.Window, f.s.Soft, f.s.Hard = b.ContextLimit, b.SoftThreshold, b.HardThreshold
	case event.CompactionCandidate:
		if b.Strategy.Soft > 0 {
			f.s.Soft, f.s.Hard = b.Strategy.Soft, b.Strategy.Hard
		}
	default:
		f.applySetting(r)
	}
}
