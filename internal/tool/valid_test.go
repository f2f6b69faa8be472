package tool

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// oddNames makes files with names that are not UTF-8 or hold a line break.
func oddNames(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"bad\xff\nname", "caf\xe9", "esc\x1b[2Kx"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("needle\n"), 0o644); err != nil {
			t.Skipf("this file system takes no such name: %v", err)
		}
	}
}

func TestResultsWithOddNames(t *testing.T) {
	s, dir := newSet(t, nil)
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	oddNames(t, sub)
	for _, tc := range []struct {
		name, tool string
		args       m
		want       string
	}{
		{"directory", "read_file", m{"path": "sub"},
			"tool failed: `sub` is a directory\nIt has: \"bad\\xff\\nname\"  caf\uFFFD  \"esc\\x1b[2Kx\""},
		{"near miss", "read_file", m{"path": "sub/bad\nname"},
			"tool failed: No such file or directory (os error 2)\n`\"sub/bad\\nname\"` does not exist; the directory has \"bad\\xff\\nname\""},
		{"near miss, one byte", "edit_file", m{"path": "sub/caf", "find": "a", "replace": "b"},
			"tool failed: No such file or directory (os error 2)\n`sub/caf` does not exist; the directory has caf\uFFFD"},
		{"read", "read_file", m{"path": "sub/esc\x1b[2Kx"}, "Read text file `\"sub/esc\\x1b[2Kx\"`.\n1|needle"},
		{"search", "search", m{"pattern": "needle"},
			"\"sub/bad\\xff\\nname\":1:needle\nsub/caf\uFFFD:1:needle\n\"sub/esc\\x1b[2Kx\":1:needle"},
		{"search for files", "search", m{"pattern": "needle", "output_mode": "files_with_matches"},
			"\"sub/bad\\xff\\nname\"\nsub/caf\uFFFD\n\"sub/esc\\x1b[2Kx\""},
		{"search as json", "search", m{"pattern": "needle", "output_mode": "json"},
			`{"matches":[{"path":"sub/bad` + "\uFFFD" + `\nname","line":1,"text":"needle"},` +
				`{"path":"sub/caf` + "\uFFFD" + `","line":1,"text":"needle"},` +
				`{"path":"sub/esc\u001b[2Kx","line":1,"text":"needle"}],"truncated":false}`},
		{"write", "write_file", m{"path": "sub/new\nline", "content": "x"}, "wrote 1 bytes to \"" + dir + "/sub/new\\nline\""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if r := call(t, s, tc.tool, tc.args); r.Text != tc.want {
				t.Errorf("got %q\nwant %q", r.Text, tc.want)
			}
		})
	}
}

// A workspace whose own path is not UTF-8 shows in absolute paths.
func TestResultsInAnOddWorkspace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names must be UTF-8 on this system")
	}
	out := filepath.Join(t.TempDir(), "out\xff")
	s, dir := newSet(t, func(o *Options) { o.OutputDir, o.MaxOutputBytes = out, 20 })
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Skipf("this file system takes no such name: %v", err)
	}
	write(t, dir, "f", "x\n")
	r := call(t, s, "bash", m{"command": "seq 100"})
	if r.Spill == nil || !strings.Contains(r.Text, "out\uFFFD/") || !utf8.ValidString(r.Text) {
		t.Fatalf("got %q, %+v", r.Text, r.Spill)
	}
	if _, err := os.Stat(r.Spill.Path); err != nil {
		t.Errorf("the path of the spill file does not lead to it: %v", err)
	}
}

// broken answers with bytes that are no text.
type broken struct{ edit *Edit }

func (broken) Spec() Spec { return Spec{Name: "broken", Schema: compact(`{"type":"object"}`)} }

func (b broken) Run(context.Context, Call) Result {
	return Result{Text: "a\xff", Reason: "b\xc3", Edit: b.edit, Failed: true}
}

func TestPreparedToolGivesValidText(t *testing.T) {
	s, _ := newSet(t, nil)
	facts := &Edit{Path: "c\xe9", Added: 3}
	if err := s.Add(broken{facts}); err != nil {
		t.Fatal(err)
	}
	found, args, refused := s.Prepare("broken", "{}")
	if refused != nil {
		t.Fatal(refused.Text)
	}
	r := found.Run(t.Context(), Call{Args: args})
	if r.Text != "a\uFFFD" || r.Reason != "b\uFFFD" || r.Edit.Path != "c\uFFFD" || r.Edit.Added != 3 || !r.Failed {
		t.Errorf("got %+v, %+v", r, r.Edit)
	}
	if facts.Path != "c\xe9" {
		t.Error("the tool's own value was changed")
	}
	for _, tc := range []struct{ tool, args string }{
		{"bro\xffken", "{}"}, {"broken", "{\"\xff\":1}"}, {"broken", "\xff"}, {"read_file", "{\"path\":\"a\",\"\xffb\":1}"},
	} {
		if _, _, r := s.Prepare(tc.tool, tc.args); r == nil || !utf8.ValidString(r.Text) || !utf8.ValidString(r.Reason) {
			t.Errorf("%q %q: %+v", tc.tool, tc.args, r)
		}
	}
}

// A page far beyond the end is past the end of a large file too.
func TestReadFileOffsetsWithoutEnd(t *testing.T) {
	s, dir := newSet(t, nil)
	write(t, dir, "small", "x\n")
	write(t, dir, "large", strings.Repeat(strings.Repeat("x", 1023)+"\n", maxWholeRead/1024+1))
	for name, want := range map[string]string{"small": "`small` has 1 line", "large": "`large` has 4097 lines"} {
		r := call(t, s, "read_file", m{"path": name, "offset": int64(math.MaxInt64), "limit": 2000})
		if !r.Failed || !strings.HasSuffix(r.Text, want) {
			t.Errorf("%s: got %q", name, r.Text)
		}
	}
}

// A large file is read no further once the call is cancelled, even inside one
// line.
func TestReadFileStopsWhenCancelled(t *testing.T) {
	s, dir := newSet(t, nil)
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(strings.Repeat("x", sniffLen))
	if e := f.Truncate(1 << 30); e != nil {
		err = e
	}
	if e := f.Close(); e != nil {
		err = e
	}
	if err != nil {
		t.Skipf("no sparse file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := s.Run(ctx, Call{ID: "c", Name: "read_file", Args: jsontext.Value(`{"path":"sparse"}`)})
	if r.Text != "tool failed: cancelled" {
		t.Errorf("got %.200q", r.Text)
	}
	endless := untilDone{ctx, neverEnding{}}
	if n, err := endless.Read(make([]byte, 8)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v after the end", n, err)
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }
