package msp

// SubscriptionUsage is the use of a subscription, and the params of
// usage/changed.
type SubscriptionUsage struct {
	ObservedAtMs int64                   `json:"observedAtMs"` // since 1970
	Tier         string                  `json:"tier"`
	Weekly       SubscriptionUsageWeekly `json:"weekly"`
	Window       SubscriptionUsageWindow `json:"window"`
}

// SubscriptionUsageWeekly is the weekly part of it.
type SubscriptionUsageWeekly struct {
	ResetsAtMs  int64   `json:"resetsAtMs"`  // since 1970
	UsedPercent float64 `json:"usedPercent"` // 0 to 100
}

// SubscriptionUsageWindow is the rolling part of it.
type SubscriptionUsageWindow struct {
	ResetsAtMs         int64   `json:"resetsAtMs"`  // since 1970
	UsedPercent        float64 `json:"usedPercent"` // 0 to 100
	WindowDurationMins int64   `json:"windowDurationMins"`
}

// UsageReadResult is what usage/read answers.
type UsageReadResult struct {
	Usage *SubscriptionUsage `json:"usage,omitzero"` // absent when it was never observed
}
