package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// attempt is one way out that must be closed.
type attempt struct {
	name    string
	promise string // what is promised (THREATS.md 9)
	ws      string // kind of workspace: "git", "empty", "nested" or "worktree"
	// works says that the attempt succeeds for an ordinary user without a
	// sandbox, so that a control run must see it succeed.
	works bool
	// try runs inside. A nil error means that it got out.
	try func(f facts) error
	// check runs outside, afterwards; an error means that something changed.
	// May be nil: the host's state is compared anyway.
	check func(f facts) error
}

// facts are what an attempt is told about the host.
type facts struct {
	Workspace, Outside, Home, Secret, SecretDir string
	Mark                                        string // in every secret
	Port                                        int    // TCP and UDP of a server on the host's loopback
	Stream, Datagram, Abstract                  string // its Unix sockets
	PID                                         int    // of a process of the host
	TmpFile                                     string // of somebody else in the host's /tmp
	ID                                          string // of the run, for names
}

const attemptVerb = "__attempt"

// factsFile lies beside the copy of this program in the workspace.
const factsFile = ".probes/facts.json"

// attemptMain runs one attempt inside and prints its verdict.
func attemptMain(name string) int {
	runtime.LockOSThread()
	text, err := os.ReadFile(factsFile)
	if err != nil {
		fmt.Println("NO-VERDICT", err)
		return 2
	}
	var f facts
	if err := json.Unmarshal(text, &f); err != nil {
		fmt.Println("NO-VERDICT", err)
		return 2
	}
	for _, a := range attempts() {
		if a.name != name {
			continue
		}
		if err := a.try(f); err != nil {
			fmt.Printf("CONTAINED %s: %s\n", name, firstLine(err.Error()))
			return 0
		}
		fmt.Printf("ESCAPED %s\n", name)
		return 1
	}
	fmt.Println("NO-VERDICT unknown attempt", name)
	return 2
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// attempts are all of them.
func attempts() []attempt {
	var all []attempt
	for _, group := range [][]attempt{
		fileAttempts(), protectedAttempts(), repositoryAttempts(), processAttempts(), kernelAttempts(), networkAttempts(), secretAttempts(),
	} {
		all = append(all, group...)
	}
	return all
}

// script is an attempt by shell: it got out when the script exits 0. OUT, HOME,
// SECRET and so on are replaced by the facts.
func script(text string) func(facts) error {
	return func(f facts) error {
		for name, value := range map[string]string{
			"OUT": f.Outside, "USERHOME": f.Home, "SECRETDIR": f.SecretDir, "SECRETFILE": f.Secret, "MARK": f.Mark, "TMPFILE": f.TmpFile, "RUNID": f.ID,
		} {
			text = strings.ReplaceAll(text, "@"+name+"@", value)
		}
		out, err := exec.Command("/bin/bash", "-c", text).CombinedOutput()
		if err != nil {
			return errors.New(firstLine(string(out)) + " (" + err.Error() + ")")
		}
		return nil
	}
}

// absent checks that a file outside was not made.
func absent(name string) func(facts) error {
	return func(f facts) error {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(f.Outside, name)
		}
		path = strings.ReplaceAll(path, "@RUNID@", f.ID)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s was made", path)
		}
		return nil
	}
}

// errRefused is a containment without an error of the system's.
var errRefused = errors.New("out of reach")
