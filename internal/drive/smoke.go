package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// SmokeOptions describe seed 002's manual smoke run.
type SmokeOptions struct {
	Binary, Found string
	Provider      string // "meta" when empty
	Model         string // muse-spark-1.3 when empty
	Effort        string // minimal when empty
	Timeout       time.Duration
	Env           []string
	Temp          *muse.TempRoot
	Clock         muse.Clock
}

// SmokeRule is one of the three pass rules.
type SmokeRule struct {
	Name   string `json:"name"` // exit_code, terminal_event, final_text
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// SmokeReport is the body of `muse drive smoke --json`.
type SmokeReport struct {
	Type    string `json:"type"` // "muse.drive.smoke"
	Version int    `json:"schema_version"`
	OK      bool   `json:"ok"`
	// Mechanics is true when no model was asked: the echo provider shows that
	// the machinery works and qualifies nothing else.
	Mechanics bool        `json:"mechanics_only"`
	Rules     []SmokeRule `json:"rules"`
	Binary    BinaryInfo  `json:"binary"`
	Argv      []string    `json:"argv"`
	Class     muse.Class  `json:"class"`
	Text      string      `json:"text"`
	Reason    string      `json:"reason,omitempty"`
	Stderr    string      `json:"stderr_tail,omitempty"`
}

const defaultSmokeTimeout = 5 * time.Minute

// Smoke makes one tiny run in an empty workspace and judges it by the three
// rules. It shows that the binary, the account and the stream work together;
// it establishes nothing about sandbox, account scope or use of data.
func Smoke(ctx context.Context, o SmokeOptions) (*SmokeReport, error) {
	if o.Clock == nil {
		o.Clock = muse.SystemClock{}
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultSmokeTimeout
	}
	if o.Model == "" && o.Provider != "echo" {
		o.Model = "muse-spark-1.3"
	}
	if o.Effort == "" {
		o.Effort = "minimal"
	}
	workspace, err := os.MkdirTemp("", "muse-smoke-*")
	if err != nil {
		return nil, fmt.Errorf("make smoke workspace: %w", err)
	}
	defer func() {
		_ = os.RemoveAll(workspace) // a temporary directory: the report does not depend on it
	}()
	if workspace, err = filepath.EvalSymlinks(workspace); err != nil {
		return nil, fmt.Errorf("make smoke workspace: %w", err)
	}
	r := &SmokeReport{Type: "muse.drive.smoke", Version: 1, Mechanics: o.Provider == "echo"}
	var diags []muse.Diagnostic
	r.Binary = ProbeBinary(ctx, o.Binary, o.Found, o.Env, &diags)
	ctx, cancel := withDeadline(ctx, o.Clock, o.Timeout)
	defer cancel()
	last := &lastLine{}
	res, err := muse.Run(ctx, muse.RunOptions{
		Binary: o.Binary, Profile: muse.SmokeProfile(o.Provider, o.Model, o.Effort), Prompt: muse.SmokeBrief, Workspace: workspace,
		Env: o.Env, Temp: o.Temp, Clock: o.Clock, Stdout: last,
	})
	if err != nil {
		return nil, err
	}
	r.Argv, r.Class, r.Stderr = append([]string{o.Binary}, res.Args...), res.Class, res.StderrTail
	if res.Failure != nil {
		r.Reason = res.Failure.Reason
	}
	r.judge(res, last.text())
	return r, nil
}

// judge applies the rules to the exit code and the last line of stdout.
func (r *SmokeReport) judge(res *muse.Result, last []byte) {
	rule := func(name string, passed bool, format string, args ...any) {
		r.Rules = append(r.Rules, SmokeRule{Name: name, Passed: passed, Detail: fmt.Sprintf(format, args...)})
	}
	rule("exit_code", res.Exit.Code == 0, "%s", res.Exit)
	event, err := muse.NewReader(bytes.NewReader(last), muse.ReaderOptions{}).Next()
	var terminal *muse.Terminal
	switch {
	case err != nil:
		rule("terminal_event", false, "the last line of stdout is no record")
	default:
		terminal, _ = event.Payload.(*muse.Terminal)
		rule("terminal_event", event.PayloadType == muse.TerminalPrefix+muse.TerminalCompleted, "the last line of stdout is %s", event.PayloadType)
	}
	if terminal != nil && terminal.Text != nil {
		r.Text = *terminal.Text
	}
	rule("final_text", strings.TrimSpace(r.Text) != "", "%q", oneLine(r.Text))
	r.OK = true
	for _, rule := range r.Rules {
		r.OK = r.OK && rule.Passed
	}
}

// lastLine keeps the last line that is not empty. Once a line was beyond the
// limit there is none: an older one must not stand for it.
type lastLine struct {
	current, last []byte
	lost          bool
}

var errLineLimit = errors.New("line too long")

func (l *lastLine) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		if len(l.current)+len(line) > muse.DefaultMaxLine {
			l.lost = true
			return 0, errLineLimit
		}
		l.current = append(l.current, line...)
		if !ended {
			return n, nil
		}
		if len(bytes.TrimSpace(l.current)) > 0 {
			l.last, l.current = l.current, l.last
		}
		l.current = l.current[:0]
		b = rest
	}
}

func (l *lastLine) text() []byte {
	switch {
	case l.lost:
		return nil
	case len(bytes.TrimSpace(l.current)) > 0:
		return l.current
	default:
		return l.last
	}
}
