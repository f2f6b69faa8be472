package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

// call is a tool call without a result. It becomes an item when it is asked
// about or starts; one that was refused before shows only its end.
type call struct {
	Record       string // id of the record that has the batch
	Sequence     int64
	Index        int
	Run          string
	CallID, Task string
	Name, Args   string
	Open         *open

	ApprovalID string
	Denied     string // the decision that refused it
	Output     *string
	OutputRef  *msp.OutputRef
	Reason     string // why its task failed
	Cancelled  bool
	Background bool
	Streams    bool // its output may be shown while it runs
	Alone      bool // an approval that no call asks for
	// Ended is how the call's effect ended, when its output was not known yet.
	Ended msp.ItemStatus
}

func (f *Fold) toolCalls(b event.ToolCalls) {
	f.dropReply(msp.ItemStatusFailed)
	for i, c := range b.Calls {
		args, _ := clip(c.Args, maxArgs)
		f.s.Calls[c.CallID] = &call{
			Record: f.cur.ID, Sequence: f.cur.Sequence, Index: i, Run: f.cur.Run, CallID: c.CallID, Name: c.Name, Args: args,
		}
	}
}

// known is the open call of an id; a call whose batch is not in this log is
// made up from what is known of it.
func (f *Fold) known(callID, task, name string) *call {
	c := f.s.Calls[callID]
	if c == nil {
		c = &call{Record: f.cur.ID, Sequence: f.cur.Sequence, Run: f.cur.Run, CallID: callID, Name: name}
		f.s.Calls[callID] = c
	}
	if c.Task == "" && task != "" {
		c.Task = task
		f.s.Tasks[task] = callID
	}
	return c
}

// show makes the call an item, if it is none yet.
func (f *Fold) showCall(c *call) {
	if c.Open == nil {
		c.Open = f.begin(c.item())
	}
}

// item is the call as an item. Its identity is its task: clients name tasks by
// the items that show them (MSP.md 7.5, task/background).
func (c *call) item() msp.Item {
	id := c.Task
	if id == "" || c.Alone { // the task may have been shown before
		id = derived(c.Record, c.Index)
	}
	return msp.Item{
		ItemID: id, Kind: msp.ItemKindToolCall, TurnID: named(c.Run), Tool: c.Name, CallID: c.CallID, Args: c.Args,
		ApprovalID: c.ApprovalID,
	}
}

func (f *Fold) effectStarted(b event.EffectStarted) {
	c := f.known(b.CallID, b.TaskID, b.ToolName)
	c.Streams = streams(c)
	f.showCall(c)
}

// streams reports whether what a call reports on its way is the beginning of
// its output. Other tools report their progress in words; a terminal's output
// is changed before it becomes a result.
func streams(c *call) bool {
	if c.Name != "bash" && c.Name != "shell" {
		return false
	}
	var args struct {
		TTY bool `json:"tty"`
	}
	return json.Unmarshal([]byte(c.Args), &args) == nil && !args.TTY
}

// applyTask takes in what is said of a call's task.
func (f *Fold) applyTask(r event.Recorded) {
	if b, ok := r.Body.(event.TaskScheduled); ok {
		if id, tool := strings.CutPrefix(b.IdempotencyKey, "tool:"); tool && f.s.Calls[id] != nil {
			f.known(id, b.TaskID, "")
		}
		return
	}
	c := f.s.Calls[f.s.Tasks[r.Task]]
	switch b := r.Body.(type) {
	case event.TaskOutput:
		if c != nil && b.Final {
			c.Output = &b.Chunk
		}
	case event.TaskOutputRef:
		if c != nil {
			c.OutputRef = outputRef(&b.Ref, b.Availability)
		}
	case event.TaskFailed:
		if c != nil {
			c.Reason = b.Reason
		}
	case event.TaskCancelled:
		if c != nil {
			c.Reason, c.Cancelled = b.Reason, true
		}
	}
}

func (f *Fold) effectTerminal(b event.EffectTerminal) {
	c := f.known(b.CallID, b.TaskID, "")
	status := msp.ItemStatusCompleted
	if b.Outcome.Kind == "failed" {
		status = msp.ItemStatusFailed
		c.Reason = cmp.Or(b.Outcome.Reason, c.Reason)
	}
	if b.Outcome.TaskCompletion.Terminal.Kind == "cancelled" {
		status = msp.ItemStatusCancelled
	}
	if c.Output == nil && !c.Background {
		c.Ended = status // its result is in the batch
		return
	}
	f.endCall(c, status)
}

// toolResults ends what was never started or was cut off: what ran has ended
// with its effect.
func (f *Fold) toolResults(b event.ToolResults) {
	for _, r := range b.Results {
		if c := f.s.Calls[r.CallID]; c != nil && !c.Background {
			c.Output = &r.Text
		}
	}
	f.outputRests()
	for _, r := range b.Results {
		c := f.s.Calls[r.CallID]
		if c == nil || c.Background {
			continue
		}
		status := msp.ItemStatusCompleted
		switch {
		case c.Ended != "":
			status = c.Ended
		case c.Cancelled:
			status = msp.ItemStatusCancelled
		case r.Failed || strings.HasPrefix(r.Text, failedPrefix):
			status = msp.ItemStatusFailed
			c.Reason = cmp.Or(c.Reason, strings.TrimPrefix(r.Text, failedPrefix))
		}
		if status == msp.ItemStatusFailed && strings.HasPrefix(c.Reason, "permission denied") {
			status = msp.ItemStatusRejected
		}
		f.endCall(c, status)
	}
}

// outputRests shows what is missing of the outputs that are known. It comes
// before everything that one record says of several calls.
func (f *Fold) outputRests() {
	for _, c := range f.openCalls() {
		if c.Open != nil && c.Output != nil {
			out, _ := visible(*c.Output)
			f.outputRest(c.Open, out)
		}
	}
}

// failedPrefix begins the result of every call that failed (seed 000, Tool
// call arguments and results).
const failedPrefix = "tool failed: "

// endCall shows the end of a call and forgets it.
func (f *Fold) endCall(c *call, status msp.ItemStatus) {
	o := c.Open
	if o == nil {
		o = &open{Item: c.item(), First: f.position()}
	}
	i := &o.Item
	if c.Output != nil {
		out, cut := visible(*c.Output)
		f.outputRest(o, out)
		i.VisibleOutput, i.Truncated = &out, cut
	} else {
		i.VisibleOutput = nil
	}
	// What a failed command printed may not be in its result.
	broke := status != msp.ItemStatusCompleted || strings.HasPrefix(deref(c.Output), failedPrefix)
	i.Truncated = i.Truncated || (c.Streams && broke && !isReport(deref(c.Output)))
	i.OutputRef = c.OutputRef
	if status == msp.ItemStatusFailed && c.Denied != "" {
		status = msp.ItemStatusRejected
	}
	if status != msp.ItemStatusCompleted {
		reason := c.Reason
		if reason == "" && c.Denied != "" {
			reason = "approval " + c.Denied
		}
		i.FailureReason, _ = clip(reason, maxOutput)
	}
	f.forget(c)
	f.end(o, status)
}

func (f *Fold) forget(c *call) {
	delete(f.s.Calls, c.CallID)
	delete(f.s.Tasks, c.Task)
}

// commandReport is the result of a command tool (seed 000, Tool call arguments
// and results).
type commandReport struct {
	ChunkID   *string `json:"chunk_id"`
	Output    *string `json:"output"`
	Truncated bool    `json:"truncated"`
}

func report(text string) (r commandReport, ok bool) {
	return r, strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &r) == nil && r.ChunkID != nil && r.Output != nil
}

func isReport(text string) bool {
	_, ok := report(text)
	return ok
}

// visible is a result as people read it: of a command, what it printed.
func visible(text string) (out string, truncated bool) {
	r, ok := report(text)
	if !ok {
		return clip(text, maxOutput)
	}
	text, cut := clip(*r.Output, maxOutput)
	return text, cut || r.Truncated
}

func (f *Fold) backgrounded(b event.TaskBackgrounded) {
	c := f.s.Calls[b.CallID]
	if c == nil {
		c = f.s.Calls[f.s.Tasks[b.TaskID]]
	}
	if c == nil || c.Background {
		return
	}
	c.Background = true
	f.showCall(c)
	c.Open.Item.Background, c.Open.Item.BackgroundInitiator = true, msp.BackgroundInitiator(b.Initiator)
	f.update(c.Open)
}

// endRunItems ends what a run leaves open: every item that was shown comes to
// an end (MSP.md 10, rule 7).
func (f *Fold) endRunItems(terminal msp.TurnTerminal) {
	status := msp.ItemStatusCancelled
	if terminal == msp.TurnTerminalFailed {
		status = msp.ItemStatusFailed
	}
	f.dropReply(status)
	f.outputRests()
	f.endApprovals()
	f.endInputs()
	for _, c := range f.openCalls() {
		switch {
		case c.Background:
		case c.Open == nil:
			f.forget(c) // it was never shown
		default:
			c.Reason = cmp.Or(c.Reason, "the turn ended")
			f.endCall(c, msp.ItemStatusCancelled)
		}
	}
	if o := f.s.Compaction; o != nil && deref(o.Item.TurnID) == f.cur.Run {
		f.endCompaction(msp.CompactionOutcomeCancelled, "the turn ended")
	}
}

// endOrphans ends what ran beside the turns of a process that is gone.
func (f *Fold) endOrphans() {
	f.outputRests()
	for _, c := range f.openCalls() {
		if f.s.Run != nil && c.Run == f.s.Run.ID && !c.Background {
			continue // the run that was cut off will be brought to its end
		}
		if c.Open == nil {
			f.forget(c)
			continue
		}
		c.Reason = cmp.Or(c.Reason, "the process that ran it ended")
		f.endCall(c, msp.ItemStatusCancelled)
	}
	commands := make([]string, 0, len(f.s.Shells))
	for id := range f.s.Shells {
		commands = append(commands, id)
	}
	slices.SortFunc(commands, func(a, b string) int {
		return cmp.Compare(f.s.Shells[a].First.Sequence, f.s.Shells[b].First.Sequence)
	})
	for _, id := range commands {
		o := f.takeShell(id)
		o.Item.FailureReason = "the process that ran it ended"
		f.endWithoutOutput(o, msp.ItemStatusCancelled)
	}
	if o := f.s.Compaction; o != nil && (f.s.Run == nil || deref(o.Item.TurnID) != f.s.Run.ID) {
		f.endCompaction(msp.CompactionOutcomeCancelled, "the process that ran it ended")
	}
}

// openCalls are the open calls in the order in which they were made.
func (f *Fold) openCalls() []*call {
	out := make([]*call, 0, len(f.s.Calls))
	for _, c := range f.s.Calls {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Index, b.Index), strings.Compare(a.CallID, b.CallID))
	})
	return out
}
