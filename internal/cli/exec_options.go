package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/openmuse/muse/internal/ident"
)

// execOptions are the flags of exec as they were given (CLI.md 1.2 and 1.3).
type execOptions struct {
	args      []string // what is left beside the flags: the prompt
	prompt    string
	hasPrompt bool
	given     func(name string) bool

	json, jsonExtended  bool
	promptFile          string
	apiKeyStdin, apiKey bool
	outputSchema        string

	provider, preset, model, effort, baseURL string
	script                                   string
	echoDelay                                int
	images                                   []string
	parallel, noParallel                     bool

	workspace      string
	trustWorkspace bool
	noForeign      bool

	approvalMode      string
	permissionProfile string
	approvalJudge     string
	disableApproval   bool
	disableSandbox    bool
	yolo              bool
	sandboxNetwork    string
	approvalTimeout   time.Duration
	onApproval        string

	disableWrite, disableShell, shellTool, disableWeb bool
	userInputAutoResolve                              bool
	maxToolOutput                                     int

	maxSteps  int
	maxCost   float64
	maxTokens int64
	maxTime   time.Duration

	compactionStrategy string
	soft, hard         float64

	sessionID            string
	allowWorkspaceSwitch bool
	noSessionLog         bool

	subagentWorktrees bool
	later             laterFlags
}

// laterFlags are flags whose feature this build does not have. They are known,
// so that the refusal says so, and refused, so that nobody relies on them.
type laterFlags struct {
	worktree, worktreeBase, worktreeExisting string
	agents, workflowAPI                      string
}

func (o *execOptions) register(f *pflag.FlagSet) {
	f.SortFlags = false
	f.BoolVar(&o.json, "json", false, "write JSON events to stdout, one a line")
	f.BoolVar(&o.jsonExtended, "json-extended", false, "like --json, with openmuse.* events: usage, cost, tool arguments, retries, budgets")
	f.StringVar(&o.promptFile, "prompt-file", "", "read the prompt from this `file`")
	f.BoolVar(&o.apiKeyStdin, "api-key-stdin", false, "read the API key from stdin")
	f.StringVar(&o.outputSchema, "output-schema", "", "JSON Schema `file` that the final answer must fit")

	o.registerModel(f)
	f.StringVar(&o.preset, "preset", "", "preset `name`: native-basic, miniswe, or one of settings.json")
	f.StringArrayVar(&o.images, "image", nil, "attach a picture (`file`; may be repeated)")
	f.BoolVar(&o.parallel, "parallel-tool-calls", false, "let the model call several tools at once")
	f.BoolVar(&o.noParallel, "no-parallel-tool-calls", false, "one tool call at a time")

	f.StringVar(&o.workspace, "workspace", "", "workspace root (`dir`; default: the current directory)")
	o.registerBounds(f)
	f.BoolVar(&o.noForeign, "no-foreign-personal-context", false, "ignore personal rules of other agents")

	o.registerAsking(f)

	f.DurationVar(&o.approvalTimeout, "approval-timeout", 0, "wait this `time` for an answer to a held action, then deny it (default: deny at once)")
	f.StringVar(&o.onApproval, "on-approval", "", "deny a held action, or fail the run: deny or fail")

	f.BoolVar(&o.shellTool, "enable-shell-tool", false, "offer the synchronous shell tool instead of bash and bash_input")
	f.BoolVar(&o.disableWeb, "disable-web-tools", false, "remove web tools (this build has none)")
	f.BoolVar(&o.userInputAutoResolve, "user-input-auto-resolve", false, "offer request_user_input and answer it after its timer")
	f.IntVar(&o.maxToolOutput, "max-tool-output-bytes", 0, "bytes of a tool result that the model sees: 0 (default limits) or at least 9")

	f.IntVar(&o.maxSteps, "max-model-steps", 0, "stop after this many model calls")
	f.Float64Var(&o.maxCost, "max-cost", 0, "stop when the model calls cost this many US dollars")
	f.Int64Var(&o.maxTokens, "max-tokens-total", 0, "stop after this many input and output tokens")
	f.DurationVar(&o.maxTime, "max-time", 0, "stop after this wall `time`, such as 30m")

	f.StringVar(&o.compactionStrategy, "context-compaction-strategy", "", "how the conversation is shortened")
	f.Float64Var(&o.soft, "context-compaction-soft-threshold", 0, "`fraction` of the context limit at which shortening starts")
	f.Float64Var(&o.hard, "context-compaction-hard-threshold", 0, "`fraction` at which the run waits for it")

	f.StringVar(&o.sessionID, "session-id", "", "name the session (`uuid`), or continue the one with this id")
	f.BoolVar(&o.allowWorkspaceSwitch, "allow-workspace-switch", false, "with --session-id: continue in another directory")
	f.BoolVar(&o.noSessionLog, "no-session-log", false, "keep no session log")

	f.BoolVar(&o.subagentWorktrees, "subagent-worktree-isolation", false, "accepted for compatibility; has no effect")
	f.StringVar(&o.compactionStrategy, "eval-context-compaction-strategy", "", "")
	f.StringVar(&o.later.workflowAPI, "eval-workflow-api-version", "", "")
	f.BoolVar(&o.apiKey, "api-key", false, "")
	f.StringVarP(&o.later.worktree, "worktree", "w", "", "isolated Git worktree (not available yet)")
	f.StringVar(&o.later.worktreeBase, "worktree-base", "", "base of a new worktree (not available yet)")
	f.StringVar(&o.later.worktreeExisting, "worktree-existing", "", "worktree to use (not available yet)")
	f.StringVar(&o.later.agents, "agents", "", "")
	f.Lookup("api-key").NoOptDefVal = "true"
	f.Lookup("worktree").NoOptDefVal = "create"
	for _, name := range []string{"eval-context-compaction-strategy", "eval-workflow-api-version", "api-key", "agents"} {
		f.Lookup(name).Hidden = true
	}
}

// validate checks what can be checked without looking at anything but the
// command line. Every failure is a usage error that names the option.
func (o *execOptions) validate() error {
	if o.apiKey {
		return execUsage("option --api-key is refused: other users could read the key in the process list; use --api-key-stdin")
	}
	for _, name := range []string{"worktree", "worktree-base", "worktree-existing", "agents", "eval-workflow-api-version"} {
		if o.given(name) {
			return execUsage("option --%s is not available yet", name)
		}
	}
	return firstError(o.validatePrompt, o.validateChoices, o.validateLimits, o.validateExclusions)
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// validatePrompt takes the one prompt. More words are refused rather than
// joined: an unquoted prompt is split by the shell in ways nobody sees.
func (o *execOptions) validatePrompt() error {
	if len(o.args) > 0 {
		o.prompt, o.hasPrompt = o.args[0], true
	}
	switch {
	case len(o.args) > 1:
		return execUsage("unexpected argument %q: the prompt is one argument, so put it in quotes", o.args[1])
	case o.hasPrompt && o.given("prompt-file"):
		return execUsage("give the prompt or --prompt-file, not both")
	case !o.hasPrompt && !o.given("prompt-file"):
		return execUsage("no prompt: give it as the last argument or with --prompt-file")
	case o.hasPrompt && strings.TrimSpace(o.prompt) == "":
		return execUsage("the prompt is empty")
	}
	return nil
}

func (o *execOptions) validateChoices() error {
	for _, c := range []struct {
		flag, value string
		choices     []string
	}{
		{"reasoning-effort", o.effort, []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}},
		{"approval-mode", o.approvalMode, []string{"untrusted", "on-request", "never"}},
		{"approval-judge", o.approvalJudge, []string{"off", "on"}},
		{"on-approval", o.onApproval, []string{"deny", "fail"}},
		{"sandbox-network", o.sandboxNetwork, []string{"restricted", "enabled", "proxy-only"}},
	} {
		if o.given(c.flag) && !slices.Contains(c.choices, c.value) {
			return execUsage("invalid value %q for --%s: want %s", c.value, c.flag, strings.Join(c.choices, ", "))
		}
	}
	if o.given("session-id") && !ident.Valid(o.sessionID) {
		return execUsage("invalid value %q for --session-id: want a UUID", o.sessionID)
	}
	return nil
}

func (o *execOptions) validateLimits() error {
	for _, l := range []struct {
		flag string
		bad  bool
		want string
	}{
		{"max-model-steps", o.maxSteps <= 0, "a number above 0"},
		{"max-cost", !(o.maxCost > 0 && o.maxCost <= 1e6), "an amount above 0"},
		{"max-tokens-total", o.maxTokens <= 0, "a number above 0"},
		{"max-time", o.maxTime <= 0, "a time above 0, such as 30m"},
		{"approval-timeout", o.approvalTimeout <= 0, "a time above 0, such as 2m"},
		{"max-tool-output-bytes", o.maxToolOutput != 0 && o.maxToolOutput < 9, "0, or at least 9"},
		{"echo-delay-ms", o.echoDelay < 0, "a number not below 0"},
		{"context-compaction-soft-threshold", !(o.soft > 0 && o.soft < 1), "a fraction between 0 and 1"},
		{"context-compaction-hard-threshold", !(o.hard > 0 && o.hard < 1), "a fraction between 0 and 1"},
	} {
		if o.given(l.flag) && l.bad {
			return execUsage("invalid value for --%s: want %s", l.flag, l.want)
		}
	}
	return nil
}

func (o *execOptions) validateExclusions() error {
	for _, x := range [][2]string{
		{"parallel-tool-calls", "no-parallel-tool-calls"},
		{"approval-timeout", "on-approval"},
		{"permission-profile", "yolo"}, {"permission-profile", "disable-sandbox"}, {"permission-profile", "disable-approval"},
		{"permission-profile", "approval-mode"}, {"permission-profile", "sandbox-network"},
		{"context-compaction-strategy", "eval-context-compaction-strategy"},
	} {
		if o.given(x[0]) && o.given(x[1]) {
			return execUsage("options --%s and --%s exclude each other", x[0], x[1])
		}
	}
	for _, n := range [][2]string{{"allow-workspace-switch", "session-id"}} {
		if o.given(n[0]) && !o.given(n[1]) {
			return execUsage("option --%s needs --%s", n[0], n[1])
		}
	}
	switch {
	case o.noSessionLog && o.given("session-id"):
		return execUsage("a session id needs retained logging: --session-id and --no-session-log exclude each other")
	case o.given("script") && o.provider != "script":
		return execUsage("option --script needs --provider script")
	case o.given("echo-delay-ms") && o.provider != "echo":
		return execUsage("option --echo-delay-ms needs --provider echo")
	case o.given("approval-mode") && (o.disableApproval || o.yolo) && o.approvalMode != "never":
		return execUsage("option --approval-mode %s contradicts --disable-approval and --yolo", o.approvalMode)
	case o.given("workspace") && o.workspace == "":
		return execUsage("option --workspace is empty")
	}
	return nil
}

// streams reports whether stdout is JSON lines.
func (o *execOptions) streams() bool { return o.json || o.jsonExtended }
