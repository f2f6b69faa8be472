package cli

import (
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
)

// tellApproval says on stderr that an action was held and what became of it:
// in a run that nobody watches a hold must not go unseen.
func (r *run) tellApproval(a event.Approval) {
	var e struct {
		ID       string `json:"pending_action_id"`
		Tool     string `json:"tool_name"`
		Args     string `json:"raw_args"`
		Reason   string `json:"openmuse_reason"`
		Decision string `json:"decision"`
		Source   struct {
			Kind string `json:"kind"`
		} `json:"decision_source"`
	}
	if json.Unmarshal(a.Fields, &e) != nil {
		return
	}
	switch a.Kind {
	case "requested":
		r.note("approval: held %s: %s (%s)", e.Tool, oneLine(e.Args, 200), oneLine(e.Reason, 300))
	case "decision_applied":
		r.note("approval: %s by %s", e.Decision, e.Source.Kind)
	}
}

// oneLine makes text from elsewhere safe to print in a line for people: control
// and format characters, which a terminal would obey or which turn the reading
// direction, become spaces, and long text is cut.
func oneLine(s string, limit int) string {
	out := make([]rune, 0, min(len(s), limit))
	for _, c := range s {
		if len(out) == limit {
			return string(out) + "…"
		}
		if unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp) {
			c = ' '
		}
		out = append(out, c)
	}
	return string(out)
}
