package messages

import (
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/provider"
)

// Thinking is how a model is asked to think.
type Thinking string

// The ways. Claude 3.7 to 4.5 take a budget of tokens, later models only an
// effort with "adaptive" thinking; older ones do not think.
const (
	ThinkingAuto     Thinking = ""
	ThinkingNone     Thinking = "none"
	ThinkingBudget   Thinking = "budget"
	ThinkingAdaptive Thinking = "adaptive"
)

// interleaved lets models with budgets think between tool calls.
const interleaved = "interleaved-thinking-2025-05-14"

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitzero"`
	Display      string `json:"display,omitzero"`
}

type outputConfig struct {
	Effort provider.Effort `json:"effort"`
}

// plan is what a request says about thinking.
type plan struct {
	thinking *thinking
	output   *outputConfig
	beta     string
	// blocks says that thinking blocks may be sent back.
	blocks bool
}

// plan decides for a model and an effort. maxTokens bounds a budget.
func (w *Wire) plan(model string, effort provider.Effort, maxTokens int) plan {
	how := w.opts.Thinking
	v := versionOf(model)
	if how == ThinkingAuto {
		how = v.thinking()
	}
	if how == ThinkingNone {
		return plan{}
	}
	asked := effort != provider.EffortDefault && effort != provider.EffortNone
	if how == ThinkingAdaptive {
		p := plan{blocks: true}
		if asked {
			p.thinking = &thinking{Type: "adaptive"}
			if !v.before(4, 7) {
				p.thinking.Display = "summarized" // they show nothing otherwise
			}
			p.output = &outputConfig{Effort: adaptive(effort, v)}
		}
		return p
	}
	budget := min(budgets(effort), maxTokens/4*3)
	if !asked || budget < 1024 { // the least that is accepted
		return plan{}
	}
	p := plan{thinking: &thinking{Type: "enabled", BudgetTokens: budget}, blocks: true}
	if v.claude && !v.before(4, 0) {
		p.beta = interleaved
	}
	return p
}

// budgets is the number of thinking tokens of an effort.
func budgets(e provider.Effort) int {
	switch e {
	case provider.EffortMinimal:
		return 1024
	case provider.EffortLow:
		return 4096
	case provider.EffortMedium:
		return 10_000
	case provider.EffortHigh:
		return 20_000
	case provider.EffortXHigh:
		return 32_000
	case provider.EffortMax:
		return 48_000
	}
	return 0
}

// adaptive is the effort as models with adaptive thinking know it.
func adaptive(e provider.Effort, v modelVersion) provider.Effort {
	switch {
	case e == provider.EffortMinimal:
		return provider.EffortLow
	case e == provider.EffortXHigh && v.before(4, 7):
		return provider.EffortHigh
	}
	return e
}

// modelVersion is a Claude model's version as its id tells it; other models
// have none.
type modelVersion struct {
	claude, known bool
	major, minor  int
}

// versionOf reads ids such as claude-3-7-sonnet-20250219, claude-opus-4-1,
// claude-sonnet-4-20250514 and anthropic/claude-sonnet-4.5.
func versionOf(model string) modelVersion {
	_, rest, ok := strings.Cut(model, "claude")
	if !ok {
		return modelVersion{}
	}
	v := modelVersion{claude: true}
	words := strings.FieldsFunc(rest, func(r rune) bool { return r == '-' || r == '.' || r == '@' || r == ':' || r == '_' })
	for i, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil || len(word) > 2 {
			continue
		}
		v.known, v.major = true, n
		if i+1 < len(words) && len(words[i+1]) <= 2 {
			if n, err := strconv.Atoi(words[i+1]); err == nil {
				v.minor = n
			}
		}
		return v
	}
	return v
}

// before reports whether the model is known to be older than major.minor.
func (v modelVersion) before(major, minor int) bool {
	return v.known && (v.major < major || v.major == major && v.minor < minor)
}

// thinking is how a model of this version is asked. A Claude without a number
// is a new one; a model of another maker takes budgets, the older form.
func (v modelVersion) thinking() Thinking {
	switch {
	case !v.claude:
		return ThinkingBudget
	case v.before(3, 7):
		return ThinkingNone
	case v.before(4, 6):
		return ThinkingBudget
	}
	return ThinkingAdaptive
}
