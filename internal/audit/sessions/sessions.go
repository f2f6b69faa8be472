// Package sessions sums up logs: what was run where, when, by which model, for
// how many tokens and what price, and what was asked, approved and denied. A
// session's subagents count as part of it.
package sessions

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/view/timeline"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
	"github.com/openmuse/muse/internal/view/usage"
)

// Session is one session with its subagents.
type Session struct {
	ID        string       `json:"session_id"`
	Name      string       `json:"name"`
	Project   string       `json:"project_path"`
	Branch    string       `json:"git_branch"`
	Build     string       `json:"build"` // the version that wrote the log
	First     time.Time    `json:"first"`
	Last      time.Time    `json:"last"`
	Prompts   int          `json:"prompts"`
	Answers   int          `json:"answers"`
	Calls     int          `json:"tool_calls"`
	Subagents int          `json:"subagents"`
	Failed    int          `json:"failed_runs"` // runs that ended in anything but success
	Approvals Approvals    `json:"approvals"`
	Modes     []string     `json:"permission_modes"` // every mode that was in force
	Usage     []usage.Line `json:"usage"`
	Total     usage.Line   `json:"total"`
	End       string       `json:"end"` // exit reason; empty when the log just stops
	BadLines  int          `json:"bad_lines"`
	Log       string       `json:"log"`

	file     *audit.File
	ledger   usage.Ledger
	provider string
	runs     map[string]string // provider of a run's model
	days     map[string]*usage.Ledger
	models   []string
}

// Approvals counts what was asked and how it was decided.
type Approvals struct {
	Asked    int            `json:"asked"`
	Approved int            `json:"approved"`
	Denied   int            `json:"denied"`
	By       map[string]int `json:"by"` // decisions by their source
}

// File is the session's own log.
func (s *Session) File() *audit.File { return s.file }

// Models lists the models of the session in the order of their first use.
func (s *Session) Models() []string { return s.models }

// Gather sums up the logs of an input, in order of their first record. Of the
// filter, times, sessions and projects count; a session in which nothing
// happened in the wanted time is left out.
func Gather(ctx context.Context, in *audit.Input, filter audit.Filter) ([]*Session, audit.Stats, error) {
	g := gatherer{filter: filter, byFile: map[*audit.File]*Session{}, active: map[*audit.File]bool{}, bad: map[string]int{}}
	stats, err := audit.Timeline(ctx, in, audit.TimelineOptions{Observe: g.observe}, &g)
	if err != nil {
		return nil, stats, err
	}
	return g.finish(in.Files), stats, nil
}

type gatherer struct {
	filter audit.Filter
	byFile map[*audit.File]*Session
	active map[*audit.File]bool // logs in which something happened in the wanted time
	bad    map[string]int       // lines that cannot be read, by the file's label
}

// Write implements [timeline.Writer]: it counts the lines that cannot be read,
// which no event shows.
func (g *gatherer) Write(r *timeline.Row) error {
	if r.Kind == 0 || r.Kind == timeline.BadChild {
		g.bad[r.File]++
	}
	return nil
}

// Close implements [timeline.Writer].
func (g *gatherer) Close() error { return nil }

func (g *gatherer) of(f *audit.File) *Session {
	s := g.byFile[f]
	if s == nil {
		s = &Session{ID: f.ID(), Log: f.Label, file: f, runs: map[string]string{}, Approvals: Approvals{By: map[string]int{}}, days: map[string]*usage.Ledger{}}
		g.byFile[f] = s
	}
	return s
}

func (g *gatherer) observe(f *audit.File, ev *timeline.Event) {
	s := g.of(f)
	if len(ev.Stream) > 0 && s.First.IsZero() {
		s.ID = string(ev.Stream)
	}
	if ev.Timed {
		t := time.UnixMicro(ev.At).UTC()
		if s.First.IsZero() || t.Before(s.First) {
			s.First = t
		}
		if t.After(s.Last) {
			s.Last = t
		}
	}
	s.facts(ev)
	if g.filter.KeepTime(ev.At, ev.Timed) {
		g.active[f] = true
		s.count(ev, f.Kind == audit.SubagentLog)
	}
}

// facts takes what holds for the session as a whole.
func (s *Session) facts(ev *timeline.Event) {
	set := func(dst *string, v []byte) {
		if len(v) > 0 {
			*dst = string(v)
		}
	}
	switch ev.Kind {
	case timeline.Metadata:
		set(&s.Project, ev.Name)
		set(&s.provider, ev.Second)
		if lit, ok := jsonline.Literal(jsonline.Get(ev.Raw, "semver")); ok {
			s.Build = string(jsonline.Text(lit))
		}
	case timeline.Route:
		if s.Project == "" {
			set(&s.Project, ev.Name)
		}
	case timeline.Branch:
		set(&s.Branch, ev.Name)
	case timeline.Renamed:
		s.Name = timeline.Text{Literal: ev.Text.Literal, Plain: ev.Text.Plain}.String()
	case timeline.RunModel:
		if len(s.runs) < 4096 {
			s.runs[string(ev.Run)] = string(ev.Second)
		}
	case timeline.Profile:
		s.mode(string(ev.Name))
	case timeline.SecurityMode:
		s.mode("security_mode=" + string(ev.Name))
	case timeline.RunSecurity:
		s.mode("security_mode=" + string(ev.Name))
	case timeline.SessionEnd:
		set(&s.End, ev.Name)
	}
}

func (s *Session) mode(m string) {
	if !slices.Contains(s.Modes, m) && len(s.Modes) < 100 {
		s.Modes = append(s.Modes, m)
	}
}

// count takes what happened in the wanted time.
func (s *Session) count(ev *timeline.Event, child bool) {
	switch ev.Kind {
	case timeline.Prompt:
		if !child {
			s.Prompts++
		}
	case timeline.Inbox:
		if string(ev.Name) == "user_steer" {
			s.Prompts++
		}
	case timeline.Assistant:
		s.Answers++
	case timeline.ToolCall:
		s.Calls++
	case timeline.RunEnd:
		if n := string(ev.Name); n != "" && n != "completed" {
			s.Failed++
		}
	case timeline.Asked:
		s.Approvals.Asked++
	case timeline.Decided:
		s.decided(ev)
	case timeline.ModelDone:
		s.used(ev)
	}
}

func (s *Session) decided(ev *timeline.Event) {
	switch d := string(ev.Name); {
	case len(d) >= 7 && d[:7] == "approve":
		s.Approvals.Approved++
	case d != "":
		s.Approvals.Denied++
	}
	source, _ := jsonline.Literal(jsonline.Get(jsonline.Get(ev.Raw, "decision_source"), "kind"))
	if len(s.Approvals.By) < 100 {
		s.Approvals.By[string(jsonline.Text(source))]++
	}
}

func (s *Session) used(ev *timeline.Event) {
	provider, ok := s.runs[string(ev.Run)]
	if !ok || provider == "" {
		provider = s.provider
	}
	model := string(ev.Name)
	if !slices.Contains(s.models, model) && len(s.models) < 100 {
		s.models = append(s.models, model)
	}
	s.ledger.Add(provider, model, ev.Usage)
	day := "unknown"
	if ev.Timed {
		day = time.UnixMicro(ev.At).UTC().Format(time.DateOnly)
	}
	if s.days[day] == nil {
		s.days[day] = &usage.Ledger{}
	}
	s.days[day].Add(provider, model, ev.Usage)
}

// finish folds subagents into their sessions.
func (g *gatherer) finish(files []*audit.File) []*Session {
	var out []*Session
	for _, f := range files {
		s := g.byFile[f]
		if s == nil {
			continue
		}
		s.BadLines = g.bad[f.Label]
		top := f
		if n := len(f.Parents); n > 0 {
			top = f.Parents[n-1]
		}
		if parent := g.byFile[top]; parent != nil && top != f {
			parent.absorb(s)
			g.active[top] = g.active[top] || g.active[f]
			continue
		}
		out = append(out, s)
	}
	out = slices.DeleteFunc(out, func(s *Session) bool {
		return !g.active[s.file] || !g.filter.KeepSession(s.ID, s.Project)
	})
	for _, s := range out {
		s.Usage, s.Total = s.ledger.Lines(), s.ledger.Total()
	}
	slices.SortStableFunc(out, func(a, b *Session) int { return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.ID, b.ID)) })
	return out
}

func (s *Session) absorb(c *Session) {
	s.Subagents += 1 + c.Subagents
	s.Calls += c.Calls
	s.Failed += c.Failed
	s.BadLines += c.BadLines
	s.Approvals.Asked += c.Approvals.Asked
	s.Approvals.Approved += c.Approvals.Approved
	s.Approvals.Denied += c.Approvals.Denied
	for by, n := range c.Approvals.By {
		s.Approvals.By[by] += n
	}
	s.ledger.Merge(&c.ledger)
	for day, l := range c.days {
		if s.days[day] == nil {
			s.days[day] = &usage.Ledger{}
		}
		s.days[day].Merge(l)
	}
	if c.Last.After(s.Last) {
		s.Last = c.Last
	}
}

// Project is what was done in one place.
type Project struct {
	Path     string     `json:"project_path"`
	Sessions int        `json:"sessions"`
	First    time.Time  `json:"first"`
	Last     time.Time  `json:"last"`
	Prompts  int        `json:"prompts"`
	Calls    int        `json:"tool_calls"`
	Asked    int        `json:"approvals_asked"`
	Denied   int        `json:"approvals_denied"`
	Total    usage.Line `json:"total"`

	ledger usage.Ledger
}

// Projects groups sessions by their project, the latest first.
func Projects(list []*Session) []*Project {
	byPath := map[string]*Project{}
	var out []*Project
	for _, s := range list {
		p := byPath[s.Project]
		if p == nil {
			p = &Project{Path: s.Project, First: s.First}
			byPath[s.Project] = p
			out = append(out, p)
		}
		p.Sessions++
		p.Prompts += s.Prompts
		p.Calls += s.Calls
		p.Asked += s.Approvals.Asked
		p.Denied += s.Approvals.Denied
		if s.First.Before(p.First) {
			p.First = s.First
		}
		if s.Last.After(p.Last) {
			p.Last = s.Last
		}
		p.ledger.Merge(&s.ledger)
	}
	for _, p := range out {
		p.Total = p.ledger.Total()
	}
	slices.SortStableFunc(out, func(a, b *Project) int { return b.Last.Compare(a.Last) })
	return out
}

// Spent is what one group of sessions, or days, used.
type Spent struct {
	Group string       `json:"group"`
	Lines []usage.Line `json:"usage"`
	Total usage.Line   `json:"total"`
}

// Spending sums up usage by "model", "day", "project" or "session".
func Spending(list []*Session, by string) []Spent {
	ledgers := map[string]*usage.Ledger{}
	var order []string
	add := func(group string, l *usage.Ledger) {
		if ledgers[group] == nil {
			ledgers[group] = &usage.Ledger{}
			order = append(order, group)
		}
		ledgers[group].Merge(l)
	}
	for _, s := range list {
		switch by {
		case "day":
			for day, l := range s.days {
				add(day, l)
			}
		case "project":
			add(s.Project, &s.ledger)
		case "session":
			add(s.ID, &s.ledger)
		default:
			add("", &s.ledger)
		}
	}
	if by == "day" {
		slices.Sort(order)
	}
	out := make([]Spent, 0, len(order))
	for _, g := range order {
		out = append(out, Spent{Group: g, Lines: ledgers[g].Lines(), Total: ledgers[g].Total()})
	}
	return out
}
