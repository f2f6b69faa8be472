package search

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// countdown is a context that ends when it is asked for the nth time.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	n      int64
	asked  atomic.Int64
}

func newCountdown(t *testing.T, n int64) *countdown {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &countdown{Context: ctx, cancel: cancel, n: n}
}

func (c *countdown) Err() error {
	if c.asked.Add(1) >= c.n {
		c.cancel()
	}
	return c.Context.Err()
}

// A search ends inside a file that would take it long, at the first read after
// the context's end.
func TestCancelledInsideAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sparse")
	if err := os.WriteFile(path, []byte("needle\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4<<30); err != nil {
		t.Skipf("no sparse file: %v", err)
	}
	p, err := Compile(Query{Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Binary: true, Workers: 1}

	tree, err := openTree(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	c, err := tree.openFile("sparse")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	ctx := newCountdown(t, 5)
	if _, err := newScanner(p, o).file(ctx, c, false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := ctx.asked.Load(); n != 5 {
		t.Errorf("it went on to read: asked %d times", n)
	}

	ctx = newCountdown(t, 5)
	if _, err := Run(ctx, p, o); !errors.Is(err, context.Canceled) {
		t.Errorf("whole search: error %v", err)
	}
	// The fifth time ends it; the walk and the caller may look once more each.
	if n := ctx.asked.Load(); n > 8 {
		t.Errorf("whole search: asked %d times", n)
	}
}
