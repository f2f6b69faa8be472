package provider

import (
	"fmt"
	"slices"
	"strings"
)

// efforts are the levels from least to most work.
var efforts = [...]Effort{
	EffortNone, EffortMinimal, EffortLow, EffortMedium, EffortHigh, EffortXHigh, EffortMax, EffortUltra,
}

// ParseEffort checks a level as the command line and the settings spell it.
func ParseEffort(s string) (Effort, error) {
	if e := Effort(s); slices.Contains(efforts[:], e) {
		return e, nil
	}
	names := make([]string, len(efforts))
	for i, e := range efforts {
		names[i] = string(e)
	}
	return "", fmt.Errorf("unknown reasoning effort %q: want one of %s", s, strings.Join(names, ", "))
}

// ResolveEffort is the level that goes on a wire ("meta", "openai",
// "openai-chat", "anthropic", "echo", "script") for a model
// that takes the supported levels; nil means what the wire's models take in
// general. note, when not "", tells the person that another level was taken.
// An error means that the run must be refused (CLI.md 1.2): echo takes no
// level, meta does not take "none".
//
// "ultra" is no level of any model: it is "xhigh" on the wire, and what else
// it stands for is the loop's.
func ResolveEffort(wire string, e Effort, supported []Effort) (sent Effort, note string, err error) {
	if e == EffortDefault {
		return e, "", nil
	}
	if _, err := ParseEffort(string(e)); err != nil {
		return "", "", err
	}
	switch {
	case wire == "echo":
		return "", "", fmt.Errorf("provider echo takes no reasoning effort")
	case wire == "meta" && e == EffortNone:
		return "", "", fmt.Errorf("reasoning effort %q is not available for provider meta", e)
	case wire == "script":
		return e, "", nil
	}
	if supported == nil {
		supported = usualEfforts(wire)
	}
	sent = e
	if sent == EffortUltra {
		sent = EffortXHigh
	}
	sent = nearest(sent, supported)
	if sent != e {
		note = fmt.Sprintf("reasoning effort %s is sent as %s", e, sent)
	}
	return sent, note, nil
}

// usualEfforts is what the models behind a wire take in general.
func usualEfforts(wire string) []Effort {
	switch wire {
	case "meta": // CLI.md 1.2
		return efforts[1:7]
	case "openai":
		return efforts[:6]
	case "openai-chat":
		// Any server: the levels above high are unknown to most of them.
		return efforts[:5]
	}
	return efforts[:7]
}

// nearest is the highest supported level that is not above e, or the lowest
// one when all are above it.
func nearest(e Effort, supported []Effort) Effort {
	if len(supported) == 0 {
		return e
	}
	want := rank(e)
	best, lowest := -1, len(efforts)
	for _, s := range supported {
		r := rank(s)
		if r < 0 {
			continue
		}
		if r <= want {
			best = max(best, r)
		}
		lowest = min(lowest, r)
	}
	switch {
	case best >= 0:
		return efforts[best]
	case lowest < len(efforts):
		return efforts[lowest]
	}
	return e
}

func rank(e Effort) int { return slices.Index(efforts[:], e) }
