package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/msp"
)

// SessionID is the session that is folded.
func (f *Fold) SessionID() string { return f.s.Session }

// Sequence is the newest record taken in, 0 before the first.
func (f *Fold) Sequence() int64 { return f.s.Sequence }

// Record is the newest record taken in that is an event. A log that has
// another one in its place is another log.
func (f *Fold) Record() msp.RecordPosition { return f.s.Record }

// Head is the number of the newest durable notification, 0 before the first.
func (f *Fold) Head() int64 { return f.s.Head }

// Cursor is the cursor of the newest notification, live-only ones included: a
// client that starts here has seen what [Fold.State] says.
func (f *Fold) Cursor() string { return Cursor(f.s.Session, f.s.Last) }

// ActiveTurn is the running turn, nil for none.
func (f *Fold) ActiveTurn() *msp.TurnRef {
	if f.s.Run == nil {
		return nil
	}
	return &msp.TurnRef{CommandID: f.s.Run.CommandID, TurnID: f.s.Run.ID}
}

// LastTurn is how the newest turn ended, nil before the first.
func (f *Fold) LastTurn() *msp.LastTurn {
	if f.s.LastTurn == nil {
		return nil
	}
	last := *f.s.LastTurn
	last.Error = clone(last.Error)
	return &last
}

// ApprovalMode is the mode in force.
func (f *Fold) ApprovalMode() msp.EffectiveApprovalModeState {
	m := f.s.Mode
	m.LastCommandID = clone(m.LastCommandID)
	return m
}

// Model is the model of the next call, nil when none is known.
func (f *Fold) Model() *msp.EffectiveModel { return clone(f.s.Model) }

// Goal is what the session works towards, nil for nothing.
func (f *Fold) Goal() *msp.Goal { return clone(f.s.Goal) }

// Attention says what the session waits for, in the order of the protocol's
// words.
func (f *Fold) Attention() []msp.AttentionFlag {
	var out []msp.AttentionFlag
	if len(f.s.Approvals) > 0 {
		out = append(out, msp.AttentionFlagApprovalPending)
	}
	if len(f.s.Inputs) > 0 {
		out = append(out, msp.AttentionFlagInputPending)
	}
	return out
}

// Approvals are the open approvals, oldest first.
func (f *Fold) Approvals() []msp.ApprovalRequestParams {
	out := make([]msp.ApprovalRequestParams, 0, len(f.s.Approvals))
	for _, a := range f.s.Approvals {
		out = append(out, a.Params)
	}
	return out
}

// UserInputs are the open questions, oldest first.
func (f *Fold) UserInputs() []msp.UserInputRequestParams {
	out := make([]msp.UserInputRequestParams, 0, len(f.s.Inputs))
	for _, p := range f.s.Inputs {
		out = append(out, *p)
	}
	return out
}

// Pending points at what waits for a decision, in the order in which it opened.
func (f *Fold) Pending() []msp.PendingRequestPointer {
	type opened struct {
		number int64
		msp.PendingRequestPointer
	}
	var all []opened
	add := func(p msp.PendingRequestPointer) {
		n, _ := ParseCursor(f.s.Session, p.ViewCursor) // we wrote it
		all = append(all, opened{n, p})
	}
	for _, a := range f.s.Approvals {
		add(msp.PendingRequestPointer{Kind: msp.PendingRequestKindApproval, ApprovalID: a.Params.ApprovalID, ViewCursor: a.Params.ViewCursor})
	}
	for _, p := range f.s.Inputs {
		add(msp.PendingRequestPointer{Kind: msp.PendingRequestKindUserInput, UserInputID: p.UserInputID, ViewCursor: p.ViewCursor})
	}
	slices.SortStableFunc(all, func(a, b opened) int { return int(min(1, max(-1, a.number-b.number))) })
	out := make([]msp.PendingRequestPointer, 0, len(all))
	for _, p := range all {
		out = append(out, p.PendingRequestPointer)
	}
	return out
}

// Tasks are the calls that run beside or within the turn, oldest first.
func (f *Fold) Tasks() []msp.TaskListEntry {
	out := []msp.TaskListEntry{}
	for _, c := range f.openCalls() {
		if c.Open == nil {
			continue
		}
		out = append(out, msp.TaskListEntry{
			Kind: "tool." + c.Name, Status: msp.TaskListStatusInProgress, TaskID: c.Open.Item.ItemID, Tool: c.Name,
			BackgroundInitiator: c.Open.Item.BackgroundInitiator, StartedAt: c.Open.Item.RecordedAt,
		})
	}
	return out
}

// Row is the session as a list shows it. path is its log, "" when nothing is
// kept; loaded says whether this host has it open.
func (f *Fold) Row(path string, loaded bool) msp.Session {
	mode := f.ApprovalMode()
	s := msp.Session{
		SessionID: f.s.Session, Name: f.s.Name, Status: msp.SessionStatusNotLoaded, CreatedAt: stamp(f.s.Created),
		UpdatedAt: stamp(f.s.Updated), Path: path, TurnCount: f.s.Turns, WorkspaceRoot: named(f.s.Workspace), ApprovalMode: &mode,
		ForkedFrom: clone(f.s.Fork), SideFrom: clone(f.s.Side), CreatedByClient: clone(f.s.Client),
		FirstUserPrompt: f.s.FirstPrompt, Title: oneLine(f.s.FirstPrompt, 200),
	}
	if f.s.Side != nil {
		s.ParentSessionID = f.s.Side.SessionID
	}
	if m := f.s.Model; m != nil {
		s.ModelID, s.ProviderID = named(m.ModelID), clone(m.ProviderID)
	}
	if f.s.Branch != nil {
		s.Branch = deref(f.s.Branch.Branch)
	}
	if f.s.Head > 0 {
		s.LastActivityAt = s.UpdatedAt
	}
	if loaded {
		s.Status, s.Attention = msp.SessionStatusIdle, f.Attention()
		if f.s.Run != nil {
			s.Status, s.ActiveTurnID = msp.SessionStatusRunning, named(f.s.Run.ID)
		}
	}
	return s
}

// State is what a snapshot holds beside its items ([View.Snapshot]).
func (f *Fold) State() msp.SnapshotState {
	s := msp.SnapshotState{
		Name: f.s.Name, ActiveTurn: f.ActiveTurn(), ApprovalMode: f.ApprovalMode(), Branch: clone(f.s.Branch), EffectiveModel: f.Model(), Goal: f.Goal(),
		Items: []msp.Item{}, PendingApprovals: []msp.PendingApprovalPointer{}, PendingUserInputs: []msp.PendingUserInputPointer{},
		QueuedTurns: []msp.TurnRef{}, TokenUsage: f.cumulative(), TurnCount: f.s.Turns, ContextUsage: clone(f.s.Context),
		ReasoningEffort: clone(f.s.Effort),
	}
	for _, id := range f.s.Queue {
		i := f.s.Intents[id]
		if i == nil {
			continue
		}
		ref := msp.TurnRef{CommandID: i.CommandID, TurnID: id, DisplayText: i.DisplayText}
		if ref.DisplayText == "" {
			ref.DisplayText = i.Prompt
		}
		ref.DisplayText, ref.Truncated = clip(ref.DisplayText, maxQueuedText)
		s.QueuedTurns = append(s.QueuedTurns, ref)
	}
	for _, a := range f.s.Approvals {
		s.PendingApprovals = append(s.PendingApprovals, msp.PendingApprovalPointer{
			ApprovalID: a.Params.ApprovalID, ItemID: a.Params.ItemID, ViewCursor: a.Params.ViewCursor,
		})
	}
	for _, p := range f.s.Inputs {
		s.PendingUserInputs = append(s.PendingUserInputs, msp.PendingUserInputPointer{
			UserInputID: p.UserInputID, ItemID: p.ItemID, ViewCursor: p.ViewCursor,
		})
	}
	if f.s.Todo != nil {
		list := *f.s.Todo
		list.Items = slices.Clone(list.Items)
		s.TodoList = &list
	}
	return s
}

// openItems are the items in progress, in the order in which they were shown,
// with what has been shown of their text and output so far.
func (f *Fold) openItems() []*open {
	var all []*open
	for _, c := range f.s.Calls {
		if c.Open != nil {
			all = append(all, c.Open)
		}
	}
	for _, o := range f.s.Shells {
		all = append(all, o)
	}
	if f.s.Compaction != nil {
		all = append(all, f.s.Compaction)
	}
	slices.SortFunc(all, func(a, b *open) int {
		return cmp.Or(cmp.Compare(a.First.Sequence, b.First.Sequence), strings.Compare(a.Item.ItemID, b.Item.ItemID))
	})
	if m := f.s.Reply; m != nil && m.Opened {
		all = append(all, &open{Item: m.item(), First: f.s.Record})
	}
	return all
}
