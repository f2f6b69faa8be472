package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/openmuse/muse/internal/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type m = map[string]any

// newSet builds the tools on an empty workspace with real commands.
func newSet(t *testing.T, change func(*Options)) (*Set, string) {
	t.Helper()
	dir := t.TempDir()
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Workspace: ws, Launcher: Unsandboxed{}, SessionID: "s-1", ThreadID: "t-1",
		Environ:   []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir},
		OutputDir: filepath.Join(t.TempDir(), "tool-outputs"),
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, ws.Dir()
}

// call runs one tool with arguments given as a value.
func call(t *testing.T, s *Set, name string, args any) Result {
	t.Helper()
	raw, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	id := "call_" + strings.ReplaceAll(t.Name(), "/", "_")
	return s.Run(t.Context(), Call{ID: id, TaskID: "task-1", Name: name, Args: jsontext.Value(raw)})
}

func names(s *Set) string {
	var out []string
	for _, spec := range s.Specs() {
		out = append(out, spec.Name)
	}
	return strings.Join(out, " ")
}

func TestWhichToolsThereAre(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"default", nil, "read_file search write_file edit_file bash bash_input report_progress write_todos"},
		{"no shell", func(o *Options) { o.DisableShell = true }, "read_file search write_file edit_file report_progress write_todos"},
		{"no writing", func(o *Options) { o.DisableWrite = true }, "read_file search bash bash_input report_progress write_todos"},
		{"shell tool", func(o *Options) { o.EnableShellTool = true }, "read_file search write_file edit_file shell report_progress write_todos"},
		{"shell tool, no shell", func(o *Options) { o.EnableShellTool, o.DisableShell = true, true }, "read_file search write_file edit_file report_progress write_todos"},
		{"user input", func(o *Options) { o.UserInputAutoResolve = true }, "read_file search write_file edit_file bash bash_input report_progress write_todos request_user_input"},
	} {
		s, _ := newSet(t, tc.change)
		if got := names(s); got != tc.want {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}

func TestEffectsAndParallel(t *testing.T) {
	s, _ := newSet(t, func(o *Options) { o.UserInputAutoResolve = true })
	for _, spec := range s.Specs() {
		switch spec.Name {
		case "write_file", "edit_file":
			if !spec.Effects || !spec.Writes || spec.Parallel {
				t.Errorf("%+v", spec)
			}
		case "bash", "bash_input":
			if !spec.Effects || !spec.Shell || spec.Parallel {
				t.Errorf("%+v", spec)
			}
		default:
			if spec.Effects || spec.Writes || spec.Shell {
				t.Errorf("%+v", spec)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("no workspace")
	}
	ws, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for n, ok := range map[int]bool{0: true, 8: false, 9: true, -1: false} {
		s, err := New(Options{Workspace: ws, MaxOutputBytes: n})
		if (err == nil) != ok {
			t.Errorf("limit %d: %v", n, err)
		}
		if err == nil && s.Close() != nil {
			t.Error("closing an unused set")
		}
	}
}

// The tools are sent with every request: their text is a budget.
func TestToolsAreSmall(t *testing.T) {
	s, _ := newSet(t, func(o *Options) { o.UserInputAutoResolve = true })
	type wire struct {
		Type, Name, Description string
		Parameters              any
	}
	var tools []wire
	for _, spec := range s.Specs() {
		if len(spec.Description) > 400 {
			t.Errorf("%s: the description has %d bytes", spec.Name, len(spec.Description))
		}
		tools = append(tools, wire{"function", spec.Name, spec.Description, spec.Schema})
	}
	text, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 8<<10 {
		t.Errorf("the tools take %d bytes of a request, more than 8 KB", len(text))
	}
}

func TestArguments(t *testing.T) {
	s, _ := newSet(t, func(o *Options) { o.UserInputAutoResolve = true })
	for _, tc := range []struct{ name, tool, args, want string }{
		{"not json", "read_file", `{"path":`, "the arguments of read_file are not a JSON object"},
		{"an array", "read_file", `["a"]`, "it is an array"},
		{"two objects", "read_file", `{"path":"a"}{}`, "text follows the object"},
		{"duplicate key", "read_file", `{"path":"a","path":"b"}`, "duplicate"},
		{"missing", "read_file", `{}`, "`path` is missing; required: path"},
		{"nothing", "read_file", ``, "`path` is missing"},
		{"misspelled", "read_file", `{"file_path":"a"}`, "`path` is missing (`file_path` was given, which is not an argument)"},
		{"unknown", "read_file", `{"path":"a","limt":3}`, "`limt` is not an argument; did you mean limit? Allowed: limit, offset, path"},
		{"wrong type", "read_file", `{"path":3}`, "`path` must be a string, not a number 3"},
		{"null for a required one", "read_file", `{"path":null}`, "`path` must be a string, not null null"},
		{"fraction", "read_file", `{"path":"a","limit":1.5}`, "`limit` must be an integer"},
		{"too small", "read_file", `{"path":"a","offset":0}`, "`offset` must be at least 1, not 0"},
		{"too large", "read_file", `{"path":"a","limit":2001}`, "`limit` must be from 1 to 2000, not 2001"},
		{"enum", "search", `{"pattern":"a","mode":"glob"}`, "`mode` must be one of \"literal\", \"regex\", not a string \"glob\""},
		{"empty pattern", "search", `{"pattern":""}`, "`pattern` must have at least 1 characters"},
		{"in an array", "write_todos", `{"todos":[{"text":"a","status":"pending"},{"text":"b","status":"done"}]}`, "`todos[1].status` must be one of"},
		{"in an object in an array", "write_todos", `{"todos":[{"text":"a"}]}`, "`todos[0].status` is missing"},
		{"too many", "request_user_input", `{"questions":[]}`, "`questions` must have at least 1 items"},
		{"too long", "request_user_input", `{"questions":[{"id":"a","header":"thirteen chars","question":"q","options":[{"label":"x"},{"label":"y"}]}]}`, "`questions[0].header` must have at most 12 characters"},
		{"unknown tool", "read_fil", `{}`, `there is no tool named "read_fil"; did you mean read_file?`},
		{"namespaced tool", "muse.search", `{}`, "did you mean search?"},
		{"far away tool", "xyzzyx", `{}`, "the tools are read_file, search"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, r := s.Prepare(tc.tool, tc.args)
			if r == nil || !r.Failed || !strings.HasPrefix(r.Text, "tool failed: ") || !strings.Contains(r.Text, tc.want) {
				t.Errorf("got %+v, want %q", r, tc.want)
			}
		})
	}
	for args, want := range map[string]string{
		`{"path":"a","limit":null}`:  `{"path":"a"}`,
		`{"path":"a","limit":5}`:     `{"path":"a","limit":5}`,
		` {"path":"a","limit":5.0} `: `{"path":"a","limit":5.0}`,
	} {
		_, got, r := s.Prepare("read_file", args)
		if r != nil || string(got) != want {
			t.Errorf("%s became %s, %+v", args, got, r)
		}
	}
}

type panicking struct{}

func (panicking) Spec() Spec {
	return Spec{Name: "panicking", Schema: jsontext.Value(`{"type":"object"}`)}
}

func (panicking) Run(context.Context, Call) Result { panic("oh") }

func TestPanicIsAResult(t *testing.T) {
	s, _ := newSet(t, nil)
	if err := s.Add(panicking{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(panicking{}); err == nil {
		t.Error("two tools of one name")
	}
	if r := call(t, s, "panicking", m{"x": 1}); !r.Failed || !strings.Contains(r.Text, "internal error: oh") {
		t.Errorf("got %+v", r)
	}
}

// answers is a gate that allows some kinds and notes what it was asked.
type answers struct {
	allow  map[AskKind]bool
	reason string
	err    error
	asked  []Ask
}

func (a *answers) Check(_ context.Context, ask Ask) (Grant, error) {
	a.asked = append(a.asked, ask)
	return Grant{Allowed: a.allow[ask.Kind], Reason: a.reason}, a.err
}

func TestGate(t *testing.T) {
	g := &answers{allow: map[AskKind]bool{}}
	s, dir := newSet(t, func(o *Options) { o.Gate = g })
	outside := filepath.Join(t.TempDir(), "f.txt")
	if err := os.WriteFile(outside, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		tool string
		args m
		kind AskKind
		path string
		no   string
	}{
		{"read_file", m{"path": "in.txt"}, AskRead, filepath.Join(dir, "in.txt"), "permission denied"},
		{"edit_file", m{"path": "in.txt", "find": "hello", "replace": "bye"}, AskWrite, filepath.Join(dir, "in.txt"), "permission denied"},
		{"write_file", m{"path": "new/f", "content": "x"}, AskWrite, filepath.Join(dir, "new", "f"), "permission denied"},
		{"read_file", m{"path": outside}, AskReadOutside, outside, "absolute path is outside the workspace"},
		{"write_file", m{"path": outside, "content": "x"}, AskWriteOutside, outside, "absolute path is outside the workspace"},
		{"write_file", m{"path": ".git/hooks/x", "content": "x"}, AskWriteProtected, filepath.Join(dir, ".git", "hooks", "x"), ".git is protected"},
		{"search", m{"pattern": "hello", "paths": outside}, AskReadOutside, outside, "absolute path is outside the workspace"},
		{"bash", m{"command": "echo hi"}, AskShell, dir, "permission denied"},
	} {
		t.Run(tc.tool+" "+string(tc.kind), func(t *testing.T) {
			g.asked, g.allow, g.reason, g.err = nil, map[AskKind]bool{}, "", nil
			r := call(t, s, tc.tool, tc.args)
			if !r.Failed || !strings.HasPrefix(r.Text, "tool failed: "+tc.no) || !r.NoOutput && tc.kind != AskWriteProtected {
				t.Errorf("refused: %+v", r)
			}
			if len(g.asked) != 1 || g.asked[0].Kind != tc.kind || g.asked[0].Path != tc.path || g.asked[0].Call.Name != tc.tool {
				t.Errorf("asked %+v", g.asked)
			}
			g.reason = "a rule says no"
			if r := call(t, s, tc.tool, tc.args); r.Text != "tool failed: permission denied: a rule says no" {
				t.Errorf("with a reason: %s", r.Text)
			}
			g.err = errors.New("nobody there")
			if r := call(t, s, tc.tool, tc.args); !r.Failed || !strings.Contains(r.Text, "nobody there") {
				t.Errorf("with an error: %s", r.Text)
			}
			g.err, g.allow = nil, map[AskKind]bool{tc.kind: true}
			if r := call(t, s, tc.tool, tc.args); r.Failed {
				t.Errorf("allowed: %s", r.Text)
			}
		})
	}
}

func TestSmallTools(t *testing.T) {
	s, _ := newSet(t, nil)
	for i, want := range []string{`{"ok":true,"revision":1,"items":3}`, `{"ok":true,"revision":2,"items":1}`} {
		todos := []m{{"text": "a", "status": "completed"}, {"text": "b", "status": "in_progress"}, {"text": "c", "status": "pending"}}
		if i == 1 {
			todos = todos[:1]
		}
		r := call(t, s, "write_todos", m{"todos": todos})
		if r.Text != want || len(r.Todos) != len(todos) || r.Todos[0] != (Todo{"a", "completed"}) {
			t.Errorf("got %+v", r)
		}
	}
	var shown string
	r := s.Run(t.Context(), Call{Name: "report_progress", Args: jsontext.Value(`{"current_work":"a","next_work":"b","percent_complete":40}`),
		Progress: func(s string) { shown = s }})
	if r.Failed || shown != "40%: a; next: b\n" {
		t.Errorf("got %+v, %q", r, shown)
	}
}

func TestOnly(t *testing.T) {
	s, _ := newSet(t, func(o *Options) { o.DisableShell = true })
	if err := s.Only([]string{"read_file", "bash"}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, spec := range s.Specs() {
		names = append(names, spec.Name)
	}
	if len(names) != 1 || names[0] != "read_file" {
		t.Errorf("tools %v, want read_file alone: bash was taken out already", names)
	}
	if err := s.Only([]string{"read_fiel"}); err == nil {
		t.Error("an unknown name was accepted")
	}
}
