package host

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
)

// state is what a session knows of itself: a fold over its events, the same
// for those that were replayed and those that were just recorded. What the
// model is told is not here, see agent.Conversation.
type state struct {
	mu sync.Mutex

	createdAt int64 // µs
	workspace string
	name      string
	provider  string
	model     string
	label     string
	effort    string
	mode      string // approval mode in the words of the wire
	goal      *event.Goal

	commands map[string]*intake
	prompts  map[string]*prompt // accepted turns that have not started, by turn id
	queue    []string           // those that wait, oldest first
	steers   map[string]steer   // words for a running turn that it has not read, by command id
	turns    []turnSpan
	running  string // the run that has not ended, or ""
	spoke    bool   // the newest run committed something of an answer

	approvals   map[string]*asked // by pending action id
	inputs      map[string]*asked // by user input id
	shells      map[string]bool   // a person's commands that run, by command id
	compactions map[string]string // run by compaction id, those that have not ended
	snapshots   []snapshot
	sides       map[string]bool // side sessions that were announced
	tasks       map[string]task // tool tasks that run, by id
}

// task is one running tool call.
type task struct{ run, call string }

// prompt is a turn that was accepted.
type prompt struct {
	turn, command string
	text, display string
	images        []event.ContentBlock
	effort        string
}

// steer is a prompt for a running turn.
type steer struct {
	run    string
	notice event.Notice
}

// turnSpan is where a turn stands in the log. ended is 0 while it runs.
type turnSpan struct {
	id             string
	started, ended int64
	terminal       string
}

// asked is a question to a person. settled is nil while it is open.
type asked struct {
	run     string
	settled *Settled
	call    string // the call that waits, "" when it cannot be begun again
}

type snapshot struct {
	run      string
	sequence int64
	event.FileSnapshot
}

func newState() *state {
	return &state{
		commands: map[string]*intake{}, prompts: map[string]*prompt{}, steers: map[string]steer{},
		approvals: map[string]*asked{}, inputs: map[string]*asked{}, shells: map[string]bool{},
		compactions: map[string]string{}, sides: map[string]bool{}, tasks: map[string]task{},
	}
}

// apply takes in one event.
func (s *state) apply(r event.Recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.createdAt == 0 {
		s.createdAt = r.At
	}
	switch b := r.Body.(type) {
	case event.Metadata:
		s.provider, s.model, s.label = b.ProviderID, b.ModelID, b.ModelID
		if b.WorkspaceRoot != "" {
			s.workspace = b.WorkspaceRoot
		}
	case event.NameChanged:
		s.name = b.NewName
	case event.ModelReconfigured:
		s.provider, s.model, s.label = b.Effective.ProviderID, b.Effective.ModelID, b.Effective.DisplayLabel
	case event.EffortChanged:
		s.effort = b.Effort
	case event.ApprovalModeChanged:
		s.mode = b.Mode
	case event.GoalChanged:
		s.goal = b.Goal
	case event.SideOpened:
		s.sides[b.SideSessionID] = true
	case event.CommandReceived:
		s.received(b)
	case event.CommandSettled:
		s.settled(b, r.Sequence)
	default:
		if !s.applyTurn(r) {
			s.applyAsked(r)
		}
	}
}

// applyTurn follows turns from their acceptance to their end.
func (s *state) applyTurn(r event.Recorded) bool {
	switch b := r.Body.(type) {
	case event.IntentAccepted:
		p := &prompt{turn: b.IntentID, command: b.CommandID, display: b.DisplayText, effort: b.Effort}
		if p.command == "" {
			p.command = b.IntentID
		}
		for _, m := range b.ModelMessages {
			for _, block := range m.Content {
				if block.Kind == "text" {
					p.text += block.Text
				} else {
					p.images = append(p.images, block)
				}
			}
		}
		s.prompts[b.IntentID] = p
	case event.TurnQueued:
		s.queue = append(s.queue, b.TurnID)
	case event.TurnUnqueued:
		s.forget(b.TurnID)
	case event.TurnLaunchFailed:
		s.forget(b.TurnID)
		s.launchFailed(b)
	case event.RunStarted:
		s.forget(r.Run)
		s.running, s.spoke = r.Run, false
		s.turns = append(s.turns, turnSpan{id: r.Run, started: r.Sequence})
	case event.AssistantMessage, event.ToolCalls:
		s.spoke = true
	case event.Notice:
		delete(s.steers, b.CommandID)
	case event.RunTerminal:
		s.running = ""
		if n := len(s.turns); n > 0 {
			s.turns[n-1].ended, s.turns[n-1].terminal = r.Sequence, b.Terminal
		}
		maps.DeleteFunc(s.steers, func(_ string, w steer) bool { return w.run == r.Run })
		clear(s.tasks)
	case event.RunRetracted:
		s.turns = slices.DeleteFunc(s.turns, func(t turnSpan) bool { return t.id == r.Run })
	case event.SessionRewound:
		s.turns = slices.DeleteFunc(s.turns, func(t turnSpan) bool { return t.started > b.Sequence })
		s.snapshots = slices.DeleteFunc(s.snapshots, func(f snapshot) bool { return f.sequence > b.Sequence })
	case event.FileSnapshot:
		s.snapshots = append(s.snapshots, snapshot{r.Run, r.Sequence, b})
	case event.TaskScheduled:
		if call, ok := strings.CutPrefix(b.IdempotencyKey, "tool:"); ok {
			s.tasks[b.TaskID] = task{r.Run, call}
		}
	case event.TaskCompleted:
		delete(s.tasks, b.TaskID)
	case event.TaskFailed:
		delete(s.tasks, b.TaskID)
	case event.TaskCancelled:
		delete(s.tasks, b.TaskID)
	default:
		return false
	}
	return true
}

func (s *state) forget(turn string) {
	delete(s.prompts, turn)
	s.queue = slices.DeleteFunc(s.queue, func(id string) bool { return id == turn })
}

// applyAsked follows what was begun and must end: questions, a person's
// commands, compactions.
func (s *state) applyAsked(r event.Recorded) {
	switch b := r.Body.(type) {
	case event.Approval:
		s.applyApproval(r, b)
	case event.UserInputRequested:
		s.inputs[b.ID] = &asked{run: r.Run, call: b.CallID}
	case event.UserInputSettled:
		s.inputs[b.ID] = &asked{run: r.Run, settled: &Settled{Outcome: b.Outcome, Sequence: r.Sequence}}
	case event.UserShellCommand:
		s.shells[b.CommandID] = true
	case event.UserShellResult:
		delete(s.shells, b.CommandID)
	case event.UserShellRejected:
		delete(s.shells, b.CommandID)
	case event.CompactionStarted:
		s.compactions[b.CompactionID] = r.Run
	case event.CompactionSettled:
		delete(s.compactions, b.CompactionID)
	}
}

func (s *state) applyApproval(r event.Recorded, b event.Approval) {
	if b.Kind != "requested" && b.Kind != "decision_applied" {
		return
	}
	var f struct {
		ID       string `json:"pending_action_id"`
		Call     string `json:"tool_call_id"`
		Decision string `json:"decision"`
		Source   struct {
			Kind string `json:"kind"`
		} `json:"decision_source"`
		Subject struct {
			Network *struct{} `json:"network"`
		} `json:"approval_subject"`
		Delegated string `json:"openmuse_delegated"`
	}
	if json.Unmarshal(b.Fields, &f) != nil {
		return // somebody else's form of the record
	}
	if b.Kind == "requested" {
		a := &asked{run: r.Run, call: f.Call}
		if f.Subject.Network != nil || f.Delegated != "" {
			a.call = "" // what asked is a program that is gone
		}
		s.approvals[f.ID] = a
		return
	}
	s.approvals[f.ID] = &asked{run: r.Run, settled: &Settled{Outcome: f.Decision, By: resolvedBy(f.Source.Kind), Sequence: r.Sequence}}
}

// approvalID is the id of the question that an approval event is about.
func approvalID(b event.Approval) string {
	var f struct {
		ID string `json:"pending_action_id"`
	}
	if json.Unmarshal(b.Fields, &f) != nil {
		return "" // somebody else's form of the record
	}
	return f.ID
}

// resolvedBy is a source of a decision in the words of the wire.
func resolvedBy(kind string) string {
	switch kind {
	case "user":
		return "user"
	case "llm_judge":
		return "llmJudge"
	}
	return "policy"
}

// leftOpen is what must be recorded, ahead of the end of a run that was cut
// off, when a process did not live to end what it had begun.
func (s *state) leftOpen() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []event.Event
	for _, id := range open(s.approvals) {
		fields, err := json.Marshal(map[string]any{
			"kind": "decision_applied", "decision": "abort", "decision_source": map[string]any{"kind": "policy"},
			"policy_result": "deny", "amendment": nil, "pending_action_id": id,
		}, json.Deterministic(true))
		if err != nil {
			continue // strings only: it cannot fail
		}
		out = append(out, event.Event{Run: s.approvals[id].run, Body: event.Approval{Kind: "decision_applied", Fields: jsontext.Value(fields)}})
	}
	reason := "the session ended before it was answered"
	for _, id := range open(s.inputs) {
		out = append(out, event.Event{Run: s.inputs[id].run, Body: event.UserInputSettled{
			Answers: []event.UserAnswer{}, ID: id, Outcome: Aborted, Reason: &reason,
		}})
	}
	for _, id := range slices.Sorted(maps.Keys(s.compactions)) {
		out = append(out, event.Event{Run: s.compactions[id], Body: event.CompactionSettled{CompactionID: id, Outcome: "cancelled", Reason: "the session ended"}})
	}
	for _, id := range slices.Sorted(maps.Keys(s.shells)) {
		out = append(out, event.Event{Body: event.UserShellResult{CommandID: id, TerminalState: "cancelled"}})
	}
	return out
}

// leftUnread are the words for a run that was cut off before it read them. They
// belong before its end.
func (s *state) leftUnread() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []event.Event
	for _, id := range slices.Sorted(maps.Keys(s.steers)) {
		if w := s.steers[id]; w.run == s.running && w.run != "" {
			out = append(out, event.Event{Run: w.run, Body: w.notice})
		}
	}
	return out
}

func open(m map[string]*asked) []string {
	var out []string
	for id, a := range m {
		if a.settled == nil {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// leftWaiting is what must be recorded after that: prompts that no process
// will start any more, and commands that nobody answered.
func (s *state) leftWaiting() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []event.Event
	waiting := slices.Clone(s.queue)
	for _, id := range slices.Sorted(maps.Keys(s.prompts)) {
		if !slices.Contains(waiting, id) {
			waiting = append(waiting, id)
		}
	}
	for _, id := range waiting {
		p := s.prompts[id]
		if p == nil {
			continue
		}
		out = append(out, event.Event{Body: event.TurnLaunchFailed{
			CommandID: p.command, TurnID: id, Kind: "launchError", Reason: "the session ended before the turn was started",
		}})
	}
	for _, id := range slices.Sorted(maps.Keys(s.commands)) {
		if s.commands[id].answered() {
			continue
		}
		out = append(out, event.Event{Body: abandoned(id)})
	}
	return out
}

// turn is the span of a turn.
func (s *state) turn(id string) (turnSpan, bool) {
	for _, t := range s.turns {
		if t.id == id {
			return t, true
		}
	}
	return turnSpan{}, false
}
