package permission_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/permission"
)

// corpusEngine judges as the corpus assumes (THREATS.md 11): by text alone, in
// /w/ws, with the sandbox on and no rules of the user.
func corpusEngine(t testing.TB, mode permission.Mode, change func(*permission.Config)) *permission.Engine {
	t.Helper()
	yes, network := true, permission.NetworkProxyOnly
	cfg := permission.Config{
		Workspace: "/w/ws", Home: "/home/u", Temp: "/tmp", Lexical: true,
		Grant: permission.RootGrant(permission.GrantSpec{
			Mode: &mode, Network: &network, Write: &yes, Shell: &yes, Trusted: &yes, Remember: &yes, Escalate: &yes, Root: "/w/ws",
		}),
	}
	if change != nil {
		change(&cfg)
	}
	e, err := permission.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// corpusLine is one row of a corpus: the columns of THREATS.md 11.
type corpusLine struct {
	id, class, command, onRequest, untrusted, stages, effective string
}

// corpora reads the project's own table, and the shared one where it is at
// hand.
func corpora(t testing.TB) map[string][]corpusLine {
	t.Helper()
	shared := os.Getenv("OPENMUSE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	out := map[string][]corpusLine{}
	for name, path := range map[string]string{"own": filepath.Join("testdata", "shell.tsv"), "shared": filepath.Join(shared, "corpus", "shell.tsv")} {
		data, err := os.ReadFile(path)
		if err != nil {
			if name == "own" {
				t.Fatal(err)
			}
			t.Logf("the shared corpus is not at hand: %v", err)
			continue
		}
		unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\0`, "\x00", `\e`, "\x1b")
		for i, row := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
			if col := strings.Split(row, "\t"); i > 0 && len(col) >= 8 {
				out[name] = append(out[name], corpusLine{col[0], col[1], unescape.Replace(col[2]), col[3], col[4], col[5], col[6]})
			}
		}
		if len(out[name]) < 400 {
			t.Fatalf("%s: only %d lines", path, len(out[name]))
		}
	}
	return out
}

// TestCorpora holds every column of every line: both verdicts, the number of
// stages and the effective commands.
func TestCorpora(t *testing.T) {
	onRequest, untrusted := corpusEngine(t, permission.OnRequest, nil), corpusEngine(t, permission.Untrusted, nil)
	for name, lines := range corpora(t) {
		t.Run(name, func(t *testing.T) {
			for _, l := range lines {
				a, b := onRequest.Explain(l.command), untrusted.Explain(l.command)
				if string(a.Verdict) != l.onRequest || string(b.Verdict) != l.untrusted {
					t.Errorf("%s: %q: got %s and %s, want %s and %s (%s; %s)", l.id, l.command, a.Verdict, b.Verdict, l.onRequest, l.untrusted, a.Reason, b.Reason)
				}
				if strings.HasPrefix(l.class, "benign") && a.Verdict != permission.Pass {
					t.Errorf("%s: a harmless line is held: %q: %s", l.id, l.command, a.Reason)
				}
				var effective []string
				if a.Verdict != permission.Unparseable {
					for i := range a.Stages {
						effective = append(effective, a.Stages[i].Stage.Effective())
					}
				}
				if got := strings.Join(effective, " ;; "); got != l.effective || strconv.Itoa(len(effective)) != l.stages {
					t.Errorf("%s: %q\n got %d %s\nwant %s %s", l.id, l.command, len(effective), got, l.stages, l.effective)
				}
			}
		})
	}
}

// TestNeverAsksNothing holds the third column: in never mode no line is held.
func TestNeverAsksNothing(t *testing.T) {
	e := corpusEngine(t, permission.Never, nil)
	for name, lines := range corpora(t) {
		for _, l := range lines {
			if r := e.Explain(l.command); r.Verdict != permission.Pass {
				t.Errorf("%s %s: %q: %s", name, l.id, l.command, r.Verdict)
			}
		}
	}
}

// TestWithoutSandboxOnlyReadsPass holds the fallback of on-request mode.
func TestWithoutSandboxOnlyReadsPass(t *testing.T) {
	mode, off, yes := permission.OnRequest, false, true
	e := corpusEngine(t, mode, func(c *permission.Config) {
		c.Grant = permission.RootGrant(permission.GrantSpec{Mode: &mode, Sandboxed: &off, Write: &yes, Shell: &yes, Trusted: &yes})
	})
	for name, lines := range corpora(t) {
		for _, l := range lines {
			if r := e.Explain(l.command); string(r.Verdict) != l.untrusted {
				t.Errorf("%s %s: %q: %s, want %s", name, l.id, l.command, r.Verdict, l.untrusted)
			}
		}
	}
}

func BenchmarkReview(b *testing.B) {
	e := corpusEngine(b, permission.OnRequest, nil)
	lines := corpora(b)["own"]
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		e.Explain(lines[i%len(lines)].command)
	}
}
