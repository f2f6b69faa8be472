package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/openmuse/muse/internal/drive"
	"github.com/openmuse/muse/pkg/muse"
)

// driveFlags are the flags that drive and loop have in common.
type driveFlags struct {
	command  string // path, for usage errors
	given    func(name string) bool
	prompt   string
	extra    []string // after --args
	hasExtra bool

	bin, promptFile, workspace string
	model, effort, provider    string
	profile, sandbox           string
	asyncShell                 bool

	retries, waits            int
	noDirective               bool
	longCommand               string
	ceiling, softCeiling      time.Duration
	quiet, stall              time.Duration
	stopStalled, strict       bool
	denyContributor           bool
	price                     string
	timeout                   time.Duration
	maxSteps                  int
	schema                    string
	readOnly, trust           bool
	approval                  string
	boundary, dataPolicy, pin string
	args                      string // only to be listed in help; see splitPassThrough
	timeScale                 float64
	stallWithoutProgress      time.Duration
}

func (d *driveFlags) register(f *pflag.FlagSet) {
	f.StringVar(&d.bin, "bin", "", "muse binary to drive (default: $MUSE_PATH, else this one)")
	f.StringVar(&d.promptFile, "prompt-file", "", "read the prompt from this `file`; - is stdin")
	f.StringVar(&d.workspace, "workspace", "", "workspace root (`dir`; default: the current directory)")
	f.StringVar(&d.model, "model", "", "model id, alias (wonder, spark, …), size (xs, s, m, l, xl) or tier (large, small)")
	f.StringVar(&d.effort, "effort", "", "reasoning effort (`level`)")
	f.StringVar(&d.provider, "provider", "", "model provider of the driven binary")
	f.StringVar(&d.profile, "profile", "", "command line to build: supervised (default), direct or legacy")
	f.StringVar(&d.sandbox, "sandbox", "", "on keeps the driven agent's sandbox, whose .git is read-only; off (default) does not (MUSE_DRIVE_SANDBOX)")
	f.BoolVar(&d.asyncShell, "async-shell", false, "leave the driven agent its managed shell")
	f.StringVar(&d.args, "args", "", "what follows goes to exec as it is, up to -- or the end")

	f.IntVar(&d.retries, "retries", drive.DefaultRetries, "fresh sessions after transient failures")
	f.IntVar(&d.waits, "wait-continuations", drive.DefaultContinuations, "how often a reply that waits is sent back; -1 switches the guard off (MUSE_DRIVE_MAX_WAIT_CONTINUATIONS)")
	f.BoolVar(&d.noDirective, "no-directive", false, "do not put the single-turn directive before the prompt")
	f.StringVar(&d.longCommand, "long-command", "", "`command` that the agent hands long work to (MUSE_DRIVE_LONG_COMMAND)")
	f.DurationVar(&d.ceiling, "sync-ceiling", muse.DefaultSyncCeiling, "when the driven agent's shell kills a command")
	f.DurationVar(&d.softCeiling, "soft-ceiling", 0, "longest the agent should block on one command (MUSE_DRIVE_SOFT_CEILING)")
	f.DurationVar(&d.quiet, "quiet-after", 2*time.Minute, "say so when nothing happened for this long")
	f.DurationVar(&d.stall, "stall-after", 15*time.Minute, "call the run stalled after this long")
	f.DurationVar(&d.stallWithoutProgress, "no-progress-after", 0, "call the run stalled when no step was completed for this long")
	f.Float64Var(&d.timeScale, "time-scale", 1, "multiply these three times, fractions allowed")
	f.BoolVar(&d.stopStalled, "stop-stalled", false, "end a stalled run")
	f.BoolVar(&d.strict, "strict", false, "refuse a stream with anything wrong in it")
	f.BoolVar(&d.denyContributor, "deny-contributor", false, "refuse, and stop, runs on models that train on them")
	f.StringVar(&d.price, "price", "", "US dollars for a million tokens: `IN,OUT` or IN,CACHED,OUT")

	f.IntVar(&d.maxSteps, "max-steps", 0, "model steps of a run (direct and legacy profiles)")
	f.StringVar(&d.schema, "output-schema", "", "JSON Schema `file` bound to the answer (direct profile)")
	f.BoolVar(&d.readOnly, "read-only", false, "no file-writing tools and no shell (direct profile)")
	f.BoolVar(&d.trust, "trust", false, "load the workspace's own instructions (direct profile)")
	f.StringVar(&d.approval, "approval-mode", "", "approval `mode` (legacy profile)")
	f.StringVar(&d.boundary, "boundary", "", "`name` of the qualified sandbox around the whole run (direct profile)")
	f.StringVar(&d.dataPolicy, "data-policy", "", "allow or deny for `PROCESSING,IMPROVEMENT,RETENTION` (direct profile)")
	f.StringVar(&d.pin, "pin", "", "the only `release` to run, such as 1.4.4-R5419.1 (direct profile)")
	if f.Lookup("max-time") == nil { // a loop limits its whole time, not one turn's
		f.DurationVar(&d.timeout, "timeout", 0, "end the turn after this wall `time`")
	}
}

func (d *driveFlags) usage(format string, args ...any) error {
	return &UsageError{Command: d.command, Message: fmt.Sprintf(format, args...)}
}

// limit is the context of a turn with --timeout.
func (d *driveFlags) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d.timeout)
}

// turn makes the options of a turn. promptOptional allows none.
func (d *driveFlags) turn(env *Env, promptOptional bool) (drive.TurnOptions, error) {
	o := drive.TurnOptions{
		Profile: d.profile, Provider: d.provider, Effort: d.effort, AsyncShell: d.asyncShell, MaxSteps: d.maxSteps,
		ReadOnly: d.readOnly, Trust: d.trust, Approval: d.approval, DenyContributor: d.denyContributor,
		Strict: d.strict, Retries: d.retries, Continuations: d.waits, NoDirective: d.noDirective,
		Ceilings:    drive.Ceilings{Hard: d.ceiling, Soft: d.softCeiling, LongCommand: d.longCommand},
		Watch:       muse.WatchOptions{QuietAfter: d.quiet, StallAfter: d.stall, NoProgressAfter: d.stallWithoutProgress, Scale: d.timeScale},
		StopStalled: d.stopStalled, Env: env.Environ(),
	}
	for _, step := range []func(*Env, *drive.TurnOptions) error{d.fillPlaces, d.fillModel, d.fillFromEnv, d.fillPolicy} {
		if err := step(env, &o); err != nil {
			return o, err
		}
	}
	if err := d.fillPrompt(env, &o, promptOptional); err != nil {
		return o, err
	}
	o.Say, o.Waiting = driveVoice(env, o.Clock)
	if env.StderrTTY && o.Sandbox == muse.SandboxOff && (o.Profile == "" || o.Profile == drive.ProfileSupervised) {
		o.Say("note: the driven agent's sandbox is off; --sandbox on keeps it")
	}
	return o, nil
}

func (d *driveFlags) fillPrompt(env *Env, o *drive.TurnOptions, optional bool) error {
	o.Prompt = d.prompt
	if d.given("prompt-file") {
		var data []byte
		var err error
		if d.promptFile == "-" {
			data, err = io.ReadAll(env.Stdin)
		} else {
			data, err = os.ReadFile(d.promptFile)
		}
		if err != nil {
			return d.usage("cannot read the prompt: %v", err)
		}
		o.Prompt = string(data)
	}
	if strings.TrimSpace(o.Prompt) == "" && !optional {
		return d.usage("no prompt: give it as the last argument or with --prompt-file")
	}
	return nil
}

func (d *driveFlags) fillPlaces(env *Env, o *drive.TurnOptions) error {
	self, err := os.Executable()
	if err != nil {
		self = "" // PATH is asked then
	}
	if o.Binary, o.BinaryFound, err = muse.FindBinary(d.bin, self, env.Getenv); err != nil {
		return d.usage("%v", err)
	}
	cwd, err := env.Getwd()
	if err != nil {
		return fmt.Errorf("find the current directory: %w", err)
	}
	absolute := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(cwd, path)
	}
	if !strings.ContainsRune(o.Binary, filepath.Separator) || !filepath.IsAbs(o.Binary) {
		o.Binary = absolute(o.Binary) // the run starts in the workspace
	}
	o.Workspace = cwd
	if d.workspace != "" {
		o.Workspace = absolute(d.workspace)
	}
	if info, err := os.Stat(o.Workspace); err != nil || !info.IsDir() {
		return d.usage("workspace %s is not a directory", o.Workspace)
	}
	o.OutputSchema = absolute(d.schema)
	o.Clock = muse.SystemClock{}
	return nil
}

func (d *driveFlags) fillModel(env *Env, o *drive.TurnOptions) error {
	var err error
	if o.Select, err = drive.Aliases(env.Getenv).Resolve(d.model); err != nil {
		return d.usage("%v", err)
	}
	o.Extra = d.extra
	if o.Select.Via == "tier" && !d.hasExtra && (o.Profile == "" || o.Profile == drive.ProfileSupervised) {
		tier := muse.Tier(strings.TrimPrefix(d.model, "muse/"))
		if o.Extra, err = drive.TierArgs(tier, env.Getenv); err != nil {
			return d.usage("%v", err)
		}
	}
	if d.price != "" {
		if o.Price, err = parsePrice(d.price); err != nil {
			return d.usage("invalid value %q for --price: %v", d.price, err)
		}
	}
	return nil
}

// fillFromEnv takes from the environment what no flag gave.
func (d *driveFlags) fillFromEnv(env *Env, o *drive.TurnOptions) error {
	var err error
	switch {
	case !d.given("sandbox"):
		o.Sandbox, err = drive.SandboxFromEnv(env.Getenv)
	case d.sandbox == "on", d.sandbox == "off":
		o.Sandbox = muse.SandboxPosture(d.sandbox)
	default:
		return d.usage("invalid value %q for --sandbox: want on or off", d.sandbox)
	}
	if err == nil && !d.given("wait-continuations") {
		o.Continuations, err = drive.ContinuationsFromEnv(env.Getenv)
	}
	if !d.given("long-command") {
		o.Ceilings.LongCommand = env.Getenv(drive.VarLongCommand)
	}
	if text := env.Getenv(drive.VarSoftCeiling); err == nil && text != "" && !d.given("soft-ceiling") {
		if o.Ceilings.Soft, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("%s: %w", drive.VarSoftCeiling, err)
		}
	}
	if err != nil {
		return d.usage("%v", err)
	}
	for name, bad := range map[string]bool{
		"retries": d.retries < 0, "wait-continuations": o.Continuations < -1, "sync-ceiling": d.ceiling < time.Second, "soft-ceiling": o.Ceilings.Soft < 0,
		"time-scale": d.timeScale <= 0, "quiet-after": d.quiet <= 0, "stall-after": d.stall <= 0, "timeout": d.timeout < 0, "max-steps": d.maxSteps < 0,
	} {
		if bad {
			return d.usage("invalid value for --%s", name)
		}
	}
	return nil
}

func (d *driveFlags) fillPolicy(_ *Env, o *drive.TurnOptions) error {
	o.Policy.Boundary, o.Policy.Pin = d.boundary, d.pin
	if d.dataPolicy == "" {
		return nil
	}
	parts := strings.Split(d.dataPolicy, ",")
	if len(parts) != 3 {
		return d.usage("invalid value %q for --data-policy: want three words, each allow or deny", d.dataPolicy)
	}
	o.Policy.Data = muse.DataPolicy{Processing: parts[0], Improvement: parts[1], Retention: parts[2]}
	return nil
}

// parsePrice reads IN,OUT or IN,CACHED,OUT. Without a cached price, cached
// input costs what fresh input does.
func parsePrice(text string) (*muse.Price, error) {
	var n []float64
	for _, part := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || v < 0 || v > 1e6 {
			return nil, fmt.Errorf("%q is no price", part)
		}
		n = append(n, v)
	}
	switch len(n) {
	case 2:
		return &muse.Price{Input: n[0], Cached: n[0], Output: n[1]}, nil
	case 3:
		return &muse.Price{Input: n[0], Cached: n[1], Output: n[2]}, nil
	default:
		return nil, fmt.Errorf("want two or three numbers")
	}
}

// driveVoice is how drive and loop speak: lines on stderr, and on a terminal a
// timer that a line takes the place of.
func driveVoice(env *Env, clock muse.Clock) (say func(string), waiting func() func()) {
	// The timer and the observer of a run speak from goroutines of their own.
	w := &lockedWriter{w: env.Stderr}
	if !env.StderrTTY {
		return func(line string) { fmt.Fprintln(w, "muse:", line) }, nil
	}
	say = func(line string) { fmt.Fprintf(w, "\r\x1b[Kmuse: %s\n", line) }
	timer := drive.Timer{W: w, Clock: clock, Label: "Muse Code"}
	return say, timer.Start
}

// lockedWriter lets several goroutines write whole lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
