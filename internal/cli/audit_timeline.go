package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/view/html"
	"github.com/openmuse/muse/internal/view/timeline"
	"github.com/openmuse/muse/internal/view/timeline/sqlitefile"
)

const timelineLong = `Merge logs into one table, one row for each thing a person, a model, a tool
or a permission did, by time.

The columns are timestamp_utc, session_id, project_path, git_branch, turn_type,
model, tool_name, tool_use_id, text and source_line; --source appends
source_file and source_offset. A line that cannot be read is a row of its own.

EXIT STATUS
  0  the timeline was written
  1  some of the input could not be read, or there is no log in it
  2  usage error`

const timelineExample = `  muse audit timeline --since 24h
  muse audit timeline /mnt/disk/home --format csv --out timeline.csv
  muse audit timeline case.zip --format html --out case.html
  muse audit timeline case.zip --type tool_use --tool bash | jq -r .text`

type timelineOptions struct {
	inputs   []string
	format   string
	out      string
	thinking bool
	source   bool
	since    string
	until    string
	sessions []string
	projects []string
	types    []string
	tools    []string
}

var timelineFormats = []string{"jsonl", "csv", "parquet", "sqlite", "html"}

func newAuditTimelineCmd(env *Env) *cobra.Command {
	opts := &timelineOptions{}
	cmd := &cobra.Command{
		Use:     "timeline [OPTIONS] [INPUT...]",
		Short:   "Merge logs into one table by time",
		Long:    timelineLong,
		Example: timelineExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.inputs = args
			return runAuditTimeline(cmd.Context(), env, opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.format, "format", "jsonl", "jsonl, csv, parquet, sqlite or html")
	f.StringVarP(&opts.out, "out", "o", "", "write to this file instead of stdout")
	f.BoolVar(&opts.thinking, "include-thinking", false, "also rows of the model's reasoning")
	f.BoolVar(&opts.source, "source", false, "append the columns source_file and source_offset")
	f.StringVar(&opts.since, "since", "", "only rows from this time on: 2026-10-01, RFC 3339, or 24h, 7d before now")
	f.StringVar(&opts.until, "until", "", "only rows up to this time; a date means its whole day")
	f.StringSliceVar(&opts.sessions, "session", nil, "only rows of this session id, or ids that start so; repeatable")
	f.StringSliceVar(&opts.projects, "project", nil, "only rows of this project path, or paths below it; repeatable")
	f.StringSliceVar(&opts.types, "type", nil, "only rows of this turn type: user, assistant, thinking, tool_use, tool_result, system; repeatable")
	f.StringSliceVar(&opts.tools, "tool", nil, "only rows of this tool; repeatable")
	return cmd
}

const timelineCommand = "muse audit timeline"

// filter checks the options and makes the filter they describe.
func (o *timelineOptions) filter(env *Env) (audit.Filter, error) {
	f := audit.Filter{Sessions: o.sessions, Projects: o.projects, Tools: o.tools}
	usage := func(format string, args ...any) error {
		return &UsageError{Command: timelineCommand, Message: fmt.Sprintf(format, args...)}
	}
	if !slices.Contains(timelineFormats, o.format) {
		return f, usage("option --format: %q is none of %s", o.format, strings.Join(timelineFormats, ", "))
	}
	for _, t := range o.types {
		if !slices.Contains(timeline.TurnTypes, timeline.TurnType(t)) {
			return f, usage("option --type: %q is no turn type", t)
		}
		f.Types = append(f.Types, timeline.TurnType(t))
	}
	if slices.Contains(f.Types, timeline.ThinkingRow) && !o.thinking {
		return f, usage("option --type thinking needs --include-thinking")
	}
	var err error
	if o.since != "" {
		if f.Since, err = audit.ParseTime(o.since, false, env.Now()); err != nil {
			return f, usage("option --since: %v", err)
		}
	}
	if o.until != "" {
		if f.Until, err = audit.ParseTime(o.until, true, env.Now()); err != nil {
			return f, usage("option --until: %v", err)
		}
	}
	if f.Since != 0 && f.Until != 0 && f.Since > f.Until {
		return f, usage("option --since is after --until")
	}
	return f, nil
}

func runAuditTimeline(ctx context.Context, env *Env, opts *timelineOptions) error {
	filter, err := opts.filter(env)
	if err != nil {
		return err
	}
	if opts.out == "" && env.StdoutTTY && (opts.format == "parquet" || opts.format == "sqlite") {
		return &UsageError{Command: timelineCommand, Message: "a " + opts.format + " file does not go to a terminal: use --out FILE"}
	}
	in, err := findInput(env, timelineCommand, opts.inputs)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := newTimelineOutput(env, opts)
	if err != nil {
		return err
	}
	ctx, stop := withSignals(ctx)
	defer stop()
	stats, err := audit.Timeline(ctx, in, audit.TimelineOptions{Thinking: opts.thinking, Filter: filter, Observe: out.observe}, out.rows)
	if err == nil {
		err = out.finish()
	} else {
		err = errors.Join(err, out.abort())
	}
	if err != nil {
		if code, ok := signalCode(ctx); ok {
			return &ExitError{Code: code, Err: err}
		}
		if errors.Is(err, syscall.EPIPE) {
			return &ExitError{Code: 1} // the reader has enough
		}
		return err
	}
	reportInput(env, stats)
	switch {
	case stats.Logs == 0:
		return &ExitError{Code: 1, Err: errors.New("there is no session log in the input")}
	case len(stats.Problems) > 0:
		return &ExitError{Code: 1}
	}
	return nil
}

// timelineOutput is where the rows go: to stdout, or to a file that has its
// name when it is whole.
type timelineOutput struct {
	rows    timeline.Writer
	observe func(*audit.File, *timeline.Event)
	file    *os.File // being written, at name + ".part"
	name    string
	copyTo  io.Writer // a file that must be whole first goes there at the end
}

func newTimelineOutput(env *Env, opts *timelineOptions) (*timelineOutput, error) {
	o := &timelineOutput{name: opts.out}
	if opts.format == "sqlite" {
		if o.name == "" {
			dir, err := os.MkdirTemp("", "openmuse-timeline-")
			if err != nil {
				return nil, fmt.Errorf("make room for the database: %w", err)
			}
			o.name, o.copyTo = filepath.Join(dir, "timeline.sqlite"), env.Stdout
		}
		w, err := sqlitefile.Create(o.name, opts.source)
		o.rows = w
		return o, err
	}
	w := env.Stdout
	if o.name != "" {
		f, err := os.OpenFile(o.name+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("create output: %w", err)
		}
		o.file, w = f, f
	}
	var err error
	switch opts.format {
	case "csv":
		o.rows = timeline.NewCSV(w, opts.source)
	case "parquet":
		o.rows, err = timeline.NewParquet(w, opts.source)
	case "html":
		page := html.New(w)
		o.rows = page
		o.observe = func(f *audit.File, ev *timeline.Event) { page.Observe(f.Kind == audit.SubagentLog, ev) }
	default:
		o.rows = timeline.NewJSONL(w, opts.source)
	}
	return o, err
}

func (o *timelineOutput) finish() error {
	if err := o.rows.Close(); err != nil {
		return errors.Join(err, o.abort())
	}
	switch {
	case o.file != nil:
		if err := o.file.Close(); err != nil {
			return fmt.Errorf("close output: %w", err)
		}
		if err := os.Rename(o.name+".part", o.name); err != nil {
			return fmt.Errorf("finish output: %w", err)
		}
	case o.copyTo != nil:
		defer os.RemoveAll(filepath.Dir(o.name))
		f, err := os.Open(o.name)
		if err != nil {
			return fmt.Errorf("read database back: %w", err)
		}
		defer f.Close()
		if _, err := io.Copy(o.copyTo, f); err != nil {
			return fmt.Errorf("write database: %w", err)
		}
	}
	return nil
}

// abort throws away what is not whole.
func (o *timelineOutput) abort() error {
	var err error
	if w, ok := o.rows.(*sqlitefile.Writer); ok {
		err = w.Abort()
	}
	if o.file != nil {
		err = errors.Join(err, o.file.Close(), os.Remove(o.name+".part"))
	}
	if o.copyTo != nil {
		err = errors.Join(err, os.RemoveAll(filepath.Dir(o.name)))
	}
	return err
}
