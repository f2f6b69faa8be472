package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/egress"
	"github.com/openmuse/muse/internal/sandbox"
)

// sandboxRunOptions are the flags of `muse sandbox run`.
type sandboxRunOptions struct {
	workspace  string
	masks      []string
	allow      []string
	network    string
	launcher   string
	readOnly   bool
	gitCommits bool
	argv       []string
}

func newSandboxRunCmd(env *Env) *cobra.Command {
	var o sandboxRunOptions
	cmd := &cobra.Command{
		Use:   "run [OPTIONS] -- COMMAND [ARGUMENT]...",
		Short: "Run a command as the shell tool would",
		Long: "Run a command inside the sandbox, by the very path that the shell tool takes.\n" +
			"The exit code is the command's own, or 125 when the sandbox could not be confirmed and nothing was started.",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return &UsageError{Command: cmd.CommandPath(), Message: "a command is needed after \"--\""}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.argv = args
			return runSandboxRun(cmd.Context(), env, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.workspace, "workspace", "", "directory that the command may write (default: the current one)")
	f.BoolVar(&o.readOnly, "read-only", false, "the command may not write the workspace either")
	f.BoolVar(&o.gitCommits, "git-commits", false, "git may commit in the workspace's own repository (default: openmuse.sandbox.git_commits in settings)")
	f.StringArrayVar(&o.masks, "mask", nil, "path that shows nothing inside; repeatable")
	f.StringArrayVar(&o.allow, "allow", nil, "HOST:PORT:PROTOCOL that the command may connect to (http, https, tcp); repeatable")
	f.StringVar(&o.network, "network", "", "restricted, enabled or proxy-only (default: proxy-only)")
	f.StringVar(&o.launcher, "launcher", "", "auto, native or bubblewrap (default: auto)")
	return cmd
}

// spec turns the flags of a command into a boundary. What is wrong with a flag
// is a usage error.
func (o sandboxRunOptions) spec(env *Env, command string) (sandbox.Spec, error) {
	in, err := loadConfig(env)
	if err != nil {
		return sandbox.Spec{}, err
	}
	spec, err := defaultSandboxSpec(env, o.workspace, config.SandboxOf(in))
	if err != nil {
		return spec, err
	}
	spec.ReadOnly = o.readOnly
	bad := func(err error) (sandbox.Spec, error) {
		return spec, &UsageError{Command: command, Message: err.Error()}
	}
	if spec.Network, err = sandbox.ParseNetwork(o.network); err != nil {
		return bad(err)
	}
	if o.launcher != "" {
		if spec.Launcher, err = sandbox.ParseLauncher(o.launcher); err != nil {
			return bad(err)
		}
	}
	if o.gitCommits {
		spec.GitWrite = true
	}
	if spec.ReadOnly && spec.GitWrite {
		if o.gitCommits {
			return bad(errors.New("--git-commits and --read-only exclude each other"))
		}
		spec.GitWrite = false
	}
	for _, m := range o.masks {
		path, err := absolute(env, m)
		if err != nil {
			return spec, err
		}
		spec.Masks = append(spec.Masks, path)
	}
	options := egress.Options{Observe: func(e egress.Event) { tellEgress(env.Stderr, e) }}
	for _, a := range o.allow {
		k, err := egress.ParseKey(a)
		if err != nil {
			return bad(fmt.Errorf("option --allow: %w", err))
		}
		options.Allow = append(options.Allow, egress.RuleFor(k))
	}
	spec.Gate = egress.New(options)
	return spec, nil
}

// defaultSandboxSpec is the boundary of a session in workspace, without the
// choices that flags and profiles make. workspace "" is the current directory.
func defaultSandboxSpec(env *Env, workspace string, set config.Sandbox) (sandbox.Spec, error) {
	paths, err := config.Locate(env.Getenv)
	if err != nil {
		return sandbox.Spec{}, err
	}
	if workspace, err = absolute(env, workspace); err != nil {
		return sandbox.Spec{}, err
	}
	return sandbox.Spec{
		Workspace: workspace,
		Home:      paths.Home,
		Masks:     append([]string{paths.Config, paths.Data}, sandbox.DefaultMasks(paths.Home)...),
		StateDir:  filepath.Join(paths.Data, "sandbox"),
		Launcher:  sandbox.LauncherName(set.Launcher.V),
		GitWrite:  set.GitCommits.V,
		Environ:   env.Environ(),
		Notify:    func(n sandbox.Notice) { tellSandbox(env.Stderr, n) },
	}, nil
}

func absolute(env *Env, path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	wd, err := env.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the current directory: %w", err)
	}
	return filepath.Join(wd, path), nil
}

func tellSandbox(w io.Writer, n sandbox.Notice) {
	if n.Kind == "launcher" {
		return // the usual case; `muse sandbox check` names it
	}
	fmt.Fprintf(w, "muse: sandbox: %s\n", n.Text)
}

// tellEgress shows holds and refusals; what was allowed is not news.
func tellEgress(w io.Writer, e egress.Event) {
	switch e.Kind {
	case "held":
		fmt.Fprintf(w, "muse: network: %s held for approval\n", e.Request.Key)
	case "denied":
		fmt.Fprintf(w, "muse: network: %s denied: %s\n", e.Request.Key, e.Reason)
	}
}

func runSandboxRun(ctx context.Context, env *Env, o sandboxRunOptions) (err error) {
	spec, err := o.spec(env, "muse sandbox run")
	if err != nil {
		return err
	}
	session, err := sandbox.Open(spec)
	if err != nil {
		return sandboxFailure(err)
	}
	defer func() {
		if e := session.Close(); err == nil && e != nil {
			err = e
		}
	}()
	path, err := lookProgram(o.argv[0], spec.Workspace, env.Getenv("PATH"))
	if err != nil {
		return &ExitError{Code: 127, Err: err}
	}
	cmd, release, err := session.Command(ctx, sandbox.Command{Path: path, Args: o.argv, Env: env.Environ()})
	if err != nil {
		return sandboxFailure(err)
	}
	code, err := attendSandboxed(env, cmd)
	if e := release(); e != nil {
		return sandboxFailure(e)
	}
	if err != nil {
		return err
	}
	if code != 0 {
		return &ExitError{Code: code}
	}
	return nil
}

// sandboxFailure maps the errors of the boundary to their exit code.
func sandboxFailure(err error) error {
	if errors.Is(err, sandbox.ErrUnavailable) {
		return &ExitError{Code: sandbox.ExitUnavailable, Err: err}
	}
	return err
}

// lookProgram finds the program like a shell in the workspace would, but
// never in a relative directory of PATH.
func lookProgram(name, workspace, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(workspace, name)
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: command not found", name)
}

// attendSandboxed runs the process with pipes between it and our own streams:
// no descriptor of ours, and no terminal, is inside.
func attendSandboxed(env *Env, cmd *exec.Cmd) (int, error) {
	cmd.Stdout, cmd.Stderr = plainWriter{env.Stdout}, plainWriter{env.Stderr}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, fmt.Errorf("make the command's input: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the sandbox: %w", err)
	}
	go func() {
		// Ends with the input or with the process; nobody waits for it, since
		// the input may never end.
		_, _ = io.Copy(stdin, env.Stdin)
		_ = stdin.Close()
	}()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // gone already: nothing to tell it
			case <-done:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(done)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if code := exit.ExitCode(); code >= 0 {
			return code, nil
		}
		return 128 + int(syscall.SIGKILL), nil
	}
	return 0, err
}

// plainWriter hides that a stream is a file, so that the process gets a pipe.
type plainWriter struct{ io.Writer }
