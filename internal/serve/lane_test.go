package serve

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func always() bool { return true }

func TestLanesKeepTheOrderOfASession(t *testing.T) {
	l := newLanes(always)
	var mu sync.Mutex
	got := map[string][]int{}
	for n := range 100 {
		for _, key := range []string{"a", "b"} {
			if !l.do(key, func() {
				mu.Lock()
				defer mu.Unlock()
				got[key] = append(got[key], n)
			}) {
				t.Fatalf("lane %s is full at %d", key, n)
			}
		}
	}
	l.wait()
	for _, key := range []string{"a", "b"} {
		if len(got[key]) != 100 || !slices.IsSorted(got[key]) {
			t.Errorf("lane %s ran %v", key, got[key])
		}
	}
}

func TestLanesDoNotWaitForEachOther(t *testing.T) {
	l := newLanes(always)
	block, ran := make(chan struct{}), make(chan struct{})
	l.do("a", func() { <-block })
	l.do("b", func() { close(ran) })
	<-ran
	close(block)
	l.wait()
}

func TestLanesAreBounded(t *testing.T) {
	l := newLanes(always)
	block := make(chan struct{})
	l.do("a", func() { <-block })
	admitted := 0
	for l.do("a", func() {}) {
		if admitted++; admitted > 2*laneCapacity {
			t.Fatal("a lane takes more than it may")
		}
	}
	close(block)
	l.wait()
	if admitted < laneCapacity-1 {
		t.Errorf("a lane took %d, want about %d", admitted, laneCapacity)
	}
}

func TestLanesLetGoOfWhatNobodyWillRead(t *testing.T) {
	var stopped atomic.Bool
	l := newLanes(func() bool { return !stopped.Load() })
	block, ran := make(chan struct{}), 0
	l.do("a", func() { <-block })
	for range 10 {
		l.do("a", func() { ran++ })
	}
	stopped.Store(true)
	close(block)
	l.wait()
	if ran != 0 {
		t.Errorf("%d requests were carried out for a client that is gone", ran)
	}
}
