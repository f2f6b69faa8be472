package tui

import (
	"context"
	"slices"
	"testing"
)

func TestMatch(t *testing.T) {
	var l fileList
	l.set([]string{"docs/main.md", "cmd/muse/main.go", "internal/Mainly.go", "main", "a/domain/x.go", "mxaxixn.txt", "other.go"})
	for word, want := range map[string][]string{
		"main": {"main", "docs/main.md", "cmd/muse/main.go", "internal/Mainly.go", "a/domain/x.go", "mxaxixn.txt"},
		"MUSE": {"cmd/muse/main.go"},
		"zzz":  nil,
	} {
		if got := l.match(word, 50); !slices.Equal(got, want) {
			t.Errorf("%s finds %q, want %q", word, got, want)
		}
	}
	if got := l.match("", 2); !slices.Equal(got, []string{"main", "other.go"}) {
		t.Errorf("nothing finds %q", got)
	}
}

// TestCompleteFile: the completed name takes the place of the word, also in the
// midst of a prompt.
func TestCompleteFile(t *testing.T) {
	b := newBench(t, 80, 24)
	b.u.Files = func(context.Context) ([]string, error) { return []string{"src/a file.go", "src/b.go"}, nil }
	b.types("see @fi and more")
	for range len(" and more") {
		b.types("\x1b[D")
	}
	b.answered()
	b.shows("src/a file.go")
	b.types("\t")
	if got := b.u.draft.Text(); got != `see @"src/a file.go"  and more` {
		t.Errorf("the draft holds %q", got)
	}
	b.types("@b")
	b.types("\x1b") // closes the list and stops nothing
	b.hides("src/b.go")
}
