package musetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Active reports whether this process was started as a stand-in.
func Active() bool { return os.Getenv(planVariable) != "" }

// Main plays the stand-in and returns its exit code.
func Main() int {
	if os.Getenv(roleVariable) == "hold" {
		return hold()
	}
	var plan Plan
	data, err := os.ReadFile(os.Getenv(planVariable))
	if err == nil {
		err = json.Unmarshal(data, &plan)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in: read plan:", err)
		return 70
	}
	args := os.Args[1:]
	switch {
	case slices.Contains(args, "--version"):
		fmt.Println(plan.Banner)
		return 0
	case len(args) > 0 && args[0] == "export" && !plan.NoExport:
		return export(plan, args[1:])
	case len(args) > 1 && args[0] == "exec" && args[1] == "--help":
		return help(plan)
	case len(args) > 0 && args[0] == "exec":
		return execute(plan, args)
	default:
		fmt.Fprintln(os.Stderr, "unknown command")
		return 2
	}
}

// valueFlags and boolFlags are the flags of the documented surface that the
// stand-in takes.
func valueFlags() []string {
	return []string{
		"--provider", "--model", "--reasoning-effort", "--workspace", "--sandbox-network", "--session-id", "--prompt-file", "--approval-mode",
		"--approval-judge", "--max-model-steps", "--output-schema", "--permission-profile", "--preset", "--base-url", "--script",
	}
}

func boolFlags() []string {
	return []string{
		"--json", "--trust-workspace", "--disable-approval", "--disable-sandbox", "--user-input-auto-resolve", "--no-foreign-personal-context",
		"--enable-shell-tool", "--disable-write", "--disable-shell", "--yolo", "--disable-web-tools",
	}
}

func help(plan Plan) int {
	flags := plan.HelpFlags
	if flags == nil {
		flags = append(valueFlags(), boolFlags()...)
	}
	fmt.Println("Usage: muse exec [OPTIONS] [PROMPT]\n\nOptions:")
	for _, f := range flags {
		fmt.Println("      " + f)
	}
	return 0
}

// parse checks the command line as the documented surface does: unknown flags
// and doubled booleans are usage errors.
func parse(args []string) (values map[string]string, prompt string, err error) {
	values = map[string]string{}
	for i := 1; i < len(args); i++ {
		a := args[i]
		switch name, v, has := strings.Cut(a, "="); {
		case a == "--":
			if i+2 != len(args) {
				return nil, "", errors.New("one prompt is expected after --")
			}
			return values, args[i+1], nil
		case slices.Contains(boolFlags(), a):
			if _, twice := values[a]; twice {
				return nil, "", fmt.Errorf("option %s was given twice", a)
			}
			values[a] = "true"
		case slices.Contains(valueFlags(), name):
			if !has {
				if i++; i == len(args) {
					return nil, "", fmt.Errorf("option %s needs a value", name)
				}
				v = args[i]
			}
			values[name] = v
		case strings.HasPrefix(a, "-"):
			return nil, "", fmt.Errorf("unknown option %s", a)
		default:
			prompt = a
		}
	}
	return values, prompt, nil
}

func execute(plan Plan, args []string) int {
	values, prompt, err := parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\nusage: muse exec [OPTIONS] [PROMPT]\n", err)
		return 2
	}
	record := Record{Args: args, Env: map[string]string{}, Prompt: prompt, Pid: os.Getpid(), PromptPath: values["--prompt-file"]}
	record.Dir, _ = os.Getwd() // empty when unknown: a test that cares fails
	for _, e := range os.Environ() {
		k, v, _ := strings.Cut(e, "=")
		record.Env[k] = v
	}
	if record.PromptPath != "" {
		data, err := os.ReadFile(record.PromptPath)
		info, statErr := os.Stat(record.PromptPath)
		if err = errors.Join(err, statErr); err != nil {
			fmt.Fprintln(os.Stderr, "read prompt file:", err)
			return 2
		}
		record.Prompt, record.PromptMode = string(data), info.Mode().String()
	}
	record.Stdin = "empty"
	if n, _ := os.Stdin.Read(make([]byte, 1)); n > 0 {
		record.Stdin = "data"
	}
	n, err := claim(plan.Dir, record)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		return 70
	}
	if len(plan.Calls) == 0 {
		fmt.Fprintln(os.Stderr, "stand-in: no call planned")
		return 70
	}
	call := plan.Calls[min(n, len(plan.Calls))-1]
	return call.play(plan, record, values)
}

// claim takes the next call number and stores the record.
func claim(dir string, record Record) (int, error) {
	data, err := json.MarshalIndent(record, "", " ")
	if err != nil {
		return 0, err
	}
	for n := 1; ; n++ {
		path := filepath.Join(dir, callName(n))
		if err := os.Mkdir(path, 0o700); errors.Is(err, os.ErrExist) {
			continue
		} else if err != nil {
			return 0, err
		}
		return n, os.WriteFile(filepath.Join(path, "record.json"), data, 0o600)
	}
}

func (c Call) play(plan Plan, record Record, values map[string]string) int {
	if c.IgnoreSignals {
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
	}
	if c.Stderr != "" {
		fmt.Fprint(os.Stderr, c.Stderr)
	}
	c.gate(plan, "start")
	if c.Raw != "" {
		_, _ = io.WriteString(os.Stdout, c.Raw) // who reads it judges what came
		return c.Exit
	}
	session := values["--session-id"]
	if session == "" {
		session = "00000000-0000-4000-8000-000000000001"
	}
	run := fmt.Sprintf("10000000-0000-4000-8000-%012d", record.Pid)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	s := NewStream(out, session, run)
	if c.Terminal != "" || c.Exit == 0 || c.Reply != "" || len(c.Deltas) > 0 {
		c.stream(plan, record, values, s, out)
	}
	if err := errors.Join(s.Err(), out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in: write:", err)
		return 70
	}
	return c.Exit
}

func (c Call) stream(plan Plan, record Record, values map[string]string, s *Stream, out *bufio.Writer) {
	model := c.Model
	if model == "" {
		model = values["--model"]
	}
	s.Open(record.Prompt, model)
	if c.Noise != "" {
		s.Raw(c.Noise)
	}
	for _, t := range c.Tools {
		s.Tool(t)
	}
	deltas := c.Deltas
	if deltas == nil && c.Reply != "" {
		deltas = []string{c.Reply}
	}
	for i, d := range deltas {
		s.Delta(d)
		if i == 0 {
			_ = out.Flush() // a failing write shows in the next one
			c.gate(plan, "delta")
		}
	}
	for i := range c.Lines {
		s.Delta(strings.Repeat("x", 1000) + fmt.Sprintf("%023d\n", i))
	}
	if c.Suicide {
		_ = out.Flush() // as above
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill() // does not return on the platforms under test
		}
		select {}
	}
	for path, content := range c.Write {
		if err := os.WriteFile(filepath.Join(record.Dir, path), []byte(content), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "stand-in: write file:", err)
		}
	}
	c.log(s)
	c.grandchild()
	c.gate(plan, "end")
	if c.Terminal == "none" {
		return
	}
	terminal := c.Terminal
	if terminal == "" {
		terminal = "completed"
	}
	text := &c.Reply
	if c.NoText {
		text = nil
	}
	s.Terminal(terminal, text, c.Reason, c.Extra)
}

// log writes the session log where the documented layout puts it.
func (c Call) log(s *Stream) {
	lines := slices.Clone(c.Log)
	if u := c.Usage; u != nil {
		lines = append(lines, fmt.Sprintf(`{"schema_version":1,"id":"00000000-0000-4000-8000-000000000002","stream":{"kind":"session","id":"%%SESSION%%"},"sequence":1,"recorded_at":%d,"record_type":"event","durability":"durable","causation_id":null,"payload_type":"runtime.session","payload_schema_version":1,"payload":{"event":{"duration_ms":1,"finish_reason":"stop","kind":"model_completed","model":%q,"usage":{"cache_read_tokens":%d,"cache_write_tokens":%d,"input_tokens":%d,"output_tokens":%d,"reasoning_tokens":0}},"kind":"run","run_id":"%%RUN%%"}}`,
			time.Now().UnixMicro(), u.Model, u.Read, u.Write, u.Input, u.Output))
	}
	root := os.Getenv("XDG_DATA_HOME")
	if len(lines) == 0 || root == "" {
		return
	}
	dir := filepath.Join(root, "muse", "sessions", "2026", "11", "30", s.Session)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(filepath.Join(dir, "session.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			text := strings.NewReplacer("%SESSION%", s.Session, "%RUN%", s.Run).Replace(strings.Join(lines, "\n") + "\n")
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in: session log:", err)
	}
}

func (c Call) grandchild() {
	if c.Grandchild == "" {
		return
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		return
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"=hold")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if c.Grandchild == "session" {
		ownSession(cmd)
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in: grandchild:", err)
	}
}

func export(plan Plan, args []string) int {
	out := ""
	for i, a := range args {
		if a == "--out" && i+1 < len(args) {
			out = args[i+1]
		}
	}
	if out == "" {
		out = filepath.Join(plan.Dir, "trajectory.json")
	}
	doc, err := json.Marshal(map[string]any{"export": args})
	if err == nil {
		err = os.WriteFile(out, doc, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		return 1
	}
	fmt.Println(out)
	return 0
}
