package drive

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// A reply that ends by claiming to wait is no answer: nothing wakes the agent
// after its turn (seed 001, stranded-wait guard). Only the end of the reply is
// looked at, quoted and code text is not, and a sentence about the past or
// about somebody else's waiting is no claim.
var waitClaim = sync.OnceValue(func() *regexp.Regexp {
	const (
		me   = `(?:i['’]?ll|i will|i['’]?m going to|i am going to|we['’]?ll|we will|let me|let['’]s)`
		iam  = `(?:i['’]?m|i am|we['’]?re|we are)`
		soon = `(?:\s+(?:now|just|then|simply|have to|need to|keep|continue to|continue|stop here and|pause here and|pause and|stand by and))*`
		end  = `(?:finish|complete|end|return|exit|pass|land|be (?:done|ready|finished)|is (?:done|ready|finished|complete)|are (?:done|ready|finished|complete)|it(?:'s|’s) (?:done|ready)|it finishes|they finish)`
	)
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		`\b` + me + soon + `\s+(?:wait(?:ing)?|stand by|hold on|hang on|check back|check again (?:once|when|in|after|later|shortly|soon)|poll(?:ing)?|monitor(?:ing)?)\b`,
		`\b` + me + soon + `\s+(?:report|follow up|get back|come back|update you|let you know|continue|resume|proceed|summarize|share)\b[^.!?\n]*\b(?:once|when|as soon as|after)\b`,
		`\b(?:once|when|as soon as|after)\b[^.!?\n]*\b(?:finish|complete|done|ready|return|exit|pass)[a-z]*\b[^.!?\n]*,?\s*` + me + `\b`,
		`\b` + iam + `(?:\s+(?:now|still|just|currently))*\s+(?:waiting|standing by|monitoring|polling)\b`,
		`\b(?:is|are|['’]s|['’]re)\s+still\s+(?:running|in progress|executing|building|compiling|installing|pending|underway|going|processing)\b`,
		`^(?:the\s+|my\s+|all\s+)?[^.!?\n]{0,80}\bstill\s+(?:running|in progress|building|compiling)\b`,
		`^(?:now\s+|currently\s+|still\s+)?(?:waiting|monitoring|standing by)\b`,
		`\bwait(?:ing)?\s+(?:for|until|on)\b[^.!?\n]*\b(?:to\s+)?` + end + `\b`,
		`\bwill\s+(?:report back|report (?:once|when|as soon as)|follow up|check back|come back|get back|update you|let you know|notify you)\b`,
		`\bcheck(?:ing)?\s+back\s+(?:in|later|soon|shortly|once|when)\b`,
		`\b(?:is|are)\s+(?:now|currently)\s+(?:running|executing|building|compiling|installing|in progress)\b`,
		`\bawaiting\s+(?:the\s+|its\s+|their\s+|further\s+)?(?:results?|completion|output|build|tests?|job|run|command|notification|response|ci)\b`,
		`\b(?:holding|pausing|paused|sleeping|idling)\s+(?:here\s+)?(?:until|while|for)\b`,
		`\b(?:will|should)\s+be\s+notified\s+(?:when|once)\b`,
		`\b(?:is|are)\s+(?:now\s+)?running\s+in\s+the\s+background\b`,
	}, "|"))
})

// notAClaim are signs that a sentence speaks of the past, of a condition or of
// the program under work.
var notAClaim = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:no longer|not|never|isn['’]t|aren['’]t|wasn['’]t|instead of|without|rather than|used to|previously|was|were|had|would|could|if|whether|you can|you may|you should|feel free)\b[^.!?\n]{0,40}\b(?:wait|waits|waiting|awaiting|holding|pausing|sleeping|running|poll|polling|block|blocks|monitor|in progress|background)|\?\s*$`)
})

// waitTail is how much of the end of a reply is looked at, and waitSentences
// how many of its last sentences.
const (
	waitTail      = 600
	waitSentences = 2
)

// WaitSignal returns the words by which a reply ends in a claim to wait; empty
// when it does not.
func WaitSignal(reply string) string {
	tail := strings.TrimSpace(withoutCode(reply))
	if len(tail) > waitTail {
		tail = tail[len(tail)-waitTail:]
		for !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
	}
	sentences := sentencesOf(tail)
	for i := len(sentences) - 1; i >= max(0, len(sentences)-waitSentences); i-- {
		s := sentences[i]
		if found := waitClaim().FindString(s); found != "" && !notAClaim().MatchString(s) {
			return strings.TrimSpace(found)
		}
	}
	return ""
}

// withoutCode drops fenced blocks, block quotes and inline code.
func withoutCode(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"):
			fence = "```"
		case strings.HasPrefix(trimmed, "~~~"):
			fence = "~~~"
		case strings.HasPrefix(trimmed, ">"):
		default:
			b.WriteString(line)
		}
	}
	parts := strings.Split(b.String(), "`")
	if len(parts)%2 == 0 {
		return b.String() // an unpaired mark quotes nothing
	}
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "x"
	}
	return strings.Join(parts, "")
}

// sentencesOf splits at sentence ends and line ends; list marks and emphasis
// at the beginning are dropped.
func sentencesOf(text string) []string {
	var list []string
	add := func(s string) {
		s = strings.TrimSpace(strings.ReplaceAll(s, "**", ""))
		s = strings.TrimLeft(s, "-*•#_ \t")
		if s = strings.TrimRight(s, "_* "); s != "" {
			list = append(list, s)
		}
	}
	for line := range strings.Lines(text) {
		start := 0
		for i := range len(line) {
			last := i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\n'
			if (line[i] == '.' || line[i] == '!' || line[i] == '?') && last {
				add(line[start : i+1])
				start = i + 1
			}
		}
		add(line[start:])
	}
	return list
}
