package collect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Summary is what a collection found (collection.json).
type Summary struct {
	Tool        string           `json:"tool"`
	Root        string           `json:"root"`
	Started     time.Time        `json:"started"`
	Finished    time.Time        `json:"finished"`
	Credentials bool             `json:"credentials_included"`
	Bases       []*BaseSummary   `json:"bases"`
	Counts      map[Status]int64 `json:"counts"` // entries by status
	Files       int64            `json:"files"`  // copied
	Bytes       int64            `json:"bytes"`  // copied
	Changed     int64            `json:"changed_while_copied"`
	Unsettled   int64            `json:"databases_not_in_one_state"` // files of databases that kept changing
	Problems    []Problem        `json:"problems"`
	ByHand      []ByHand         `json:"by_hand"`

	entries []Entry
}

// BaseSummary is a home, a project or the root with what was copied from it.
type BaseSummary struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"` // as the machine knows it
	System  string `json:"system,omitempty"`
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Missing bool   `json:"missing,omitempty"`      // a project that is not on this disk
	Same    bool   `json:"same_as_other,omitzero"` // another name of a project already listed
}

// Problem is something that could not be read.
type Problem struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// ByHand is what no rule reaches.
type ByHand struct {
	System string `json:"system"`
	What   string `json:"what"`
	Note   string `json:"note"`
}

// Incomplete reports whether some evidence could not be read, or a database not
// in one state. A log that grew while it was copied is whole up to there.
func (s *Summary) Incomplete() bool {
	return s.Counts[Unreadable] > 0 || s.Counts[Partial] > 0 || s.Unsettled > 0 || len(s.Problems) > 0
}

func (c *collector) summarize(bases []*base, started time.Time) *Summary {
	slices.SortFunc(c.entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	s := &Summary{
		Tool: c.opts.Tool, Root: c.opts.Root, Started: started, Finished: c.opts.Now().UTC(),
		Credentials: c.opts.IncludeCredentials, Counts: map[Status]int64{}, Problems: c.problems, entries: c.entries,
	}
	byBase := map[string]*BaseSummary{}
	for _, b := range bases {
		s.Bases = append(s.Bases, b.summary)
		if b.match != nil {
			byBase[b.display("")] = b.summary
		}
	}
	for i := range c.entries {
		e := &c.entries[i]
		s.Counts[e.Status]++
		if e.Changed {
			s.Changed++
			if e.Group != "" {
				s.Unsettled++
			}
		}
		if e.Kind != "file" || e.Status != Collected && e.Status != Partial {
			continue
		}
		s.Files++
		s.Bytes += e.Copied
		if b := byBase[e.Base]; b != nil {
			b.Files++
			b.Bytes += e.Copied
		}
	}
	for _, r := range c.catalogue.of("by-hand", "") {
		s.ByHand = append(s.ByHand, ByHand{System: r.System, What: r.Pattern, Note: r.Note})
	}
	return s
}

// seal writes the collection's own files and makes it final.
func (c *collector) seal(s *Summary) error {
	var manifest bytes.Buffer
	for _, e := range s.entries {
		e.Zip = nil
		line, err := e.line()
		if err != nil {
			return err
		}
		manifest.Write(line)
	}
	summary, err := json.Marshal(s, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode summary: %w", err)
	}
	var report bytes.Buffer
	s.Report(&report)
	for _, note := range []struct {
		name string
		text []byte
	}{{manifestName, manifest.Bytes()}, {summaryName, append(summary, '\n')}, {reportName, report.Bytes()}} {
		if err := c.sink.note(note.name, note.text); err != nil {
			return err
		}
	}
	if err := c.sink.finish(); err != nil {
		return err
	}
	if err := c.journal.close(); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	if err := os.Remove(c.journalPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove journal: %w", err)
	}
	return nil
}

// Report writes the summary for people. Names from the evidence are quoted, so
// that none can move the cursor or start a line of its own.
func (s *Summary) Report(w *bytes.Buffer) {
	fmt.Fprintf(w, "collected %d files, %s, from %s\n", s.Files, size(s.Bytes), s.Root)
	for _, b := range s.Bases {
		switch {
		case b.Files > 0:
			fmt.Fprintf(w, "  %-8s %s%s: %d files, %s\n", b.Kind, visible(b.Path), systemNote(b.System), b.Files, size(b.Bytes))
		case b.Missing:
			fmt.Fprintf(w, "  %-8s %s: not on this disk\n", b.Kind, visible(b.Path))
		}
	}
	if s.Files == 0 {
		fmt.Fprintln(w, "  nothing was found")
	}
	s.list(w, "unreadable", func(e Entry) bool { return e.Status == Unreadable || e.Status == Partial }, func(e Entry) string { return e.Reason })
	for _, p := range s.Problems {
		fmt.Fprintf(w, "  %s: %s\n", visible(p.Path), visible(p.Reason))
	}
	s.list(w, "changed while they were copied", func(e Entry) bool { return e.Changed }, func(Entry) string { return "" })
	s.list(w, "credentials, not collected", func(e Entry) bool { return e.Status == Credential }, func(e Entry) string { return e.Reason })
	s.list(w, "collected, can hold secrets", func(e Entry) bool { return e.Sensitive && e.Status == Collected }, func(Entry) string { return "" })
	s.list(w, "excluded", func(e Entry) bool { return e.Status == Excluded }, func(e Entry) string { return e.Reason })
	s.list(w, "links, not followed", func(e Entry) bool { return e.Status == Link }, func(e Entry) string { return "-> " + e.Target })
	s.list(w, "sockets, pipes and devices, not read", func(e Entry) bool { return e.Status == Special }, func(Entry) string { return "" })
	fmt.Fprintln(w, "not reachable by a collector, look by hand:")
	for _, h := range s.ByHand {
		fmt.Fprintf(w, "  %-8s %s (%s)\n", h.System, h.What, h.Note)
	}
}

func (s *Summary) list(w *bytes.Buffer, title string, is func(Entry) bool, why func(Entry) string) {
	n := 0
	for _, e := range s.entries {
		if !is(e) {
			continue
		}
		if n++; n == 1 {
			fmt.Fprintf(w, "%s:\n", title)
		}
		if text := why(e); text != "" {
			fmt.Fprintf(w, "  %s: %s\n", visible(e.Path), visible(text))
		} else {
			fmt.Fprintf(w, "  %s\n", visible(e.Path))
		}
	}
}

func systemNote(system string) string {
	if system == "" {
		return ""
	}
	return " (" + system + ")"
}

func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	f, i := float64(n), -1
	for f >= unit && i < 4 {
		f /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTP"[i])
}

// visible quotes text that a terminal would not show as it stands.
func visible(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}
