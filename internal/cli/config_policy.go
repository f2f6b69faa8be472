package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/permission"
)

// configValidateOptions are the flags of `muse config validate`.
type configValidateOptions struct{ plane, file string }

// newConfigValidateCmd checks an organisation's file before it is rolled out.
func newConfigValidateCmd(env *Env) *cobra.Command {
	var opts configValidateOptions
	cmd := &cobra.Command{
		Use:   "validate --plane defaults|policy --file FILE",
		Short: "Check a file of enterprise defaults or policy",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runConfigValidate(cmd.Context(), env, opts) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.plane, "plane", "", "what the file is: defaults or policy")
	f.StringVar(&opts.file, "file", "", "the `file` to check")
	return cmd
}

func runConfigValidate(_ context.Context, env *Env, opts configValidateOptions) error {
	usage := func(format string, args ...any) error {
		return &UsageError{Command: "muse config validate", Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case opts.plane == "":
		return usage("give --plane defaults or --plane policy")
	case opts.plane != "defaults" && opts.plane != "policy":
		return usage("unknown plane %q: use defaults or policy", opts.plane)
	case opts.file == "":
		return usage("give --file FILE")
	}
	data, err := os.ReadFile(opts.file)
	if err != nil {
		return usage("cannot read --file: %v", err)
	}
	var notActive []string
	if opts.plane == "policy" {
		p, err := permission.ParsePolicy(opts.file, data)
		if err != nil {
			return err
		}
		notActive = p.NotActive
	} else if err := validateDefaults(opts.file, data); err != nil {
		return err
	}
	for _, f := range notActive {
		if _, err := fmt.Fprintf(env.Stderr, "%s: %s is understood but has no effect in this version\n", opts.file, f); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(env.Stdout, "%s: a valid %s file\n", opts.file, opts.plane)
	return err
}

// validateDefaults reads a file of defaults as a run would: the settings'
// shape, and in it the permissions.
func validateDefaults(file string, data []byte) error {
	s, err := config.ParseDefaults(file, data)
	if err != nil {
		return err
	}
	_, err = permission.ParseSettings(s.Node("permissions"), file)
	return err
}

// configStatusOptions are the flags of `muse config status`.
type configStatusOptions struct{ json bool }

// newConfigStatusCmd shows what an organisation has set.
func newConfigStatusCmd(env *Env) *cobra.Command {
	var opts configStatusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the enterprise files and what they force",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runConfigStatus(cmd.Context(), env, opts) },
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print a JSON object")
	return cmd
}

// planeStatus is the JSON form of one file.
type planeStatus struct {
	Plane   string   `json:"plane"`
	File    string   `json:"file"`
	State   string   `json:"state"` // "absent", "active", "invalid"
	Problem string   `json:"problem,omitempty"`
	Forces  []string `json:"forces,omitempty"`
	Ignored []string `json:"not_activated,omitempty"`
}

func runConfigStatus(_ context.Context, env *Env, opts configStatusOptions) error {
	files := env.Planes
	defaults := planeStatus{Plane: "defaults", File: files.Defaults, State: "absent"}
	policy := planeStatus{Plane: "policy", File: files.Policy, State: "absent"}
	data, err := os.ReadFile(files.Defaults)
	if err == nil {
		err = validateDefaults(files.Defaults, data)
	}
	defaults.settle(err)
	data, err = os.ReadFile(files.Policy)
	if err == nil {
		var p *permission.Policy
		if p, err = permission.ParsePolicy(files.Policy, data); err == nil {
			policy.Forces, policy.Ignored = policyForces(p), p.NotActive
		}
	}
	policy.settle(err)
	planes := []planeStatus{defaults, policy}
	if err := writePlanes(env.Stdout, planes, opts.json); err != nil {
		return err
	}
	for _, p := range planes {
		if p.State == "invalid" {
			return &ExitError{Code: 1, Err: errors.New("an enterprise file is not valid: nothing starts until it is mended")}
		}
	}
	return nil
}

func (p *planeStatus) settle(err error) {
	switch {
	case err == nil:
		p.State = "active"
	case !errors.Is(err, os.ErrNotExist):
		p.State, p.Problem = "invalid", err.Error()
	}
}

// policyForces says in words what a policy forces.
func policyForces(p *permission.Policy) []string {
	var out []string
	add := func(on bool, text string) {
		if on {
			out = append(out, text)
		}
	}
	add(p.ForbidApprovalBypass, "no run without approval")
	add(p.ForbidSandboxBypass, "no run without the sandbox")
	add(p.ForceAgentDefinitionSafeMode, "agent definitions in safe mode")
	add(p.AllowProjectConfiguration != nil && !*p.AllowProjectConfiguration, "no project configuration")
	add(p.AllowForeignConfiguration != nil && !*p.AllowForeignConfiguration, "no configuration of other agents")
	for _, l := range []struct {
		what string
		l    *permission.Limit
	}{{"permission profiles", p.PermissionProfiles}, {"approval modes", p.ApprovalModes}, {"reviewers", p.ApprovalReviewers}, {"network modes", p.NetworkModes}} {
		if l.l != nil {
			out = append(out, l.what+": "+strings.Join(l.l.Allowed, ", "))
		}
	}
	add(p.AllowedProviders != nil, "providers: "+strings.Join(p.AllowedProviders, ", "))
	add(p.AllowedModels != nil, "models: "+strings.Join(p.AllowedModels, ", "))
	for _, r := range p.EnterpriseRules() {
		out = append(out, r.String())
	}
	for _, f := range p.Forced {
		out = append(out, f+" off")
	}
	return out
}

func writePlanes(w io.Writer, planes []planeStatus, asJSON bool) error {
	if asJSON {
		if err := json.MarshalWrite(w, map[string]any{"planes": planes}, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
			return fmt.Errorf("write the status: %w", err)
		}
		_, err := io.WriteString(w, "\n")
		return err
	}
	var b strings.Builder
	for _, p := range planes {
		fmt.Fprintf(&b, "%s: %s (%s)\n", p.Plane, p.State, p.File)
		if p.Problem != "" {
			fmt.Fprintf(&b, "  %s\n", p.Problem)
		}
		for _, f := range p.Forces {
			fmt.Fprintf(&b, "  %s\n", f)
		}
		for _, f := range p.Ignored {
			fmt.Fprintf(&b, "  %s has no effect in this version\n", f)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
