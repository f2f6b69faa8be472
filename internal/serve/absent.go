package serve

import (
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
)

// What a session of this host does not have: lists of it are empty, and what
// names one of it names nothing. Nothing here pretends to have been done.

func listSkills(k *call, p msp.SkillListParams) (msp.SkillListResult, error) {
	return msp.SkillListResult{Skills: []msp.SkillCatalogEntry{}}, k.exists(p.SessionID)
}

func listHooks(k *call, p msp.HookListParams) (msp.HookListResult, error) {
	return msp.HookListResult{Hooks: []msp.HookCatalogEntry{}}, k.exists(p.SessionID)
}

func listPlugins(k *call, p msp.PluginListParams) (msp.PluginListResult, error) {
	return msp.PluginListResult{Plugins: []msp.PluginCatalogEntry{}}, k.exists(p.SessionID)
}

// exists refuses a session that is not loaded.
func (k *call) exists(sessionID string) error {
	_, err := k.opts.Host.Loaded(sessionID)
	return err
}

func setSkillActivation(_ *call, _ *feed, _ host.Command, p msp.SkillSetActivationParams) (msp.SkillSetActivationResult, error) {
	return msp.SkillSetActivationResult{}, msp.SkillNotFound(p.Selector)
}

func noSubagent[P any](_ *call, _ *feed, c host.Command, _ P) (msp.CommandAcceptedResult, error) {
	return msp.CommandAcceptedResult{}, msp.CommandRejected(c.ID, msp.ReasonInvalidTarget, "the session has no such subagent")
}

func noWorkflow[P any](_ *call, _ *feed, c host.Command, _ P) (msp.WorkflowControlResult, error) {
	return msp.WorkflowControlResult{}, msp.CommandRejected(c.ID, msp.ReasonInvalidTarget, "the session has no such workflow run")
}

// readUsage answers without a usage: no provider of this host tells of one.
func readUsage(*call, struct{}) (msp.UsageReadResult, error) { return msp.UsageReadResult{}, nil }

// submitFeedback is not reached: the capability is never granted.
func submitFeedback(*call, msp.FeedbackSubmitParams) (msp.FeedbackSubmitResult, error) {
	return msp.FeedbackSubmitResult{}, msp.CapabilityRequired(msp.CapabilityNameFeedback)
}

func readComputerUse(*call, msp.ComputerUseSettingsReadParams) (msp.ComputerUseSettings, error) {
	return msp.ComputerUseSettings{}, msp.ComputerUseUnavailable()
}

func updateComputerUse(*call, msp.ComputerUseSettingsUpdateParams) (msp.ComputerUseSettings, error) {
	return msp.ComputerUseSettings{}, msp.ComputerUseUnavailable()
}
