package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/demo"
	"github.com/openmuse/muse/internal/event"
)

const demoLong = `Show the agent at work without an account and without a network.

A small Go project whose test fails is written to a directory, and a recorded
model is played against it: the model's replies are recorded, everything else
is real. The tools run, the files change, the session log is written. The same
run with a live model is the "muse exec" line that is printed at the end.`

func newDemoCmd(env *Env) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo [OPTIONS]",
		Short: "Watch a recorded model fix a failing test with real tools",
		Long:  demoLong,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), env, dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory for the sample project (default: a new temporary one); it must be empty")
	return cmd
}

func runDemo(ctx context.Context, env *Env, dir string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the demo runs the sample's tests and needs the go command on PATH")
	}
	dir, err := demoDir(dir)
	if err != nil {
		return err
	}
	if err := demo.WriteSample(dir); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "A Go project with a failing test is in %s\nPrompt: %s\n\n", dir, demo.Prompt)

	r := &run{parts: parts{env: env, opts: &execOptions{
		prompt: demo.Prompt, hasPrompt: true, provider: "script", workspace: dir, disableSandbox: true, disableApproval: true,
		given: func(name string) bool { return name == "provider" },
	}}}
	show := &demoView{env: env, names: map[string]string{}}
	r.watchers = append(r.watchers, show.event)
	if err := r.execute(ctx); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "\nChecking: go test ./...\n")
	check := exec.CommandContext(ctx, "go", "test", "./...")
	check.Dir, check.Stdout, check.Stderr = dir, env.Stdout, env.Stderr
	if err := check.Run(); err != nil {
		return fmt.Errorf("the sample's tests do not pass after the run: %w", err)
	}
	fmt.Fprintf(env.Stdout, `
Project      %s
Session log  %s

This was the same as
  muse exec --provider script --workspace %s --disable-sandbox --disable-approval %q
With a live model it is, for example,
  META_API_KEY=… muse exec --workspace %s %q
  muse exec --provider openai-chat --base-url http://127.0.0.1:11434/v1 --model MODEL --workspace %s %q
`, dir, r.session.LogPath(), dir, demo.Prompt, dir, demo.Prompt, dir, demo.Prompt)
	return nil
}

func demoDir(dir string) (string, error) {
	if dir == "" {
		dir, err := os.MkdirTemp("", "muse-demo-")
		if err != nil {
			return "", fmt.Errorf("make a directory for the sample project: %w", err)
		}
		return filepath.EvalSymlinks(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory for the sample project: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("look at the directory for the sample project: %w", err)
	}
	if len(entries) > 0 {
		return "", &UsageError{Command: "muse demo", Message: fmt.Sprintf("--dir %s is not empty", dir)}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("find the directory for the sample project: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

// demoView tells a person what the agent does, one line an act.
type demoView struct {
	env   *Env
	names map[string]string // what each call does, by call id
}

func (v *demoView) event(e event.Recorded) error {
	switch b := e.Body.(type) {
	case event.SummaryCommitted:
		fmt.Fprintf(v.env.Stdout, "  thinks  %s\n", b.Text)
	case event.ToolCalls:
		for _, c := range b.Calls {
			v.names[c.CallID] = c.Name + " " + callSubject(c.Args)
		}
	case event.EffectTerminal:
		if b.Facts == nil {
			return nil
		}
		fmt.Fprintf(v.env.Stdout, "  calls   %s → %s\n", v.names[b.CallID], callOutcome(b))
	case event.RunTerminal:
		fmt.Fprintf(v.env.Stdout, "\nAnswer: ")
	}
	return nil
}

// callSubject is what a call is about: its command or its path.
func callSubject(args string) string {
	var subject struct {
		Command string `json:"command"`
		Path    string `json:"path"`
	}
	if json.Unmarshal([]byte(args), &subject) != nil {
		return ""
	}
	return strings.TrimSpace(subject.Command + subject.Path)
}

// callOutcome is how a call ended: for a command its exit code.
func callOutcome(e event.EffectTerminal) string {
	var command struct {
		ExitCode *int `json:"exit_code"`
	}
	switch {
	case e.Facts.Failed:
		return "failed: " + e.Outcome.Reason
	case json.Unmarshal([]byte(e.Facts.Text), &command) == nil && command.ExitCode != nil:
		return fmt.Sprintf("exit %d", *command.ExitCode)
	}
	return "done"
}
