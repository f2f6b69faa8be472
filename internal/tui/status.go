package tui

import (
	"fmt"
	"path/filepath"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/text"
)

// part is a part of the status line; of those that do not fit the ones with the
// lowest weight go first.
type part struct {
	line   text.Line
	weight int
}

// statusLine says at every moment what the agent may do and what it costs.
func (u *ui) statusLine(w int) text.Line {
	v := u.view
	st := v.fold.State()
	var parts []part
	add := func(weight int, style text.Style, s string) {
		if s != "" {
			parts = append(parts, part{text.Of(style, s), weight})
		}
	}
	for _, s := range u.weakened() {
		add(100, text.Bad|text.Reverse|text.Bold, " "+s+" ")
	}
	add(80, text.Muted, u.approvalWord())
	if n := len(u.inBackground()); n > 0 {
		add(75, text.Warn, fmt.Sprintf("%d in the background", n))
	}
	if st.EffectiveModel != nil {
		add(70, text.Muted, st.EffectiveModel.ModelID)
	}
	if st.ReasoningEffort != nil {
		add(50, text.Muted, string(st.ReasoningEffort.ReasoningEffort))
	}
	place := filepath.Base(u.Workspace)
	if b := st.Branch; b != nil && b.Branch != nil && *b.Branch != "" {
		place += " (" + *b.Branch + ")"
	}
	add(40, text.Muted, place)
	if c := st.ContextUsage; c != nil && c.WindowTokens != nil && *c.WindowTokens > 0 {
		style := text.Muted
		if c.Pressure != msp.ContextPressureLevelNormal {
			style = text.Warn
		}
		add(60, style, fmt.Sprintf("ctx %d%%", c.UsedTokens*100 / *c.WindowTokens))
	}
	if n := st.TokenUsage.TotalTokens; n > 0 {
		add(30, text.Muted, count(n)+" tok")
	}
	if c := st.TokenUsage.Cost; c != nil {
		s := dollars(c.USD)
		if c.Partial {
			s = "≥" + s
		}
		add(55, text.Muted, s)
	}
	word, style := u.budgetWord()
	add(65, style, word)
	if v.profile != nil && len(u.weakened()) == 0 {
		add(20, text.Muted, "sandbox on")
	}
	for {
		var line text.Line
		for n, p := range parts {
			if n > 0 {
				line = line.Add(text.Muted, " · ")
			}
			line = append(line, p.line...)
		}
		if line.Width()+2 <= w || len(parts) <= 1 {
			return text.Cut(append(text.Of(0, "  "), line...), w)
		}
		least := 0
		for n, p := range parts {
			if p.weight < parts[least].weight {
				least = n
			}
		}
		parts = append(parts[:least], parts[least+1:]...)
	}
}

func dollars(usd float64) string {
	if usd < 1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// approvalWord says when the person is asked.
func (u *ui) approvalWord() string {
	if u.view.profile == nil {
		return ""
	}
	return modeWord(u.view.fold.ApprovalMode().Mode)
}

// modeWord is an approval mode for people.
func modeWord(m msp.ApprovalMode) string {
	switch m {
	case msp.ApprovalModePromptUnmatched:
		return "asks first"
	case msp.ApprovalModeOnRequest:
		return "asks when needed"
	case msp.ApprovalModeDenyUnmatched:
		return "denies the unknown"
	case msp.ApprovalModeAllowAll:
		return ""
	}
	return string(m)
}

// weakened are the safeguards that are off.
func (u *ui) weakened() []string {
	p := u.view.profile
	if p == nil {
		return nil
	}
	noSandbox := p.Snapshot.Sandbox == "disabled"
	noAsking := u.view.fold.ApprovalMode().Mode == msp.ApprovalModeAllowAll
	var out []string
	switch {
	case noSandbox && noAsking:
		out = append(out, "YOLO: NO SANDBOX, NO APPROVAL")
	case noSandbox:
		out = append(out, "NO SANDBOX")
	case noAsking:
		out = append(out, "NO APPROVAL")
	}
	if p.Snapshot.Network == "enabled" && !noSandbox {
		out = append(out, "NETWORK OPEN")
	}
	return out
}
