package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/openmuse/muse/internal/mockmodel"

	"github.com/openmuse/muse/bench/process"
	"github.com/openmuse/muse/bench/service"
	"github.com/openmuse/muse/bench/stat"
	"github.com/openmuse/muse/bench/subject"
)

// bench is one invocation.
type bench struct {
	opts     *options
	progress io.Writer
	root     string // everything it writes is in here
	self     string
	muse     string // the binary
	noise    *process.Noise
	report   report
}

// open makes the working directory and builds the binary.
func open(ctx context.Context, o *options, progress io.Writer) (*bench, error) {
	b := &bench{opts: o, progress: progress}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	// Not the temporary directory: it is often in memory, where a log that is
	// synced costs nothing, and codex refuses a home in there.
	parent := o.dir
	if parent == "" {
		if parent, err = os.UserCacheDir(); err != nil {
			parent = os.TempDir()
		}
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	if b.root, err = os.MkdirTemp(parent, "muse-bench-"); err != nil {
		return nil, err
	}
	if b.root, err = filepath.EvalSymlinks(b.root); err != nil {
		return nil, err
	}
	b.report.Machine = describeMachine(b.root)
	b.sayf("%s", b.report.Machine.notice())
	if b.muse, err = b.build(ctx); err != nil {
		_ = b.close() // the build's failure is the one to report
		return nil, err
	}
	info, err := os.Stat(b.muse)
	if err != nil {
		return nil, err
	}
	b.report.BinaryBytes = info.Size()
	b.noise = process.NewNoise()
	return b, nil
}

// build makes the binary, unless there is one to measure.
func (b *bench) build(ctx context.Context) (string, error) {
	if b.opts.muse != "" {
		return filepath.Abs(b.opts.muse)
	}
	path := filepath.Join(b.root, "muse")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	b.sayf("building ./cmd/muse")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/openmuse/muse/cmd/muse")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = b.progress
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build the binary: %w", err)
	}
	return path, nil
}

func (b *bench) close() error { return os.RemoveAll(b.root) }

// sayf tells how far things are.
func (b *bench) sayf(format string, args ...any) {
	fmt.Fprintf(b.progress, format+"\n", args...)
}

// subjects are the programs to measure, ours first.
func (b *bench) subjects() []*subject.Subject {
	all := append(subject.Muse(b.muse), subject.Confined(b.muse), subject.Floor(b.self))
	if _, err := exec.LookPath("bwrap"); err == nil {
		all = append(all, subject.ConfinedFloor(b.self))
	}
	if b.opts.peers {
		all = append(all, subject.Peers()...)
	}
	var out []*subject.Subject
	for _, s := range all {
		if b.opts.wants(s.Name) {
			out = append(out, s)
		}
	}
	return out
}

// place makes a home and a repository for a subject.
func (b *bench) place(ctx context.Context, s *subject.Subject, purpose string) (subject.Place, error) {
	dir := filepath.Join(b.root, s.Name+"-"+purpose)
	p := subject.Place{Home: filepath.Join(dir, "home"), Work: filepath.Join(dir, "project")}
	if err := os.MkdirAll(p.Home, 0o700); err != nil {
		return p, err
	}
	return p, makeRepository(ctx, p.Work)
}

// sample is one measured run.
type sample struct {
	process.Cost
	First       time.Duration // from the start of the program to its first model request
	Gaps        []time.Duration
	Calls       int
	Connections int
	Sizes       service.Sizes
	LastBody    int
	LogBytes    int64
	// Foreign is how many processors others used meanwhile, -1 when unknown.
	Foreign float64
}

// quietLimit is how much of a processor others may use in a quiet run.
const quietLimit = 0.3

func (s *sample) noisy() bool { return s.Foreign > quietLimit }

// once carries out one run with a service of its own and checks that the work
// was done.
func (b *bench) once(ctx context.Context, s *subject.Subject, p subject.Place, w service.Work, args func(subject.Place) []string) (*sample, error) {
	svc, err := service.Start(s.Wire, w)
	if err != nil {
		return nil, err
	}
	defer svc.Close()
	p.URL = svc.URL()
	if s.Configure != nil {
		if err := s.Configure(p); err != nil {
			return nil, fmt.Errorf("configure %s: %w", s.Name, err)
		}
	}
	before, err := s.Logs.Bytes(p)
	if err != nil {
		return nil, err
	}
	out := &sample{Foreign: -1}
	stderr := filepath.Join(filepath.Dir(p.Home), "stderr")
	b.noise.Foreign() // what happened since the last run is not this one's
	out.Cost, err = process.Run(ctx, process.Spec{
		Args: append([]string{s.Program}, args(p)...), Env: s.Environ(p), Dir: p.Work, Stderr: stderr, Limit: s.Limit,
	})
	if err != nil {
		return nil, err
	}
	if f, ok := b.noise.Foreign(); ok {
		out.Foreign = f
	}
	calls := svc.Calls()
	if err := checkRun(out.Cost, w, calls, stderr); err != nil {
		return nil, err
	}
	after, err := s.Logs.Bytes(p)
	if err != nil {
		return nil, err
	}
	out.LogBytes = after - before
	out.Connections = svc.Connections()
	return out, out.observe(calls)
}

// observe takes what the service saw into the sample. The first request is the
// first that offers tools: some programs ask for a title of the session beside
// it.
func (s *sample) observe(calls []mockmodel.Request) error {
	s.Calls = len(calls)
	s.LastBody = len(calls[len(calls)-1].Body)
	for _, c := range calls[1:] {
		s.Gaps = append(s.Gaps, c.Gap)
	}
	for _, c := range calls {
		sizes, err := service.Measure(c)
		if err != nil {
			return err
		}
		if s.First == 0 || sizes.ToolCount > 0 {
			s.First, s.Sizes = c.At.Sub(s.Started), sizes
		}
		if sizes.ToolCount > 0 {
			return nil
		}
	}
	return nil
}

// gap is the program's own time for one step.
func (s *sample) gap() time.Duration { return stat.Median(s.Gaps) }

func checkRun(c process.Cost, w service.Work, calls []mockmodel.Request, stderr string) error {
	var err error
	switch {
	case c.TimedOut:
		err = fmt.Errorf("it did not end within %s", c.Wall.Round(time.Second))
	case c.Exit != 0:
		err = fmt.Errorf("it ended with exit code %d", c.Exit)
	default:
		err = w.Done(calls)
	}
	if err == nil {
		return nil
	}
	if said := lastLines(stderr, 3); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}
