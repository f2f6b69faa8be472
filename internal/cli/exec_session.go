package cli

import (
	"fmt"
	"path/filepath"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/tool"
)

// openTools builds the set of tools for the session.
func (r *parts) openTools() error {
	o := r.opts
	opts := tool.Options{
		Workspace: r.work, Gate: r.guard, Environ: r.env.Environ(),
		SessionID: r.session.ID(), ThreadID: r.session.ID(), SessionLog: r.session.LogPath(),
		MaxOutputBytes: o.maxToolOutput, Images: r.setup.ModelInfo.Images,
		DisableShell: o.disableShell, DisableWrite: o.disableWrite || !r.posture.profile.Write(), EnableShellTool: o.shellTool,
		UserInputAutoResolve: o.userInputAutoResolve,
	}
	if r.people != nil {
		opts.Asker, opts.BackgroundEnd = r.people.UserInputs, r.people.BackgroundEnd
	}
	if dir := r.session.Dir(); dir != "" {
		opts.OutputDir = filepath.Join(dir, "tool-outputs")
	}
	var err error
	if r.tools, err = tool.New(opts); err != nil {
		return err
	}
	if names := r.setup.Run.Toolset.V; names != nil {
		if err := r.tools.Only(names); err != nil {
			return fmt.Errorf("%s: %w", r.setup.Run.Toolset.Origin, err)
		}
	}
	return nil
}

// loopConfig is the loop's configuration but for what the host fills in.
func (r *parts) loopConfig() agent.Config {
	s := r.setup
	instructions, context := r.instructions()
	return agent.Config{
		Provider: r.provider, Model: s.model(r.modelID), Effort: s.Effort, Parallel: s.Run.Parallel.V,
		Instructions: instructions, Context: context, Tools: r.tools, Retry: s.retry(), Output: r.schema,
		Budget: agent.Budget{
			Steps: r.opts.maxSteps, CostMicros: int64(r.opts.maxCost * 1e6), Tokens: r.opts.maxTokens, Time: r.opts.maxTime,
		},
		Compaction: agent.Compaction{
			Soft: s.Compaction.Soft.V, Hard: s.Compaction.Hard.V, ClearResults: s.Compaction.ToolResultClearing.V,
		},
		Authorize: r.guard.Authorize, Branch: r.branchAfter, Sleep: sleep,
	}
}
