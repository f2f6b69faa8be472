package main

import (
	"fmt"
	"io"
)

// uiLogSize is the log of the session that is opened again.
const uiLogSize = 100 << 20

// uiReport is what was measured of one program on a terminal.
type uiReport struct {
	Name string `json:"name"`
	Peer bool   `json:"peer"`

	FrameMS   *measured `json:"first_frame_ms,omitzero"`      // until the prompt can be seen
	KeyMS     *measured `json:"first_key_ms,omitzero"`        // until a key pressed then can be seen
	IdleCPU   *measured `json:"idle_cpu_ms,omitzero"`         // in five seconds at rest
	RestMB    *measured `json:"rest_mb,omitzero"`             // of all its processes
	Processes int       `json:"processes"`                    // at rest
	EchoMS    *measured `json:"key_to_screen_ms,omitzero"`    // while an answer streams
	EchoP95   *float64  `json:"key_to_screen_p95,omitzero"`   // of all keys
	FewMB     *float64  `json:"few_items_mb,omitzero"`        // after a session of 100 items
	ManyMB    *float64  `json:"many_items_mb,omitzero"`       // after one of 10,000
	ManyKeyMS *float64  `json:"many_items_key_ms,omitzero"`   // a key then
	ResumeMS  *measured `json:"resume_last_page_ms,omitzero"` // until the last page can be seen
	// ResumeBytes is the log of the session that was gone on with.
	ResumeBytes int64 `json:"resume_log_bytes,omitzero"`

	Problems []string `json:"problems,omitzero"`
}

// judgeUI holds the main subject against its budgets.
func judgeUI(all []uiReport) []budget {
	var out []budget
	for _, r := range all {
		if r.Name != "muse" {
			continue
		}
		figure := func(what string, v *measured, limit float64, unit string) {
			if v != nil {
				out = append(out, atMost(what, v.Median, limit, unit, v.Noisy))
			}
		}
		figure("first frame", r.FrameMS, 40, "ms")
		figure("CPU at rest, in 5 s", r.IdleCPU, 0, "ms")
		figure("memory at rest", r.RestMB, 60, "MB")
		figure("key to screen while an answer streams", r.EchoMS, 16, "ms")
		figure("last page of a session of 100 MB", r.ResumeMS, 300, "ms")
		if r.FewMB != nil && r.ManyMB != nil {
			out = append(out, atMost("memory after 10,000 items above 100 items", *r.ManyMB-*r.FewMB, 10, "MB", false))
		}
	}
	return out
}

func (r *report) writeUI(w io.Writer) {
	fmt.Fprint(w, "\nOn a terminal of 120×40: times in ms, memory in MB (all processes)\n")
	fmt.Fprint(w, "\tfirst frame\tfirst key shown\tCPU in 5 s at rest\tmemory at rest\tprocesses\tkey to screen, streaming\tp95\tkeys\t\n")
	for _, s := range r.UI {
		keys, p95 := 0, "–"
		if s.EchoMS != nil {
			keys = s.EchoMS.N
		}
		if s.EchoP95 != nil {
			p95 = fmt.Sprintf("%.1f", *s.EchoP95)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%d\t\n", s.Name, cell(s.FrameMS, 1), cell(s.KeyMS, 1), cell(s.IdleCPU, 0),
			cell(s.RestMB, 0), s.Processes, cell(s.EchoMS, 1), p95, keys)
	}
	for _, s := range r.UI {
		if s.FewMB != nil && s.ManyMB != nil {
			fmt.Fprintf(w, "%s after a session of 100 items: %.0f MB; of 10,000 items: %.0f MB, a key then %.1f ms\n", s.Name, *s.FewMB, *s.ManyMB, *s.ManyKeyMS)
		}
		if s.ResumeMS != nil {
			fmt.Fprintf(w, "%s resume, last page of a log of %d MB: %s ms\n", s.Name, s.ResumeBytes>>20, cell(s.ResumeMS, 0))
		}
		for _, p := range s.Problems {
			fmt.Fprintf(w, "%s: %s\n", s.Name, p)
		}
	}
}
