package msp

// ClientCapabilities is what a client asks for once, for the whole connection
// (MSP.md 4). An absent UserInputDialogs means true.
type ClientCapabilities struct {
	ExperimentalAPI           bool     `json:"experimentalApi,omitzero"`
	OptOutNotificationMethods []string `json:"optOutNotificationMethods,omitzero"` // exact names; protected ones are sent all the same
	RequestedCapabilities     []string `json:"requestedCapabilities,omitzero"`     // unknown ones are not granted and not an error
	UserInputDialogs          *bool    `json:"userInputDialogs,omitzero"`          // false withholds userInput/request; absent is true
}

// ClientInfo names the program at the other end. Name matches [a-z0-9_]+
// (MSP.md 7.1, initialize).
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Title   string `json:"title,omitzero"`
}

// InitializeParams is what initialize takes.
type InitializeParams struct {
	ClientInfo   ClientInfo          `json:"clientInfo"`
	Capabilities *ClientCapabilities `json:"capabilities,omitzero"`
}

// InitializeResult is what initialize answers.
type InitializeResult struct {
	ExperimentalAPI     bool              `json:"experimentalApi"`
	GrantedCapabilities []CapabilityName  `json:"grantedCapabilities"`
	MuseHome            string            `json:"museHome"` // the data root of the host
	PlatformFamily      PlatformFamily    `json:"platformFamily"`
	PlatformOS          PlatformOs        `json:"platformOs"`
	Schema              SchemaInfo        `json:"schema"`
	ServerInfo          ServerInfo        `json:"serverInfo"`
	UserAgent           string            `json:"userAgent"`
	SessionDurability   SessionDurability `json:"sessionDurability,omitzero"` // absent means durable
}

// SchemaInfo says which wire the host speaks: the envelope version and the
// fingerprint of the stable surface (MSP.md 1).
type SchemaInfo struct {
	Fingerprint string `json:"fingerprint"`
	Version     int64  `json:"version"` // of the envelope
}

// ServerInfo names the host.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// CapabilityName is a capability that a client may be granted (MSP.md 4).
// Unknown names are not granted and not an error.
type CapabilityName string

// The values of CapabilityName; clients must bear others.
const (
	CapabilityNameUserShell         CapabilityName = "userShell"
	CapabilityNameSessionMcp        CapabilityName = "sessionMcp"
	CapabilityNameSessionListStream CapabilityName = "sessionListStream"
	CapabilityNameFeedback          CapabilityName = "feedback"
)

func (CapabilityName) values() enumeration {
	return openValues(
		CapabilityNameUserShell, CapabilityNameSessionMcp, CapabilityNameSessionListStream,
		CapabilityNameFeedback,
	)
}

// PlatformFamily tells path conventions apart.
type PlatformFamily string

// The values of PlatformFamily.
const (
	PlatformFamilyUnix    PlatformFamily = "unix"
	PlatformFamilyWindows PlatformFamily = "windows"
)

func (PlatformFamily) values() enumeration {
	return closedValues(PlatformFamilyUnix, PlatformFamilyWindows)
}

// PlatformOs is the operating system of the host.
type PlatformOs string

// The values of PlatformOs.
const (
	PlatformOsMacos   PlatformOs = "macos"
	PlatformOsLinux   PlatformOs = "linux"
	PlatformOsWindows PlatformOs = "windows"
)

func (PlatformOs) values() enumeration {
	return closedValues(PlatformOsMacos, PlatformOsLinux, PlatformOsWindows)
}

// SessionDurability says whether sessions outlive the host; absent means
// durable (MSP.md 4).
type SessionDurability string

// The values of SessionDurability; clients must bear others.
const (
	SessionDurabilityDurable   SessionDurability = "durable"
	SessionDurabilityEphemeral SessionDurability = "ephemeral"
)

func (SessionDurability) values() enumeration {
	return openValues(SessionDurabilityDurable, SessionDurabilityEphemeral)
}
