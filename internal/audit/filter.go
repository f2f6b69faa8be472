package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/view/timeline"
)

// Filter says which rows are wanted. Empty fields want everything.
type Filter struct {
	Since, Until int64 // µs since the epoch, both inclusive; 0 is no bound
	Sessions     []string
	Projects     []string
	Types        []timeline.TurnType
	Tools        []string
}

// Bounded reports whether the filter has a time bound; rows without a time are
// then not wanted.
func (f *Filter) Bounded() bool { return f.Since != 0 || f.Until != 0 }

// Keep reports whether the row is wanted.
func (f *Filter) Keep(r *timeline.Row) bool {
	return f.KeepTime(r.At, r.Timed) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, r.Type)) &&
		(len(f.Tools) == 0 || slices.Contains(f.Tools, r.Tool)) &&
		f.KeepSession(r.Session, r.Project)
}

// KeepTime reports whether something of that time is wanted.
func (f *Filter) KeepTime(at int64, timed bool) bool {
	return !f.Bounded() || timed && (f.Since == 0 || at >= f.Since) && (f.Until == 0 || at <= f.Until)
}

// KeepSession reports whether a session of a project is wanted.
func (f *Filter) KeepSession(id, project string) bool {
	return (len(f.Sessions) == 0 || slices.ContainsFunc(f.Sessions, func(s string) bool { return sessionMatches(id, s) })) &&
		(len(f.Projects) == 0 || slices.ContainsFunc(f.Projects, func(p string) bool { return within(project, p) }))
}

// sessionMatches takes an id or the start of one.
func sessionMatches(id, want string) bool { return want != "" && strings.HasPrefix(id, want) }

// within reports whether a project is the wanted one or lies below it.
func within(project, want string) bool {
	want = strings.TrimRight(want, `/\`)
	rest, ok := strings.CutPrefix(project, want)
	return ok && project != "" && (rest == "" || rest[0] == '/' || rest[0] == '\\')
}

// ParseTime reads a bound: RFC 3339, a date, a date and time in UTC, or a
// duration before now such as 90m, 24h or 7d. A date as an upper bound means
// its whole day. The result is µs since the epoch.
func ParseTime(s string, upper bool, now time.Time) (int64, error) {
	if d, ok := parseAgo(s); ok {
		return now.Add(-d).UnixMicro(), nil
	}
	layouts := []struct {
		layout string
		step   time.Duration // how long the last field lasts
	}{
		{time.RFC3339Nano, time.Microsecond},
		{"2006-01-02T15:04:05.999999", time.Microsecond}, {"2006-01-02 15:04:05.999999", time.Microsecond},
		{"2006-01-02T15:04", time.Minute}, {"2006-01-02 15:04", time.Minute},
		{"2006-01-02", 24 * time.Hour},
	}
	for _, l := range layouts {
		t, err := time.Parse(l.layout, s)
		if err != nil {
			continue
		}
		if upper {
			t = t.Add(l.step - time.Microsecond)
		}
		if t.UnixMicro() == 0 {
			return 1, nil // 0 stands for no bound
		}
		return t.UnixMicro(), nil
	}
	return 0, fmt.Errorf("%q is no time: want 2026-10-01, 2026-10-01T09:00:00Z or a duration before now such as 24h or 7d", s)
}

func parseAgo(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return time.Duration(n) * 24 * time.Hour, true
		}
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}
