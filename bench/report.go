package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// report is everything that an invocation found out.
type report struct {
	Machine     machine         `json:"machine"`
	BinaryBytes int64           `json:"binary_bytes"`
	Subjects    []subjectReport `json:"subjects,omitzero"`
	Log         *logReport      `json:"log,omitzero"`
	Search      *searchReport   `json:"search,omitzero"`
	UI          []uiReport      `json:"ui,omitzero"`
	Budgets     []budget        `json:"budgets"`
}

func (r *report) subject(name string) *subjectReport {
	for i := range r.Subjects {
		if r.Subjects[i].Name == name {
			return &r.Subjects[i]
		}
	}
	return nil
}

// failure is the error of an invocation in which one of our own subjects did
// not do its work. Numbers over their budget and failing peers are none.
func (r *report) failure() error {
	var errs []error
	for _, s := range r.Subjects {
		if len(s.Problems) > 0 && !s.Peer {
			errs = append(errs, fmt.Errorf("%s failed: %s", s.Name, strings.Join(s.Problems, "; ")))
		}
	}
	for _, s := range r.UI {
		if len(s.Problems) > 0 && !s.Peer {
			errs = append(errs, fmt.Errorf("%s failed on a terminal: %s", s.Name, strings.Join(s.Problems, "; ")))
		}
	}
	return errors.Join(errs...)
}

func (r *report) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.MarshalWrite(w, r, jsontext.WithIndent("  "), json.Deterministic(true))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	r.writeMachine(t)
	if len(r.Subjects) > 0 {
		r.writeTimes(t)
		r.writeRequests(t)
		r.writeSystem(t)
		r.writeProblems(t)
	}
	if r.Log != nil {
		r.Log.write(t)
	}
	if r.Search != nil {
		r.Search.write(t)
	}
	if len(r.UI) > 0 {
		r.writeUI(t)
	}
	r.writeBudgets(t)
	return t.Flush()
}

func (r *report) writeMachine(w io.Writer) {
	m := r.Machine
	fmt.Fprintf(w, "%s: %s/%s, %d CPUs, %s, %s; load average %s before, %s after\n",
		m.Date, m.OS, m.Arch, m.CPUs, m.Go, m.FileSystem, known(m.LoadBefore), known(m.LoadAfter))
	fmt.Fprintf(w, "append and fsync here: %.1f ms. Binary: %.1f MB.\n", m.SyncMS, float64(r.BinaryBytes)/(1<<20))
	fmt.Fprintf(w, "Medians of the quiet runs (others used at most %.1f of a processor), min–max in brackets; ~ = fewer than half were quiet, so all count.\n", quietLimit)
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// cell shows a figure; digits after the point.
func cell(m *measured, digits int) string {
	if m == nil {
		return "–"
	}
	mark := ""
	if m.Noisy {
		mark = "~"
	}
	return fmt.Sprintf("%s%.*f [%.*f–%.*f]", mark, digits, m.Median, digits, m.Min, digits, m.Max)
}

func (r *report) writeTimes(w io.Writer) {
	fmt.Fprint(w, "\nTimes in ms, memory in MB (largest process)\n")
	fmt.Fprint(w, "\t--version\tmemory\tfirst request\tper step\tCPU per step\tcontinue\t\n")
	for _, s := range r.Subjects {
		cpu := "–"
		if s.StepCPU != nil {
			cpu = fmt.Sprintf("%.1f", *s.StepCPU)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", s.Name,
			cell(s.VersionMS, 1), cell(s.VersionMB, 0), cell(s.FirstMS, 1), cell(s.StepMS, 1), cpu, cell(s.ContinueMS, 0))
	}
	fmt.Fprint(w, "\n\tsteps\twall\tCPU\tpeak memory\truns\t\n")
	for _, s := range r.Subjects {
		for _, run := range s.Runs {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d\t\n", s.Name, run.Steps,
				cell(&run.WallMS, 0), cell(&run.CPUMS, 0), cell(&run.PeakMB, 1), run.WallMS.N)
		}
	}
}

func (r *report) writeRequests(w io.Writer) {
	fmt.Fprint(w, "\nRequests and logs (bytes; of the longest runs)\n")
	fmt.Fprint(w, "\tfirst request\ttools\tinstructions\tgrowth per step\tlog\tconnections\tmodel calls (needed)\t\n")
	for _, s := range r.Subjects {
		if s.CallsNeeded == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d (%d)\t%d\t%.0f\t%d\t%d\t%d (%d)\t\n", s.Name, s.FirstBody, s.FirstTools, s.FirstToolCount,
			s.FirstInstructions, s.GrowthPerStep, s.LogBytes, s.Connections, s.Calls, s.CallsNeeded)
	}
}

func (r *report) writeSystem(w io.Writer) {
	fmt.Fprint(w, "\nWhat it asks of the system (strace, runs of their own); waiting = a run that has nothing to do for 2 s\n")
	fmt.Fprint(w, "\tprocesses per step\tat start\tfsync per step\tprograms of 10 steps\twaiting, CPU ms\twaiting, switches\tleft behind\t\n")
	for _, s := range r.Subjects {
		per, start, syncs, programs := "–", "–", "–", "–"
		if s.Traced {
			per, start, syncs = fmt.Sprintf("%.1f", s.ProcessesPerStep), fmt.Sprintf("%.0f", s.ProcessesAtStart), fmt.Sprintf("%.1f", s.SyncsPerStep)
			programs = countList(s.StepPrograms)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t\n", s.Name, per, start, syncs, programs, cell(s.WaitCPU, 0), cell(s.WaitSwitches, 0), s.Left)
	}
}

func countList(counts map[string]int) string {
	if len(counts) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}

func (r *report) writeProblems(w io.Writer) {
	first := true
	for _, s := range r.Subjects {
		for _, p := range s.Problems {
			if first {
				fmt.Fprint(w, "\nDid not work\n")
				first = false
			}
			fmt.Fprintf(w, "%s: %s\n", s.Name, p)
		}
	}
}

func (r *report) writeBudgets(w io.Writer) {
	if len(r.Budgets) == 0 {
		return
	}
	fmt.Fprint(w, "\nBudgets\n\tmeasured\tbudget\t\t\n")
	for _, b := range r.Budgets {
		sign := "≤"
		if b.AtLeast {
			sign = "≥"
		}
		fmt.Fprintf(w, "%s\t%.1f %s\t%s %.0f %s\t%s\t\n", b.What, b.Value, b.Unit, sign, b.Limit, b.Unit, b.verdict())
	}
}
