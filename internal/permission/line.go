package permission

import (
	"github.com/openmuse/muse/internal/permission/review"
	"github.com/openmuse/muse/internal/shell"
)

// Verdict is the outcome for a stage or a line.
type Verdict string

const (
	// Pass runs unasked.
	Pass Verdict = "pass"
	// Review needs an answer.
	Review Verdict = "review"
	// Unparseable needs an answer because the line cannot be decomposed. Only
	// lines have it.
	Unparseable Verdict = "unparseable-review"
	// Denied is refused by a rule, or because nobody may be asked.
	Denied Verdict = "denied"
)

// LineReview is the outcome of a shell line.
type LineReview struct {
	Line    *shell.Line
	Mode    Mode
	Verdict Verdict
	// Stages are in the order in which the shell starts them. For a line that
	// cannot be decomposed they are what was found, a lower bound.
	Stages []StageReview
	// Held names the first stage that did not pass, -1 for the line as a whole;
	// meaningless when Verdict is Pass. Reason says why.
	Held   int
	Reason string
}

// StageReview is the outcome of one stage.
type StageReview struct {
	Stage   *shell.Stage
	Class   review.Class
	Verdict Verdict
	Reason  string
	// Rule is the rule that decided, nil when none did.
	Rule *Rule
	// Unruled says why no allow rule can pass the stage; empty when one can.
	Unruled string
}

// lineJudge is what turns classes into verdicts.
type lineJudge struct {
	mode    Mode
	sandbox bool
	// write is unset where the workspace itself is read-only.
	write bool
	// strict switches the built-in read-only rules off.
	strict bool
	rules  Rules
	place  *review.Place
	dir    string
}

// review judges a whole line. Deny rules are looked at on every stage before
// anything else counts.
func (l *lineJudge) review(text string) *LineReview {
	line := shell.Analyze(text, shell.Options{Dir: l.dir, Home: l.place.Space.Home, Temp: l.place.Space.Temp})
	out := &LineReview{Line: line, Mode: l.mode, Verdict: Pass, Held: -1}
	out.Stages = make([]StageReview, len(line.Stages))
	for i := range line.Stages {
		out.Stages[i] = l.stage(&line.Stages[i])
	}
	l.passedNames(out)
	for i := range out.Stages {
		if s := &out.Stages[i]; s.Verdict == Denied {
			out.hold(Denied, i, s.Reason)
			return out
		}
	}
	if !line.Decomposed() {
		l.undecomposed(out)
		return out
	}
	for i := range out.Stages {
		if s := &out.Stages[i]; s.Verdict == Review {
			out.hold(Review, i, s.Reason)
			return out
		}
	}
	return out
}

// passedNames holds a stage that is given the name of a file of secrets by
// another stage of the line, where no rule of the user decided.
func (l *lineJudge) passedNames(out *LineReview) {
	if l.mode == Never {
		return
	}
	for i := range out.Stages {
		s := &out.Stages[i]
		if s.Verdict != Pass || s.Rule != nil || !review.TakesNames(s.Stage) {
			continue
		}
		for k := range out.Stages {
			if k != i && review.GivesSecret(out.Stages[k].Stage, l.place) {
				s.Class, s.Verdict = review.Sensitive, l.ask()
				s.Reason = "is given the name of a file that holds secrets: " + out.Stages[k].Stage.Effective()
				break
			}
		}
	}
}

func (r *LineReview) hold(v Verdict, stage int, reason string) {
	r.Verdict, r.Held, r.Reason = v, stage, reason
}

// undecomposed settles a line whose stages are not the whole truth. In never
// mode it runs, as the sandbox contains it; but a rule that refuses something
// could then be passed by hiding it, so with such rules it does not.
func (l *lineJudge) undecomposed(out *LineReview) {
	reason := "the line cannot be taken apart: " + out.Line.Refusal
	switch {
	case l.mode == DenyUnmatched:
		out.hold(Denied, -1, reason)
	case l.mode != Never:
		out.hold(Unparseable, -1, reason)
	case l.rules.deniesShell():
		out.hold(Denied, -1, reason+"; there are rules that refuse commands, and this line could hide one")
	default:
		out.Reason = reason
	}
}

// stage judges one stage: rules first, then the class by the mode.
func (l *lineJudge) stage(s *shell.Stage) StageReview {
	f := review.Stage(s, l.place)
	out := StageReview{Stage: s, Class: f.Class, Reason: f.Reason, Verdict: Pass, Unruled: f.Unruled}
	rule := l.rules.decide(func(r *Rule) bool { return r.matchStage(s, &f) != noMatch })
	if rule != nil {
		out.Rule, out.Reason = rule, because(rule)
		surely := rule.matchStage(s, &f)
		switch {
		case rule.Effect == Deny && surely == matches:
			out.Verdict = Denied
		case rule.Effect != Allow:
			out.Verdict = l.ask()
			if surely == mayMatch {
				out.Reason = "could be what a rule refuses: " + out.Reason
			}
		}
		return out
	}
	if l.mode == Never || l.passes(f.Class) {
		return out
	}
	out.Verdict = l.ask()
	return out
}

// ask is the verdict for what needs an answer: where nobody may be asked it is
// refused.
func (l *lineJudge) ask() Verdict {
	if l.mode == Never || l.mode == DenyUnmatched {
		return Denied
	}
	return Review
}

// passes is the table of THREATS.md 3.7.
func (l *lineJudge) passes(c review.Class) bool {
	switch {
	case c.Stops():
		return false
	case c == review.ReadOnly:
		return !l.strict || l.mode == OnRequest
	case l.mode != OnRequest || !l.sandbox:
		return false
	case c == review.Edit || c == review.Project || c == review.Unknown:
		return l.write
	}
	return true
}

func because(r *Rule) string {
	reason := "rule " + r.String() + " (" + string(r.Scope)
	if r.Source != "" {
		reason += ", " + r.Source
	}
	reason += ")"
	if r.Reason != "" {
		reason += ": " + r.Reason
	}
	return reason
}
