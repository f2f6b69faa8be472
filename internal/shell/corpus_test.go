package shell_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/shell"
)

// corpusOptions are the assumptions of the corpus (THREATS.md 11).
var corpusOptions = shell.Options{Dir: "/w/ws", Home: "/home/u", Temp: "/tmp"}

// TestStagesOfCorpora compares stages and effective commands with the tables:
// the project's own, and the shared one where it is at hand.
func TestStagesOfCorpora(t *testing.T) {
	shared := os.Getenv("OPENMUSE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	for _, name := range []string{
		filepath.Join("..", "permission", "testdata", "shell.tsv"),
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
				got := shell.Analyze(unescape(col[2]), corpusOptions)
				if refused := strings.HasPrefix(col[3], "unparseable"); refused != !got.Decomposed() {
					t.Errorf("%s %s: refused = %q, want refused %v", col[0], col[2], got.Refusal, refused)
					continue
				} else if refused {
					continue
				}
				var eff []string
				for i := range got.Stages {
					eff = append(eff, got.Stages[i].Effective())
				}
				if n := strconv.Itoa(len(eff)); n != col[5] || strings.Join(eff, " ;; ") != col[6] {
					t.Errorf("%s %s\n got %s %s\nwant %s %s", col[0], col[2], n, strings.Join(eff, " ;; "), col[5], col[6])
				}
			}
		})
	}
}

// unescape undoes the escapes of the command column.
func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\0`, "\x00", `\e`, "\x1b").Replace(s)
}

// seeds are the lines of the project's own table.
func seeds(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "permission", "testdata", "shell.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, row := range strings.Split(string(data), "\n") {
		if col := strings.Split(row, "\t"); i > 0 && len(col) > 2 {
			out = append(out, unescape(col[2]))
		}
	}
	return out
}
