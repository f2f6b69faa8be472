package main

import (
	"strings"
	"testing"

	"github.com/openmuse/muse/bench/stat"
)

func figureOf(v ...float64) *measured { return &measured{Summary: stat.Of(v)} }

func TestUIReport(t *testing.T) {
	few, many, p95, key := 26.0, 60.0, 3.5, 1.5
	r := report{UI: []uiReport{
		{
			Name: "muse", FrameMS: figureOf(30, 35, 31), KeyMS: figureOf(32), IdleCPU: figureOf(0), RestMB: figureOf(20), Processes: 1,
			EchoMS: figureOf(1, 2, 3), EchoP95: &p95, FewMB: &few, ManyMB: &many, ManyKeyMS: &key, ResumeMS: figureOf(500), ResumeBytes: 100 << 20,
		},
		{Name: "other", Peer: true, Problems: []string{"first frame: nothing"}},
	}}
	over := map[string]bool{}
	for _, b := range judgeUI(r.UI) {
		over[b.What] = !b.OK
	}
	for what, want := range map[string]bool{
		"first frame": false, "CPU at rest, in 5 s": false, "memory at rest": false, "key to screen while an answer streams": false,
		"last page of a session of 100 MB": true, "memory after 10,000 items above 100 items": true,
	} {
		if got, there := over[what]; !there || got != want {
			t.Errorf("%s: over %v, there %v, want over %v", what, got, there, want)
		}
	}
	var out strings.Builder
	if err := r.write(&out, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"31.0 [30.0–35.0]", "3.5", "of 10,000 items: 60 MB", "other: first frame: nothing"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not hold %q:\n%s", want, &out)
		}
	}
	if err := r.failure(); err != nil {
		t.Errorf("a peer's problem fails the bench: %v", err)
	}
	r.UI[0].Problems = []string{"at rest: gone"}
	if err := r.failure(); err == nil {
		t.Error("a problem of our own does not fail the bench")
	}
}
