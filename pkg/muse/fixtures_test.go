package muse_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/pkg/muse"
)

// collect reads a whole stream.
func collect(t testing.TB, src io.Reader, opts muse.ReaderOptions, sinks muse.CollectorOptions) *muse.Outcome {
	t.Helper()
	r := muse.NewReader(src, opts)
	c := muse.NewCollector(r.Diagnostics(), sinks)
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return c.Finish(r, time.Time{})
		}
		if err != nil {
			t.Fatalf("read stream: %v", err)
		}
		c.Observe(e, time.Time{})
	}
}

// call is what a recording's tool call must come out as.
type call struct{ Tool, Target, Source, Status string }

func calls(o *muse.Outcome) []call {
	var got []call
	for _, c := range o.Tools {
		got = append(got, call{c.Tool, c.Target, c.TargetSource, c.Status})
	}
	return got
}

func TestRecordings(t *testing.T) {
	const meta = "muse-spark-1.2-contributor"
	tests := []struct {
		file, reply, model string
		cut                bool
		calls              []call
		notes              int
	}{
		{file: "echo_basic.jsonl", reply: "echo: print hello", notes: 4},
		{file: "preset_native_basic.jsonl", reply: "echo: list files in this directory", notes: 4},
		{file: "meta_basic.jsonl", reply: "Four", model: meta},
		{file: "meta_hello_1_0_1.jsonl", reply: "ok", model: meta},
		{file: "macos_muse.jsonl", reply: "alpha", model: meta},
		{file: "macos_1_3_0_01.jsonl", reply: "alpha", model: "muse-spark-1.3-contributor"},
		{file: "macos_1_3_0_05.head.jsonl", reply: "marlin", model: "muse-spark-1.3-contributor", cut: true},
		{file: "macos_1_3_0_08.head.jsonl", reply: "otter", model: "muse-spark-1.3-contributor", cut: true},
		{file: "macos_1_3_0_07.jsonl", cut: true},
		{
			file: "macos_muse-readtool.jsonl", reply: "`s.txt` contains:\n\n```\ndelta\n```\n\nFile: [s.txt](/private/tmp/tool-probe4/s.txt:1)", model: meta,
			calls: []call{{"read_file", "Read text file `s.txt`. 1|delta", muse.TargetPreview, muse.CallSuccess}}, notes: 1,
		},
		{
			file: "macos_muse-tool.jsonl", reply: "Output: `musetooltest2`", model: meta,
			calls: []call{{"bash", "echo musetooltest2", muse.TargetCommand, muse.CallSuccess}}, notes: 1,
		},
		{
			file: "meta_tool_use.jsonl", reply: "Created [hello.txt](/tmp/muse-meta-corpus/ws/hello.txt) and read it back — contents:\n\n```\nhello\n```", model: meta,
			calls: []call{
				{"write_file", "hello.txt", muse.TargetEditPath, muse.CallSuccess},
				{"read_file", "Read text file `hello.txt`. 1|hello", muse.TargetPreview, muse.CallSuccess},
			}, notes: 3,
		},
		{
			file: "meta_tool_use_1_0_1.jsonl", reply: "Byte count: 5 (`5 probe.txt`)", model: meta,
			calls: []call{
				{"write_file", "probe.txt", muse.TargetEditPath, muse.CallSuccess},
				{"read_file", "Read text file `probe.txt`. 1|hello", muse.TargetPreview, muse.CallSuccess},
				{"bash", "wc -c probe.txt", muse.TargetCommand, muse.CallSuccess},
			}, notes: 2,
		},
		{
			file: "muse_exec_read_tool_R708.1.jsonl", reply: "bravo", model: meta,
			calls: []call{{"read_file", "Read text file `notes.txt`. 1|alpha 2|bravo 3|charlie", muse.TargetPreview, muse.CallSuccess}}, notes: 3,
		},
		{
			file: "muse_exec_shell_tool_R3401.1.jsonl", reply: "DONE", model: "muse-spark-1.3",
			calls: []call{
				{"shell", "sase-shell-fixture", muse.TargetPreview, muse.CallSuccess},
				{"shell", "tool failed: exit status: 1", muse.TargetPreview, muse.CallFailure},
			}, notes: 2,
		},
		{
			file: "muse_exec_write_bash_tools_R708.1.jsonl", reply: "DONE", model: meta,
			calls: []call{
				{"write_file", "out.txt", muse.TargetEditPath, muse.CallSuccess},
				{"bash", `hexdump -C out.txt; wc -c out.txt; cat out.txt; echo "---"`, muse.TargetCommand, muse.CallSuccess},
			}, notes: 3,
		},
	}
	dir := shared(t, "fixtures", "streams")
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			o := collect(t, bytes.NewReader(data), muse.ReaderOptions{}, muse.CollectorOptions{})
			if o.Reply != tt.reply {
				t.Errorf("reply = %q, want %q", o.Reply, tt.reply)
			}
			if diff := cmp.Diff(tt.calls, calls(o)); diff != "" {
				t.Errorf("tool calls (-want +got):\n%s", diff)
			}
			if len(o.TaskNotes) != tt.notes {
				t.Errorf("%d task notes, want %d: %v", len(o.TaskNotes), tt.notes, o.TaskNotes)
			}
			if model := identity(o.Model); tt.model != "" && model != tt.model {
				t.Errorf("model = %q, want %q", model, tt.model)
			}
			if tt.cut {
				if o.Settled != nil || o.Terminal != "" {
					t.Errorf("a cut stream settled as %v %q", o.Settled, o.Terminal)
				}
				if kinds := kindsOf(o.Findings); !slices.Equal(kinds, []muse.DiagnosticKind{muse.DiagMissingTerminal}) {
					t.Errorf("diagnostics of a cut stream: %v", o.Findings)
				}
				return
			}
			if len(o.Findings) > 0 {
				t.Errorf("diagnostics: %v", o.Findings)
			}
			if o.Settled == nil || !*o.Settled || o.Terminal != muse.TerminalCompleted {
				t.Errorf("terminal %q, settled %v", o.Terminal, o.Settled)
			}
			if strict, err := muse.ReadStrict(bytes.NewReader(data), muse.ReaderOptions{}); err != nil || strict.Reply != tt.reply {
				t.Errorf("strict reading: %v", err)
			}
			if crlf, err := muse.ReadStrict(bytes.NewReader(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))), muse.ReaderOptions{}); err != nil || crlf.Reply != tt.reply {
				t.Errorf("strict reading with CRLF: %v", err)
			}
		})
	}
}

// TestRecordingsSubagents checks the one long recording apart: its reply and
// its failed call are long texts.
func TestRecordingsSubagents(t *testing.T) {
	data, err := os.ReadFile(shared(t, "fixtures", "streams", "meta_subagents.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var deltas strings.Builder
	o := collect(t, bytes.NewReader(data), muse.ReaderOptions{}, muse.CollectorOptions{OnDelta: func(_, text string) { deltas.WriteString(text) }})
	if o.Reply != deltas.String() || !strings.HasPrefix(o.Reply, "Environment failure — cannot complete counts") {
		t.Errorf("reply = %q", o.Reply)
	}
	if len(o.Findings) > 0 {
		t.Errorf("diagnostics: %v", o.Findings)
	}
	if len(o.Tools) != 1 || o.Tools[0].Status != muse.CallFailure || !strings.HasPrefix(o.Tools[0].Target, "tool failed: environment failure:") || o.Tools[0].Command != "" {
		t.Errorf("tool calls: %+v", o.Tools)
	}
}

func identity(m *muse.ModelIdentity) string {
	if m == nil {
		return ""
	}
	return m.ModelID
}

func kindsOf(list []muse.Diagnostic) []muse.DiagnosticKind {
	var kinds []muse.DiagnosticKind
	for _, d := range list {
		kinds = append(kinds, d.Kind)
	}
	return kinds
}

// TestRecordingsMutated cuts and damages every recording at many places: the
// reader never fails, never invents text, and says what it lost.
func TestRecordingsMutated(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared(t, "fixtures", "streams"), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		full := collect(t, bytes.NewReader(data), muse.ReaderOptions{}, muse.CollectorOptions{})
		for cut := 1; cut < len(data); cut += 211 {
			o := collect(t, bytes.NewReader(data[:cut]), muse.ReaderOptions{}, muse.CollectorOptions{})
			if !strings.HasPrefix(full.Reply, o.Reply) {
				t.Fatalf("%s cut at %d: reply %q is not a beginning of %q", file, cut, o.Reply, full.Reply)
			}
			if o.Terminal == "" && !slices.Contains(kindsOf(o.Findings), muse.DiagMissingTerminal) {
				t.Fatalf("%s cut at %d: nothing says that the terminal is missing: %v", file, cut, o.Findings)
			}
			// A cut inside a line loses that line and says so; a cut at its end
			// loses nothing.
			inside := data[cut-1] != '\n' && data[cut] != '\n'
			if lost := slices.Contains(kindsOf(o.Findings), muse.DiagTruncatedLine); lost != inside {
				t.Fatalf("%s cut at %d: truncated line reported: %v, want %v (%v)", file, cut, lost, inside, o.Findings)
			}
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		for i := 1; i+1 < len(lines); i += 7 {
			gap := bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)
			o := collect(t, bytes.NewReader(gap), muse.ReaderOptions{}, muse.CollectorOptions{})
			if i+2 < len(lines) && !slices.Contains(kindsOf(o.Findings), muse.DiagSequence) {
				t.Fatalf("%s without line %d: no sequence gap reported: %v", file, i+1, o.Findings)
			}
			noise := bytes.Join(slices.Insert(slices.Clone(lines), i, []byte("warning: something\n")), nil)
			if o = collect(t, bytes.NewReader(noise), muse.ReaderOptions{}, muse.CollectorOptions{}); o.Reply != full.Reply || o.Lost != 1 ||
				!slices.Contains(kindsOf(o.Findings), muse.DiagNotJSON) || !slices.Contains(kindsOf(o.Findings), muse.DiagStdoutDecode) {
				t.Fatalf("%s with noise before line %d: reply %q, lost %d, %v", file, i+1, o.Reply, o.Lost, o.Findings)
			}
			if _, err := muse.ReadStrict(bytes.NewReader(noise), muse.ReaderOptions{}); err == nil {
				t.Fatalf("%s with noise before line %d: accepted by strict reading", file, i+1)
			}
		}
	}
}
