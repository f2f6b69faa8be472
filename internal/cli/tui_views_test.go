//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// views are the screens of docs/screens.md, in order: files of testdata/tui
// that the tests of the flows hold against a terminal.
var views = []struct{ file, says string }{
	{"first-prompt", "A first prompt: a command that was allowed once, Markdown, the way back."},
	{"held.screen", "A command that is held."},
	{"deny", "It was rejected, with a reason for the agent."},
	{"session-rule", "A rule for the session answers the second question of its kind."},
	{"steering.screen", "A prompt for the running turn, which has not taken it up yet."},
	{"steer", "It has."},
	{"queued.screen", "A prompt that waits behind the running turn."},
	{"interrupt", "A turn that was stopped."},
	{"paste.screen", "A megabyte that was pasted."},
	{"rewind.screen", "Going back to before a prompt, with what becomes of the files."},
	{"fork", "Going on in a copy."},
	{"resumed.screen", "A session that is gone on with after `kill -9`."},
}

// TestTUIScreensInDocs holds docs/screens.md against the captures;
// UPDATE_GOLDEN=1 writes it.
func TestTUIScreensInDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Screens\n\nCaptures of the terminal UI, in 80 columns and without colours. They are what a terminal showed in the tests;\n" +
		"`UPDATE_GOLDEN=1 go test ./internal/cli -run TestTUI` takes them anew. [The terminal UI](tui.md) says what is on them.\n")
	for _, v := range views {
		data, err := os.ReadFile(goldenPath(v.file))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n%s\n\n```text\n%s```\n", v.says, data)
	}
	path := filepath.Join("..", "..", "docs", "screens.md")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("%s is not up to date: UPDATE_GOLDEN=1 go test ./internal/cli -run TestTUI", path)
	}
}
