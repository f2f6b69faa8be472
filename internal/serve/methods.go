package serve

import (
	"github.com/openmuse/muse/internal/msp"
)

// methods is what this host answers. What stands in the protocol and not here
// is answered as an unknown method.
func methods() map[string]method {
	return map[string]method{
		msp.MethodSessionStart:    query(startSession),
		msp.MethodSessionResume:   stored(query(resumeSession)),
		msp.MethodSessionFork:     stored(query(forkSession)),
		msp.MethodSessionSideChat: stored(query(sideChat)),
		msp.MethodSessionRead:     stored(query(readSession)),
		msp.MethodSessionRename:   stored(command(rename)),
		msp.MethodSessionList:     query(listSessions),

		msp.MethodTurnStart:     command(startTurn),
		msp.MethodTurnSteer:     command(steerTurn),
		msp.MethodTurnInterrupt: command(interruptTurn),
		msp.MethodTurnCancel:    command(cancelTurn),
		msp.MethodTurnUnqueue:   command(unqueueTurn),

		msp.MethodSessionCompact:            command(compact),
		msp.MethodSessionSetModel:           command(setModel),
		msp.MethodSessionSetReasoningEffort: command(setEffort),
		msp.MethodSessionSetApprovalMode:    command(setApprovalMode),
		msp.MethodSessionUserShell:          granted(msp.CapabilityNameUserShell, command(userShell)),

		msp.MethodViewSubscribe:   query(subscribe),
		msp.MethodViewUnsubscribe: query(unsubscribe),
		msp.MethodViewPage:        query(page),
		msp.MethodItemReadOutput:  query(readOutput),

		msp.MethodApprovalDecide:      command(decideApproval),
		msp.MethodApprovalListPending: query(listPending),
		msp.MethodUserInputAnswer:     command(answerUserInput),
		msp.MethodUserInputCancel:     command(cancelUserInput),
		msp.MethodUserInputClarify:    command(clarifyUserInput),
		msp.MethodUserInputInterrupt:  command(interruptUserInput),

		msp.MethodGoalSet:    command(setGoal),
		msp.MethodGoalEdit:   command(editGoal),
		msp.MethodGoalClear:  command(clearGoal),
		msp.MethodGoalPause:  command(pauseGoal),
		msp.MethodGoalResume: command(resumeGoal),

		msp.MethodTaskBackground: command(backgroundTask),
		msp.MethodTaskStop:       command(stopTask),
		msp.MethodTaskStopAll:    command(stopAllTasks),
		msp.MethodTaskList:       trial(msp.MethodTaskList, query(listTasks)),

		msp.MethodModelList:   query(listModels),
		msp.MethodMediaUpload: command(uploadMedia),
		msp.MethodUsageRead:   query(readUsage),

		msp.MethodSkillList:          query(listSkills),
		msp.MethodSkillSetActivation: command(setSkillActivation),
		msp.MethodHookList:           query(listHooks),
		msp.MethodPluginList:         query(listPlugins),

		msp.MethodSubagentSendMessage:  command(noSubagent[msp.SubagentInputParams]),
		msp.MethodSubagentFollowupTask: command(noSubagent[msp.SubagentInputParams]),
		msp.MethodSubagentInterrupt:    command(noSubagent[msp.SubagentOwnerReasonParams]),
		msp.MethodSubagentStop:         command(noSubagent[msp.SubagentOwnerReasonParams]),
		msp.MethodSubagentClose:        command(noSubagent[msp.SubagentOwnerReasonParams]),
		msp.MethodSubagentResume:       command(noSubagent[msp.SubagentTargetParams]),
		msp.MethodSubagentReopen:       command(noSubagent[msp.SubagentTargetParams]),
		msp.MethodSubagentReadResult:   command(noSubagent[msp.SubagentTargetParams]),

		msp.MethodWorkflowCancel:       command(noWorkflow[msp.WorkflowCancelParams]),
		msp.MethodWorkflowPause:        command(noWorkflow[msp.WorkflowPauseParams]),
		msp.MethodWorkflowChildControl: command(noWorkflow[msp.WorkflowChildControlParams]),

		msp.MethodFeedbackSubmit:            granted(msp.CapabilityNameFeedback, query(submitFeedback)),
		msp.MethodComputerUseSettingsRead:   query(readComputerUse),
		msp.MethodComputerUseSettingsUpdate: query(updateComputerUse),
	}
}

// stored marks a method that needs sessions that outlive the host.
func stored(m method) method {
	m.stored = true
	return m
}

// granted refuses a method whose capability the client does not have.
func granted(name msp.CapabilityName, m method) method {
	run := m.run
	m.run = func(k *call) (any, error) {
		if !k.has(name) {
			return nil, msp.CapabilityRequired(name)
		}
		return run(k)
	}
	return m
}

// trial refuses a method outside the stable surface to a client that did not
// ask for the experimental interface.
func trial(name string, m method) method {
	run := m.run
	m.run = func(k *call) (any, error) {
		if !k.tries() {
			return nil, msp.ExperimentalMethod(name)
		}
		return run(k)
	}
	return m
}

// tries reports whether the client asked for the experimental interface.
func (c *conn) tries() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caps.ExperimentalAPI
}

// experimental are methods that the protocol documents outside its stable
// surface (MSP.md 7.5) and that do not exist here; a client that did not ask
// for the experimental interface is told that first.
func experimental(name string) bool {
	switch name {
	case "account/read", "account/loginStart", "account/loginCancel", "account/logout",
		"mcpServer/list", "mcpServer/oauthLogin", "mcpServer/oauthLoginCancel", "mcpServer/oauthLogout",
		"permissionProfile/list", "session/setPermissionProfile",
		"settings/read", "settings/readSchema", "settings/writeValue", "settings/writeMany",
		"worktree/list", "log/page", "log/streams", "log/subscribe", "log/unsubscribe",
		"projection/list", "projection/read":
		return true
	}
	return false
}

// unknown refuses a method that this host does not have.
func (c *conn) unknown(name string) *msp.Error {
	if experimental(name) && !c.tries() {
		return msp.ExperimentalMethod(name)
	}
	return msp.MethodNotFound(name)
}
