package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const serveLong = `Speak the Muse Session Protocol on stdin and stdout, for the program that
started this one: open, resume, fork and list sessions, submit and steer turns,
answer approvals and questions, follow one stream of events.

One JSON object a line each way; see "muse schema" for its form. Stdout carries
nothing else; stderr is for people. The end of stdin ends the host in order:
running turns are cancelled, sessions are closed, leases are given back.

How actions are approved is chosen for each session on the wire, not here.

EXIT STATUS
  0    the client left and everything was ended in order
  1    the host failed
  2    usage error
  3    the configuration is wrong
  4    reserved: a session in use elsewhere is refused on the wire
  5    the protocol is switched off (MUSE_EXPERIMENTAL_SDK_ENABLED=off)
  129  ended by SIGHUP
  130  ended by SIGINT
  143  ended by SIGTERM`

const serveExample = `  muse serve
  muse serve --no-session-log
  muse serve --provider echo`

// Exit codes of serve beyond those of every verb (MSP.md 3).
const (
	exitConfig      = 3
	exitSwitchedOff = 5
)

func newServeCmd(env *Env) *cobra.Command {
	if serveSwitchedOff(env) {
		return &cobra.Command{
			Use: "serve", Hidden: true, DisableFlagParsing: true, // whatever it is called with (MSP.md 3)
			RunE: func(*cobra.Command, []string) error {
				return &ExitError{Code: exitSwitchedOff, Err: errors.New("muse: the session protocol is switched off by MUSE_EXPERIMENTAL_SDK_ENABLED")}
			},
		}
	}
	opts := &serveOptions{}
	cmd := &cobra.Command{
		Use:     "serve [OPTIONS]",
		Short:   "Serve sessions to another program over stdio",
		Long:    serveLong,
		Example: serveExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return serveUsage("unexpected argument %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.given = cmd.Flags().Changed
			if err := opts.check(); err != nil {
				return err
			}
			return runServe(cmd.Context(), env, opts)
		},
	}
	opts.register(cmd.Flags())
	return cmd
}

// serveSwitchedOff reports whether the protocol is switched off. It is on
// unless somebody says otherwise.
func serveSwitchedOff(env *Env) bool {
	switch strings.ToLower(strings.TrimSpace(env.Getenv("MUSE_EXPERIMENTAL_SDK_ENABLED"))) {
	case "off", "0", "false":
		return true
	}
	return false
}

func serveUsage(format string, args ...any) error {
	return &UsageError{Command: "muse serve", Message: fmt.Sprintf(format, args...)}
}

// serveOptions are the flags of serve: those of exec that hold for every
// session of the host's life. The others are refused with a reason.
type serveOptions struct {
	execOptions
	listen string
	wire   wireChoices
}

// wireChoices are options of exec that a client chooses on the wire.
type wireChoices struct {
	approvalMode, profile, judge, onApproval, timeout string
	disableApproval, yolo                             bool
}

func (o *serveOptions) register(f *pflag.FlagSet) {
	f.SortFlags = false
	f.BoolVar(&o.noSessionLog, "no-session-log", false, "keep nothing on disk: sessions end with the host")
	o.registerModel(f)
	o.registerBounds(f)

	f.StringVar(&o.listen, "listen", "", "")
	f.StringVar(&o.wire.approvalMode, "approval-mode", "", "")
	f.StringVar(&o.wire.profile, "permission-profile", "", "")
	f.StringVar(&o.wire.judge, "approval-judge", "", "")
	f.StringVar(&o.wire.onApproval, "on-approval", "", "")
	f.StringVar(&o.wire.timeout, "approval-timeout", "", "")
	f.BoolVar(&o.wire.disableApproval, "disable-approval", false, "")
	f.BoolVar(&o.wire.yolo, "yolo", false, "")
	for _, name := range append([]string{"listen"}, wireFlags()...) {
		f.Lookup(name).Hidden = true
	}
}

func wireFlags() []string {
	return []string{"approval-mode", "permission-profile", "approval-judge", "on-approval", "approval-timeout", "disable-approval", "yolo"}
}

// check judges the command line by itself.
func (o *serveOptions) check() error {
	if o.given("listen") {
		return serveUsage("option --listen is reserved: the protocol is spoken on stdin and stdout alone")
	}
	for _, name := range wireFlags() {
		if o.given(name) {
			return serveUsage("option --%s is refused: the client chooses it for each session (session/setApprovalMode)", name)
		}
	}
	for _, c := range []struct {
		flag, value string
		choices     []string
	}{
		{"reasoning-effort", o.effort, []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}},
		{"sandbox-network", o.sandboxNetwork, []string{"restricted", "enabled", "proxy-only"}},
	} {
		if o.given(c.flag) && !slices.Contains(c.choices, c.value) {
			return serveUsage("invalid value %q for --%s: want %s", c.value, c.flag, strings.Join(c.choices, ", "))
		}
	}
	switch {
	case o.given("script") && o.provider != "script":
		return serveUsage("option --script needs --provider script")
	case o.given("echo-delay-ms") && (o.provider != "echo" || o.echoDelay < 0):
		return serveUsage("option --echo-delay-ms needs --provider echo and a number not below 0")
	}
	return nil
}
