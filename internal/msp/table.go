package msp

import (
	"reflect"
	"slices"
	"sync"
)

// MethodSpec describes a method.
type MethodSpec struct {
	Name string
	// Command methods change state: they carry a commandId, are recorded before
	// they are acknowledged and may be replayed (MSP.md 5).
	Command bool
	// Experimental methods exist only for a client that asked for the
	// experimental interface (MSP.md 4).
	Experimental bool

	params reflect.Type // nil: takes none
	result reflect.Type
}

// Params returns a pointer to new, zero params, or nil for a method that takes
// none.
func (m MethodSpec) Params() any { return newOf(m.params) }

// Result returns a pointer to a new, zero result.
func (m MethodSpec) Result() any { return newOf(m.result) }

// NotificationSpec describes a notification of the stable surface.
type NotificationSpec struct {
	Name       string
	FromClient bool

	params reflect.Type // nil: has none
}

// Params returns a pointer to new, zero params, or nil for a notification that
// has none.
func (n NotificationSpec) Params() any { return newOf(n.params) }

// ServerRequestSpec describes a request that the host sends.
type ServerRequestSpec struct {
	Name string

	params, result reflect.Type
}

// Params returns a pointer to new, zero params.
func (s ServerRequestSpec) Params() any { return newOf(s.params) }

// Result returns a pointer to a new, zero result.
func (s ServerRequestSpec) Result() any { return newOf(s.result) }

func newOf(t reflect.Type) any {
	if t == nil {
		return nil
	}
	return reflect.New(t).Interface()
}

// Methods lists the stable methods in the order of MSP.md 7. The caller owns the
// slice.
func Methods() []MethodSpec { return slices.Clone(methodTable()) }

// ExperimentalMethods lists the methods beyond the stable surface. The caller
// owns the slice.
func ExperimentalMethods() []MethodSpec { return slices.Clone(experimentalTable()) }

// Notifications lists the stable notifications in the order of MSP.md 8. The
// caller owns the slice.
func Notifications() []NotificationSpec { return slices.Clone(notificationTable()) }

// ServerRequests lists the requests that the host sends. The caller owns the
// slice.
func ServerRequests() []ServerRequestSpec { return slices.Clone(serverRequestTable()) }

// LookupMethod finds a stable or experimental method by name.
func LookupMethod(name string) (MethodSpec, bool) {
	m, ok := methodIndex()[name]
	return m, ok
}

// LookupNotification finds a notification by name.
func LookupNotification(name string) (NotificationSpec, bool) {
	n, ok := notificationIndex()[name]
	return n, ok
}

// LookupServerRequest finds a request of the host by name.
func LookupServerRequest(name string) (ServerRequestSpec, bool) {
	for _, s := range serverRequestTable() {
		if s.Name == name {
			return s, true
		}
	}
	return ServerRequestSpec{}, false
}

// Protected says that a notification is never dropped, gapped or opted out of
// (MSP.md 6). Responses and server requests are protected too.
func Protected(notification string) bool {
	switch notification {
	case NoteApprovalResolved, NoteUserInputSettled, NoteViewGap:
		return true
	}
	return false
}

var methodIndex = sync.OnceValue(func() map[string]MethodSpec {
	index := make(map[string]MethodSpec)
	for _, m := range slices.Concat(methodTable(), experimentalTable()) {
		index[m.Name] = m
	}
	return index
})

var notificationIndex = sync.OnceValue(func() map[string]NotificationSpec {
	index := make(map[string]NotificationSpec)
	for _, n := range notificationTable() {
		index[n.Name] = n
	}
	return index
})

var methodTable = sync.OnceValue(func() []MethodSpec {
	return []MethodSpec{
		{Name: MethodInitialize, params: reflect.TypeFor[InitializeParams](), result: reflect.TypeFor[InitializeResult]()},
		{Name: MethodSubagentSendMessage, params: reflect.TypeFor[SubagentInputParams](), result: reflect.TypeFor[CommandAcceptedResult](), Command: true},
		{Name: MethodSubagentFollowupTask, params: reflect.TypeFor[SubagentInputParams](), result: reflect.TypeFor[CommandAcceptedResult](), Command: true},
		{Name: MethodSubagentInterrupt, params: reflect.TypeFor[SubagentOwnerReasonParams](), result: reflect.TypeFor[CommandAcceptedResult](), Command: true},
		{Name: MethodSubagentStop, params: reflect.TypeFor[SubagentOwnerReasonParams](), result: reflect.TypeFor[CommandAcceptedResult](), Command: true},
		{Name: MethodSubagentResume, params: reflect.TypeFor[SubagentTargetParams](), result: reflect.TypeFor[CommandAcceptedResult](), Command: true},
		{Name: MethodSubagentReopen, params: reflect.TypeFor[SubagentTargetParams](), result: reflect.TypeFor[CommandAcceptedResult](), Command: true},
		{Name: MethodSubagentClose, params: reflect.TypeFor[SubagentOwnerReasonParams](), result: reflect.TypeFor[CommandAcceptedResult](), Command: true},
		{Name: MethodSubagentReadResult, params: reflect.TypeFor[SubagentTargetParams](), result: reflect.TypeFor[CommandAcceptedResult](), Command: true},
		{Name: MethodSessionStart, params: reflect.TypeFor[SessionStartParams](), result: reflect.TypeFor[SessionStartResult](), Command: true},
		{Name: MethodSessionResume, params: reflect.TypeFor[SessionResumeParams](), result: reflect.TypeFor[SessionResumeResult](), Command: true},
		{Name: MethodSessionFork, params: reflect.TypeFor[SessionForkParams](), result: reflect.TypeFor[SessionForkResult](), Command: true},
		{Name: MethodSessionList, params: reflect.TypeFor[SessionListParams](), result: reflect.TypeFor[SessionListResult]()},
		{Name: MethodSessionRead, params: reflect.TypeFor[SessionReadParams](), result: reflect.TypeFor[SessionReadResult]()},
		{Name: MethodSessionSideChat, params: reflect.TypeFor[SessionSideChatParams](), result: reflect.TypeFor[SessionSideChatResult](), Command: true},
		{Name: MethodTurnStart, params: reflect.TypeFor[TurnStartParams](), result: reflect.TypeFor[TurnStartResult](), Command: true},
		{Name: MethodTurnSteer, params: reflect.TypeFor[TurnSteerParams](), result: reflect.TypeFor[TurnSteerResult](), Command: true},
		{Name: MethodTurnInterrupt, params: reflect.TypeFor[TurnInterruptParams](), result: reflect.TypeFor[TurnInterruptResult](), Command: true},
		{Name: MethodTurnCancel, params: reflect.TypeFor[TurnCancelParams](), result: reflect.TypeFor[TurnCancelResult](), Command: true},
		{Name: MethodTurnUnqueue, params: reflect.TypeFor[TurnUnqueueParams](), result: reflect.TypeFor[TurnUnqueueResult](), Command: true},
		{Name: MethodSessionCompact, params: reflect.TypeFor[SessionCompactParams](), result: reflect.TypeFor[SessionCompactResult](), Command: true},
		{Name: MethodSessionSetModel, params: reflect.TypeFor[SessionSetModelParams](), result: reflect.TypeFor[SessionSetModelResult](), Command: true},
		{Name: MethodSessionRename, params: reflect.TypeFor[SessionRenameParams](), result: reflect.TypeFor[SessionRenameResult](), Command: true},
		{Name: MethodSessionSetReasoningEffort, params: reflect.TypeFor[SessionSetReasoningEffortParams](), result: reflect.TypeFor[SessionSetReasoningEffortResult](), Command: true},
		{Name: MethodSessionUserShell, params: reflect.TypeFor[SessionUserShellParams](), result: reflect.TypeFor[SessionUserShellResult](), Command: true},
		{Name: MethodModelList, params: reflect.TypeFor[ModelListParams](), result: reflect.TypeFor[ModelListResult]()},
		{Name: MethodSkillList, params: reflect.TypeFor[SkillListParams](), result: reflect.TypeFor[SkillListResult]()},
		{Name: MethodSkillSetActivation, params: reflect.TypeFor[SkillSetActivationParams](), result: reflect.TypeFor[SkillSetActivationResult](), Command: true},
		{Name: MethodHookList, params: reflect.TypeFor[HookListParams](), result: reflect.TypeFor[HookListResult]()},
		{Name: MethodPluginList, params: reflect.TypeFor[PluginListParams](), result: reflect.TypeFor[PluginListResult]()},
		{Name: MethodTaskBackground, params: reflect.TypeFor[TaskBackgroundParams](), result: reflect.TypeFor[TaskCommandResult](), Command: true},
		{Name: MethodTaskStop, params: reflect.TypeFor[TaskStopParams](), result: reflect.TypeFor[TaskCommandResult](), Command: true},
		{Name: MethodTaskStopAll, params: reflect.TypeFor[TaskStopAllParams](), result: reflect.TypeFor[TaskStopAllResult](), Command: true},
		{Name: MethodGoalSet, params: reflect.TypeFor[GoalSetParams](), result: reflect.TypeFor[GoalCommandResult](), Command: true},
		{Name: MethodGoalEdit, params: reflect.TypeFor[GoalEditParams](), result: reflect.TypeFor[GoalCommandResult](), Command: true},
		{Name: MethodGoalClear, params: reflect.TypeFor[GoalClearParams](), result: reflect.TypeFor[GoalCommandResult](), Command: true},
		{Name: MethodGoalPause, params: reflect.TypeFor[GoalPauseParams](), result: reflect.TypeFor[GoalCommandResult](), Command: true},
		{Name: MethodGoalResume, params: reflect.TypeFor[GoalResumeParams](), result: reflect.TypeFor[GoalCommandResult](), Command: true},
		{Name: MethodWorkflowCancel, params: reflect.TypeFor[WorkflowCancelParams](), result: reflect.TypeFor[WorkflowControlResult](), Command: true},
		{Name: MethodWorkflowChildControl, params: reflect.TypeFor[WorkflowChildControlParams](), result: reflect.TypeFor[WorkflowControlResult](), Command: true},
		{Name: MethodWorkflowPause, params: reflect.TypeFor[WorkflowPauseParams](), result: reflect.TypeFor[WorkflowControlResult](), Command: true},
		{Name: MethodMediaUpload, params: reflect.TypeFor[MediaUploadParams](), result: reflect.TypeFor[MediaUploadResult](), Command: true},
		{Name: MethodViewSubscribe, params: reflect.TypeFor[ViewSubscribeParams](), result: reflect.TypeFor[ViewSubscribeResult]()},
		{Name: MethodViewUnsubscribe, params: reflect.TypeFor[ViewUnsubscribeParams](), result: reflect.TypeFor[ViewUnsubscribeResult]()},
		{Name: MethodViewPage, params: reflect.TypeFor[ViewPageParams](), result: reflect.TypeFor[ViewPageResult]()},
		{Name: MethodItemReadOutput, params: reflect.TypeFor[ItemReadOutputParams](), result: reflect.TypeFor[ItemReadOutputResult]()},
		{Name: MethodApprovalDecide, params: reflect.TypeFor[ApprovalDecideParams](), result: reflect.TypeFor[ApprovalDecideResult](), Command: true},
		{Name: MethodApprovalListPending, params: reflect.TypeFor[ApprovalListPendingParams](), result: reflect.TypeFor[ApprovalListPendingResult]()},
		{Name: MethodSessionSetApprovalMode, params: reflect.TypeFor[SessionSetApprovalModeParams](), result: reflect.TypeFor[SessionSetApprovalModeResult](), Command: true},
		{Name: MethodUserInputAnswer, params: reflect.TypeFor[UserInputAnswerParams](), result: reflect.TypeFor[UserInputAnswerResult](), Command: true},
		{Name: MethodUserInputCancel, params: reflect.TypeFor[UserInputCancelParams](), result: reflect.TypeFor[UserInputCancelResult](), Command: true},
		{Name: MethodUserInputClarify, params: reflect.TypeFor[UserInputClarifyParams](), result: reflect.TypeFor[UserInputClarifyResult](), Command: true},
		{Name: MethodUserInputInterrupt, params: reflect.TypeFor[UserInputInterruptParams](), result: reflect.TypeFor[UserInputInterruptResult](), Command: true},
		{Name: MethodUsageRead, result: reflect.TypeFor[UsageReadResult]()},
		{Name: MethodFeedbackSubmit, params: reflect.TypeFor[FeedbackSubmitParams](), result: reflect.TypeFor[FeedbackSubmitResult]()},
		{Name: MethodComputerUseSettingsRead, params: reflect.TypeFor[ComputerUseSettingsReadParams](), result: reflect.TypeFor[ComputerUseSettings]()},
		{Name: MethodComputerUseSettingsUpdate, params: reflect.TypeFor[ComputerUseSettingsUpdateParams](), result: reflect.TypeFor[ComputerUseSettings]()},
	}
})

// The published types describe task/list and the published index of stable
// methods leaves it out (MSP.md 7.5).
var experimentalTable = sync.OnceValue(func() []MethodSpec {
	return []MethodSpec{
		{Name: MethodTaskList, Experimental: true, params: reflect.TypeFor[TaskListParams](), result: reflect.TypeFor[TaskListResult]()},
	}
})

var notificationTable = sync.OnceValue(func() []NotificationSpec {
	return []NotificationSpec{
		{Name: NoteInitialized, FromClient: true},
		{Name: NoteSessionStarted, params: reflect.TypeFor[SessionStartedParams]()},
		{Name: NoteSessionClosed, params: reflect.TypeFor[SessionClosedParams]()},
		{Name: NoteSkillChanged, params: reflect.TypeFor[SkillChangedParams]()},
		{Name: NoteTurnStarted, params: reflect.TypeFor[TurnStartedParams]()},
		{Name: NoteTurnCompleted, params: reflect.TypeFor[TurnCompletedParams]()},
		{Name: NoteTurnRetracted, params: reflect.TypeFor[TurnRetractedParams]()},
		{Name: NoteTurnRetryScheduled, params: reflect.TypeFor[TurnRetryScheduledParams]()},
		{Name: NoteTurnUnqueued, params: reflect.TypeFor[TurnUnqueuedParams]()},
		{Name: NoteTurnForegroundCompleted, params: reflect.TypeFor[TurnForegroundCompletedParams]()},
		{Name: NoteItemStarted, params: reflect.TypeFor[ItemStartedParams]()},
		{Name: NoteItemUpdated, params: reflect.TypeFor[ItemUpdatedParams]()},
		{Name: NoteItemDelta, params: reflect.TypeFor[ItemDeltaParams]()},
		{Name: NoteItemCompleted, params: reflect.TypeFor[ItemCompletedParams]()},
		{Name: NoteViewGap, params: reflect.TypeFor[ViewGapParams]()},
		{Name: NoteApprovalRequested, params: reflect.TypeFor[ApprovalRequestParams]()},
		{Name: NoteApprovalUpdated, params: reflect.TypeFor[ApprovalUpdatedParams]()},
		{Name: NoteApprovalResolved, params: reflect.TypeFor[ApprovalResolvedParams]()},
		{Name: NoteUserInputRequested, params: reflect.TypeFor[UserInputRequestParams]()},
		{Name: NoteUserInputSettled, params: reflect.TypeFor[UserInputSettledParams]()},
		{Name: NoteUserInputEngaged, params: reflect.TypeFor[UserInputEngagedParams](), FromClient: true},
		{Name: NoteSessionModelChanged, params: reflect.TypeFor[SessionModelChangedParams]()},
		{Name: NoteSessionReasoningEffortChanged, params: reflect.TypeFor[SessionReasoningEffortChangedParams]()},
		{Name: NoteSessionStatusChanged, params: reflect.TypeFor[SessionStatusChangedParams]()},
		{Name: NoteSessionGoalChanged, params: reflect.TypeFor[SessionGoalChangedParams]()},
		{Name: NoteSessionTodoListChanged, params: reflect.TypeFor[SessionTodoListChangedParams]()},
		{Name: NoteSessionBranchChanged, params: reflect.TypeFor[SessionBranchChangedParams]()},
		{Name: NoteSessionTokenUsage, params: reflect.TypeFor[SessionTokenUsageParams]()},
		{Name: NoteSessionContextUsage, params: reflect.TypeFor[SessionContextUsageParams]()},
		{Name: NoteSessionApprovalModeChanged, params: reflect.TypeFor[SessionApprovalModeChangedParams]()},
		{Name: NoteSessionModelRouteUnserved, params: reflect.TypeFor[SessionModelRouteUnservedParams]()},
		{Name: NoteSessionNameChanged, params: reflect.TypeFor[SessionNameChangedParams]()},
		{Name: NoteSessionViewHealthChanged, params: reflect.TypeFor[SessionViewHealthChangedParams]()},
		{Name: NoteSessionListChanged, params: reflect.TypeFor[SessionListChangedParams]()},
		{Name: NoteUsageChanged, params: reflect.TypeFor[SubscriptionUsage]()},
	}
})

var serverRequestTable = sync.OnceValue(func() []ServerRequestSpec {
	return []ServerRequestSpec{
		{Name: ServerRequestApprovalRequest, params: reflect.TypeFor[ApprovalRequestParams](), result: reflect.TypeFor[RequestReceipt]()},
		{Name: ServerRequestUserInputRequest, params: reflect.TypeFor[UserInputRequestParams](), result: reflect.TypeFor[RequestReceipt]()},
	}
})
