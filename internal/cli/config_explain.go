package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
)

// configExplainOptions are the flags of `muse config explain`. The run's own
// flags can be given too, to see what they would do.
type configExplainOptions struct {
	key  string
	json bool

	provider, model, preset, effort, baseURL string
	given                                    func(string) bool
}

func newConfigExplainCmd(env *Env) *cobra.Command {
	var opts configExplainOptions
	cmd := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Print each setting's value and where it came from",
		Long: "Print each setting's value and where it came from: built-in, enterprise defaults, settings file with line and\n" +
			"column, preset, environment variable or command line. KEY is one setting (model) or a group (provider_retry).\n" +
			"Secrets are masked, and a command that fetches a key is not run.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &UsageError{Command: "muse config explain", Message: fmt.Sprintf("unexpected argument %q: give one KEY at most", args[1])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.key = args[0]
			}
			opts.given = cmd.Flags().Changed
			return runConfigExplain(cmd.Context(), env, opts)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&opts.json, "json", false, "print a JSON object")
	f.StringVar(&opts.provider, "provider", "", "explain a run with this provider")
	f.StringVar(&opts.model, "model", "", "explain a run with this model")
	f.StringVar(&opts.preset, "preset", "", "explain a run with this preset")
	f.StringVar(&opts.effort, "reasoning-effort", "", "explain a run with this effort")
	f.StringVar(&opts.baseURL, "base-url", "", "explain a run at this address")
	return cmd
}

func runConfigExplain(ctx context.Context, env *Env, opts configExplainOptions) error {
	in, err := loadConfig(env)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name  string
		value *string
		to    **string
	}{
		{"provider", &opts.provider, &in.Flags.Provider}, {"model", &opts.model, &in.Flags.Model},
		{"preset", &opts.preset, &in.Flags.Preset}, {"reasoning-effort", &opts.effort, &in.Flags.ReasoningEffort},
		{"base-url", &opts.baseURL, &in.Flags.BaseURL},
	} {
		if opts.given != nil && opts.given(one.name) {
			*one.to = one.value
		}
	}
	resolved, err := config.Resolve(in)
	if err != nil {
		return usageOr("muse config explain", err)
	}
	warnings := append(resolved.Warnings, in.Auth.Warnings...)
	key, notes, err := config.ResolveKey(ctx, config.KeyInputs{
		Resolved: &resolved, Getenv: env.Getenv, Settings: in.Settings, Defaults: in.Defaults, Auth: in.Auth, Now: env.Now(), Preview: true,
	})
	warnings = append(warnings, notes...)
	if err != nil {
		// A missing key is a finding here, not a failure.
		warnings = append(warnings, err.Error())
	}
	entries := config.Explain(in, resolved, key)
	if opts.key != "" {
		found, near := config.Select(entries, opts.key)
		if len(found) == 0 {
			return &UsageError{Command: "muse config explain", Message: unknownKeyText(opts.key, near)}
		}
		entries = found
	}
	if opts.json {
		return writeExplainJSON(env.Stdout, entries, warnings)
	}
	for _, w := range warnings {
		fmt.Fprintf(env.Stderr, "muse: warning: %s\n", w)
	}
	return writeExplainText(env.Stdout, entries, in.Paths)
}

func unknownKeyText(key string, near []string) string {
	text := fmt.Sprintf("unknown setting %q", key)
	if len(near) > 0 {
		text += ": did you mean " + strings.Join(near, ", ") + "?"
	}
	return text
}

// writeExplainText prints one line a setting: key, value, origin and note.
func writeExplainText(w io.Writer, entries []config.Entry, paths config.Paths) error {
	var b strings.Builder
	for _, e := range entries {
		e.Origin.File = paths.Tilde(e.Origin.File)
		fmt.Fprintf(&b, "%s = %s  [%s]", e.Key, e.Value, e.Origin)
		if e.Note != "" {
			b.WriteString("  " + e.Note)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The JSON form of explain. Fields may be added, none changes its meaning.
type explainJSON struct {
	SchemaVersion int           `json:"schema_version"`
	Settings      []settingJSON `json:"settings"`
	Warnings      []string      `json:"warnings"`
}

type settingJSON struct {
	Key    string     `json:"key"`
	Value  string     `json:"value"`
	Origin originJSON `json:"origin"`
	Note   string     `json:"note,omitempty"`
}

type originJSON struct {
	Layer  string `json:"layer"`
	Name   string `json:"name,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
}

func writeExplainJSON(w io.Writer, entries []config.Entry, warnings []string) error {
	doc := explainJSON{SchemaVersion: 1, Warnings: warnings}
	for _, e := range entries {
		o := e.Origin
		doc.Settings = append(doc.Settings, settingJSON{
			Key: e.Key, Value: e.Value, Note: e.Note,
			Origin: originJSON{Layer: o.Layer.String(), Name: o.Name, File: o.File, Line: o.Line, Column: o.Column},
		})
	}
	return writeJSON(w, doc)
}

// writeJSON prints an indented JSON value and a line end.
func writeJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
