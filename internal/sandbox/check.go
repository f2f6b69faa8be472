package sandbox

import (
	"context"
	"runtime"
)

// Status is the outcome of one check.
type Status string

// The outcomes. A warning does not keep commands from running.
const (
	StatusOK      Status = "ok"
	StatusWarning Status = "warning"
	StatusFailed  Status = "failed"
)

// Check is one precondition of the boundary.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitzero"` // what to do about it
}

// CheckReport says whether commands can run here, and by which launcher.
type CheckReport struct {
	OK       bool         `json:"ok"`
	System   string       `json:"system"`            // "linux/amd64"
	Launcher LauncherName `json:"launcher,omitzero"` // the one that would be used
	Network  Network      `json:"network,omitzero"`
	Checks   []Check      `json:"checks"`
}

func (r *CheckReport) add(name string, status Status, detail, cure string) {
	r.Checks = append(r.Checks, Check{name, status, detail, cure})
}

// Examine tries every precondition of spec's boundary, and every launcher,
// also the ones that would not be needed. It starts no command.
func Examine(ctx context.Context, spec Spec) CheckReport {
	r := CheckReport{System: runtime.GOOS + "/" + runtime.GOARCH, Network: spec.Network}
	if r.Network == "" {
		r.Network = ProxyOnly
	}
	r.examineSystem()
	s, err := Open(spec)
	if err != nil {
		r.add("workspace", StatusFailed, plain(err).Error(), "choose another workspace, or mend what the line says")
		return r
	}
	r.add("workspace", StatusOK, s.spec.Workspace, "")
	r.examineLaunchers(ctx, s)
	if err := s.Close(); err != nil {
		r.add("state", StatusWarning, err.Error(), "look at the directory "+s.spec.StateDir)
	}
	r.OK = r.Launcher != ""
	return r
}
