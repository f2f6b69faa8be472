package search

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// librarySource is the directory of the standard library's source.
func librarySource(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("the go command does not say where the standard library is: %v", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "src")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no standard library source here")
	}
	return dir
}

// BenchmarkTree searches the standard library's source. It is for a quiet
// machine; nothing depends on its numbers.
func BenchmarkTree(b *testing.B) {
	dir := librarySource(b)
	for _, bench := range []struct {
		name string
		q    Query
	}{
		{"literal", Query{Pattern: "context.WithTimeout"}},
		{"fold", Query{Pattern: "deadline exceeded", IgnoreCase: true}},
		{"regex", Query{Pattern: `func \(\w+ \*?Server\) \w+\(`, Regex: true}},
		{"alternatives", Query{Pattern: `(ErrDeadline|ErrTimeout)Exceeded`, Regex: true}},
		{"noLiteral", Query{Pattern: `[A-Z]\w+_[0-9]{3,}\b`, Regex: true}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p, err := Compile(bench.q)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				r, err := Run(b.Context(), p, Options{Dir: dir, NoIgnore: true})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.Matches), "matches")
			}
		})
	}
}
