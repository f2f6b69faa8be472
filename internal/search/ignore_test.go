package search

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWildmatch(t *testing.T) {
	for _, tc := range []struct {
		glob, path string
		want       bool
	}{
		{"*.go", "a.go", true}, {"*.go", "a/b.go", false}, {"a*b*c", "aXbYc", true}, {"a*b*c", "aXbY", false}, {"?", "ä", true}, {"?", "/", false},
		{"**/a", "a", true}, {"**/a", "x/y/a", true}, {"a/**", "a/b/c", true}, {"a/**", "a", false}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true},
		{"a/**/b", "ab", false}, {"**", "a/b", true}, {"a**b", "axxb", true}, {"a**b", "a/b", false}, {"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false},
		{"[^a-c]x", "dx", true}, {"[]]x", "]x", true}, {"[a-]x", "-x", true}, {"[[:digit:]]", "7", true}, {"[[:alpha:]]", "7", false}, {`\*`, "*", true},
		{`\*`, "a", false}, {"[a", "[a", false}, {"a\\", "a\\", false}, {"", "", true}, {"*", "", true}, {"*/x", "a/x", true}, {"*/x", "a/b/x", false},
		{"[a/]b", "/b", false}, {"***/a", "x/y/a", true}, {strings.Repeat("*a", 30) + "b", strings.Repeat("a", 200), false},
	} {
		if got := wildmatch(tc.glob, tc.path); got != tc.want {
			t.Errorf("%q on %q is %v", tc.glob, tc.path, got)
		}
	}
}

func TestBraces(t *testing.T) {
	for glob, want := range map[string]string{
		"*.{a,b}": "*.a *.b", "{a,b{c,d}}e": "ae bce bde", "a": "a", `\{a,b\}`: `\{a,b\}`, "[{]a": "[{]a", "{a}": "a", "{a,}b": "ab b",
	} {
		got, err := expandBraces(glob)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", glob, got, err)
		}
	}
	if _, err := expandBraces(strings.Repeat("{a,b}", 12)); err == nil {
		t.Error("4096 globs")
	}
}

// TestAgainstGit holds the rules against git's own reading of them. The one
// known difference is left out: ? is a character here, as in ripgrep, and a
// byte in git.
func TestAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	names := []string{"a", "b.go", "c.log", "build", "dir", "x y", "#c", "!d", "foo.txt", "Foo.TXT", "ü", "[x]", "deep", "a.b.c", "z\\q", "trail ", "t"}
	contents := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/.k": "", ".git/refs/.k": ""}
	var paths []string
	for _, a := range names {
		contents["f/"+a] = ""
		paths = append(paths, "f/"+a)
		for _, b := range []string{"a", "b.go", "build", "c.log"} {
			for _, c := range []string{"a", "x.go", "keep.log"} {
				p := strings.TrimSpace(a) + "_d/" + b + "_e/" + c
				contents[p] = ""
				paths = append(paths, p, "dir/"+b+"/"+c, "build/"+b+"/"+c)
				contents["dir/"+b+"/"+c], contents["build/"+b+"/"+c] = "", ""
			}
		}
	}
	dir := files(t, contents)
	rules := []string{
		"*.log", "!keep.log", "/build", "build/", "dir/b.go/", "**/a", "a_d/**", "f/*.go", "/f/a", "*_e/x.go", "f/**/a", "dir/*/x.go", "#c", `\#c`, `\!d`, "!d",
		"x y", "x\\ y", "trail ", `trail\ `, "[[]x]", "[a-c]", "[!a-c]", "f/[[:upper:]]*", "*.[gl]o", "foo.???", "a.*.c", `z\\q`, "**/build_e/**", "/**/c.log_e", "dir/**/a",
		"*", "!*/", "!*.go", "ü", "?.go", "/*", "!/f", "t*", "deep/", "f/deep/", "**", "***", "a**", "**a", "f/**.go", "/", "//", "!", "f//a", "[a-", "a[", "*.go/", "!dir/", "\ta", "a\\", "f/a/",
	}
	check := func(ignore string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(ignore), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "check-ignore", "--stdin", "-z", "--no-index")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_DIR="+filepath.Join(dir, ".git"), "GIT_WORK_TREE="+dir)
		cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00"))
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("git check-ignore: %v", err)
		}
		want := map[string]bool{}
		for _, p := range bytes.Split(out, []byte{0}) {
			want[string(p)] = true
		}
		f := parseRules(ignore, "")
		for _, p := range paths {
			if got := ignoredByRules(f, p); got != want[p] {
				t.Errorf("rules %q, path %q: ignored is %v, git says %v", ignore, p, got, want[p])
			}
		}
	}
	for i, r := range rules {
		check(r + "\n")
		check("*.log\n" + r + "\n!keep.log\n" + rules[(i*7+3)%len(rules)] + "\n")
	}
}

// ignoredByRules walks down to a path as a search does: what is in an ignored
// directory is ignored.
func ignoredByRules(f *ruleFile, p string) bool {
	if f == nil {
		return false
	}
	parts := strings.Split(p, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		if f.judge(at, parts[i], i < len(parts)-1) == ignored {
			return true
		}
	}
	return false
}
