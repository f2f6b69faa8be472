package serve

import (
	"unicode/utf8"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
)

func decideApproval(k *call, s *feed, c host.Command, p msp.ApprovalDecideParams) (msp.ApprovalDecideResult, error) {
	d := host.Decision{
		ApprovalID: p.ApprovalID, RequirementID: p.RequirementID.ApprovalID,
		SourceIndex: int(p.RequirementID.SourceIndex), ChoiceID: p.ChoiceID,
	}
	if p.Feedback != nil {
		d.Feedback = *p.Feedback
	}
	terminal, err := s.session.Decide(k.ctx, c, d)
	return msp.ApprovalDecideResult{
		CommandID: c.ID, ApprovalID: p.ApprovalID, Status: msp.CommandStatusAccepted, Terminal: terminal,
	}, s.raced(err)
}

// raced adds to a refusal where the decision that won stands in the view.
func (f *feed) raced(err error) error {
	no, ok := asRefusal(err)
	if !ok || no.Settled == nil {
		return err
	}
	switch no.Kind {
	case host.ApprovalResolved:
		cursor := f.view.said(no.Settled.Sequence, msp.NoteApprovalResolved)
		return msp.ApprovalAlreadyResolved(no.ApprovalID, msp.ApprovalResolutionSummary{
			Decision: no.Settled.Outcome, ResolvedBy: no.Settled.By, ViewCursor: cursor,
		})
	case host.UserInputSettled:
		cursor := f.view.said(no.Settled.Sequence, msp.NoteUserInputSettled)
		return msp.UserInputAlreadySettled(no.UserInputID, msp.UserInputSettlementSummary{
			Outcome: no.Settled.Outcome, ViewCursor: cursor,
		})
	}
	return err
}

func listPending(k *call, p msp.ApprovalListPendingParams) (msp.ApprovalListPendingResult, error) {
	var out msp.ApprovalListPendingResult
	err := k.seeing(p.SessionID, func(v *view, _ bool) error {
		out.Approvals, out.UserInputs = v.Fold().Approvals(), v.Fold().UserInputs()
		return nil
	})
	return out, err
}

// answerLimit is the longest text of an answer, in characters (MSP.md 7.4).
const answerLimit = 500

func answerUserInput(k *call, s *feed, c host.Command, p msp.UserInputAnswerParams) (msp.UserInputAnswerResult, error) {
	err := k.settle(s, c, host.Settlement{UserInputID: p.UserInputID, Outcome: host.Answered}, p.Answers)
	return msp.UserInputAnswerResult{CommandID: c.ID, UserInputID: p.UserInputID, Status: msp.CommandStatusAccepted}, err
}

func cancelUserInput(k *call, s *feed, c host.Command, p msp.UserInputCancelParams) (msp.UserInputCancelResult, error) {
	settlement := host.Settlement{UserInputID: p.UserInputID, Outcome: host.Cancelled}
	if p.Reason != nil {
		settlement.Reason = *p.Reason
	}
	err := k.settle(s, c, settlement, nil)
	return msp.UserInputCancelResult{CommandID: c.ID, UserInputID: p.UserInputID, Status: msp.CommandStatusAccepted}, err
}

func clarifyUserInput(k *call, s *feed, c host.Command, p msp.UserInputClarifyParams) (msp.UserInputClarifyResult, error) {
	var none msp.UserInputClarifyResult
	switch {
	case p.Clarification.Format != "text":
		return none, msp.InvalidParams("clarification.format", `is not "text"`)
	case p.Clarification.Content == "":
		return none, msp.InvalidParams("clarification.content", "is empty")
	case utf8.RuneCountInString(p.Clarification.Content) > answerLimit:
		return none, msp.InvalidParams("clarification.content", "is longer than 500 characters")
	}
	err := k.settle(s, c, host.Settlement{
		UserInputID: p.UserInputID, Outcome: host.Clarified, Clarification: p.Clarification.Content,
	}, nil)
	return msp.UserInputClarifyResult{CommandID: c.ID, UserInputID: p.UserInputID, Status: msp.CommandStatusAccepted}, err
}

func interruptUserInput(k *call, s *feed, c host.Command, p msp.UserInputInterruptParams) (msp.UserInputInterruptResult, error) {
	err := k.settle(s, c, host.Settlement{UserInputID: p.UserInputID, Outcome: host.Interrupted}, p.Answers)
	return msp.UserInputInterruptResult{CommandID: c.ID, UserInputID: p.UserInputID, Status: msp.CommandStatusAccepted}, err
}

// settle ends a user input. Whether the answers fit the questions is the
// host's to say; what cannot be an answer at all is found here.
func (k *call) settle(s *feed, c host.Command, settlement host.Settlement, answers []msp.UserInputAnswer) error {
	for _, a := range answers {
		one := host.Answer{QuestionID: a.QuestionID, SelectedLabels: a.SelectedLabels, Many: a.SelectedLabels != nil}
		forms := 0
		if a.SelectedLabels != nil {
			forms++
		}
		if a.SelectedLabel != nil {
			one.SelectedLabels = []string{*a.SelectedLabel}
			forms++
		}
		if a.FreeText != nil {
			one.FreeText = *a.FreeText
			forms++
		}
		if a.Note != nil {
			one.Note = *a.Note
		}
		switch {
		case forms != 1:
			return msp.UserInputAnswerInvalid(settlement.UserInputID, "an answer has exactly one of selectedLabel, selectedLabels and freeText")
		case utf8.RuneCountInString(one.FreeText) > answerLimit, utf8.RuneCountInString(one.Note) > answerLimit:
			return msp.UserInputAnswerInvalid(settlement.UserInputID, "freeText and note hold at most 500 characters")
		}
		settlement.Answers = append(settlement.Answers, one)
	}
	return s.raced(s.session.Settle(k.ctx, c, settlement))
}
