package search

import (
	"os"
	"runtime"
	"testing"
)

// BenchmarkTree searches the standard library's source. It is for a quiet
// machine; nothing depends on its numbers.
func BenchmarkTree(b *testing.B) {
	dir := runtime.GOROOT() + "/src"
	if _, err := os.Stat(dir); err != nil {
		b.Skip("no standard library source here")
	}
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
