// Package buildinfo says what this binary is: its own version and the Muse
// Code release whose command line, stream and log contract it meets.
package buildinfo

import (
	"fmt"
	"runtime/debug"
)

// Level is the Muse Code release whose contract this build meets.
const Level = "1.4.4"

// Version is openmuse's own version.
const Version = "0.1.0"

// Banner is the one line of --version. Drivers match its first words and read
// the release between them, so its form never changes.
func Banner() string {
	return fmt.Sprintf("Muse Code %s (%s)", Level, Release())
}

// Release is the contract level joined with our own version, as the banner and
// the session metadata carry it.
func Release() string { return Level + "-openmuse." + Version }

// Info is the body of `muse version --json`.
type Info struct {
	Name          string `json:"name"`
	Version       string `json:"version"`
	ContractLevel string `json:"contract_level"`
	Banner        string `json:"banner"`
	Independent   string `json:"note"`
	Commit        string `json:"commit"`
	Modified      bool   `json:"modified"`
	Go            string `json:"go"`
	OS            string `json:"os"`
	Arch          string `json:"arch"`
}

// Read reports the running build.
func Read(goos, goarch string) Info {
	info := Info{
		Name: "openmuse", Version: Version, ContractLevel: Level, Banner: Banner(),
		Independent: "openmuse is independent of Meta; contract_level names the Muse Code release whose interfaces it implements",
		OS:          goos, Arch: goarch,
	}
	info.Commit, info.Modified, info.Go = vcs()
	return info
}

// Commit is the first ten hex digits of the revision this binary was built
// from, or "unknown" outside a checkout.
func Commit() string {
	c, _, _ := vcs()
	return c
}

func vcs() (commit string, modified bool, goVersion string) {
	commit = "unknown"
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return commit, false, ""
	}
	for _, s := range bi.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 10:
			commit = s.Value[:10]
		case s.Key == "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return commit, modified, bi.GoVersion
}
