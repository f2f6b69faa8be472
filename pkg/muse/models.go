package muse

import (
	"fmt"
	"strings"
)

// Price is in US dollars for one million tokens. Cached input is billed at
// Cached instead of Input.
type Price struct {
	Input, Cached, Output float64
}

// Model is one row of seed 001's model table.
type Model struct {
	ID      string
	Short   string // an alias for typing
	Context int64  // tokens
	Price   *Price // nil where none is published
	// Contributor models train on their inputs and outputs: the prompt, the
	// repository's contents and tool output.
	Contributor bool
	Note        string
}

// Models returns the known models (seed 001, Model Mapping).
func Models() []Model {
	const context = 1_000_000
	spark := &Price{1.25, 0.15, 4.25}
	contributor := &Price{0.10, 0.002, 0.20}
	return []Model{
		{ID: "muse-wonder-1.0", Short: "wonder", Context: context, Price: &Price{4.00, 0.20, 20.00}, Note: "frontier model (preview) for coding and long agentic work"},
		{ID: "muse-wonder-1.0-contributor", Short: "wonder-contributor", Context: context, Contributor: true, Note: "as Wonder; no published price"},
		{ID: "muse-wonder-full-1.0", Short: "wonder-full", Context: context, Note: "larger Wonder; subscription only"},
		{ID: "muse-wonder-full-1.0-contributor", Short: "wonder-full-contributor", Context: context, Contributor: true, Note: "as Wonder Full; subscription only"},
		{ID: "muse-spark-1.3", Short: "spark", Context: context, Price: spark, Note: "lower latency, tuned for coding"},
		{ID: "muse-spark-1.3-contributor", Short: "spark-contributor", Context: context, Price: contributor, Contributor: true, Note: "as Spark 1.3; rate limited; select countries"},
		{ID: "muse-spark-1.2", Short: "spark-1.2", Context: context, Price: spark, Note: "the prior coding model"},
		{ID: "muse-spark-1.2-contributor", Short: "spark-1.2-contributor", Context: context, Price: contributor, Contributor: true, Note: "as Spark 1.2; rate limited; select countries"},
		{ID: "muse-spark-1.1", Short: "spark-1.1", Context: context, Price: spark, Note: "agentic and multimodal"},
	}
}

// FindModel returns the table's row for an id.
func FindModel(id string) (Model, bool) {
	for _, m := range Models() {
		if m.ID == id {
			return m, true
		}
	}
	return Model{}, false
}

// IsContributor reports whether a model trains on what it sees: a row of the
// table that says so, or any id of that naming.
func IsContributor(id string) bool {
	return strings.HasSuffix(strings.ToLower(id), "-contributor")
}

// ContributorAdvisory is the sentence to print when a contributor model is
// reached; empty for other models.
func ContributorAdvisory(id string) string {
	if !IsContributor(id) {
		return ""
	}
	return fmt.Sprintf("%s is a Contributor model: its vendor trains on what it is sent and answers (this prompt, repository contents, tool output)", clip(id, 80))
}

// Tier is a default choice of model made on the user's behalf.
type Tier string

// Tiers of seed 001.
const (
	TierLarge Tier = "large"
	TierSmall Tier = "small"
)

// Selection is a model chosen by name, alias, size or tier.
type Selection struct {
	Model    string // the id to pass; empty leaves the choice to the binary
	Via      string // "name", "alias", "size", "tier", or "" for none
	Advisory string // to be printed when not empty
}

// Aliases map names to model ids. Sizes are those a program asks for without
// knowing models; a user may point them anywhere, and a contributor model is
// then named loudly.
type Aliases struct {
	Tiers map[Tier]string
	Sizes map[string]string
}

// DefaultAliases are the shipped mappings. None reaches a contributor model:
// that would send a user's source into training without being asked.
func DefaultAliases() Aliases {
	return Aliases{
		Tiers: map[Tier]string{TierLarge: "muse-wonder-1.0", TierSmall: "muse-spark-1.3"},
		Sizes: map[string]string{
			"xs": "muse-spark-1.3", "s": "muse-spark-1.3", "m": "muse-spark-1.3",
			"l": "muse-wonder-1.0", "xl": "muse-wonder-1.0",
		},
	}
}

// ContributorTierError refuses a tier that was mapped to a contributor model.
type ContributorTierError struct {
	Tier  Tier
	Model string
}

func (e *ContributorTierError) Error() string {
	return fmt.Sprintf("tier %s is mapped to %s: a tier never chooses a contributor model; name the model itself to use it", e.Tier, e.Model)
}

// Resolve turns what a user typed after --model into a selection. An empty
// name selects nothing. "muse/" before a name is accepted. A tier word wins
// over a size, a size over an alias; anything else is taken as a model id.
func (a Aliases) Resolve(name string) (Selection, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "muse/")
	if name == "" {
		return Selection{}, nil
	}
	if id, ok := a.Tiers[Tier(name)]; ok {
		if IsContributor(id) {
			return Selection{}, &ContributorTierError{Tier(name), id}
		}
		return Selection{Model: id, Via: "tier"}, nil
	}
	if id, ok := a.Sizes[name]; ok {
		return Selection{Model: id, Via: "size", Advisory: ContributorAdvisory(id)}, nil
	}
	for _, m := range Models() {
		if m.Short == name {
			return Selection{Model: m.ID, Via: "alias", Advisory: ContributorAdvisory(m.ID)}, nil
		}
	}
	return Selection{Model: name, Via: "name", Advisory: ContributorAdvisory(name)}, nil
}

// Cost is the price of a usage in US dollars. ok is false when the model has
// no known price: unknown is not free.
func Cost(model string, u Usage) (dollars float64, ok bool) {
	m, found := FindModel(model)
	if !found || m.Price == nil {
		return 0, false
	}
	return m.Price.Of(u), true
}

// Of applies a price to a usage. Cached input is part of the input count.
func (p Price) Of(u Usage) float64 {
	fresh := max(0, u.InputTokens-u.CacheReadTokens)
	return (float64(fresh)*p.Input + float64(u.CacheReadTokens)*p.Cached + float64(u.OutputTokens)*p.Output) / 1e6
}
