package msp

// ModelCatalogEntry is one model that can be chosen.
type ModelCatalogEntry struct {
	ContextLimit            *int64                          `json:"contextLimit"` // in tokens, null when not known
	Cost                    *ModelCost                      `json:"cost"`
	Description             *string                         `json:"description"`
	DisplayLabel            string                          `json:"displayLabel"`
	IsActive                bool                            `json:"isActive"` // of the session that was named
	IsDefault               bool                            `json:"isDefault"`
	ModelID                 string                          `json:"modelId"`
	OutputLimit             *int64                          `json:"outputLimit"` // in tokens, null when not known
	ProfileID               *string                         `json:"profileId"`
	ProviderID              string                          `json:"providerId"`
	ReleaseDate             *string                         `json:"releaseDate"` // a day, null when not known
	DefaultReasoningEffort  ReasoningEffort                 `json:"defaultReasoningEffort,omitzero"`
	ReasoningEffortVariants []ModelDescribedReasoningEffort `json:"reasoningEffortVariants,omitzero"`
	Variants                *ModelReasoningEffortVariants   `json:"variants,omitzero"`
}

// ModelCost is the price of a million tokens, as decimal text.
type ModelCost struct {
	Cached   string  `json:"cached"`
	Currency *string `json:"currency"` // null is not known
	Input    string  `json:"input"`
	Output   string  `json:"output"`
}

// ModelDescribedReasoningEffort is an effort with its explanation.
type ModelDescribedReasoningEffort struct {
	Tier        ReasoningEffort `json:"tier"`
	Description string          `json:"description,omitzero"`
}

// ModelListParams is what model/list takes.
type ModelListParams struct {
	SessionID *string `json:"sessionId,omitzero"` // whose model is marked as active
}

// ModelListResult is what model/list answers.
type ModelListResult struct {
	Models     []ModelCatalogEntry `json:"models"` // the newest first
	ProfileID  *string             `json:"profileId"`
	ProviderID string              `json:"providerId"`
	Source     ModelCatalogSource  `json:"source"`
}

// ModelSelection names a model to use.
type ModelSelection struct {
	ModelID      string  `json:"modelId"`
	DisplayLabel string  `json:"displayLabel,omitzero"`
	ProfileID    *string `json:"profileId,omitzero" msp:"nullable"` // null is none
	ProviderID   string  `json:"providerId,omitzero"`
}

// SessionModelChangedParams are the params of session/modelChanged.
type SessionModelChangedParams struct {
	Durable

	ModelID    string            `json:"modelId"`
	Source     ModelChangeSource `json:"source"`
	ProviderID *string           `json:"providerId" msp:"optional,nullable"` // always written, null for none
}

// SessionModelRouteUnservedParams are the params of session/modelRouteUnserved.
type SessionModelRouteUnservedParams struct {
	Durable

	CommandID           string `json:"commandId"`
	InstalledProviderID string `json:"installedProviderId"`
	ModelID             string `json:"modelId"`
	ProviderID          string `json:"providerId,omitzero"`
}

// SessionReasoningEffortChangedParams are the params of
// session/reasoningEffortChanged.
type SessionReasoningEffortChangedParams struct {
	Durable

	ReasoningEffort ReasoningEffort             `json:"reasoningEffort"`
	Source          ReasoningEffortChangeSource `json:"source"`
}

// SessionSetModelParams is what session/setModel takes.
type SessionSetModelParams struct {
	SessionID string         `json:"sessionId"`
	CommandID string         `json:"commandId"`
	Model     ModelSelection `json:"model"`
}

// SessionSetModelResult is what session/setModel answers.
type SessionSetModelResult struct {
	CommandID string        `json:"commandId"`
	Status    CommandStatus `json:"status"`
}

// SessionSetReasoningEffortParams is what session/setReasoningEffort takes.
type SessionSetReasoningEffortParams struct {
	SessionID       string          `json:"sessionId"`
	CommandID       string          `json:"commandId"`
	ReasoningEffort ReasoningEffort `json:"reasoningEffort"`
}

// SessionSetReasoningEffortResult is what session/setReasoningEffort answers.
type SessionSetReasoningEffortResult struct {
	CommandID string        `json:"commandId"`
	Status    CommandStatus `json:"status"`
}

// ModelCatalogSource is where the rows come from.
type ModelCatalogSource string

// The values of ModelCatalogSource; clients must bear others.
const (
	ModelCatalogSourceProviderCatalog   ModelCatalogSource = "providerCatalog"
	ModelCatalogSourceFakeCatalog       ModelCatalogSource = "fakeCatalog"
	ModelCatalogSourceUnresolvedCatalog ModelCatalogSource = "unresolvedCatalog"
	ModelCatalogSourceBundledCatalog    ModelCatalogSource = "bundledCatalog"
	ModelCatalogSourceConfigCatalog     ModelCatalogSource = "configCatalog"
)

func (ModelCatalogSource) values() enumeration {
	return openValues(
		ModelCatalogSourceProviderCatalog, ModelCatalogSourceFakeCatalog, ModelCatalogSourceUnresolvedCatalog,
		ModelCatalogSourceBundledCatalog, ModelCatalogSourceConfigCatalog,
	)
}

// ModelChangeSource is who chose a model.
type ModelChangeSource string

// The values of ModelChangeSource; clients must bear others.
const (
	ModelChangeSourceUser    ModelChangeSource = "user"
	ModelChangeSourceDefault ModelChangeSource = "default"
	ModelChangeSourcePolicy  ModelChangeSource = "policy"
)

func (ModelChangeSource) values() enumeration {
	return openValues(ModelChangeSourceUser, ModelChangeSourceDefault, ModelChangeSourcePolicy)
}

// ReasoningEffort is how much a model thinks.
type ReasoningEffort string

// The values of ReasoningEffort.
const (
	ReasoningEffortNone    ReasoningEffort = "none"
	ReasoningEffortMinimal ReasoningEffort = "minimal"
	ReasoningEffortLow     ReasoningEffort = "low"
	ReasoningEffortMedium  ReasoningEffort = "medium"
	ReasoningEffortHigh    ReasoningEffort = "high"
	ReasoningEffortXhigh   ReasoningEffort = "xhigh"
	ReasoningEffortMax     ReasoningEffort = "max"
	ReasoningEffortUltra   ReasoningEffort = "ultra"
)

func (ReasoningEffort) values() enumeration {
	return closedValues(
		ReasoningEffortNone, ReasoningEffortMinimal, ReasoningEffortLow, ReasoningEffortMedium,
		ReasoningEffortHigh, ReasoningEffortXhigh, ReasoningEffortMax, ReasoningEffortUltra,
	)
}

// ReasoningEffortChangeSource is who chose an effort.
type ReasoningEffortChangeSource string

// The values of ReasoningEffortChangeSource; clients must bear others.
const (
	ReasoningEffortChangeSourceUser    ReasoningEffortChangeSource = "user"
	ReasoningEffortChangeSourceDefault ReasoningEffortChangeSource = "default"
	ReasoningEffortChangeSourcePolicy  ReasoningEffortChangeSource = "policy"
)

func (ReasoningEffortChangeSource) values() enumeration {
	return openValues(
		ReasoningEffortChangeSourceUser, ReasoningEffortChangeSourceDefault, ReasoningEffortChangeSourcePolicy,
	)
}

// UnknownModelReasoningEffortVariants says that the efforts of a model are not
// known.
type UnknownModelReasoningEffortVariants string

// The values of UnknownModelReasoningEffortVariants.
const (
	UnknownModelReasoningEffortVariantsUnknown UnknownModelReasoningEffortVariants = "unknown"
)

func (UnknownModelReasoningEffortVariants) values() enumeration {
	return closedValues(UnknownModelReasoningEffortVariantsUnknown)
}
