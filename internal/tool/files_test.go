package tool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func utf16Text(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func TestReadFile(t *testing.T) {
	s, dir := newSet(t, nil)
	write(t, dir, "hello.txt", "hello\n")
	write(t, dir, "notes.txt", "alpha\nbravo\ncharlie")
	write(t, dir, "sub/crlf.txt", "\xef\xbb\xbfa\r\nb\r\n")
	write(t, dir, "empty.txt", "")
	write(t, dir, "many.txt", strings.Repeat("x\n", 1234))
	write(t, dir, "long.txt", "short\n"+strings.Repeat("ä", 3000)+"\nend\n")
	write(t, dir, "wide.txt", utf16Text("eins\nzwei\n"))
	write(t, dir, "latin.txt", "gr\xfc\xdfe\n")
	write(t, dir, "prog", "\x7fELF\x00\x00")
	write(t, dir, "pic.png", "\x89PNG\r\n\x1a\n\x00\x00")
	write(t, dir, "wörld/ü.txt", "x")
	for _, tc := range []struct {
		name string
		args m
		want string
	}{
		{"one line", m{"path": "hello.txt"}, "Read text file `hello.txt`.\n1|hello"},
		{"no final newline", m{"path": "notes.txt"}, "Read text file `notes.txt`.\n1|alpha\n2|bravo\n3|charlie"},
		{"absolute", m{"path": dir + "/hello.txt"}, "Read text file `hello.txt`.\n1|hello"},
		{"unclean", m{"path": "./sub/../hello.txt"}, "Read text file `hello.txt`.\n1|hello"},
		{"crlf and bom", m{"path": "sub/crlf.txt"}, "Read text file `sub/crlf.txt`.\n1|a\n2|b\n[line ends are CRLF]"},
		{"empty", m{"path": "empty.txt"}, "Read text file `empty.txt`.\n[the file is empty]"},
		{"range", m{"path": "notes.txt", "offset": 2, "limit": 1}, "Read text file `notes.txt`.\n2|bravo\n[lines 2-2 of 3; go on with offset 3]"},
		{"to the end", m{"path": "notes.txt", "offset": 2}, "Read text file `notes.txt`.\n2|bravo\n3|charlie"},
		{"utf-16", m{"path": "wide.txt"}, "Read text file `wide.txt`.\n1|eins\n2|zwei"},
		{"latin-1", m{"path": "latin.txt"}, "Read text file `latin.txt`.\n1|gr\uFFFDe"},
		{"past the end", m{"path": "notes.txt", "offset": 9}, "tool failed: offset 9 is past the end: `notes.txt` has 3 lines"},
		{"missing", m{"path": "nothing.rs"}, "tool failed: No such file or directory (os error 2)"},
		{"near miss", m{"path": "helo.txt"}, "tool failed: No such file or directory (os error 2)\n`helo.txt` does not exist; the directory has hello.txt"},
		{"missing directory", m{"path": "no/such.txt"}, "tool failed: No such file or directory (os error 2)"},
		{"outside", m{"path": "/etc/passwd"}, "tool failed: absolute path is outside the workspace"},
		{"outside by dots", m{"path": "../x"}, "tool failed: path leads outside the workspace"},
		{"binary", m{"path": "prog"}, "tool failed: `prog` is not text: ELF executable, 6 bytes"},
		{"picture", m{"path": "pic.png"}, "tool failed: `pic.png` is a picture (image/png, 10 bytes); this model takes no pictures"},
		{"directory", m{"path": "sub"}, "tool failed: `sub` is a directory\nIt has: crlf.txt"},
		{"unicode name", m{"path": "wörld/ü.txt"}, "Read text file `wörld/ü.txt`.\n1|x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if r := call(t, s, "read_file", tc.args); r.Text != tc.want || r.Failed != strings.HasPrefix(tc.want, "tool failed") {
				t.Errorf("got %q", r.Text)
			}
		})
	}
	r := call(t, s, "read_file", m{"path": "many.txt"})
	if !strings.HasSuffix(r.Text, "\n500|x\n[lines 1-500 of 1234; go on with offset 501]") {
		t.Errorf("got …%q", r.Text[len(r.Text)-100:])
	}
	r = call(t, s, "read_file", m{"path": "long.txt"})
	if !strings.Contains(r.Text, "ä…\n3|end\n[1 long line cut at 2000 bytes, marked …]") {
		t.Errorf("got …%q", r.Text[len(r.Text)-100:])
	}
}

func TestReadFileLimits(t *testing.T) {
	s, dir := newSet(t, func(o *Options) { o.MaxOutputBytes = 50 })
	write(t, dir, "f", strings.Repeat("0123456789\n", 100))
	r := call(t, s, "read_file", m{"path": "f"})
	if r.Text != "Read text file `f`.\n1|0123456789\n2|0123456789\n3|0123456789\n[lines 1-3 of 100; go on with offset 4]" {
		t.Errorf("got %q", r.Text)
	}
	s, dir = newSet(t, func(o *Options) { o.MaxOutputBytes = 9 })
	write(t, dir, "f", "0123456789\nx\n")
	r = call(t, s, "read_file", m{"path": "f"})
	if !strings.HasPrefix(r.Text, "Read text file `f`.\n1|012345…\n[lines 1-1 of 2") {
		t.Errorf("got %q", r.Text)
	}
}

func TestReadLargeFile(t *testing.T) {
	s, dir := newSet(t, nil)
	var b bytes.Buffer
	for i := 1; b.Len() < maxWholeRead+1000; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	write(t, dir, "big", b.String())
	r := call(t, s, "read_file", m{"path": "big", "offset": 200000, "limit": 2})
	want := "Read text file `big`.\n200000|line 200000\n200001|line 200001\n[lines 200000-200001, more follow; go on with offset 200002]"
	if r.Text != want {
		t.Errorf("got %q", r.Text)
	}
	if r := call(t, s, "read_file", m{"path": "big", "offset": 99999999}); !r.Failed {
		t.Errorf("got %q", r.Text)
	}
}

func TestReadPicture(t *testing.T) {
	s, dir := newSet(t, func(o *Options) { o.Images = true })
	for name, magic := range map[string]string{
		"a.png": "\x89PNG\r\n\x1a\n", "b.jpg": "\xff\xd8\xff\xe0", "c.gif": "GIF89a", "d.webp": "RIFF\x00\x00\x00\x00WEBPVP8 ",
	} {
		write(t, dir, name, magic)
		r := call(t, s, "read_file", m{"path": name})
		if r.Failed || len(r.Images) != 1 || string(r.Images[0].Data) != magic || !strings.Contains(r.Text, r.Images[0].MediaType) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	write(t, dir, "huge.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", maxImage))
	if r := call(t, s, "read_file", m{"path": "huge.png"}); !r.Failed || !strings.Contains(r.Text, "the limit is 3750000") {
		t.Errorf("got %s", r.Text)
	}
}

func TestWriteFile(t *testing.T) {
	s, dir := newSet(t, nil)
	r := call(t, s, "write_file", m{"path": "hello.txt", "content": "hello\n"})
	if r.Text != "wrote 6 bytes to "+dir+"/hello.txt" || r.Edit == nil || *r.Edit != (Edit{Path: "hello.txt", Added: 1}) {
		t.Errorf("got %+v %+v", r, r.Edit)
	}
	r = call(t, s, "write_file", m{"path": "a/b/c.txt", "content": "x\ny"})
	if r.Failed || r.Edit.Path != "a/b/c.txt" || r.Edit.Added != 2 || content(t, dir, "a/b/c.txt") != "x\ny" {
		t.Errorf("got %+v %+v", r, r.Edit)
	}
	r = call(t, s, "write_file", m{"path": "hello.txt", "content": "bye\nnow\n"})
	if r.Text != "wrote 8 bytes to "+dir+"/hello.txt" || r.Edit.Added != 2 || r.Edit.Removed != 1 {
		t.Errorf("got %+v %+v", r, r.Edit)
	}
	write(t, dir, "unread.txt", "1\n2\n3\n")
	r = call(t, s, "write_file", m{"path": "unread.txt", "content": "x"})
	if r.Failed || !strings.HasSuffix(r.Text, "\nIt replaced a file of 3 lines that had not been read here.") {
		t.Errorf("got %+v", r)
	}
	write(t, dir, "unread.txt", "changed meanwhile")
	if r = call(t, s, "write_file", m{"path": "unread.txt", "content": "y"}); !r.Failed || content(t, dir, "unread.txt") != "changed meanwhile" {
		t.Errorf("a stale write: %+v", r)
	}
	for _, path := range []string{"..", "a", "/tmp/x", ".git/config", ".muse/hooks.json", "hello.txt/x"} {
		if r := call(t, s, "write_file", m{"path": path, "content": "x"}); !r.Failed {
			t.Errorf("%s: %s", path, r.Text)
		}
	}
}

func TestEditFile(t *testing.T) {
	s, dir := newSet(t, nil)
	write(t, dir, "f.go", "package a\n\nfunc f() int {\n\treturn 1\n}\n")
	r := call(t, s, "edit_file", m{"path": "f.go", "find": "return 1", "replace": "return 2"})
	want := "edited\nchanged lines: line 4\n--- original\n+++ updated\n@@\n package a\n \n func f() int {\n-\treturn 1\n+\treturn 2\n }"
	if r.Text != want || *r.Edit != (Edit{"f.go", 1, 1}) {
		t.Errorf("got %q %+v", r.Text, r.Edit)
	}
	for _, tc := range []struct{ name, before, find, replace, after string }{
		{"crlf", "a\r\nb\r\n", "a\nb", "a\nc", "a\r\nc\r\n"},
		{"bom", "\xef\xbb\xbfa\nb\n", "a", "x", "\xef\xbb\xbfx\nb\n"},
		{"bom in find", "\xef\xbb\xbfa\nb\n", "\uFEFFa", "x", "\xef\xbb\xbfx\nb\n"},
		{"utf-16", utf16Text("a\r\nb\r\n"), "b", "ü", utf16Text("a\r\nü\r\n")},
		{"no final newline", "a\nb", "b", "c", "a\nc"},
		{"nfd", "cafe\u0301\n", "caf\u00e9", "caf\u00e9s", "cafe\u0301s\n"},
	} {
		write(t, dir, tc.name, tc.before)
		if r := call(t, s, "edit_file", m{"path": tc.name, "find": tc.find, "replace": tc.replace}); r.Failed || content(t, dir, tc.name) != tc.after {
			t.Errorf("%s: %q, %s", tc.name, content(t, dir, tc.name), r.Text)
		}
	}
	write(t, dir, "tabs.go", "\tif x {\n\t\ty()\n\t}\n")
	r = call(t, s, "edit_file", m{"path": "tabs.go", "find": "  if x {\n    y()\n  }", "replace": "  if x {\n    z()\n  }"})
	if r.Failed || !strings.Contains(r.Text, "\nfind did not match exactly; it matched looking past indentation\n") {
		t.Errorf("got %s", r.Text)
	}
}

func TestEditFileRefusals(t *testing.T) {
	s, dir := newSet(t, nil)
	write(t, dir, "f", "a\nb\na\n")
	write(t, dir, "bin", "a\x00b")
	write(t, dir, "wide", "\xff\xfea\x00\x00\xd8")
	for _, tc := range []struct {
		name string
		args m
		want string
	}{
		{"ambiguous", m{"path": "f", "find": "a", "replace": "x"}, "tool failed: find is not unique: it occurs 2 times, at lines 1, 3"},
		{"not there", m{"path": "f", "find": "zebra", "replace": "x"}, "tool failed: find was not found"},
		{"no change", m{"path": "f", "find": "b", "replace": "b"}, "tool failed: nothing would change"},
		{"empty", m{"path": "f", "find": "", "replace": "b"}, "tool failed: find is empty"},
		{"binary", m{"path": "bin", "find": "a", "replace": "b"}, "tool failed: `bin` is not text"},
		{"half a character", m{"path": "wide", "find": "a", "replace": "b"}, "tool failed: `wide` has damaged UTF-16 text"},
		{"missing", m{"path": "g", "find": "a", "replace": "b"}, "tool failed: No such file or directory (os error 2)"},
		{"directory", m{"path": ".", "find": "a", "replace": "b"}, "tool failed: the path names a directory"},
		{"outside", m{"path": "/etc/hosts", "find": "a", "replace": "b"}, "tool failed: absolute path is outside the workspace"},
		{"protected", m{"path": ".git/config", "find": "a", "replace": "b"}, "tool failed: .git is protected"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := call(t, s, "edit_file", tc.args)
			if !r.Failed || !strings.HasPrefix(r.Text, tc.want) || strings.Contains(r.Reason, "\n") {
				t.Errorf("got %+v", r)
			}
		})
	}
	if content(t, dir, "f") != "a\nb\na\n" {
		t.Error("a refused edit changed the file")
	}
}

func TestStaleEdit(t *testing.T) {
	s, dir := newSet(t, nil)
	write(t, dir, "f", "a\nb\n")
	edit := func(find, replace string) Result {
		return call(t, s, "edit_file", m{"path": "f", "find": find, "replace": replace})
	}
	if r := edit("a", "A"); r.Failed {
		t.Errorf("a file never read: %s", r.Text)
	}
	if r := edit("b", "B"); r.Failed {
		t.Errorf("after an own edit: %s", r.Text)
	}
	write(t, dir, "f", "A\nB\nC\n")
	if r := edit("A", "x"); !r.Failed || r.Reason != staleReason {
		t.Errorf("after somebody else's: %+v", r)
	}
	call(t, s, "read_file", m{"path": "f", "limit": 1})
	if r := edit("A", "x"); r.Failed {
		t.Errorf("after reading again: %s", r.Text)
	}
	write(t, dir, "f", content(t, dir, "f"))
	if r := edit("B", "y"); r.Failed {
		t.Errorf("after a mere touch: %s", r.Text)
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "f", "other\n")
		if r := call(t, s, "edit_file", m{"path": "link", "find": "other", "replace": "z"}); !r.Failed {
			t.Errorf("by another path: %s", r.Text)
		}
	}
}

func TestEditKeepsMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	s, dir := newSet(t, nil)
	p := write(t, dir, "run.sh", "echo a\n")
	if err := os.Chmod(p, 0o755); err != nil {
		t.Fatal(err)
	}
	call(t, s, "edit_file", m{"path": "run.sh", "find": "a", "replace": "b"})
	call(t, s, "write_file", m{"path": "run.sh", "content": "echo c\n"})
	info, err := os.Stat(p)
	if err != nil || info.Mode().Perm() != 0o755 || content(t, dir, "run.sh") != "echo c\n" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Every file tool refuses every way out; the table of ways is tested in
// package workspace.
func TestFileToolsKeepTheBoundary(t *testing.T) {
	s, dir := newSet(t, nil)
	out := t.TempDir()
	write(t, out, "secret", "outside")
	for link, target := range map[string]string{"abs": out, "file": filepath.Join(out, "secret"), "up": "..", "proc": "/proc/self/root"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for _, path := range []string{"abs/secret", "file", "up/x/secret", "../x", out + "/secret", "proc" + out + "/secret", dir + "/../x", "/proc/self/root" + out + "/secret"} {
		for tool, args := range map[string]m{
			"read_file": {"path": path}, "write_file": {"path": path, "content": "x"}, "edit_file": {"path": path, "find": "outside", "replace": "x"},
			"search": {"pattern": "outside", "paths": path},
		} {
			if r := call(t, s, tool, args); !r.Failed {
				t.Errorf("%s of %s: %s", tool, path, r.Text)
			}
		}
	}
	if content(t, out, "secret") != "outside" {
		t.Error("the file outside was changed")
	}
	for _, args := range []m{{"pattern": "outside"}, {"pattern": "outside", "follow_symlinks": true, "hidden": true}} {
		if r := call(t, s, "search", args); r.Failed || !strings.HasPrefix(r.Text, "No matches") {
			t.Errorf("search followed a link out: %s", r.Text)
		}
	}
}
