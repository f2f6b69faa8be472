package cli

import "github.com/spf13/pflag"

// registerModel adds the flags that choose the model, which every command that
// opens sessions has.
func (o *execOptions) registerModel(f *pflag.FlagSet) {
	f.StringVar(&o.provider, "provider", "", "model provider: meta, openai, openai-chat, anthropic, echo, script, or one of settings.json")
	f.StringVar(&o.model, "model", "", "model `id`")
	f.StringVar(&o.effort, "reasoning-effort", "", "none, minimal, low, medium, high, xhigh, max or ultra")
	f.StringVar(&o.baseURL, "base-url", "", "address of the model service")
	f.StringVar(&o.script, "script", "", "recorded model `file` for --provider script")
	f.IntVar(&o.echoDelay, "echo-delay-ms", 0, "wait before the echo provider answers")
}

// registerAsking adds the flags that say what is asked about, for commands whose
// sessions are all asked about alike.
func (o *execOptions) registerAsking(f *pflag.FlagSet) {
	f.StringVar(&o.approvalMode, "approval-mode", "", "untrusted, on-request or never")
	f.StringVar(&o.permissionProfile, "permission-profile", "", "permission profile `id`")
	f.StringVar(&o.approvalJudge, "approval-judge", "", "automated reviewer: off or on")
	f.BoolVar(&o.disableApproval, "disable-approval", false, "never ask; the sandbox stays on")
	f.BoolVar(&o.yolo, "yolo", false, "no approval, no sandbox, workspace trusted: only for code you trust, in a disposable place")
}

// registerBounds adds the flags that say what the tools may touch, which every
// command that opens sessions has.
func (o *execOptions) registerBounds(f *pflag.FlagSet) {
	f.BoolVar(&o.trustWorkspace, "trust-workspace", false, "trust the workspace for this run: load its rules files")
	f.BoolVar(&o.disableSandbox, "disable-sandbox", false, "run shell commands without the OS sandbox")
	f.StringVar(&o.sandboxNetwork, "sandbox-network", "", "restricted, enabled or proxy-only")
	f.BoolVar(&o.disableWrite, "disable-write", false, "remove the tools that write files")
	f.BoolVar(&o.disableShell, "disable-shell", false, "remove the shell tools")
}
