package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/markdown"
	"github.com/openmuse/muse/internal/tui/text"
)

// callArgs are the arguments of tools that say what a call is about (seed 000,
// Tool call arguments and results).
type callArgs struct {
	Command string `json:"command"`
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
	Query   string `json:"query"`
	URL     string `json:"url"`
	Input   string `json:"input"`
	Find    string `json:"find"`
	Replace string `json:"replace"`
	Content string `json:"content"`
	Name    string `json:"name"`
}

func argsOf(i msp.Item) callArgs {
	var a callArgs
	// Arguments of a shape that is not known are shown as they are.
	if err := json.Unmarshal([]byte(i.Args), &a); err != nil {
		return callArgs{Name: i.Args}
	}
	return a
}

// callVerb says what a call does, or did; of one that was not allowed, what it
// would have done.
func callVerb(i msp.Item) string {
	verb := func(now, then, not string) string {
		switch i.Status {
		case msp.ItemStatusInProgress:
			return now
		case msp.ItemStatusRejected:
			return not
		}
		return then
	}
	switch i.Tool {
	case "bash", "shell":
		return verb("Running", "Ran", "Run")
	case "bash_input":
		return verb("Typing", "Typed", "Type")
	case "read_file":
		return verb("Reading", "Read", "Read")
	case "edit_file":
		return verb("Editing", "Edited", "Edit")
	case "write_file":
		return verb("Writing", "Wrote", "Write")
	case "search_files":
		return verb("Searching", "Searched", "Search")
	case "write_todos":
		return verb("Planning", "Planned", "Plan")
	case "request_user_input":
		return verb("Asking", "Asked", "Ask")
	}
	if i.Kind == msp.ItemKindUserShell {
		return "!"
	}
	return i.Tool
}

// callSubject is what a call is about.
func callSubject(i msp.Item) string {
	if i.Kind == msp.ItemKindUserShell {
		return i.CommandText
	}
	a := argsOf(i)
	if i.Tool == "search_files" && a.Pattern != "" && a.Path != "" {
		return a.Pattern + " in " + a.Path
	}
	for _, s := range []string{a.Command, a.Path, a.Pattern, a.Query, a.URL, a.Input, a.Name} {
		if s != "" {
			return s
		}
	}
	if i.Tool == "write_todos" || i.Tool == "request_user_input" {
		return ""
	}
	return i.Args
}

func isEdit(tool string) bool { return tool == "edit_file" || tool == "write_file" }

// editDiff is the change that an edit makes, as far as its arguments say it.
func editDiff(i msp.Item) string {
	a := argsOf(i)
	if i.Tool == "write_file" {
		return string(diff.Diff("", nil, a.Path, []byte(withEnd(a.Content))))
	}
	return string(diff.Diff(a.Path, []byte(withEnd(a.Find)), a.Path, []byte(withEnd(a.Replace))))
}

func withEnd(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// editSize is how many lines an edit adds and removes.
func editSize(i msp.Item) (added, removed int) {
	if !isEdit(i.Tool) || i.Status != msp.ItemStatusCompleted {
		return 0, 0
	}
	for l := range strings.Lines(changes(editDiff(i))) {
		switch l[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// changes is a diff without its head.
func changes(d string) string {
	if i := strings.Index(d, "\n@@"); i >= 0 {
		d = d[i+1:]
		if j := strings.IndexByte(d, '\n'); j >= 0 {
			return d[j+1:]
		}
	}
	return ""
}

func (v *conversation) editRows(i msp.Item, limit int) []text.Line {
	rows := v.block(diffLines(changes(editDiff(i))))
	if n := len(rows); n > limit {
		rows = append(rows[:limit-1:limit-1], text.Of(text.Muted, "  │ … "+plural(n-limit+1, "more row", "more rows")))
	}
	return rows
}

// diffLines colours a unified diff.
func diffLines(d string) []text.Line {
	d = strings.TrimSuffix(d, "\n")
	if d == "" {
		return nil
	}
	var out []text.Line
	for l := range strings.SplitSeq(d, "\n") {
		out = append(out, text.Of(markdown.DiffStyle(l), text.WithoutColours(l)))
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// count is a number of tokens for people.
func count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// spent is a duration for people.
func spent(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}
