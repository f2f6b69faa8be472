package main

import "fmt"

// budget is one promise and what became of it.
type budget struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit"`
	// AtLeast says that the limit is the least and not the most.
	AtLeast bool `json:"at_least,omitzero"`
	Noisy   bool `json:"noisy"`
	OK      bool `json:"ok"`
}

func atMost(what string, value, limit float64, unit string, noisy bool) budget {
	return budget{What: what, Value: value, Limit: limit, Unit: unit, Noisy: noisy, OK: value <= limit}
}

func atLeast(what string, value, limit float64, unit string) budget {
	return budget{What: what, Value: value, Limit: limit, Unit: unit, AtLeast: true, OK: value >= limit}
}

func (b budget) verdict() string {
	s := "OVER"
	if b.OK {
		s = "ok"
	}
	if b.Noisy {
		s += " (noisy)"
	}
	return s
}

// judge holds the main subject against the budgets of the design.
func judge(r *report, steps []int) []budget {
	m := r.subject("muse")
	if m == nil {
		return nil
	}
	var out []budget
	figure := func(what string, v *measured, limit float64, unit string) {
		if v != nil {
			out = append(out, atMost(what, v.Median, limit, unit, v.Noisy))
		}
	}
	figure("--version", m.VersionMS, 10, "ms")
	figure("--version, peak memory", m.VersionMB, 20, "MB")
	figure("start to first model request", m.FirstMS, 30, "ms")
	figure("own time per step, log durable", m.StepMS, 6, "ms")
	if c := r.subject("muse-sandbox"); c != nil {
		figure("own time per step, sandbox and review on", c.StepMS, 15, "ms")
	}
	if long := m.run(100); long != nil {
		figure("100 steps, wall", &long.WallMS, 800, "ms")
		figure("100 steps, CPU", &long.CPUMS, 700, "ms")
		figure("100 steps, peak memory", &long.PeakMB, 50, "MB")
		if short := m.run(20); short != nil {
			grown := long.PeakMB.Median - short.PeakMB.Median
			out = append(out, atMost("100 steps, memory above 20 steps", grown, 10, "MB", long.PeakMB.Noisy || short.PeakMB.Noisy))
		}
	}
	if steps[len(steps)-1] == 100 {
		figure("continue a 100-step session", m.ContinueMS, 60, "ms")
	}
	if m.CallsNeeded > 0 {
		out = append(out,
			atMost("first request, small repository", float64(m.FirstBody)/1024, 12, "KB", false),
			atMost("connections", float64(m.Connections), 1, "", false),
			atMost("model calls nobody asked for", float64(m.Calls-m.CallsNeeded), 0, "", false),
		)
	}
	out = append(out, atMost("binary", float64(r.BinaryBytes)/(1<<20), 30, "MB", false))
	if m.Traced {
		out = append(out, atMost("processes per step, the command's shell included", m.ProcessesPerStep, 1, "", false))
	}
	if m.WaitCPU != nil && m.run(1) != nil {
		idle := m.WaitCPU.Median - m.run(1).CPUMS.Median
		out = append(out, atMost(fmt.Sprintf("CPU while waiting for %.0f s", 2.0), idle, 10, "ms", m.WaitCPU.Noisy))
	}
	return out
}
