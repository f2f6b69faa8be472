package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit/collect"
	"github.com/openmuse/muse/internal/buildinfo"
	"github.com/openmuse/muse/internal/config"
)

const collectLong = `Copy what Muse Code and openmuse left on a machine, with times, modes, sizes
and SHA-256, into a directory or a zip file.

--root is the running system or a mounted disk of Linux, macOS or Windows. What
is taken and what is left out stands in a catalogue: --show-catalogue prints it.
The evidence is only read; links are not followed out of the root; databases are
copied in one consistent state. Credentials are listed but not copied, unless
asked for. An interrupted collection goes on where it stopped when the same
command is given again.

Without --root and --home, a user who is not the superuser collects the own
home.

EXIT STATUS
  0  everything that was found was collected
  1  something could not be read, or nothing was found; the report says what
  2  usage error`

const collectExample = `  muse audit collect --out case
  sudo muse audit collect --root / --out case.zip
  sudo muse audit collect --root /mnt/disk --home 'Users/*' --out case.zip`

type collectOptions struct {
	root        string
	homes       []string
	out         string
	credentials bool
	catalogue   bool
	rootGiven   bool
}

func newAuditCollectCmd(env *Env) *cobra.Command {
	opts := &collectOptions{}
	cmd := &cobra.Command{
		Use:     "collect [OPTIONS] --out DIR|FILE.zip",
		Short:   "Copy what an agent left on a machine",
		Long:    collectLong,
		Example: collectExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &UsageError{Command: collectCommand, Message: fmt.Sprintf("unexpected argument %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.rootGiven = cmd.Flags().Changed("root")
			return runAuditCollect(cmd.Context(), env, opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.root, "root", systemRoot(env), "the running system, or where a disk is mounted")
	f.StringSliceVar(&opts.homes, "home", nil, "homes to look in, as a pattern below the root; repeatable")
	f.StringVarP(&opts.out, "out", "o", "", "the directory or zip file to make")
	f.BoolVar(&opts.credentials, "include-credentials", false, "also copy files that hold tokens")
	f.BoolVar(&opts.catalogue, "show-catalogue", false, "print what is collected and exit")
	return cmd
}

const collectCommand = "muse audit collect"

// systemRoot is the root of the running system.
func systemRoot(env *Env) string {
	if v := filepath.VolumeName(env.Getenv("SystemRoot")); v != "" {
		return v + `\`
	}
	return string(filepath.Separator)
}

func runAuditCollect(ctx context.Context, env *Env, opts *collectOptions) error {
	if opts.catalogue {
		_, err := fmt.Fprint(env.Stdout, collect.Text())
		return err
	}
	if opts.out == "" {
		return &UsageError{Command: collectCommand, Message: "option --out is missing: name a directory or a file that ends in .zip"}
	}
	o := collect.Options{
		Root: opts.root, Homes: opts.homes, Out: opts.out, IncludeCredentials: opts.credentials,
		Tool: buildinfo.Banner(), Now: env.Now,
	}
	if opts.root == systemRoot(env) {
		o.OwnHome, o.Getenv = config.Home(env.Getenv), env.Getenv
		if !opts.rootGiven && len(opts.homes) == 0 && os.Geteuid() != 0 && o.OwnHome != "" {
			o.Homes = []string{o.OwnHome}
		}
	}
	if env.StderrTTY {
		o.Progress = progressLine(env)
	}
	ctx, stop := withSignals(ctx)
	defer stop()
	s, err := collect.Run(ctx, o)
	if env.StderrTTY {
		fmt.Fprint(env.Stderr, "\r\x1b[K")
	}
	if code, ok := signalCode(ctx); ok {
		return &ExitError{Code: code, Err: errors.New("interrupted; the same command goes on where this one stopped")}
	}
	if errors.Is(err, collect.ErrNotOurs) {
		return &UsageError{Command: collectCommand, Message: auditShown(err.Error())}
	}
	if err != nil {
		return err
	}
	var report bytes.Buffer
	s.Report(&report)
	if _, err := env.Stdout.Write(report.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if s.Files == 0 || s.Incomplete() {
		return &ExitError{Code: 1}
	}
	return nil
}

// progressLine draws how far the collection is, a few times a second.
func progressLine(env *Env) func(collect.Progress) {
	var last time.Time
	return func(p collect.Progress) {
		now := env.Now()
		if now.Sub(last) < 200*time.Millisecond {
			return
		}
		last = now
		path := []rune(auditShown(p.Path))
		if len(path) > 60 {
			path = append([]rune("…"), path[len(path)-59:]...)
		}
		fmt.Fprintf(env.Stderr, "\r\x1b[K%d files, %d MiB  %s", p.Files, p.Bytes>>20, string(path))
	}
}
