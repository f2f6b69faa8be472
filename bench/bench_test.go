package main

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/bench/process"
	"github.com/openmuse/muse/bench/stat"
	"github.com/openmuse/muse/bench/subject"
)

func TestParseSteps(t *testing.T) {
	got, err := parseSteps("100,1,20,20")
	if err != nil || !slices.Equal(got, []int{1, 20, 100}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "1,", "x", "-1", "1000000"} {
		var usage *usageError
		if _, err := parseSteps(bad); !errors.As(err, &usage) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"7": 7, "10K": 10 << 10, "500M": 500 << 20, "2g": 2 << 30} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "G", "-1M", "1.5G", "9999999G", "0"} {
		if n, err := parseSize(bad); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}

func TestParseOptions(t *testing.T) {
	o, err := parse([]string{"-n", "3", "-only", "muse,floor", "-peers=false"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !o.wants("muse") || !o.wants("floor") || o.wants("codex") || o.runs != 3 || o.peers {
		t.Errorf("options are %+v", o)
	}
	for _, bad := range [][]string{{"-n", "0"}, {"extra"}, {"-steps", "x"}, {"-unknown"}} {
		var usage *usageError
		if _, err := parse(bad, io.Discard); !errors.As(err, &usage) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// walls are samples of these wall times in ms, of which those marked with a
// minus sign were noisy.
func walls(msec ...int) []*sample {
	var out []*sample
	for _, n := range msec {
		s := &sample{}
		if n < 0 {
			s.Foreign, n = 1, -n
		}
		s.Wall = time.Duration(n) * time.Millisecond
		out = append(out, s)
	}
	return out
}

func TestFigure(t *testing.T) {
	for _, tt := range []struct {
		name  string
		in    []*sample
		want  stat.Summary[float64]
		noisy bool
	}{
		{"all quiet", walls(3, 1, 2), stat.Summary[float64]{Median: 2, Min: 1, Max: 3, N: 3}, false},
		{"noisy ones left out", walls(3, -50, 1, 2), stat.Summary[float64]{Median: 2, Min: 1, Max: 3, N: 3}, false},
		{"half quiet", walls(4, -50), stat.Summary[float64]{Median: 4, Min: 4, Max: 4, N: 1}, false},
		{"too few quiet", walls(1, -7, -9), stat.Summary[float64]{Median: 7, Min: 1, Max: 9, N: 3}, true},
	} {
		got := figure(tt.in, wallMS)
		if got.Summary != tt.want || got.Noisy != tt.noisy {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	if figure(nil, wallMS) != nil {
		t.Error("a figure of nothing")
	}
}

func TestStepCPU(t *testing.T) {
	run := func(steps int, cpu float64) runReport {
		return runReport{Steps: steps, CPUMS: measured{Summary: stat.Summary[float64]{Median: cpu}}}
	}
	got := stepCPU([]runReport{run(1, 10), run(20, 30), run(101, 310)})
	if got == nil || math.Abs(*got-3) > 1e-9 {
		t.Errorf("a step takes %v ms, want 3", got)
	}
	if stepCPU([]runReport{run(1, 10)}) != nil {
		t.Error("a slope from one point")
	}
}

func TestSummarize(t *testing.T) {
	first := &sample{Cost: process.Cost{Wall: 30 * time.Millisecond, PeakRSS: 10 << 20}, Calls: 2, LastBody: 1200}
	first.Sizes.Body = 1000
	long := &sample{
		Cost:  process.Cost{Wall: 300 * time.Millisecond, PeakRSS: 20 << 20, User: 100 * time.Millisecond},
		Calls: 4, Connections: 1, LastBody: 1600, LogBytes: 5000,
		Gaps: []time.Duration{2 * time.Millisecond, 3 * time.Millisecond, 90 * time.Millisecond},
	}
	long.Sizes.Body = 1000
	c := &candidate{runs: map[int][]*sample{1: {first}, 3: {long}}, traced: &traces{
		start: process.Trace{Processes: 3, Syncs: 4}, step: process.Trace{Processes: 20, Syncs: 10},
	}}
	c.Subject = subject.Floor("x")
	r := summarize(c, []int{1, 3})
	for what, pair := range map[string][2]float64{
		"gap":          {r.StepMS.Median, 3},
		"growth":       {r.GrowthPerStep, 200},
		"log":          {float64(r.LogBytes), 5000},
		"needed calls": {float64(r.CallsNeeded), 4},
		"CPU":          {*r.StepCPU, 50},
		"processes":    {r.ProcessesPerStep, 2},
		"at start":     {r.ProcessesAtStart, 1},
		"syncs":        {r.SyncsPerStep, 1},
		"memory":       {r.run(3).PeakMB.Median, 20},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
		}
	}
	if r.run(2) != nil {
		t.Error("a report of runs that were not made")
	}
}

func TestJudge(t *testing.T) {
	figure := func(v float64) *measured { return &measured{Summary: stat.Summary[float64]{Median: v}} }
	r := &report{BinaryBytes: 31 << 20, Subjects: []subjectReport{{
		Name: "muse", VersionMS: figure(9), StepMS: figure(7), CallsNeeded: 101, Calls: 102, Connections: 1, FirstBody: 12 << 10,
		Runs: []runReport{{Steps: 20, PeakMB: *figure(20)}, {Steps: 100, PeakMB: *figure(31), WallMS: *figure(800)}},
	}}}
	verdicts := map[string]string{}
	for _, b := range judge(r, []int{20, 100}) {
		verdicts[b.What] = b.verdict()
	}
	for what, want := range map[string]string{
		"--version": "ok", "own time per step, log durable": "OVER", "100 steps, wall": "ok",
		"100 steps, memory above 20 steps": "OVER", "model calls nobody asked for": "OVER", "connections": "ok",
		"first request, small repository": "ok", "binary": "OVER",
	} {
		if verdicts[what] != want {
			t.Errorf("%s: %q, want %q", what, verdicts[what], want)
		}
	}
}

func TestReportWithoutRuns(t *testing.T) {
	r := &report{Subjects: []subjectReport{{Name: "muse", Problems: []string{"first run: it failed"}}, {Name: "codex", Peer: true, Problems: []string{"gone"}}}}
	var b strings.Builder
	if err := r.write(&b, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"muse: first run: it failed", "codex: gone"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in the report:\n%s", want, b.String())
		}
	}
	err := r.failure()
	if err == nil || strings.Contains(err.Error(), "codex") {
		t.Errorf("failure is %v", err)
	}
}

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	if got := lastLines(path, 2); got != "" {
		t.Errorf("no file has %q", got)
	}
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastLines(path, 2); got != "two | three" {
		t.Errorf("got %q", got)
	}
}
