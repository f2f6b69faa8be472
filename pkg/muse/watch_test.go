package muse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

// events decodes a stream into its records.
func events(t *testing.T, text string) []*muse.Event {
	t.Helper()
	var list []*muse.Event
	for e, err := range muse.NewReader(strings.NewReader(text), muse.ReaderOptions{}).All() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func TestWatch(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	opening := events(t, stream(func(s *musetest.Stream) { s.Open("p", "muse-spark-1.3") }))
	delta := events(t, stream(func(s *musetest.Stream) { s.Delta("x") }))
	tool := events(t, stream(func(s *musetest.Stream) { s.Tool(musetest.Tool{Name: "bash", CallID: "c", Text: "x"}) }))
	other := events(t, strings.ReplaceAll(stream(func(s *musetest.Stream) { s.Tool(musetest.Tool{Name: "bash", CallID: "c", Text: "x"}) }), runID, "99999999-0000-4000-8000-000000000000"))
	nameless := events(t, strings.ReplaceAll(stream(func(s *musetest.Stream) { s.Tool(musetest.Tool{Name: "bash", CallID: "c", Text: "x"}) }), runID, ""))
	terminal := events(t, stream(func(s *musetest.Stream) { s.Terminal("completed", ptr("x"), "", nil) }))

	type step struct {
		after    time.Duration // since the step before
		events   []*muse.Event
		phase    muse.Phase
		progress int64
	}
	opts := muse.WatchOptions{QuietAfter: 10 * time.Second, StallAfter: 60 * time.Second, Interval: 5 * time.Second}
	tests := []struct {
		name  string
		opts  muse.WatchOptions
		steps []step
	}{
		{"before the run starts only the process vouches", opts, []step{
			{5 * time.Second, nil, muse.PhaseStarting, 0}, {4 * time.Second, opening[:4], muse.PhaseStarting, 0}, {9 * time.Second, nil, muse.PhaseQuiet, 0},
		}},
		{"a delta is activity, not progress", opts, []step{
			{1 * time.Second, opening, muse.PhaseActive, 0}, {9 * time.Second, delta, muse.PhaseActive, 0}, {9 * time.Second, delta, muse.PhaseActive, 0},
		}},
		{"a tool result is progress", opts, []step{{1 * time.Second, append(opening[:len(opening):len(opening)], tool...), muse.PhaseActive, 2}}},
		{"other runs refresh nothing", opts, []step{{0, opening, muse.PhaseActive, 0}, {9 * time.Second, other, muse.PhaseActive, 0}, {9 * time.Second, nil, muse.PhaseQuiet, 0}}},
		{"records without a run refresh nothing", opts, []step{{0, opening, muse.PhaseActive, 0}, {9 * time.Second, nameless, muse.PhaseActive, 0}, {9 * time.Second, nil, muse.PhaseQuiet, 0}}},
		{"the configured model refreshes nothing", opts, []step{{9 * time.Second, opening[2:3], muse.PhaseStarting, 0}, {9 * time.Second, nil, muse.PhaseQuiet, 0}}},
		{"quiet, stalled, active again", opts, []step{
			{0, opening, muse.PhaseActive, 0}, {10 * time.Second, nil, muse.PhaseQuiet, 0}, {10 * time.Second, nil, muse.PhaseQuiet, 0}, {10 * time.Second, nil, muse.PhaseQuiet, 0},
			{10 * time.Second, nil, muse.PhaseQuiet, 0}, {10 * time.Second, nil, muse.PhaseQuiet, 0}, {10 * time.Second, nil, muse.PhaseStalled, 0}, {1 * time.Second, delta, muse.PhaseActive, 0},
		}},
		{"fractional scale", muse.WatchOptions{QuietAfter: 10 * time.Second, StallAfter: 60 * time.Second, Interval: 5 * time.Second, Scale: 1.5}, []step{
			{0, opening, muse.PhaseActive, 0}, {10 * time.Second, nil, muse.PhaseActive, 0}, {5 * time.Second, nil, muse.PhaseQuiet, 0},
		}},
		{"activity without progress", muse.WatchOptions{QuietAfter: 10 * time.Second, StallAfter: 60 * time.Second, Interval: 5 * time.Second, NoProgressAfter: 15 * time.Second}, []step{
			{0, opening, muse.PhaseActive, 0}, {8 * time.Second, delta, muse.PhaseActive, 0}, {8 * time.Second, delta, muse.PhaseStalled, 0},
		}},
		{"a suspended machine is not held against the run", opts, []step{{0, opening, muse.PhaseActive, 0}, {time.Hour, nil, muse.PhaseQuiet, 0}, {1 * time.Second, nil, muse.PhaseQuiet, 0}}},
		{"ended", opts, []step{{0, append(opening[:len(opening):len(opening)], terminal...), muse.PhaseEnded, 1}, {time.Minute, nil, muse.PhaseEnded, 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := muse.NewWatch(start, tt.opts)
			now := start
			for i, s := range tt.steps {
				now = now.Add(s.after)
				for _, e := range s.events {
					w.Record(e, now)
				}
				if h := w.Observe(now); h.Phase != s.phase || h.Progress != s.progress {
					t.Errorf("step %d: %s with %d steps, want %s with %d (%+v)", i, h.Phase, h.Progress, s.phase, s.progress, h)
				}
			}
		})
	}
}
