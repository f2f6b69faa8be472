package main

import (
	"github.com/openmuse/muse/bench/stat"
)

// Times are in milliseconds, memory in MB (2^20 bytes), throughout the report.

// measured is one figure over several runs.
type measured struct {
	stat.Summary[float64]
	// Noisy says that less than half of the runs were quiet, so that all of
	// them were taken.
	Noisy bool `json:"noisy"`
}

// subjectReport is what was measured of one program.
type subjectReport struct {
	Name    string `json:"name"`
	Peer    bool   `json:"peer"`
	Program string `json:"-"`

	VersionMS    *measured `json:"version_ms,omitzero"`
	VersionMB    *measured `json:"version_mb,omitzero"`
	FirstMS      *measured `json:"first_request_ms,omitzero"`
	ContinueMS   *measured `json:"continue_first_request_ms,omitzero"`
	StepMS       *measured `json:"step_ms,omitzero"`     // median gap of each run of the longest kind
	StepCPU      *float64  `json:"step_cpu_ms,omitzero"` // between the shortest and the longest runs
	WaitCPU      *measured `json:"wait_cpu_ms,omitzero"` // of a run that waits for two seconds
	WaitSwitches *measured `json:"wait_switches,omitzero"`

	Runs []runReport `json:"runs,omitzero"`

	FirstBody         int     `json:"first_body_bytes"`
	FirstTools        int     `json:"first_tools_bytes"`
	FirstToolCount    int     `json:"first_tools"`
	FirstInstructions int     `json:"first_instructions_bytes"`
	GrowthPerStep     float64 `json:"request_growth_bytes_per_step"`
	LogBytes          int64   `json:"log_bytes"` // of the longest run
	Connections       int     `json:"connections"`
	Calls             int     `json:"model_calls"`
	CallsNeeded       int     `json:"model_calls_needed"`
	Left              int     `json:"processes_left_behind"`

	Traced           bool           `json:"traced"`
	ProcessesPerStep float64        `json:"processes_per_step"`
	ProcessesAtStart float64        `json:"processes_at_start"`
	SyncsPerStep     float64        `json:"syncs_per_step"`
	StepPrograms     map[string]int `json:"programs_of_ten_steps,omitzero"`
	StartPrograms    map[string]int `json:"programs_of_a_one_step_run,omitzero"`

	Problems []string `json:"problems,omitzero"`
}

// runReport is the runs of one length.
type runReport struct {
	Steps  int      `json:"steps"`
	WallMS measured `json:"wall_ms"`
	CPUMS  measured `json:"cpu_ms"`
	PeakMB measured `json:"peak_mb"`
}

// figure sums up what value says of the runs, the quiet ones if they are at
// least half.
func figure(samples []*sample, value func(*sample) float64) *measured {
	if len(samples) == 0 {
		return nil
	}
	var quiet []*sample
	for _, s := range samples {
		if !s.noisy() {
			quiet = append(quiet, s)
		}
	}
	m := &measured{}
	if 2*len(quiet) < len(samples) {
		m.Noisy, quiet = true, samples
	}
	m.Summary = stat.Of(stat.Each(quiet, value))
	return m
}

func wallMS(s *sample) float64  { return ms(s.Wall) }
func cpuMS(s *sample) float64   { return ms(s.CPU()) }
func peakMB(s *sample) float64  { return float64(s.PeakRSS) / (1 << 20) }
func firstMS(s *sample) float64 { return ms(s.First) }
func gapMS(s *sample) float64   { return ms(s.gap()) }

// summarize makes the report of one candidate. steps are in rising order.
func summarize(c *candidate, steps []int) subjectReport {
	r := subjectReport{Name: c.Name, Peer: c.Peer, Program: c.Program, Problems: c.problems}
	r.VersionMS, r.VersionMB = figure(c.version, wallMS), figure(c.version, peakMB)
	var every []*sample
	for _, n := range steps {
		s := c.runs[n]
		if len(s) == 0 {
			continue
		}
		every = append(every, s...)
		r.Runs = append(r.Runs, runReport{
			Steps: n, WallMS: *figure(s, wallMS), CPUMS: *figure(s, cpuMS), PeakMB: *figure(s, peakMB),
		})
	}
	r.FirstMS = figure(every, firstMS)
	r.ContinueMS = figure(c.goingOn, firstMS)
	r.WaitCPU = figure(c.waited, cpuMS)
	r.WaitSwitches = figure(c.waited, func(s *sample) float64 { return float64(s.Switches) })
	if len(every) > 0 {
		r.describe(every[len(every)-1], r.Runs[len(r.Runs)-1].Steps)
		r.StepMS = figure(c.runs[r.CallsNeeded-1], gapMS)
		if r.CallsNeeded == 1 {
			r.StepMS = nil // no step, no gap
		}
	}
	for _, s := range every {
		r.Left = max(r.Left, s.Left)
	}
	r.StepCPU = stepCPU(r.Runs)
	if c.traced != nil {
		r.Traced = true
		r.ProcessesPerStep = float64(c.traced.step.Processes) / tracedSteps
		r.ProcessesAtStart = float64(c.traced.start.Processes) - r.ProcessesPerStep
		r.SyncsPerStep = float64(c.traced.step.Syncs) / tracedSteps
		r.StepPrograms, r.StartPrograms = c.traced.step.Programs, c.traced.start.Programs
	}
	return r
}

// describe takes what is the same in all runs from one of the longest.
func (r *subjectReport) describe(s *sample, steps int) {
	r.FirstBody, r.FirstTools, r.FirstToolCount, r.FirstInstructions = s.Sizes.Body, s.Sizes.Tools, s.Sizes.ToolCount, s.Sizes.Instructions
	if steps > 0 {
		r.GrowthPerStep = float64(s.LastBody-s.Sizes.Body) / float64(steps)
	}
	r.LogBytes, r.Connections, r.Calls, r.CallsNeeded = s.LogBytes, s.Connections, s.Calls, steps+1
}

// stepCPU is the processor time of one more step.
func stepCPU(runs []runReport) *float64 {
	if len(runs) < 2 {
		return nil
	}
	short, long := runs[0], runs[len(runs)-1]
	v := (long.CPUMS.Median - short.CPUMS.Median) / float64(long.Steps-short.Steps)
	return &v
}

// run is the report of the runs of a length, nil when there were none.
func (r *subjectReport) run(steps int) *runReport {
	for i := range r.Runs {
		if r.Runs[i].Steps == steps {
			return &r.Runs[i]
		}
	}
	return nil
}
