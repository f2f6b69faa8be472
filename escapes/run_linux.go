package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// attemptLimit bounds one attempt with everything around it.
const attemptLimit = 2 * time.Minute

// run makes every attempt and returns how many were not as they should be.
func (o options) run() (failed int, err error) {
	if err := o.settle(); err != nil {
		return 0, err
	}
	fmt.Printf("%-28s %-10s %-9s %s\n", "attempt", "verdict", "host", "detail")
	for _, a := range attempts() {
		if !o.wants(a.name) || o.control && !a.works {
			continue
		}
		ok, err := o.one(a)
		if err != nil {
			return failed, fmt.Errorf("%s: %w", a.name, err)
		}
		if !ok {
			failed++
		}
	}
	if !o.control && strings.HasSuffix(o.adapter, filepath.Join("adapters", "muse")) {
		more, err := o.runConditions()
		if err != nil {
			return failed, err
		}
		failed += more
	}
	fmt.Fprintf(os.Stderr, "# %d not as they should be\n", failed)
	return failed, nil
}

func (o *options) settle() error {
	if o.adapter == "" {
		for _, dir := range []string{"escapes", "."} {
			if path := filepath.Join(dir, "adapters", "muse"); exists(path) {
				o.adapter = path
			}
		}
	}
	var err error
	if o.adapter, err = filepath.Abs(o.adapter); err != nil {
		return err
	}
	if !exists(o.adapter) {
		return fmt.Errorf("no adapter %s: run from the repository, or name one", o.adapter)
	}
	if o.muse != "" {
		if o.muse, err = filepath.Abs(o.muse); err != nil {
			return err
		}
	}
	if o.control && os.Geteuid() == 0 {
		return errors.New("a control run has no sandbox: run it as a throw-away user, not as root")
	}
	if o.base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		o.base = filepath.Join(home, fmt.Sprintf(".muse-escapes-%d", os.Getpid()))
	}
	o.base, err = filepath.Abs(o.base)
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// one makes one attempt on a host of its own.
func (o options) one(a attempt) (ok bool, err error) {
	h, err := newHost(o.base)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.workspace(a.ws); err != nil {
		return false, err
	}
	before, err := h.state()
	if err != nil {
		return false, err
	}
	verdict, detail := o.attempt(h, a)
	state := "same"
	if a.check != nil {
		if err := a.check(h.facts); err != nil {
			state, detail = "CHANGED", err.Error()
		}
	}
	if after, err := h.state(); err != nil || after != before {
		state = "CHANGED"
		detail += difference(before, after)
	}
	if unix.Kill(h.facts.PID, 0) != nil {
		state = "CHANGED"
	}
	fmt.Printf("%-28s %-10s %-9s %.110s\n", a.name, verdict, state, detail)
	contained := verdict == "CONTAINED" && state == "same"
	if o.control {
		return !contained && verdict != "NO-VERDICT", nil
	}
	return contained, nil
}

// difference names the first line that is not in both.
func difference(before, after string) string {
	there := map[string]bool{}
	for line := range strings.Lines(before) {
		there[line] = true
	}
	for line := range strings.Lines(after) {
		if !there[line] {
			return " (" + strings.TrimSpace(line) + ")"
		}
	}
	return " (something is missing)"
}

// attempt runs the adapter and reads the verdict from what it prints.
func (o options) attempt(h *host, a attempt) (verdict, detail string) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptLimit)
	defer cancel()
	f := h.facts
	cmd := exec.CommandContext(ctx, o.adapter, f.Workspace, f.Secret, f.SecretDir, "--", "./.probes/attempt", attemptVerb, a.name)
	cmd.Dir = f.Workspace
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.Home, "MUSE=" + o.muse, "LAUNCHER=" + o.launcher, "FAKE_API_KEY=" + f.Mark + "-env"}
	// The input is a file of the host's, open for reading.
	in, err := os.Open(filepath.Join(f.Outside, "file"))
	if err != nil {
		return "NO-VERDICT", err.Error()
	}
	defer in.Close()
	// What a surrounding tool leaves open must not get inside either.
	cmd.ExtraFiles = []*os.File{in, in, in, in, in}
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &out
	_ = cmd.Run() // the verdict is in what it printed
	for line := range strings.Lines(out.String()) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "ESCAPED", "CONTAINED":
			_, detail, _ := strings.Cut(rest, ": ")
			return word, detail
		}
	}
	return "NO-VERDICT", strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", " | ")
}
