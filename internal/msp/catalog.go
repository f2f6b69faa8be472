package msp

// HookCatalogEntry is one hook.
type HookCatalogEntry struct {
	Enabled     bool            `json:"enabled"`
	Event       HookEventName   `json:"event"`
	HandlerKind HookHandlerKind `json:"handlerKind"`
	Key         string          `json:"key"`
}

// HookListParams is what hook/list takes.
type HookListParams struct {
	SessionID string `json:"sessionId"`
}

// HookListResult is what hook/list answers.
type HookListResult struct {
	Hooks []HookCatalogEntry `json:"hooks"`
}

// PluginCatalogEntry is one plugin.
type PluginCatalogEntry struct {
	Enabled bool         `json:"enabled"`
	ID      string       `json:"id"`
	Source  PluginSource `json:"source"`
	Version string       `json:"version"`
}

// PluginListParams is what plugin/list takes.
type PluginListParams struct {
	SessionID string `json:"sessionId"`
}

// PluginListResult is what plugin/list answers.
type PluginListResult struct {
	Plugins []PluginCatalogEntry `json:"plugins"`
}

// SkillCatalogEntry is one skill.
type SkillCatalogEntry struct {
	Description  string      `json:"description"`
	DisplayName  string      `json:"displayName"`
	Selector     string      `json:"selector"`
	Source       SkillSource `json:"source"`
	ArgumentHint string      `json:"argumentHint,omitzero"`
	PluginID     string      `json:"pluginId,omitzero"`
}

// SkillChangedParams are the params of skill/changed.
type SkillChangedParams struct {
	SessionID string `json:"sessionId"`
}

// SkillListParams is what skill/list takes.
type SkillListParams struct {
	SessionID string `json:"sessionId"`
}

// SkillListResult is what skill/list answers.
type SkillListResult struct {
	Skills []SkillCatalogEntry `json:"skills"`
}

// SkillSetActivationParams is what skill/setActivation takes.
type SkillSetActivationParams struct {
	SessionID  string               `json:"sessionId"`
	CommandID  string               `json:"commandId"`
	Activation SkillActivationState `json:"activation"`
	Scope      SkillActivationScope `json:"scope"`
	Selector   string               `json:"selector"`
}

// SkillSetActivationResult is what skill/setActivation answers.
type SkillSetActivationResult struct {
	CommandID  string               `json:"commandId"`
	Status     CommandStatus        `json:"status"`
	Activation SkillActivationState `json:"activation"`
	Previous   SkillActivationState `json:"previous"`
	Scope      SkillActivationScope `json:"scope"`
	Selector   string               `json:"selector"`
}

// HookHandlerKind is where a hook comes from.
type HookHandlerKind string

// The values of HookHandlerKind; clients must bear others.
const (
	HookHandlerKindManaged HookHandlerKind = "managed"
	HookHandlerKindUser    HookHandlerKind = "user"
	HookHandlerKindProject HookHandlerKind = "project"
	HookHandlerKindPlugin  HookHandlerKind = "plugin"
)

func (HookHandlerKind) values() enumeration {
	return openValues(HookHandlerKindManaged, HookHandlerKindUser, HookHandlerKindProject, HookHandlerKindPlugin)
}

// PluginSource is where a plugin comes from.
type PluginSource string

// The values of PluginSource; clients must bear others.
const (
	PluginSourceCurated              PluginSource = "curated"
	PluginSourceMarketplaceUserAdded PluginSource = "marketplaceUserAdded"
	PluginSourceForeignImport        PluginSource = "foreignImport"
	PluginSourceNativeLocal          PluginSource = "nativeLocal"
)

func (PluginSource) values() enumeration {
	return openValues(
		PluginSourceCurated, PluginSourceMarketplaceUserAdded, PluginSourceForeignImport,
		PluginSourceNativeLocal,
	)
}

// SkillActivationScope is which setting an activation is kept in.
type SkillActivationScope string

// The values of SkillActivationScope.
const (
	SkillActivationScopeUser    SkillActivationScope = "user"
	SkillActivationScopeProject SkillActivationScope = "project"
	SkillActivationScopeBundled SkillActivationScope = "bundled"
	SkillActivationScopePlugin  SkillActivationScope = "plugin"
)

func (SkillActivationScope) values() enumeration {
	return closedValues(
		SkillActivationScopeUser, SkillActivationScopeProject, SkillActivationScopeBundled,
		SkillActivationScopePlugin,
	)
}

// SkillActivationState is who may use a skill.
type SkillActivationState string

// The values of SkillActivationState.
const (
	SkillActivationStateOn                SkillActivationState = "on"
	SkillActivationStateUserInvocableOnly SkillActivationState = "userInvocableOnly"
	SkillActivationStateOff               SkillActivationState = "off"
)

func (SkillActivationState) values() enumeration {
	return closedValues(SkillActivationStateOn, SkillActivationStateUserInvocableOnly, SkillActivationStateOff)
}

// SkillSource is where a skill comes from.
type SkillSource string

// The values of SkillSource; clients must bear others.
const (
	SkillSourceBundled SkillSource = "bundled"
	SkillSourceUser    SkillSource = "user"
	SkillSourceProject SkillSource = "project"
	SkillSourcePlugin  SkillSource = "plugin"
)

func (SkillSource) values() enumeration {
	return openValues(SkillSourceBundled, SkillSourceUser, SkillSourceProject, SkillSourcePlugin)
}
