package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// asProgram makes the test binary run as muse itself.
const asProgram = "OPENMUSE_TEST_AS_PROGRAM"

// museCommand is muse as a process of its own, with a home of its own.
func museCommand(home, workspace string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = workspace
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	return cmd
}

// writeSteps writes a script of n steps that each run a command, then an
// answer, and returns its path. Steps that a crash cut off are made again, so
// there are answers to spare.
func writeSteps(t *testing.T, dir string, n int) string {
	t.Helper()
	type call struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	}
	type reply struct {
		Text  string `json:"text,omitempty"`
		Calls []call `json:"tool_calls,omitempty"`
	}
	var replies []reply
	for i := range n {
		// Mostly files: starting commands is what takes time here.
		step := call{"write_file", map[string]any{"path": fmt.Sprintf("out/%d.txt", i%3), "content": fmt.Sprintf("step %d\n", i)}}
		if i%5 == 0 {
			step = call{"bash", map[string]any{"command": fmt.Sprintf("echo step %d", i), "description": "step"}}
		}
		replies = append(replies, reply{Calls: []call{step}})
	}
	for range n {
		replies = append(replies, reply{Text: "all steps are done"})
	}
	data, err := json.Marshal(map[string]any{"schema_version": 1, "replies": replies})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "steps.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKilledAtAnyInstant kills a run of 30 steps with SIGKILL at 100 random
// instants and continues each: what stdout had shown as durable is in the log,
// the log is valid, and the run can be finished.
func TestKilledAtAnyInstant(t *testing.T) {
	const steps, kills = 30, 100
	dir := t.TempDir()
	model := writeSteps(t, dir, steps)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range kills {
		home, session := filepath.Join(dir, fmt.Sprint("home", i)), ident.V4()
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		args := []string{"exec", "--json", "--provider", "script", "--script", model, "--disable-sandbox", "--disable-approval", "--session-id", session, "--workspace", home}
		shown := killAfter(t, museCommand(home, dir, append(args, "go")...), 1+random.IntN(steps*12))
		log := findLog(t, home)
		if log == "" {
			if len(shown) > 0 {
				t.Fatalf("kill %d: stdout showed %d records and there is no log", i, len(shown))
			}
		}
		var out, stderr bytes.Buffer
		again := museCommand(home, dir, append(args, "go on")...)
		again.Stdout, again.Stderr = &out, &stderr
		if err := again.Run(); err != nil {
			t.Fatalf("kill %d: continuing: %v\n%s", i, err, stderr.Bytes())
		}
		// The stream is of the continued run alone: it begins with its prompt and
		// has one terminal, whatever the killed run had left open.
		continued := envelopes(t, bytes.NewBuffer(bytes.Clone(out.Bytes())))
		if continued[0].PayloadType != "runtime.command.accepted" || bytes.Count(out.Bytes(), []byte(`"payload_type":"run.terminal.`)) != 1 {
			t.Fatalf("kill %d: the continued stream begins with %s", i, continued[0].PayloadType)
		}
		if !bytes.Contains(out.Bytes(), []byte(`"payload_type":"run.terminal.completed"`)) {
			t.Fatalf("kill %d: the continued run has no completed terminal", i)
		}
		ids := validLog(t, findLog(t, home))
		for _, e := range append(shown, envelopes(t, &out)...) {
			if e.Durability == record.Durable && !ids[e.ID] {
				t.Fatalf("kill %d: stdout showed a %s that is not in the log", i, e.PayloadType)
			}
		}
	}
}

// killAfter starts cmd, reads n lines of its stdout, kills it, and returns all
// the whole lines that it had written.
func killAfter(t *testing.T, cmd *exec.Cmd, n int) []record.Envelope {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(stdout)
	var got bytes.Buffer
	for range n {
		line, err := r.ReadBytes('\n')
		got.Write(line)
		if err != nil {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	got.Write(rest)
	// The process was killed or had finished before: either is fine here.
	_ = cmd.Wait()
	return envelopes(t, &got)
}

// envelopes parses whole lines; a last line without its line feed is what a
// killed process leaves on a pipe.
func envelopes(t *testing.T, data *bytes.Buffer) []record.Envelope {
	t.Helper()
	var out []record.Envelope
	for raw := range bytes.Lines(data.Bytes()) {
		if !bytes.HasSuffix(raw, []byte("\n")) {
			break
		}
		l, err := record.ParseLine(bytes.TrimSuffix(raw, []byte("\n")))
		if err != nil {
			t.Fatalf("stdout: %v", err)
		}
		out = append(out, *l.Envelope)
	}
	return out
}

func findLog(t *testing.T, home string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, ".local/share/muse/sessions/*/*/*/*/session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// validLog reads a log, requires that nothing is wrong with it, and returns
// the ids of its records and markers.
func validLog(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ids := map[string]bool{}
	report, err := journal.ReadFrom(f, journal.ReadOptions{Verify: true}, func(l record.Line, _ int64) error {
		switch {
		case l.Envelope != nil:
			ids[l.Envelope.ID] = true
		case l.Marker != nil:
			ids[l.Marker.ID] = true
		}
		return nil
	})
	if err != nil || len(report.Diagnostics) > 0 {
		t.Fatalf("log %s: %v, findings %v", strings.TrimPrefix(path, os.TempDir()), err, report.Diagnostics)
	}
	if !report.Sealed {
		t.Fatalf("log %s is not sealed", path)
	}
	return ids
}
