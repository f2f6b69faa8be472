package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/permission/review"
)

// permissionRulesOptions are the flags of `muse permission rules`.
type permissionRulesOptions struct {
	workspace string
	json, all bool
}

func newPermissionRulesCmd(env *Env) *cobra.Command {
	var opts permissionRulesOptions
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules and profiles in force, and where each comes from",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runPermissionRules(cmd.Context(), env, opts) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&opts.json, "json", false, "print a JSON object")
	f.BoolVar(&opts.all, "programs", false, "list the built-in class of every program too")
	f.StringVar(&opts.workspace, "workspace", "", "list the rules for this workspace `dir` (default: the current directory)")
	return cmd
}

// listedRule is the JSON form of a rule.
type listedRule struct {
	Rule    string `json:"rule"`
	Verdict string `json:"verdict"`
	Scope   string `json:"scope"`
	Source  string `json:"source,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

type listedProfile struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	BuiltIn     bool   `json:"built_in"`
	Approval    string `json:"approval"`
	Reviewer    string `json:"reviewer"`
	Network     string `json:"network"`
	Write       bool   `json:"write"`
}

type listedRules struct {
	Workspace      string            `json:"workspace"`
	Trusted        bool              `json:"trusted"`
	ProjectRules   string            `json:"project_rules"`
	DefaultProfile string            `json:"default_profile"`
	ReadOnlyRules  bool              `json:"read_only_rules"`
	Rules          []listedRule      `json:"rules"`
	Profiles       []listedProfile   `json:"profiles"`
	Programs       map[string]string `json:"programs,omitempty"`
}

func runPermissionRules(_ context.Context, env *Env, opts permissionRulesOptions) error {
	workspace, _, err := judgedWorkspace(env, opts.workspace)
	if err != nil {
		return err
	}
	src, err := loadPermissions(env, workspace)
	if err != nil {
		return err
	}
	out := listedRules{
		Workspace: workspace, Trusted: src.trusted, ProjectRules: "in force", DefaultProfile: src.settings.DefaultProfile,
		ReadOnlyRules: !src.settings.Strict, Rules: []listedRule{},
	}
	if !src.trusted {
		out.ProjectRules = "not loaded: " + src.untrustedReason
	}
	if out.DefaultProfile == "" {
		out.DefaultProfile = permission.ProfileAskMe
	}
	for i := range src.rules {
		r := &src.rules[i]
		out.Rules = append(out.Rules, listedRule{r.String(), string(r.Effect), string(r.Scope), r.Source, r.Reason})
	}
	for _, p := range src.settings.Profiles {
		full, err := src.settings.Profiles.Resolve(p.ID)
		if err != nil {
			return err
		}
		out.Profiles = append(out.Profiles, listedProfile{
			full.ID, full.Description, full.BuiltIn, string(*full.Approval), string(*full.Reviewer), string(full.Network.Mode), full.Write(),
		})
	}
	if opts.all {
		out.Programs = map[string]string{}
		for name, class := range review.Names() {
			out.Programs[name] = string(class)
		}
	}
	if opts.json {
		if err := json.MarshalWrite(env.Stdout, out, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
			return fmt.Errorf("write the rules: %w", err)
		}
		_, err := io.WriteString(env.Stdout, "\n")
		return err
	}
	return printRules(env.Stdout, &out)
}

func printRules(w io.Writer, l *listedRules) error {
	var b strings.Builder
	fmt.Fprintf(&b, "workspace: %s\nproject rules: %s\ndefault profile: %s\n", l.Workspace, l.ProjectRules, l.DefaultProfile)
	if !l.ReadOnlyRules {
		b.WriteString("built-in rules for read-only commands: off\n")
	}
	b.WriteString("\nrules (deny beats ask beats allow):\n")
	if len(l.Rules) == 0 {
		b.WriteString("  none beside the built-in classes\n")
	}
	for _, r := range l.Rules {
		fmt.Fprintf(&b, "  %-60s %s", r.Rule, r.Scope)
		if r.Source != "" {
			fmt.Fprintf(&b, " (%s)", r.Source)
		}
		if r.Reason != "" {
			fmt.Fprintf(&b, ": %s", r.Reason)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nprofiles:\n")
	for _, p := range l.Profiles {
		access := "workspace read-only"
		if p.Write {
			access = "workspace writable"
		}
		fmt.Fprintf(&b, "  %-20s approval %s, reviewer %s, %s, network %s\n", p.ID, p.Approval, p.Reviewer, access, p.Network)
	}
	for _, name := range sortedNames(l.Programs) {
		fmt.Fprintf(&b, "  %-24s %s\n", name, l.Programs[name])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
