package cli

import (
	"context"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/instructions"
	"github.com/openmuse/muse/internal/workspace"
)

// instructions is what the model is told before the conversation: the base
// prompt, or the one of settings, and the context blocks in order.
func (r *parts) instructions() (string, []event.ContextMessage) {
	s := r.setup
	base := instructions.Base()
	if own := s.Run.SystemPrompt.V; own != "" {
		base = own
	}
	facts := instructions.Facts{Dir: r.root, Now: r.env.Now()}
	if head, err := workspace.GitHead(r.root); err == nil {
		facts.Branch, facts.Commit = head.Branch, head.ShortCommit()
	}
	rules := instructions.Load(instructions.Options{
		Dir: r.root, ConfigDir: s.paths.Config, Home: s.paths.Home, CodexHome: s.CodexHome.V,
		Trusted: r.posture.trusted, NoForeign: !s.ForeignPersonalRules.V,
	})
	s.warn(rules.Warnings...)
	blocks := append([]instructions.Block{instructions.Environment(facts)}, rules.Blocks...)
	if text := s.Run.DeveloperPrompt.V; text != "" {
		blocks = append(blocks, instructions.Block{
			ID: "developer_prompt", Source: s.Run.DeveloperPrompt.Origin.String(), Order: 110, Lifecycle: "stable_prefix", Text: text,
		})
	}
	if r.schema != nil {
		// Not every wire can carry a schema, and a model that is told of it
		// needs fewer corrections.
		blocks = append(blocks, instructions.Block{
			ID: "output_schema", Source: "muse", Order: 120, Lifecycle: "runtime_prefix",
			Text: "Your final answer must be exactly one JSON value that fits this JSON Schema, with nothing before or after it:\n" + string(r.schema.Schema),
		})
	}
	var out []event.ContextMessage
	for _, b := range blocks {
		out = append(out, event.ContextMessage{
			ID: b.ID, Lifecycle: b.Lifecycle, Order: b.Order, Role: "developer", Source: b.Source, Text: b.Text,
		})
	}
	return base, out
}

// branch observes the workspace's version control from its files alone.
func (r *parts) branch(run string) (event.WorkspaceBranch, bool) {
	head, err := workspace.GitHead(r.root)
	if err != nil {
		return event.WorkspaceBranch{}, false
	}
	ref := event.Reference{Kind: "branch", Name: head.Branch}
	if head.Branch == "" {
		ref = event.Reference{Kind: "detached", Name: head.ShortCommit()}
	}
	return event.WorkspaceBranch{
		CommandID: run, Commit: head.ShortCommit(), Reference: ref, VCS: "git", WorkspaceRoot: r.root,
	}, true
}

// dirtyLimit bounds the one look at the working tree after a run: in a huge
// one the answer is not worth the wait.
const dirtyLimit = 2 * time.Second

// branchAfter is branch after the run, with the state of the working tree.
// That takes git itself, which can run a repository's filters, so only a
// trusted workspace is looked at.
func (r *parts) branchAfter(run string) (event.WorkspaceBranch, bool) {
	b, ok := r.branch(run)
	if !ok || !r.posture.trusted {
		return b, ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), dirtyLimit)
	defer cancel()
	if dirty, err := workspace.GitDirty(ctx, r.root, r.env.Environ()); err == nil {
		b.Dirty = &dirty
	}
	return b, true
}
