package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/audit/sessions"
	"github.com/openmuse/muse/internal/view/timeline"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

const showLong = `Show one session as a readable transcript.

SESSION is an id or the start of one, a session's name, "last", or the path of
a log. Long texts are shortened; --full shows them whole.`

type showOptions struct {
	session  string
	inputs   []string
	thinking bool
	full     bool
}

func newAuditShowCmd(env *Env) *cobra.Command {
	opts := &showOptions{}
	cmd := &cobra.Command{
		Use:   "show [OPTIONS] SESSION [INPUT...]",
		Short: "Show one session as a readable transcript",
		Long:  showLong,
		Example: `  muse audit show last
  muse audit show 01a0f000 case.zip --full`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &UsageError{Command: showCommand, Message: "a session is missing: name an id, a name, \"last\", or the path of a log"}
			}
			opts.session, opts.inputs = args[0], args[1:]
			return runAuditShow(cmd.Context(), env, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.thinking, "include-thinking", false, "also the model's reasoning")
	cmd.Flags().BoolVar(&opts.full, "full", false, "show long texts whole")
	return cmd
}

const (
	showCommand = "muse audit show"
	showLines   = 40
)

func runAuditShow(ctx context.Context, env *Env, opts *showOptions) error {
	if len(opts.inputs) == 0 {
		if _, err := os.Stat(opts.session); err == nil {
			opts.inputs, opts.session = []string{opts.session}, "last"
		}
	}
	in, err := findInput(env, showCommand, opts.inputs)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, stop := withSignals(ctx)
	defer stop()
	list, stats, err := sessions.Gather(ctx, in, audit.Filter{})
	if err != nil {
		return err
	}
	for _, p := range stats.Problems {
		fmt.Fprintf(env.Stderr, "muse: warning: %s: %s\n", auditShown(p.Path), auditShown(p.Err.Error()))
	}
	s, err := pickSession(list, opts.session)
	if err != nil {
		return err
	}
	writeHead(env, s)
	lines := showLines
	if opts.full {
		lines = 0
	}
	w := timeline.NewTranscript(env.Stdout, s.ID, lines)
	_, err = audit.Timeline(ctx, in.Of(s.File()), audit.TimelineOptions{Thinking: opts.thinking}, w)
	if code, ok := signalCode(ctx); ok {
		return &ExitError{Code: code}
	}
	if errors.Is(err, syscall.EPIPE) {
		return &ExitError{Code: 1} // the reader has enough
	}
	return err
}

// pickSession finds the one session that is meant.
func pickSession(list []*sessions.Session, want string) (*sessions.Session, error) {
	if len(list) == 0 {
		return nil, &ExitError{Code: 1, Err: errors.New("there is no session log in the input")}
	}
	if want == "last" {
		last := list[0]
		for _, s := range list {
			if s.Last.After(last.Last) {
				last = s
			}
		}
		return last, nil
	}
	var found []*sessions.Session
	for _, s := range list {
		if s.ID == want || s.Name == want && want != "" {
			return s, nil
		}
		if strings.HasPrefix(s.ID, want) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return nil, &ExitError{Code: 1, Err: fmt.Errorf("no session %q; `muse audit sessions` lists them", want)}
	case 1:
		return found[0], nil
	}
	return nil, &ExitError{Code: 1, Err: fmt.Errorf("%d sessions start with %q; write more of the id", len(found), want)}
}

func writeHead(env *Env, s *sessions.Session) {
	var b bytes.Buffer
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, auditShown(value))
		}
	}
	line("session", s.ID)
	line("name", s.Name)
	line("project", s.Project)
	line("branch", s.Branch)
	line("model", strings.Join(s.Models(), ", "))
	for _, m := range s.Modes {
		line("mode", m)
	}
	if !s.First.IsZero() {
		line("time", auditStamp(s.First)+" to "+auditStamp(s.Last)+" UTC")
	}
	line("approvals", strings.TrimPrefix(auditApprovals(s.Approvals), "-"))
	if s.Total.Calls > 0 {
		line("usage", fmt.Sprintf("%d calls, %s, %s", s.Total.Calls, auditTokens(s.Total), auditCost(s.Total)))
	}
	line("log", s.Log)
	fmt.Fprintln(env.Stdout, b.String())
}

// escapeUnsafe escapes in JSON what a terminal would act on.
func escapeUnsafe(b []byte) []byte {
	if !bytes.ContainsFunc(b, func(r rune) bool { return r >= 0x7f && jsonline.Unsafe(r) }) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if r >= 0x7f && jsonline.Unsafe(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, string(r)...)
		}
	}
	return out
}
