package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/msp"
)

// newSchemaCmd prints the session protocol for programs that speak it
// (CLI.md 1.5, schema).
func newSchemaCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the session protocol that muse serve speaks, as JSON Schema or TypeScript",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newSchemaFormCmd(env, "generate-json-schema", "Print the protocol as JSON Schema",
			"Print the protocol as JSON Schema (draft 2020-12). With --out it writes msp.schema.json and manifest.json, which\n"+
				"holds the fingerprint.",
			[]schemaFile{{"msp.schema.json", msp.JSONSchema}, {"manifest.json", msp.JSONManifest}}),
		newSchemaFormCmd(env, "generate-ts", "Print the protocol as TypeScript declarations",
			"Print the protocol as TypeScript declarations. With --out it writes msp.d.ts.",
			[]schemaFile{{"msp.d.ts", msp.TypeScript}}),
	)
	return cmd
}

// schemaOptions are the flags of both forms, and what the form consists of.
type schemaOptions struct {
	out          string
	experimental bool
	files        []schemaFile // the first one is what is printed without --out
}

// schemaFile is one file of a form.
type schemaFile struct {
	name  string
	print func(experimental bool) ([]byte, error)
}

func newSchemaFormCmd(env *Env, use, short, long string, files []schemaFile) *cobra.Command {
	opts := schemaOptions{files: files}
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  long,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("out") && opts.out == "" {
				return &UsageError{Command: cmd.CommandPath(), Message: "--out needs a directory"}
			}
			return runSchema(env, opts)
		},
	}
	cmd.Flags().StringVar(&opts.out, "out", "", "write files into this directory, which is made when missing")
	cmd.Flags().BoolVar(&opts.experimental, "experimental", false, "include what a client gets with experimentalApi")
	return cmd
}

// runSchema prints the first file of the form, or writes all of them.
func runSchema(env *Env, opts schemaOptions) error {
	if opts.out == "" {
		text, err := opts.files[0].print(opts.experimental)
		if err != nil {
			return err
		}
		_, err = env.Stdout.Write(text)
		return err
	}
	dir := opts.out
	if !filepath.IsAbs(dir) {
		wd, err := env.Getwd()
		if err != nil {
			return fmt.Errorf("find the current directory: %w", err)
		}
		dir = filepath.Join(wd, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the schema: %w", err)
	}
	for _, f := range opts.files {
		text, err := f.print(opts.experimental)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), text, 0o644); err != nil {
			return fmt.Errorf("write the schema: %w", err)
		}
	}
	return nil
}
