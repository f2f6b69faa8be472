package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// project is the repository that the runs work in.
var project = map[string]string{
	"README.md": "# Sample\n\nA small program that greets.\n",
	"go.mod":    "module example.com/sample\n\ngo 1.22\n",
	"main.go":   "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n",
}

// makeRepository makes a Git repository of three files. Without git it is a
// directory of three files.
func makeRepository(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, text := range project {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return commitAll(ctx, dir)
}

// commitAll makes dir a repository with everything in it in one commit, with
// nobody's configuration.
func commitAll(ctx context.Context, dir string) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "Initial commit"},
	} {
		cmd := exec.CommandContext(ctx, git, append([]string{"-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// lastLines is the end of a text file in one line, "" when there is none.
func lastLines(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	text := strings.Join(lines[max(0, len(lines)-n):], " | ")
	if len(text) > 400 {
		text = "…" + strings.ToValidUTF8(text[len(text)-400:], "")
	}
	return text
}
