package session

import (
	"slices"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

func (f *Fold) inputRequested(b event.UserInputRequested) {
	if b.ID == "" || f.pendingInput(b.ID) != nil {
		return
	}
	c := f.known(b.CallID, "", b.ToolName)
	f.showCall(c)
	p := msp.UserInputRequestParams{
		TurnID: c.Run, ItemID: c.Open.Item.ItemID, UserInputID: b.ID, Questions: []msp.UserInputQuestion{},
		ToolCallID: b.CallID, ToolName: b.ToolName, AutoResolutionMs: clone(b.AutoResolutionMS),
	}
	for _, q := range b.Questions {
		p.Questions = append(p.Questions, question(q))
	}
	d := f.here()
	p.MaybeDurable = msp.MaybeDurable{Position: d.Position, SourceRange: &d.SourceRange}
	kept := p
	f.s.Inputs = append(f.s.Inputs, &kept)
	f.say(msp.NoteUserInputRequested, &p)
}

func question(q event.UserQuestion) msp.UserInputQuestion {
	out := msp.UserInputQuestion{
		ID: q.ID, Header: q.Header, Question: q.Question, Options: []msp.UserInputOption{},
		Selection: msp.UserInputSelection{
			Mode: msp.UserInputSelectionModeSingle, MinSelections: number(q.MinSelections), MaxSelections: number(q.MaxSelections),
		},
	}
	if q.Mode == string(msp.UserInputSelectionModeMultiple) {
		out.Selection.Mode = msp.UserInputSelectionModeMultiple
	}
	for _, o := range q.Options {
		option := msp.UserInputOption{Label: o.Label, Description: o.Description}
		if o.Preview != "" {
			format := o.PreviewFormat
			if format == "" {
				format = "text"
			}
			option.Preview = &msp.UserInputOptionPreview{Content: o.Preview, Format: format}
		}
		out.Options = append(out.Options, option)
	}
	return out
}

func (f *Fold) pendingInput(id string) *msp.UserInputRequestParams {
	for _, p := range f.s.Inputs {
		if p.UserInputID == id {
			return p
		}
	}
	return nil
}

func (f *Fold) inputSettled(b event.UserInputSettled) {
	if f.pendingInput(b.ID) == nil {
		return // it was settled before: the first settlement holds
	}
	at := stamp(f.cur.At)
	p := &msp.UserInputSettledParams{
		UserInputID: b.ID, Answers: []msp.UserInputAnswer{}, DecidedAt: &at, DecidedByCommandID: clone(b.CommandID),
		Outcome: msp.UserInputOutcome(b.Outcome), Reason: clone(b.Reason),
	}
	for _, a := range b.Answers {
		p.Answers = append(p.Answers, msp.UserInputAnswer{
			QuestionID: a.QuestionID, FreeText: clone(a.FreeText), Note: clone(a.Note), SelectedLabel: clone(a.SelectedLabel),
			SelectedLabels: slices.Clone(a.SelectedLabels),
		})
	}
	if b.Clarification != nil {
		format := b.ClarificationFormat
		if format == "" {
			format = "text"
		}
		p.Clarification = &msp.UserInputClarification{Content: *b.Clarification, Format: format}
	}
	f.saySettled(p)
}

func (f *Fold) saySettled(p *msp.UserInputSettledParams) {
	f.s.Inputs = slices.DeleteFunc(f.s.Inputs, func(o *msp.UserInputRequestParams) bool { return o.UserInputID == p.UserInputID })
	p.Durable = f.here()
	f.say(msp.NoteUserInputSettled, p)
}

// endInputs settles what waits when its turn ends.
func (f *Fold) endInputs() {
	for _, in := range slices.Clone(f.s.Inputs) {
		if in.TurnID != f.cur.Run {
			continue
		}
		at, reason := stamp(f.cur.At), "the turn ended"
		f.saySettled(&msp.UserInputSettledParams{
			UserInputID: in.UserInputID, Answers: []msp.UserInputAnswer{}, DecidedAt: &at,
			Outcome: msp.UserInputOutcomeAborted, Reason: &reason,
		})
	}
}
