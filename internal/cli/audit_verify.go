package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit/verify"
)

const verifyLong = `Look for what should not be in session logs or beside them: lines that cannot
be read, numbers that are missing or come twice, clocks that go back, hashes and
integrity checkpoints that do not fit, missing or orphan subagent logs and
output files, a cut end.

Each finding is a line: file:line (byte offset): severity: code: what it is.

EXIT STATUS
  0  nothing was found
  1  there are findings
  2  usage error, or there is no log that can be verified`

func newAuditVerifyCmd(env *Env) *cobra.Command {
	var asJSON, info bool
	cmd := &cobra.Command{
		Use:   "verify [OPTIONS] [INPUT...]",
		Short: "Look for changes, gaps and losses in logs",
		Long:  verifyLong,
		Example: `  muse audit verify
  muse audit verify case.zip --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAuditVerify(cmd.Context(), env, args, asJSON, info)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each finding as a JSON object, and a summary at the end")
	cmd.Flags().BoolVar(&info, "info", false, "also what is worth knowing but speaks against no log")
	return cmd
}

func runAuditVerify(ctx context.Context, env *Env, inputs []string, asJSON, info bool) error {
	in, err := findInput(env, "muse audit verify", inputs)
	if err != nil {
		var usage *UsageError
		if errors.As(err, &usage) {
			return err
		}
		return &ExitError{Code: 2, Err: err}
	}
	defer in.Close()
	ctx, stop := withSignals(ctx)
	defer stop()
	var failed error
	s, err := verify.Run(ctx, in, func(f verify.Finding) {
		switch {
		case failed != nil || f.Severity == verify.Info && !info:
		case asJSON:
			failed = auditJSON(env, f)
		default:
			_, failed = fmt.Fprintln(env.Stdout, auditShown(f.String()))
		}
	})
	if code, ok := signalCode(ctx); ok {
		return &ExitError{Code: code}
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if asJSON {
		if err := auditJSON(env, struct {
			Summary verify.Summary `json:"summary"`
		}{s}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(env.Stderr, "muse: %s, %s, %d sealed: %s, %s\n", auditCount(int64(s.Logs), "log"), auditCount(s.Records, "record"), s.Sealed,
			auditCount(int64(s.Errors), "error"), auditCount(int64(s.Warnings), "warning"))
	}
	switch {
	case s.Records == 0:
		return &ExitError{Code: 2, Err: errors.New("there is no session log in the input that can be verified")}
	case !s.Clean():
		return &ExitError{Code: 1}
	}
	return nil
}
