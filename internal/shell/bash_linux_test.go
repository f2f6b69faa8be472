package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/shell"
)

// The tests of this file hold the reader against bash itself: what bash starts
// for a line that was not refused must be among the line's stages, word for
// word where a word is known. bash runs in a bubblewrap sandbox without
// network, with an empty file system around it and limits on time, processes
// and memory; the programs that lines name are stand-ins that write down how
// they were started. Wrappers that start other programs (env, timeout, xargs,
// find ...) are the machine's own.

// differentialLines is how many lines are compared; the fuzz target goes on
// from there.
const differentialLines = 5000

// sandbox is a prepared place to run lines in.
type sandbox struct {
	bwrap string
	farm  string // directory of stand-ins and wrappers
	work  string
	dash  string // dash, when it is this machine's sh: then sh and dash are real
}

// realWrappers start other programs and must be the real thing.
var realWrappers = []string{"env", "timeout", "nice", "nohup", "setsid", "stdbuf", "xargs", "find", "ionice", "chrt", "taskset"}

// standIns are programs that wrappers start: bash asks a handler for any other
// name, but a wrapper needs a file.
var standIns = strings.Fields(`ls rm cat grep echo printf wc git go npm make python3 head tail sort touch cp mv chmod mkdir tee id
	true false sed awk sh curl node basename gofmt du date pwd sleep dash`)

const standIn = `#!/run/t/bash
printf -v r '%s\037' "${0##*/}" "$@"; printf '%s\036' "$r" >> "$LOG"
`

// printingCat is the stand-in of cat: it also prints its input, as the reader
// knows what "$(cat <<'EOF' ... EOF)" prints.
const printingCat = standIn + `[ $# -gt 0 ] || while IFS= read -r l || [ -n "$l" ]; do printf '%s\n' "$l"; done
`

// realDash is the stand-in of sh and dash: it writes down how it was started and
// starts the real one, which finds no stand-in for a name that has no file.
const realDash = standIn + `exec /run/t/dash "$@"
`

// newSandbox prepares the place, or skips when this machine cannot.
func newSandbox(t testing.TB) *sandbox {
	t.Helper()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("no comparison with bash: bubblewrap is not installed")
	}
	bash := "/bin/bash"
	if _, err := os.Stat(bash); err != nil {
		t.Skip("no comparison with bash: no " + bash)
	}
	s := &sandbox{bwrap: bwrap, work: t.TempDir()}
	s.farm = filepath.Join(s.work, "farm")
	if err := os.Mkdir(s.farm, 0o755); err != nil {
		t.Fatal(err)
	}
	if p, err := filepath.EvalSymlinks("/bin/sh"); err == nil && filepath.Base(p) == "dash" {
		s.dash = p
	}
	for _, name := range standIns {
		text := standIn
		switch {
		case name == "cat":
			text = printingCat
		case (name == "sh" || name == "dash") && s.dash != "":
			text = realDash
		}
		if err := os.WriteFile(filepath.Join(s.farm, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range realWrappers {
		p, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.farm, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := s.run(t, []string{"echo probe; nosuchprogram 'a b'; env ls x"}); err != nil {
		t.Skipf("no comparison with bash: the sandbox does not run here: %v", err)
	} else if got := fmt.Sprint(out[0]); got != "[[nosuchprogram a b] [env ls x] [ls x]]" && got != "[[nosuchprogram a b] [ls x]]" {
		t.Fatalf("the recorder is broken: %s", got)
	}
	return s
}

// driver runs the lines of /run/t/lines one after the other, each with a log of
// its own. Programs that are not in PATH reach the handler, which writes down
// their words.
const driver = `
command_not_found_handle() { local r; printf -v r '%s\037' "$@"; printf '%s\036' "$r" >> "$LOG"; return 127; }
export -f command_not_found_handle
ulimit -t 5 -u 400 -f 2048 -v 4000000 2>/dev/null
cd /w/ws
for f in /run/t/lines/*; do
	n=${f##*/}
	IFS= read -rd '' line < "$f"
	export LOG=/run/t/logs/$n
	: > "$LOG"
	/run/t/timeout -k 1 4 /run/t/bash --norc --noprofile -c "$line" < /dev/null > /dev/null 2>&1
	echo done > "/run/t/logs/$n.done"
done
exit 0
`

// run starts each line in a fresh bash and gives the argument lists that were
// recorded. A line that did not finish has a nil list.
func (s *sandbox) run(t testing.TB, lines []string) ([][][]string, error) {
	t.Helper()
	dir, err := os.MkdirTemp(s.work, "run")
	if err != nil {
		return nil, err
	}
	for _, d := range []string{"lines", "logs"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	for i, l := range lines {
		if err := os.WriteFile(filepath.Join(dir, "lines", fmt.Sprintf("%06d", i)), []byte(l), 0o644); err != nil {
			return nil, err
		}
	}
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(lines))*5*time.Second+20*time.Second)
	defer cancel()
	dash := s.dash
	if dash == "" {
		dash = "/bin/bash" // nothing starts it
	}
	cmd := exec.CommandContext(ctx, s.bwrap,
		"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/lib", "/lib", "--ro-bind-try", "/lib64", "/lib64", "--ro-bind-try", "/usr/lib", "/usr/lib", "--ro-bind-try", "/usr/libexec", "/usr/libexec",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/home/u", "--dir", "/w/ws/src",
		"--ro-bind", s.farm, "/s", "--ro-bind", s.farm, "/bin", "--ro-bind", s.farm, "/usr/bin",
		"--dir", "/run/t", "--ro-bind", "/bin/bash", "/run/t/bash", "--ro-bind", dash, "/run/t/dash", "--ro-bind", timeout, "/run/t/timeout",
		"--ro-bind", filepath.Join(dir, "lines"), "/run/t/lines", "--bind", filepath.Join(dir, "logs"), "/run/t/logs",
		"--clearenv", "--setenv", "PATH", "/s", "--setenv", "HOME", "/home/u", "--setenv", "TMPDIR", "/tmp", "--setenv", "LC_ALL", "C.UTF-8",
		"--chdir", "/w/ws", "--", "/run/t/bash", "--norc", "--noprofile", "-c", driver)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && len(lines) == 1 {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	out := make([][][]string, len(lines))
	for i := range lines {
		base := filepath.Join(dir, "logs", fmt.Sprintf("%06d", i))
		if _, err := os.Stat(base + ".done"); errors.Is(err, os.ErrNotExist) {
			continue
		}
		data, err := os.ReadFile(base)
		if err != nil {
			return nil, err
		}
		out[i] = [][]string{}
		for _, rec := range strings.Split(string(data), "\x1e") {
			if rec != "" {
				out[i] = append(out[i], strings.Split(strings.TrimSuffix(rec, "\x1f"), "\x1f"))
			}
		}
	}
	return out, os.RemoveAll(dir)
}

// explained reports whether an argument list that bash started is among the
// stages, or among the commands that wrappers were taken off.
func explained(l *shell.Line, argv []string) bool {
	for i := range l.Stages {
		s := &l.Stages[i]
		if s.Kind == shell.Command && fits(s.Argv, argv, s.Appended) {
			return true
		}
		for _, w := range s.Wrappers {
			if fits(w.Argv, argv, s.Appended || w.Name == "xargs" || w.Name == "find" || w.Name == "fd") {
				return true
			}
		}
	}
	return false
}

// fits matches words against arguments: a known word is exactly one argument,
// any other may be several or none. Words behind find's own may hold -exec, so
// for find the program has to agree only.
func fits(words []shell.Word, argv []string, appended bool) bool {
	if len(words) == 0 || filepath.Base(words[0].Value) != filepath.Base(argv[0]) {
		return false
	}
	if words[0].Value == "find" {
		return true
	}
	return fitRest(words[1:], argv[1:], appended)
}

func fitRest(words []shell.Word, argv []string, appended bool) bool {
	if len(words) == 0 {
		return len(argv) == 0 || appended
	}
	w := words[0]
	if !w.Known {
		for n := 0; n <= len(argv); n++ {
			if n != 1 && !w.Split && !w.Glob && !strings.ContainsAny(w.Value, string([]rune{shell.Hole, shell.Below, shell.Digits})) {
				continue
			}
			if fitRest(words[1:], argv[n:], appended) {
				return true
			}
		}
		return false
	}
	if len(argv) > 0 && argv[0] == w.Value {
		return fitRest(words[1:], argv[1:], appended)
	}
	// An unquoted alternative of braces may be empty, and then it is no word.
	return w.Value == "" && fitRest(words[1:], argv, appended)
}

// judge compares one line and gives a complaint, or "".
func judge(line string, started [][]string) string {
	l := shell.Analyze(line, corpusOptions)
	if !l.Decomposed() || keepsCommands(l) {
		return ""
	}
	for _, argv := range started {
		if !explained(l, argv) {
			var eff []string
			for i := range l.Stages {
				eff = append(eff, l.Stages[i].Effective())
			}
			return fmt.Sprintf("%q: bash started %q; the stages are %q", line, argv, eff)
		}
	}
	return ""
}

// keepsCommands reports builtins that run text later or from a file. They are
// stages, and the review stops on each of them whatever their words.
func keepsCommands(l *shell.Line) bool {
	for i := range l.Stages {
		switch l.Stages[i].Program() {
		case "trap", "compgen", "complete", "compopt", "bind", "fc", "source", ".", "mapfile", "readarray", "alias", "enable", "hash":
			return true
		}
	}
	return false
}

// runnable leaves out lines whose builtins would end the recorder.
func runnable(line string) bool {
	return len(line) < 4096 && !strings.Contains(line, "kill") && !strings.Contains(line, "ulimit") && !strings.Contains(line, "LOG") &&
		!strings.Contains(line, "command_not_found") && !strings.Contains(line, "/run/t")
}

// TestAgainstBash compares generated lines with bash.
func TestAgainstBash(t *testing.T) {
	s := newSandbox(t)
	want := differentialLines
	if testing.Short() {
		want = 300
	}
	if n, err := strconv.Atoi(os.Getenv("MUSE_BASH_LINES")); err == nil {
		want = n
	}
	seed := uint64(20261130)
	if n, err := strconv.ParseUint(os.Getenv("MUSE_BASH_SEED"), 10, 64); err == nil {
		seed = n
	}
	r := rand.New(rand.NewPCG(seed, uint64(want)))
	corpus := slices.Concat(seeds(t), slices.Repeat(trickSeeds(), 4))
	var lines []string
	for _, l := range slices.Concat(seeds(t), trickSeeds()) {
		if runnable(l) && shell.Analyze(l, corpusOptions).Decomposed() {
			lines = append(lines, l)
		}
	}
	tried := 0
	for ; len(lines) < want; tried++ {
		if l := generate(r, corpus); runnable(l) && shell.Analyze(l, corpusOptions).Decomposed() {
			lines = append(lines, l)
		}
	}
	const batch = 250
	started, unfinished := 0, 0
	start := time.Now()
	for from := 0; from < len(lines); from += batch {
		if end, ok := t.Deadline(); (ok && time.Until(end) < 2*time.Minute) || time.Since(start) > 4*time.Minute {
			// A busy machine: what was compared counts, the rest is for a quiet one.
			t.Logf("stopped after %d of %d lines: this machine is busy", from, len(lines))
			lines = lines[:from]
			break
		}
		part := lines[from:min(from+batch, len(lines))]
		out, err := s.run(t, part)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range part {
			if out[i] == nil {
				unfinished++
			}
			started += len(out[i])
			if complaint := judge(l, out[i]); complaint != "" {
				t.Error(complaint)
			}
		}
	}
	t.Logf("%d lines (of %d generated) started %d programs; %d did not finish", len(lines), tried, started, unfinished)
	if unfinished > len(lines)/20 || started < len(lines)/2 {
		t.Errorf("the comparison is worth little: %d of %d lines did not finish, %d programs started", unfinished, len(lines), started)
	}
}

// TestOracleSeesTricks holds that the comparison has the power to find what the
// reader refuses: the shells do start what these lines hide.
func TestOracleSeesTricks(t *testing.T) {
	s := newSandbox(t)
	lines := []string{
		"cat <<EOF\nEO\\\nF\nrm x\nEOF", "echo \"$\\\n(rm x)\"", "ls #\\\nrm x", `echo "${x:-'$(rm x)'}"`, "cat <<EOF\n${x:-'$(rm x)'}\nEOF",
		"bash -c + 'rm x'",
	}
	if s.dash != "" {
		lines = append(lines, `sh -c "echo \$'\\'; rm x #'"`, `sh -c + 'rm x'`)
	}
	for _, line := range lines {
		if shell.Analyze(line, corpusOptions).Decomposed() {
			t.Errorf("%q is read", line)
		}
		out, err := s.run(t, []string{strings.Replace(line, "bash -c", "/run/t/bash -c", 1)})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(out[0], func(argv []string) bool { return slices.Equal(argv, []string{"rm", "x"}) }) {
			t.Errorf("%q started %q, and no rm", line, out[0])
		}
	}
}

// FuzzAgainstBash looks for lines that bash reads differently.
func FuzzAgainstBash(f *testing.F) {
	s := newSandbox(f)
	for _, l := range trickSeeds() {
		f.Add(l)
	}
	for i, l := range seeds(f) {
		// Each seed costs a sandbox of its own in an ordinary test run.
		if i%40 == 0 {
			f.Add(l)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		if !runnable(line) || !shell.Analyze(line, corpusOptions).Decomposed() {
			return
		}
		out, err := s.run(t, []string{line})
		if err != nil || out[0] == nil {
			return // the line ended its own sandbox
		}
		if complaint := judge(line, out[0]); complaint != "" {
			t.Error(complaint)
		}
	})
}
