package msp

// ComputerUseBlockedApp is an application that is never driven.
type ComputerUseBlockedApp struct {
	BundleID string `json:"bundleId"`
	Locked   bool   `json:"locked"`
	Prefix   bool   `json:"prefix,omitzero"`
}

// ComputerUseSettings is the state of the computer-use settings.
type ComputerUseSettings struct {
	BlockedApps     []ComputerUseBlockedApp `json:"blockedApps"`
	ComputerControl ComputerUseChoice       `json:"computerControl"`
	Screenshots     ComputerUseChoice       `json:"screenshots"`
}

// ComputerUseSettingsReadParams is what computerUseSettings/read takes.
type ComputerUseSettingsReadParams struct {
	ShowBuiltIns *bool `json:"showBuiltIns,omitzero"`
}

// ComputerUseSettingsUpdateParams is what computerUseSettings/update takes.
type ComputerUseSettingsUpdateParams struct {
	BlockApps       []string          `json:"blockApps,omitzero"`
	ComputerControl ComputerUseChoice `json:"computerControl,omitzero"`
	Screenshots     ComputerUseChoice `json:"screenshots,omitzero"`
	UnblockApps     []string          `json:"unblockApps,omitzero"`
}

// ComputerUseChoice is whether an ability must be asked for.
type ComputerUseChoice string

// The values of ComputerUseChoice; clients must bear others.
const (
	ComputerUseChoiceAsk         ComputerUseChoice = "ask"
	ComputerUseChoiceAlwaysAllow ComputerUseChoice = "alwaysAllow"
)

func (ComputerUseChoice) values() enumeration {
	return openValues(ComputerUseChoiceAsk, ComputerUseChoiceAlwaysAllow)
}
