// Command bench measures the muse binary as a person or a driver meets it: as
// whole processes that do a fixed piece of work against a mock model service on
// this machine. Other agents that are found on PATH do the same work in the
// same invocation, and so does a floor of a hundred lines.
//
// docs/benchmarks.md says what is measured and how to read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/openmuse/muse/bench/biglog"
	"github.com/openmuse/muse/bench/process"
	"github.com/openmuse/muse/bench/subject"
	"github.com/openmuse/muse/bench/tree"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		var usage *usageError
		if errors.As(err, &usage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// run carries out the command line. The bench starts itself in four other
// roles, so that each is a process of its own that can be measured.
func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case process.LauncherArg:
			return process.Launch(os.Stdin, os.Stdout)
		case subject.FloorArg:
			return subject.RunFloor(args[1:], os.Stdout)
		case biglog.ReadArg:
			return biglog.RunRead(args[1:], os.Stdout)
		case tree.SearchArg:
			return tree.RunSearch(args[1:], os.Stdout)
		}
	}
	o, err := parse(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return o.measure(ctx, os.Stdout, os.Stderr)
}

// options are the command line.
type options struct {
	runs    int
	steps   []int
	peers   bool
	only    []string
	json    bool
	log     bool
	logSize int64
	search  bool
	ui      bool
	muse    string
	files   int
	dir     string
}

type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by main
	f.IntVar(&o.runs, "n", 7, "runs of each kind; --version runs twice as often, runs of 50 steps and more half as often")
	steps := f.String("steps", "1,20,100", "lengths of the runs in steps")
	f.BoolVar(&o.peers, "peers", true, "also measure the agents on PATH (codex, claude, opencode, crush, pi, gemini)")
	only := f.String("only", "", "measure only these subjects: muse, muse-responses, muse-messages, muse-sandbox, floor, floor-bwrap or a peer's name")
	f.BoolVar(&o.json, "json", false, "write the results as JSON")
	f.BoolVar(&o.log, "log", false, "instead: write a large session log and measure continuing it")
	size := f.String("log-size", "1G", "size of that log in bytes (K, M, G: powers of 1024)")
	f.BoolVar(&o.search, "search", false, "instead: the search engine beside ripgrep, and a start in a large tree")
	f.BoolVar(&o.ui, "ui", false, "instead: the terminal UIs, each in a pseudo-terminal")
	f.IntVar(&o.files, "files", 200_000, "files of that large tree")
	f.StringVar(&o.muse, "muse", "", "the binary to measure (default: one that is built from the sources here)")
	f.StringVar(&o.dir, "dir", "", "where to work (default: a new directory in the user's cache, removed afterwards)")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(stderr)
			f.Usage()
			return nil, err
		}
		return nil, &usageError{err.Error() + "; -h lists the flags"}
	}
	if f.NArg() > 0 {
		return nil, &usageError{fmt.Sprintf("unexpected argument %q", f.Arg(0))}
	}
	if o.runs < 1 {
		return nil, &usageError{"-n has to be at least 1"}
	}
	var err error
	if o.steps, err = parseSteps(*steps); err != nil {
		return nil, err
	}
	if o.logSize, err = parseSize(*size); err != nil {
		return nil, err
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, nil
}

// parseSteps reads a list of run lengths; they come out in rising order.
func parseSteps(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 10_000 {
			return nil, &usageError{fmt.Sprintf("-steps: %q is no number of steps", part)}
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// parseSize reads a number of bytes such as 500M.
func parseSize(s string) (int64, error) {
	number, unit := s, int64(1)
	for i, suffix := range []string{"K", "M", "G"} {
		if rest, ok := strings.CutSuffix(strings.ToUpper(s), suffix); ok {
			number, unit = rest, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > 1<<40/unit {
		return 0, &usageError{fmt.Sprintf("-log-size: %q is no size", s)}
	}
	return n * unit, nil
}

// wants reports whether a subject was asked for.
func (o *options) wants(name string) bool {
	return len(o.only) == 0 || slices.Contains(o.only, name)
}

// measure builds the binary, does what was asked and reports it.
func (o *options) measure(ctx context.Context, stdout, stderr io.Writer) (err error) {
	b, err := open(ctx, o, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	switch {
	case o.log:
		err = b.measureLog(ctx)
	case o.ui:
		err = b.measureUI(ctx)
	case o.search:
		err = b.measureSearch(ctx)
	default:
		err = b.measureRuns(ctx)
	}
	if err != nil {
		return err
	}
	b.report.Machine.LoadAfter = process.LoadAverage()
	if err := b.report.write(stdout, o.json); err != nil {
		return err
	}
	return b.report.failure()
}
