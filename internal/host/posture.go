package host

import "github.com/openmuse/muse/internal/event"

// Posture is what a session may do and how that was decided: the two layers,
// approval and sandbox, and whether the workspace is trusted.
type Posture struct {
	Approval string // "untrusted", "on_request", "never"
	Reviewer string // "human", "auto_review", "none"
	Sandbox  string // "enabled", "disabled"
	Network  string // "restricted", "enabled", "proxy_only"
	// Profile names where the values come from.
	Profile ProfileName
	// Explicit says that the command line weakened the defaults.
	Explicit bool
	Trusted  bool
}

// ProfileName is a permission profile as logs name it.
type ProfileName struct {
	ID, DisplayName, Kind string
}

// Mode is the posture in one word, as session.opened.observed has it.
func (p Posture) Mode() string {
	switch {
	case p.Sandbox == "disabled" && p.Approval == "never":
		return "yolo"
	case p.Sandbox == "disabled":
		return "sandbox_disabled"
	case p.Approval == "never":
		return "approval_disabled"
	}
	return "standard"
}

func (p Posture) profile(cause string, epoch int64) event.PermissionProfile {
	return event.PermissionProfile{
		Actor: event.Actor{Kind: "runtime"}, Cause: cause, Epoch: epoch, Schema: 1,
		Snapshot: event.PermissionSnapshot{
			Approval: p.Approval, Reviewer: p.Reviewer, Sandbox: p.Sandbox, Network: p.Network, Schema: 1,
		},
		Source: event.PermissionSource{DisplayName: p.Profile.DisplayName, ID: p.Profile.ID, Kind: p.Profile.Kind},
	}
}

func (p Posture) securityMode() event.SecurityMode {
	m := event.SecurityMode{Approval: p.Approval, EffectiveMode: p.Mode(), Sandbox: p.Sandbox, Source: "default"}
	if p.Approval == "never" {
		m.Approval = "disabled"
	}
	if p.Explicit {
		m.Source = "explicit-cli-flag"
	}
	return m
}
