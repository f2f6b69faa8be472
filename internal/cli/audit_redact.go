package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit/redact"
	"github.com/openmuse/muse/internal/buildinfo"
)

const redactLong = `Copy logs without the secrets in them, for handing on.

Removed are the values of keys that name secrets (api key, authorization,
bearer, cookie, credential, password, secret, token) and texts of known shapes
(sk-, ghp_, github_pat_, glpat-, hf_, AKIA, AIza, xox, JWT, private keys,
passwords in addresses and on command lines). A secret that is found once is
removed everywhere, and has the same placeholder everywhere.

The proof, redaction.jsonl in the output, says what was removed where, with the
hashes of the files before and after. It holds no secret. Databases are left
out.

No pattern finds every secret: read what you hand on.`

func newAuditRedactCmd(env *Env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "redact [OPTIONS] --out DIR [INPUT...]",
		Short:   "Copy logs without the secrets in them",
		Long:    redactLong,
		Example: `  muse audit redact ~/.local/share/muse/sessions/2026/10/01 --out shared`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAuditRedact(cmd.Context(), env, args, out)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the directory to make")
	return cmd
}

func runAuditRedact(ctx context.Context, env *Env, inputs []string, out string) error {
	const command = "muse audit redact"
	if out == "" {
		return &UsageError{Command: command, Message: "option --out is missing: name a directory"}
	}
	in, err := findInput(env, command, inputs)
	if err != nil {
		return err
	}
	defer in.Close()
	for _, p := range in.Problems {
		fmt.Fprintf(env.Stderr, "muse: warning: %s: %s\n", auditShown(p.Path), auditShown(p.Err.Error()))
	}
	ctx, stop := withSignals(ctx)
	defer stop()
	s, err := redact.Run(ctx, in, redact.Options{Out: out, Tool: buildinfo.Banner(), Now: env.Now})
	if code, ok := signalCode(ctx); ok {
		return &ExitError{Code: code}
	}
	if errors.Is(err, fs.ErrExist) {
		return &UsageError{Command: command, Message: "option --out: " + auditShown(out) + " exists and is not empty"}
	}
	if err != nil {
		return err
	}
	if s.Files == 0 {
		return &ExitError{Code: 1, Err: errors.New("there is no session log in the input")}
	}
	fmt.Fprintf(env.Stderr, "muse: %s, %s removed in %s, %s left out\n", auditCount(int64(s.Files), "file"),
		auditCount(int64(s.Secrets), "secret"), auditCount(s.Removed, "place"), auditCount(int64(s.LeftOut), "file"))
	_, err = fmt.Fprintln(env.Stdout, filepath.Join(out, redact.ProofName))
	if len(in.Problems) > 0 && err == nil {
		return &ExitError{Code: 1}
	}
	return err
}
