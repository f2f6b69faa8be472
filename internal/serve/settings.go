package serve

import (
	"strings"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
)

func setModel(k *call, s *feed, c host.Command, p msp.SessionSetModelParams) (msp.SessionSetModelResult, error) {
	if p.Model.ModelID == "" {
		return msp.SessionSetModelResult{}, msp.InvalidParams("model.modelId", "is empty")
	}
	err := s.session.SetModel(k.ctx, c, p.Model.ProviderID, p.Model.ModelID)
	return msp.SessionSetModelResult{CommandID: c.ID, Status: msp.CommandStatusAccepted}, err
}

func setEffort(k *call, s *feed, c host.Command, p msp.SessionSetReasoningEffortParams) (msp.SessionSetReasoningEffortResult, error) {
	err := s.session.SetEffort(k.ctx, c, string(p.ReasoningEffort))
	return msp.SessionSetReasoningEffortResult{CommandID: c.ID, Status: msp.CommandStatusAccepted}, err
}

func setApprovalMode(k *call, s *feed, c host.Command, p msp.SessionSetApprovalModeParams) (msp.SessionSetApprovalModeResult, error) {
	changed, err := s.session.SetApprovalMode(k.ctx, c, string(p.Mode))
	out := msp.SessionSetApprovalModeResult{CommandID: c.ID, Status: msp.CommandStatusAccepted}
	if changed {
		out.ApplyOutcome = msp.ApprovalModeApplyOutcomeCompleted
		out.EffectiveMode = msp.EffectiveApprovalModeState{
			LastCommandID: &c.ID, Mode: p.Mode, Source: msp.ApprovalModeSourceApprovalReconfigure,
		}
	} else {
		out.ApplyOutcome = msp.ApprovalModeApplyOutcomeNoop
		out.EffectiveMode = s.view.Fold().ApprovalMode()
		out.EffectiveMode.Mode = p.Mode
	}
	return out, err
}

func rename(k *call, s *feed, c host.Command, p msp.SessionRenameParams) (msp.SessionRenameResult, error) {
	if strings.TrimSpace(p.Name) == "" {
		return msp.SessionRenameResult{}, msp.InvalidParams("name", "is empty")
	}
	name, err := s.session.Rename(k.ctx, c, p.Name)
	return msp.SessionRenameResult{CommandID: c.ID, Name: name, Status: msp.CommandStatusAccepted}, err
}

func compact(k *call, s *feed, c host.Command, p msp.SessionCompactParams) (msp.SessionCompactResult, error) {
	out := msp.SessionCompactResult{CommandID: c.ID, Status: msp.CompactStatusAccepted}
	id, err := turnID(p.TurnID)
	if err != nil {
		return out, err
	}
	accepted, reason, err := s.session.Compact(k.ctx, c, id)
	if !accepted {
		out.Status, out.Reason = msp.CompactStatusNoop, reason
	}
	return out, err
}

func userShell(k *call, s *feed, c host.Command, p msp.SessionUserShellParams) (msp.SessionUserShellResult, error) {
	out := msp.SessionUserShellResult{CommandID: c.ID, Status: msp.CommandStatusAccepted}
	if strings.TrimSpace(p.CommandText) == "" {
		return out, msp.InvalidParams("commandText", "is empty")
	}
	return out, s.session.UserShell(k.ctx, c, p.CommandText)
}

func setGoal(k *call, s *feed, c host.Command, p msp.GoalSetParams) (msp.GoalCommandResult, error) {
	return k.goal(s, c, "set", p.Objective)
}

func editGoal(k *call, s *feed, c host.Command, p msp.GoalEditParams) (msp.GoalCommandResult, error) {
	return k.goal(s, c, "edit", p.Objective)
}

func clearGoal(k *call, s *feed, c host.Command, _ msp.GoalClearParams) (msp.GoalCommandResult, error) {
	return k.goal(s, c, "clear", "")
}

func pauseGoal(k *call, s *feed, c host.Command, _ msp.GoalPauseParams) (msp.GoalCommandResult, error) {
	return k.goal(s, c, "pause", "")
}

func resumeGoal(k *call, s *feed, c host.Command, _ msp.GoalResumeParams) (msp.GoalCommandResult, error) {
	return k.goal(s, c, "resume", "")
}

func (k *call) goal(s *feed, c host.Command, verb, objective string) (msp.GoalCommandResult, error) {
	out := msp.GoalCommandResult{CommandID: c.ID, Status: msp.CommandStatusAccepted}
	objective = strings.TrimSpace(objective)
	if objective == "" && (verb == "set" || verb == "edit") {
		return out, msp.InvalidParams("objective", "is empty")
	}
	var err error
	out.TurnID, err = s.session.Goal(k.ctx, c, verb, objective)
	return out, err
}

func backgroundTask(k *call, s *feed, c host.Command, p msp.TaskBackgroundParams) (msp.TaskCommandResult, error) {
	return msp.TaskCommandResult{CommandID: c.ID, TaskID: p.TaskID, Status: msp.CommandStatusAccepted}, s.session.Background(k.ctx, c, p.TaskID)
}

func stopTask(k *call, s *feed, c host.Command, p msp.TaskStopParams) (msp.TaskCommandResult, error) {
	return msp.TaskCommandResult{CommandID: c.ID, TaskID: p.TaskID, Status: msp.CommandStatusAccepted}, s.session.Stop(k.ctx, c, p.TaskID)
}

func stopAllTasks(k *call, s *feed, c host.Command, _ msp.TaskStopAllParams) (msp.TaskStopAllResult, error) {
	return msp.TaskStopAllResult{CommandID: c.ID, Status: msp.CommandStatusAccepted}, s.session.StopAll(k.ctx, c)
}
