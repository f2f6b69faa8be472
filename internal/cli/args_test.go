package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestArgumentCountIsUsage(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"sessions show", "wrong number of arguments: want SESSION, not 0\n"},
		{"sessions show a b", "wrong number of arguments: want SESSION, not 2\n"},
		{"sessions rename a", "wrong number of arguments: want SESSION NAME, not 1\n"},
		{"sessions rm", "wrong number of arguments: want SESSION..., not 0\n"},
		{"sessions trash restore", "wrong number of arguments: want SESSION..., not 0\n"},
		{"trust add a b", "wrong number of arguments: want [DIR], not 2\n"},
		{"sessions list x", "unknown command \"x\" for \"muse sessions list\"\n"},
	} {
		t.Run(c.line, func(t *testing.T) {
			var out, errs bytes.Buffer
			env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
			if code := Main(t.Context(), strings.Fields(c.line), env); code != 2 {
				t.Errorf("exit %d, want 2", code)
			}
			if !strings.HasPrefix(errs.String(), c.want) || !strings.Contains(errs.String(), "usage: muse ") {
				t.Errorf("stderr %q, want %q and a pointer to help", errs.String(), c.want)
			}
			if out.Len() != 0 {
				t.Errorf("stdout %q", out.String())
			}
		})
	}
}
