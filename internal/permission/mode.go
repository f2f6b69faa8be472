package permission

import "fmt"

// Mode is the approval mode: what happens to a stage that no rule matches.
type Mode string

const (
	// Untrusted stops every stage that is not provably read-only.
	Untrusted Mode = "untrusted"
	// OnRequest lets recognised stages pass that are not dangerous.
	OnRequest Mode = "on-request"
	// Never asks nothing: the sandbox alone contains what runs, and what would
	// need an answer beyond that is refused.
	Never Mode = "never"
	// DenyUnmatched judges like Untrusted and refuses instead of asking.
	DenyUnmatched Mode = "deny-unmatched"
)

// ParseMode reads a mode as flags ("on-request"), logs ("on_request") and the
// session protocol ("onRequest") spell it.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "untrusted", "promptUnmatched":
		return Untrusted, nil
	case "on-request", "on_request", "onRequest":
		return OnRequest, nil
	case "never", "allowAll":
		return Never, nil
	case "deny-unmatched", "deny_unmatched", "denyUnmatched":
		return DenyUnmatched, nil
	}
	return "", fmt.Errorf("unknown approval mode %q: use untrusted, on-request or never", s)
}

// LogName is the mode as the log spells it (seed 000, sample frame).
func (m Mode) LogName() string {
	switch m {
	case OnRequest:
		return "on_request"
	case DenyUnmatched:
		return "deny_unmatched"
	}
	return string(m)
}

// WireName is the mode as the session protocol spells it (MSP.md 13).
func (m Mode) WireName() string {
	switch m {
	case Untrusted:
		return "promptUnmatched"
	case OnRequest:
		return "onRequest"
	case Never:
		return "allowAll"
	}
	return "denyUnmatched"
}

// freedom orders modes by what they let pass without an answer.
func (m Mode) freedom() int {
	switch m {
	case DenyUnmatched:
		return 0
	case Untrusted:
		return 1
	case OnRequest:
		return 2
	case Never:
		return 3
	}
	return 0
}

// NetworkMode says how commands reach the network.
type NetworkMode string

const (
	// NetworkRestricted allows no connection.
	NetworkRestricted NetworkMode = "restricted"
	// NetworkProxyOnly holds the first connection to each target for review.
	NetworkProxyOnly NetworkMode = "proxy-only"
	// NetworkEnabled is the host's network.
	NetworkEnabled NetworkMode = "enabled"
)

// ParseNetworkMode reads a mode as flags and logs spell it.
func ParseNetworkMode(s string) (NetworkMode, error) {
	switch s {
	case "restricted":
		return NetworkRestricted, nil
	case "proxy-only", "proxy_only":
		return NetworkProxyOnly, nil
	case "enabled":
		return NetworkEnabled, nil
	}
	return "", fmt.Errorf("unknown network mode %q: use restricted, proxy-only or enabled", s)
}

func (n NetworkMode) freedom() int {
	switch n {
	case NetworkProxyOnly:
		return 1
	case NetworkEnabled:
		return 2
	}
	return 0
}

// ReviewerKind says who is asked first about a held action.
type ReviewerKind string

const (
	// ReviewerHuman asks a person.
	ReviewerHuman ReviewerKind = "human"
	// ReviewerAuto asks the automated reviewer, then a person.
	ReviewerAuto ReviewerKind = "auto_review"
	// ReviewerNone asks nobody.
	ReviewerNone ReviewerKind = "none"
)

// ParseReviewer reads a reviewer as settings spell it (CLI.md 7.2).
func ParseReviewer(s string) (ReviewerKind, error) {
	switch ReviewerKind(s) {
	case ReviewerHuman, ReviewerAuto, ReviewerNone:
		return ReviewerKind(s), nil
	}
	return "", fmt.Errorf("unknown reviewer %q: use human, auto_review or none", s)
}
