package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/buildinfo"
	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/view/trajectory"
)

const exportLong = `Write a session's log as one JSON document and print the document's path.

The log is read and never changed; no settings and no network are needed. The
same log gives the same document, byte for byte. Without --session it is the
log that was written last in this workspace. The document is raw unless
--redacted is given: then secrets, told by their key or by their shape, are
replaced by masks, also inside JSON that stands in strings.`

// exportOptions are the flags of muse export.
type exportOptions struct {
	session  string // id or path
	last     bool
	out      string
	redacted bool
}

func newExportCmd(env *Env) *cobra.Command {
	var opts exportOptions
	cmd := &cobra.Command{
		Use:   "export [--session ID|PATH | --last] [--out FILE] [--redacted]",
		Short: "Write a session as one JSON document",
		Long:  exportLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.last && cmd.Flags().Changed("session") {
				return &UsageError{Command: "muse export", Message: "--session and --last exclude each other"}
			}
			for _, name := range []string{"session", "out"} {
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return &UsageError{Command: "muse export", Message: "--" + name + " is empty"}
				}
			}
			return runExport(cmd.Context(), env, opts)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.session, "session", "", "session id, or a path to a session.jsonl or its directory")
	f.BoolVar(&opts.last, "last", false, "the session written last in this workspace (the default)")
	f.StringVar(&opts.out, "out", "", "file to write (default: a new trajectory-<time>.json here)")
	f.BoolVar(&opts.redacted, "redacted", false, "replace secrets by masks")
	return cmd
}

// runExport writes the document and prints its absolute path, alone, on
// stdout. A failure exits 1 and leaves no document.
func runExport(ctx context.Context, env *Env, opts exportOptions) error {
	ctx, stop := withSignals(ctx)
	defer stop()
	path, err := export(ctx, env, opts)
	if code, ended := signalCode(ctx); ended && err != nil {
		return &ExitError{Code: code, Err: errors.New("export interrupted")}
	}
	if err != nil {
		return &ExitError{Code: 1, Err: fmt.Errorf("export failed: %w", err)}
	}
	_, err = fmt.Fprintln(env.Stdout, path)
	return err
}

func export(ctx context.Context, env *Env, opts exportOptions) (path string, err error) {
	log, err := openExportLog(env, opts)
	if err != nil {
		return "", err
	}
	defer log.file.Close() // only read
	log.ctx = ctx
	out, err := createExport(env, opts.out)
	if err != nil {
		return "", err
	}
	err = trajectory.Write(out.file, log, trajectory.Options{
		Exporter: trajectory.Version{Display: buildinfo.Banner(), Semver: buildinfo.Level, SHA: buildinfo.Commit()},
		Redact:   opts.redacted,
	})
	if err == nil {
		err = out.finish()
	}
	if err != nil {
		return "", errors.Join(err, out.discard())
	}
	return out.path, nil
}

// errNoSession has the way out that people need then.
var errNoSession = errors.New("no retained sessions found for this workspace\nRecovery: pass --session <id|path>")

// openExportLog finds the log that is meant and opens it for reading.
func openExportLog(env *Env, opts exportOptions) (*exportLog, error) {
	path, err := exportLogPath(env, opts)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its other end
		return nil, fmt.Errorf("%s is not a session log", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &exportLog{file: f, size: info.Size()}, nil
}

// exportLogPath is the log's file: of --session a path that exists wins over
// an id.
func exportLogPath(env *Env, opts exportOptions) (string, error) {
	cwd, err := env.Getwd()
	if err != nil {
		return "", err
	}
	if opts.session != "" {
		path := opts.session
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		switch info, err := os.Stat(path); {
		case err == nil && info.IsDir():
			return filepath.Join(path, "session.jsonl"), nil
		case err == nil:
			return path, nil
		case !ident.Valid(opts.session):
			return "", fmt.Errorf("no session %s: it is neither a file nor a session id", opts.session)
		}
	}
	paths, err := config.Locate(env.Getenv)
	if err != nil {
		return "", err
	}
	var s *store.Session
	if opts.session != "" {
		s, err = store.Find(paths.Data, opts.session)
	} else if s, err = store.Latest(paths.Data, cwd); errors.Is(err, store.ErrNotFound) {
		err = errNoSession
	}
	if err != nil {
		return "", err
	}
	return s.LogPath(), nil
}

// exportLog is a log as it was when it was opened: what a running session
// appends meanwhile is not part of it.
type exportLog struct {
	ctx  context.Context
	file *os.File
	size int64
}

// Read implements trajectory.Log.
func (l *exportLog) Read(fn func(trajectory.Line) error) (trajectory.Facts, error) {
	r := io.NewSectionReader(l.file, 0, l.size)
	report, err := journal.ReadEntries(r, journal.ReadOptions{Verify: true}, func(e journal.Entry) error {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		return fn(trajectory.Line{Line: e.Line, Err: e.Err, Number: e.Number, Offset: e.Offset, Size: e.Size, Ended: e.Ended})
	})
	return trajectory.Facts{Bytes: report.Bytes, Lines: report.Lines, Digest: report.Digest}, err
}
