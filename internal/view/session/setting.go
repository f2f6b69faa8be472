package session

import (
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

// applySetting takes in what holds for the session from here on.
func (f *Fold) applySetting(r event.Recorded) {
	switch b := r.Body.(type) {
	case event.SessionCreated:
		f.s.Client = client(b.Client)
	case event.SessionOpened:
		f.opened(b)
	case event.SessionResumed:
		f.resumed(b)
	case event.Metadata:
		f.metadata(b)
	case event.ModelConfigured:
		f.modelConfigured(b)
	case event.ModelReconfigured:
		f.modelReconfigured(b)
	case event.ModelRouteUnserved:
		f.say(msp.NoteSessionModelRouteUnserved, &msp.SessionModelRouteUnservedParams{
			Durable: f.here(), CommandID: b.CommandID, InstalledProviderID: b.InstalledProviderID, ModelID: b.ModelID, ProviderID: b.ProviderID,
		})
	case event.EffortChanged:
		f.s.Effort = &msp.ReasoningEffortState{
			ReasoningEffort: msp.ReasoningEffort(b.Effort), Source: msp.ReasoningEffortChangeSource(b.Source),
		}
		f.say(msp.NoteSessionReasoningEffortChanged, &msp.SessionReasoningEffortChangedParams{
			Durable: f.here(), ReasoningEffort: f.s.Effort.ReasoningEffort, Source: f.s.Effort.Source,
		})
	case event.PermissionProfile:
		f.permissionProfile(b)
	case event.ApprovalModeChanged:
		f.approvalMode(b)
	case event.GoalChanged:
		f.goal(b)
	case event.TodoSnapshot:
		f.todo(b)
	case event.WorkspaceBranch:
		f.branch(b)
	case event.NameChanged:
		f.s.Name = b.NewName
		f.say(msp.NoteSessionNameChanged, &msp.SessionNameChangedParams{Durable: f.here(), Name: b.NewName})
	case event.SessionForked:
		f.s.Fork = &msp.ForkProvenance{SessionID: b.SourceSessionID, CommandID: b.CommandID, CutCursor: b.CutCursor, CutExplicit: b.CutExplicit}
		f.s.Side = nil
	case event.SideStarted:
		f.s.Side = &msp.SideProvenance{SessionID: b.SourceSessionID, CommandID: b.CommandID, CutCursor: b.CutCursor}
		f.s.Fork = nil
	}
}

func client(c *event.Client) *msp.ClientInfo {
	if c == nil {
		return nil
	}
	return &msp.ClientInfo{Name: c.Name, Title: c.Title, Version: c.Version}
}

// opened: another process goes on with the session. The mode in force is then
// one that was read from the log, and what ran in the background is gone with
// the process it ran in.
func (f *Fold) opened(b event.SessionOpened) {
	if !b.Resume {
		return
	}
	f.s.Mode.Source = msp.ApprovalModeSourceReplay
	f.endOrphans()
}

// resumed: a client has loaded the session again. That its mode is one from the
// log is said, because the state of a client's view has to follow ours.
func (f *Fold) resumed(b event.SessionResumed) {
	f.s.Mode.Source = msp.ApprovalModeSourceReplay
	p := &msp.SessionApprovalModeChangedParams{
		Durable: f.here(), CommandID: b.CommandID, Mode: f.s.Mode.Mode, Source: f.s.Mode.Source,
	}
	if b.Client != nil {
		p.ClientName = b.Client.Name
	}
	f.say(msp.NoteSessionApprovalModeChanged, p)
}

func (f *Fold) metadata(b event.Metadata) {
	if b.WorkspaceRoot != "" {
		f.s.Workspace = b.WorkspaceRoot
	}
	if f.s.Model == nil && b.ModelID != "" {
		f.s.Model = &msp.EffectiveModel{ModelID: b.ModelID, ProviderID: named(b.ProviderID), Source: msp.ModelChangeSourceDefault}
	}
}

// modelConfigured is what a run uses. A session that is opened with another
// model than it had says so with its next run.
func (f *Fold) modelConfigured(b event.ModelConfigured) {
	if b.ModelID == "" {
		return
	}
	was := f.s.Model
	if was != nil && was.ModelID == b.ModelID && deref(was.ProviderID) == b.ProviderID {
		return
	}
	f.s.Model = &msp.EffectiveModel{ModelID: b.ModelID, ProviderID: named(b.ProviderID), Source: msp.ModelChangeSourceDefault}
	if was != nil {
		f.sayModel()
	}
}

func (f *Fold) modelReconfigured(b event.ModelReconfigured) {
	source := msp.ModelChangeSource(b.Source)
	if source == "" {
		source = msp.ModelChangeSourceUser
	}
	if b.Effective.ModelID == "" {
		return
	}
	f.s.Model = &msp.EffectiveModel{ModelID: b.Effective.ModelID, ProviderID: named(b.Effective.ProviderID), Source: source}
	f.sayModel()
}

func (f *Fold) sayModel() {
	m := f.s.Model
	f.say(msp.NoteSessionModelChanged, &msp.SessionModelChangedParams{
		Durable: f.here(), ModelID: m.ModelID, ProviderID: clone(m.ProviderID), Source: m.Source,
	})
}

// permissionProfile: a profile says the mode until somebody chooses one; one
// that is repeated when the session is opened again changes nothing.
func (f *Fold) permissionProfile(b event.PermissionProfile) {
	var mode msp.ApprovalMode
	switch b.Snapshot.Approval {
	case "never":
		mode = msp.ApprovalModeAllowAll
	case "on_request":
		mode = msp.ApprovalModeOnRequest
	case "untrusted":
		mode = msp.ApprovalModePromptUnmatched
	case "deny_unmatched":
		mode = msp.ApprovalModeDenyUnmatched
	default:
		return
	}
	if mode != f.s.ProfileMode {
		f.s.ProfileMode, f.s.Mode.Mode = mode, mode
	}
}

func (f *Fold) approvalMode(b event.ApprovalModeChanged) {
	m := &f.s.Mode
	same := m.Mode == msp.ApprovalMode(b.Mode)
	m.Mode, m.Source = msp.ApprovalMode(b.Mode), msp.ApprovalModeSource(b.Source)
	switch {
	case m.Source == msp.ApprovalModeSourceApprovalReconfigure:
		m.LastCommandID = named(b.CommandID)
	case m.Source != msp.ApprovalModeSourceReplay, same:
		return // what a session starts with, or goes on with, is nobody's change
	}
	f.say(msp.NoteSessionApprovalModeChanged, &msp.SessionApprovalModeChangedParams{
		Durable: f.here(), CommandID: b.CommandID, ClientName: b.ClientName, Mode: f.s.Mode.Mode, Source: f.s.Mode.Source,
	})
}

// goal: only a change of value is said.
func (f *Fold) goal(b event.GoalChanged) {
	var now *msp.Goal
	if g := b.Goal; g != nil {
		now = &msp.Goal{
			Objective: g.Objective, Status: g.Status, PercentComplete: int64(g.Percent), CurrentWork: g.CurrentWork, NextWork: g.NextWork,
		}
	}
	if was := f.s.Goal; was == now || (was != nil && now != nil && *was == *now) {
		return
	}
	f.s.Goal = now
	f.say(msp.NoteSessionGoalChanged, &msp.SessionGoalChangedParams{Durable: f.here(), Goal: clone(now)})
}

func (f *Fold) todo(b event.TodoSnapshot) {
	list := &msp.TodoListState{Revision: int64(b.Revision), SourceTool: "write_todos", Items: []msp.TodoItem{}}
	for _, i := range b.Items {
		status := msp.TodoStatus(i.Status)
		if i.Status == "in_progress" {
			status = msp.TodoStatusInProgress
		}
		list.Items = append(list.Items, msp.TodoItem{Status: status, Text: i.Text})
	}
	f.s.Todo = list
	f.say(msp.NoteSessionTodoListChanged, &msp.SessionTodoListChangedParams{
		Durable: f.here(), Revision: list.Revision, SourceTool: list.SourceTool, Items: append([]msp.TodoItem{}, list.Items...),
	})
}

// branch: observations repeat with every run; only a change is said.
func (f *Fold) branch(b event.WorkspaceBranch) {
	now := &msp.BranchState{WorkspaceRoot: b.WorkspaceRoot, VCS: msp.Vcs(b.VCS)}
	if b.Reference.Kind == "branch" && b.Reference.Name != "" {
		now.Branch = &b.Reference.Name
	}
	was := f.s.Branch
	if was != nil && deref(was.Branch) == deref(now.Branch) && was.WorkspaceRoot == now.WorkspaceRoot && was.VCS == now.VCS {
		return
	}
	f.s.Branch = now
	f.say(msp.NoteSessionBranchChanged, &msp.SessionBranchChangedParams{
		Durable: f.here(), WorkspaceRoot: now.WorkspaceRoot, Branch: clone(now.Branch), VCS: now.VCS,
	})
}

// named is a pointer to s, nil for "".
func named(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// clone is a copy of what p points at, so that a notification shares nothing
// with the fold.
func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// oneLine is the first line of s, at most limit bytes.
func oneLine(s string, limit int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	s, _ = clip(s, limit)
	return s
}

// clip cuts s to limit bytes without half a character; true when it cut.
func clip(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	return strings.ToValidUTF8(s[:limit], ""), true
}
