package trajectory

import "strings"

// knownPayload reports whether a record's payload type, and for the catch-all
// runtime.session its kind, is one that is documented for the log (seed 000,
// Payload families; CLI.md 4.1; STREAM.md (b)). It decides a counter and the
// decoded flag; every record is exported alike.
func knownPayload(payloadType, kind string) bool {
	switch payloadType {
	case "runtime.session":
		switch kind {
		case "run", "task", "approval", "agent_tree_initialized", "security_mode":
			return true
		}
		return false
	case "runtime.session.task", "runtime.session.metadata", "runtime.session.route_facts",
		"runtime.session.capture_selection", "runtime.session.permission_format_declared",
		"runtime.session.permission_profile_committed", "runtime.user_intent.accepted",
		"runtime.user_intent.materialized", "runtime.retained_fact", "runtime.model_reconfigure.completed",
		"run.model.configured", "tool_batch.effect.started", "tool_batch.effect.terminal",
		"session.workspace_branch.observed", "session.opened.observed", "session.startup_phases.observed",
		"session.name.changed", "session.end", "session.resumed", "session.fork.created", "session.fork.turn",
		"session.description.generated", "session.subscription_entrypoint.impression",
		"user_shell.command", "user_shell.result", "user_shell.rejected":
		return true
	}
	for _, family := range [...]string{
		"openmuse.", "runtime.command_intake.", "session.payment_gate.", "session.login.", "session.worktree.",
		"session.mailbox.", "subagent.control.", "context.compact.manual.", "approval_wait.effect.",
		"reminder.cleanup_effect.",
	} {
		if strings.HasPrefix(payloadType, family) {
			return true
		}
	}
	return false
}
