package review_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/permission/paths"
	"github.com/openmuse/muse/internal/permission/review"
	"github.com/openmuse/muse/internal/shell"
)

func TestCorpora(t *testing.T) {
	shared := os.Getenv("OPENMUSE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	place := &review.Place{Space: paths.Space{Workspace: "/w/ws", Home: "/home/u", Temp: "/tmp"}}
	for _, name := range []string{
		filepath.Join("..", "testdata", "shell.tsv"),
		filepath.Join(shared, "corpus", "shell.tsv"),
	} {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Skipf("corpus not at hand: %v", err)
			}
			for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
				col := strings.Split(line, "\t")
				if i == 0 || len(col) < 8 {
					continue
				}
				l := shell.Analyze(unescape(col[2]), shell.Options{Dir: "/w/ws", Home: "/home/u", Temp: "/tmp"})
				if !l.Decomposed() {
					continue
				}
				onRequest, untrusted, why := "pass", "pass", ""
				for i := range l.Stages {
					f := review.Stage(&l.Stages[i], place)
					if f.Class.Stops() {
						onRequest = "review"
					}
					if f.Class != review.ReadOnly {
						untrusted = "review"
					}
					why += "\n  " + l.Stages[i].Effective() + " => " + string(f.Class) + ": " + f.Reason
				}
				if onRequest != col[3] || untrusted != col[4] {
					t.Errorf("%s %s: got %s/%s want %s/%s%s", col[0], col[2], onRequest, untrusted, col[3], col[4], why)
				}
			}
		})
	}
}

func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\0`, "\x00", `\e`, "\x1b").Replace(s)
}
