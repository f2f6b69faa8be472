package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const manySessions = 6000

// many is a data root with thousands of sessions over many days.
func many(b *testing.B) string {
	b.Helper()
	root := b.TempDir()
	for i := range manySessions {
		addSession(b, root, i*20, fmt.Sprint("session ", i))
	}
	return root
}

// BenchmarkFirstPage is a new process's first page: with the index made
// before, and waiting until it is known to be up to date, or not.
func BenchmarkFirstPage(b *testing.B) {
	root := many(b)
	x := New(Options{Root: root})
	if err := x.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	x.Close()
	for name, q := range map[string]Query{
		"at-once":    {},
		"up-to-date": {Wait: -1},
		"filtered":   {Text: &Text{AnyOf: []string{"59"}, Title: true}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				x := New(Options{Root: root})
				page, err := x.List(b.Context(), q)
				if err != nil || len(page.Rows) != DefaultLimit {
					b.Fatal(len(page.Rows), err)
				}
				b.StopTimer()
				x.Close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkMake makes the index of all sessions.
func BenchmarkMake(b *testing.B) {
	root := many(b)
	for b.Loop() {
		x := New(Options{Root: root})
		if err := x.Refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
		x.Close()
		os.Remove(filepath.Join(root, fileName))
	}
}
