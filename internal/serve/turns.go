package serve

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
)

func startTurn(k *call, s *feed, c host.Command, p msp.TurnStartParams) (msp.TurnStartResult, error) {
	var none msp.TurnStartResult
	if p.WorkspaceRoots != nil {
		switch {
		case p.IfBusy == msp.IfBusySteer:
			return none, msp.InvalidParams("workspaceRoots", "cannot go with ifBusy steer")
		case len(p.WorkspaceRoots) != 1 || p.WorkspaceRoots[0] != s.view.facts.Workspace:
			return none, msp.InvalidParams("workspaceRoots", "is not the root of the session")
		}
	}
	t, err := k.prompt(p.SessionID, p.Input)
	if err != nil {
		return none, err
	}
	t.IfBusy, t.Effort = string(p.IfBusy), string(p.ReasoningEffort)
	if p.DisplayText != nil {
		t.DisplayText = *p.DisplayText
	}
	ack, err := s.session.Submit(k.ctx, c, t)
	if err != nil {
		return none, err
	}
	return msp.TurnStartResult{
		CommandID: c.ID, TurnID: ack.TurnID, Status: msp.CommandStatusAccepted,
		Disposition:    msp.TurnStartDisposition(ack.Disposition),
		StartedNewTurn: ack.Disposition == host.Started,
	}, nil
}

// prompt reads the parts of an input.
func (k *call) prompt(sessionID string, parts []msp.TurnInputPart) (host.TurnRequest, error) {
	var t host.TurnRequest
	if len(parts) == 0 {
		return t, msp.InvalidParams("input", "is empty")
	}
	var texts []string
	for i, part := range parts {
		at := fmt.Sprintf("input[%d]", i)
		switch part.Type {
		case msp.TurnInputPartTypeText:
			if part.Text == nil {
				return t, msp.InvalidParams(at+".text", "is missing")
			}
			texts = append(texts, *part.Text)
		case msp.TurnInputPartTypeImage:
			image, err := k.image(sessionID, at, part)
			if err != nil {
				return t, err
			}
			t.Images = append(t.Images, image)
		case msp.TurnInputPartTypeSkill:
			if part.Selector == nil {
				return t, msp.InvalidParams(at+".selector", "is missing")
			}
			return t, msp.SkillNotFound(*part.Selector)
		default:
			return t, msp.InvalidParams(at+".type", fmt.Sprintf("%q is not taken by this host", part.Type))
		}
	}
	t.Text = strings.Join(texts, "\n")
	if strings.TrimSpace(t.Text) == "" && len(t.Images) == 0 {
		return t, msp.InvalidParams("input", "says nothing")
	}
	return t, nil
}

// image is a picture that came along, or one that was uploaded before.
func (k *call) image(sessionID, at string, part msp.TurnInputPart) (host.Image, error) {
	var none host.Image
	switch {
	case part.UploadID != nil && part.Base64Data != nil:
		return none, msp.InvalidParams(at, "has both uploadId and base64Data")
	case part.UploadID != nil:
		return k.uploads.take(sessionID, *part.UploadID)
	case part.Base64Data == nil:
		return none, msp.InvalidParams(at+".base64Data", "is missing")
	case part.MediaType == nil:
		return none, msp.InvalidParams(at+".mediaType", "is missing")
	}
	data, err := base64.StdEncoding.DecodeString(*part.Base64Data)
	if err != nil || len(data) == 0 {
		return none, msp.InvalidParams(at+".base64Data", "is not base64")
	}
	if !pictures(*part.MediaType) {
		return none, msp.InvalidParams(at+".mediaType", fmt.Sprintf("%q is not taken", *part.MediaType))
	}
	return host.Image{MediaType: *part.MediaType, Data: data}, nil
}

// pictures are the media types that models take.
func pictures(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

func steerTurn(k *call, s *feed, c host.Command, p msp.TurnSteerParams) (msp.TurnSteerResult, error) {
	var none msp.TurnSteerResult
	if !ident.Valid(p.ExpectedTurnID) {
		return none, msp.InvalidParams("expectedTurnId", "is not a UUID")
	}
	t, err := k.prompt(p.SessionID, p.Input)
	if err != nil {
		return none, err
	}
	t.Effort = string(p.ReasoningEffort)
	turn, err := s.session.Steer(k.ctx, c, p.ExpectedTurnID, t)
	if err != nil {
		return none, err
	}
	return msp.TurnSteerResult{CommandID: c.ID, TurnID: turn, Status: msp.CommandStatusAccepted}, nil
}

func interruptTurn(k *call, s *feed, c host.Command, p msp.TurnInterruptParams) (msp.TurnInterruptResult, error) {
	id, err := turnID(p.TurnID)
	if err == nil {
		id, err = s.session.Interrupt(k.ctx, c, id, p.Retract != nil && *p.Retract)
	}
	return msp.TurnInterruptResult{CommandID: c.ID, TurnID: id, Status: msp.CommandStatusAccepted}, err
}

func cancelTurn(k *call, s *feed, c host.Command, p msp.TurnCancelParams) (msp.TurnCancelResult, error) {
	id, err := turnID(p.TurnID)
	if err == nil {
		id, err = s.session.Cancel(k.ctx, c, id)
	}
	return msp.TurnCancelResult{CommandID: c.ID, TurnID: id, Status: msp.CommandStatusAccepted}, err
}

func unqueueTurn(k *call, s *feed, c host.Command, p msp.TurnUnqueueParams) (msp.TurnUnqueueResult, error) {
	id, err := turnID(&p.TurnID)
	if err == nil {
		err = s.session.Unqueue(k.ctx, c, id)
	}
	return msp.TurnUnqueueResult{CommandID: c.ID, TurnID: id, Status: msp.CommandStatusAccepted}, err
}

// turnID checks the id of a turn that may be left out.
func turnID(id *string) (string, error) {
	if id == nil {
		return "", nil
	}
	if !ident.Valid(*id) {
		return "", msp.InvalidParams("turnId", "is not a UUID")
	}
	return *id, nil
}
