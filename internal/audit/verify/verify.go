package verify

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/openmuse/muse/internal/audit"
)

// Summary is what a verification looked at and found.
type Summary struct {
	Logs     int   `json:"logs"`
	Lines    int64 `json:"lines"`
	Records  int64 `json:"records"`
	Sealed   int   `json:"sealed"` // logs that end with a seal
	Errors   int   `json:"errors"`
	Warnings int   `json:"warnings"`
	Infos    int   `json:"infos"`
}

// Clean reports whether nothing was found.
func (s Summary) Clean() bool { return s.Errors+s.Warnings == 0 }

// Run verifies every log of the input and what belongs to it. Findings are
// emitted session by session, in each by file and line.
func Run(ctx context.Context, in *audit.Input, emit func(Finding)) (Summary, error) {
	var s Summary
	v := &verifier{summary: &s, emit: emit}
	for _, p := range in.Problems {
		v.report([]Finding{{File: p.Path, Severity: Warning, Code: Unreadable, Message: p.Err.Error()}})
	}
	for _, session := range sessions(in.Files) {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		v.session(ctx, session)
	}
	return s, ctx.Err()
}

// sessions groups logs: a session's own first, then its subagents'.
func sessions(files []*audit.File) [][]*audit.File {
	var out [][]*audit.File
	byFile := map[*audit.File]int{}
	for _, f := range files {
		if f.Kind == audit.SessionLog {
			byFile[f] = len(out)
			out = append(out, []*audit.File{f})
		}
	}
	for _, f := range files {
		if f.Kind != audit.SubagentLog {
			continue
		}
		top := f
		if n := len(f.Parents); n > 0 {
			top = f.Parents[n-1]
		}
		if i, ok := byFile[top]; ok {
			out[i] = append(out[i], f)
		} else {
			out = append(out, []*audit.File{f})
		}
	}
	return out
}

type verifier struct {
	summary *Summary
	emit    func(Finding)
}

// maxFindings bounds the findings of one session: a file of noise must not
// make a report of the same size.
const maxFindings = 10_000

func (v *verifier) session(ctx context.Context, logs []*audit.File) {
	var found []Finding
	omitted := 0
	emit := func(f Finding) {
		if len(found) < maxFindings {
			found = append(found, f)
		} else {
			omitted++
		}
	}
	refs := newReferences(logs[0])
	for _, f := range logs {
		v.log(ctx, f, refs, emit)
	}
	// A subagent's log that was given alone says nothing of its siblings.
	if logs[0].Kind == audit.SessionLog && path.Base(logs[0].Label) == "session.jsonl" {
		refs.check(ctx, logs, emit)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Offset, b.Offset))
	})
	v.report(found)
	if omitted > 0 {
		v.report([]Finding{{File: logs[0].Label, Severity: Error, Code: UnreadableLine, Message: fmt.Sprintf("%d more findings are not listed", omitted)}})
	}
}

func (v *verifier) report(found []Finding) {
	for _, f := range found {
		switch f.Severity {
		case Error:
			v.summary.Errors++
		case Warning:
			v.summary.Warnings++
		default:
			v.summary.Infos++
		}
		v.emit(f)
	}
}

// log verifies one log.
func (v *verifier) log(ctx context.Context, f *audit.File, refs *references, emit func(Finding)) {
	v.summary.Logs++
	l := newLog(f, refs, readIndex(ctx, f, emit), emit)
	rc, err := f.Open()
	if err != nil {
		emit(Finding{File: f.Label, Severity: Error, Code: Unreadable, Message: err.Error()})
		return
	}
	defer rc.Close()
	err = audit.EachLine(rc, func(in audit.Line) error {
		v.summary.Lines++
		if in.Number&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return l.line(in)
	})
	if err != nil {
		emit(Finding{File: f.Label, Line: l.last.line, Offset: l.last.offset, Severity: Error, Code: Unreadable, Message: err.Error()})
	}
	l.end()
	v.summary.Records += l.records
	if l.sealed {
		v.summary.Sealed++
	}
}
