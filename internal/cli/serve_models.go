package cli

import (
	"context"
	"slices"

	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/serve"
)

// modelRows lists the models of the configured service for the session
// protocol, from the built-in tables: no key and no network are needed.
type modelRows struct{ setup *setup }

var _ serve.Models = modelRows{}

// List implements serve.Models.
func (r modelRows) List(context.Context) (msp.ModelListResult, error) {
	s := r.setup
	out := msp.ModelListResult{
		Models: []msp.ModelCatalogEntry{}, ProviderID: s.Endpoint.ID, Source: msp.ModelCatalogSourceBundledCatalog,
	}
	table := models.TableOf(s.BaseURL.V)
	if table == "" {
		table = s.ModelInfo.Table
	}
	current := s.Model.V
	if current == "" {
		current = s.Endpoint.ID
	}
	ids := models.IDs(table)
	if len(ids) == 0 {
		out.Source = msp.ModelCatalogSourceConfigCatalog
	}
	if !slices.Contains(ids, current) {
		ids = append([]string{current}, ids...)
	}
	for _, id := range ids {
		m := models.Lookup(table, id)
		if id == current {
			m = s.ModelInfo // with what the settings add
			m.ID = id
		}
		row := wireModel(m, s.Endpoint.ID)
		row.IsDefault = id == current
		out.Models = append(out.Models, row)
	}
	return out, nil
}

// wireModel is what is known of a model as the protocol shows it. Limits that
// are only assumed are not told as facts.
func wireModel(m models.Model, provider string) msp.ModelCatalogEntry {
	row := msp.ModelCatalogEntry{ModelID: m.ID, DisplayLabel: m.Label, ProviderID: provider}
	if row.DisplayLabel == "" {
		row.DisplayLabel = m.ID
	}
	if !m.Assumed && m.ContextLimit > 0 {
		row.ContextLimit = &m.ContextLimit
	}
	if !m.Assumed && m.OutputLimit > 0 {
		row.OutputLimit = &m.OutputLimit
	}
	if p := m.Price; p != nil {
		usd := "USD"
		row.Cost = &msp.ModelCost{Input: p.Input.String(), Output: p.Output.String(), Cached: p.Input.String(), Currency: &usd}
		if p.CachedInput != nil {
			row.Cost.Cached = p.CachedInput.String()
		}
	}
	if m.Contributor {
		text := "The provider trains on what this model is given and answers."
		row.Description = &text
	}
	var efforts []msp.ReasoningEffort
	for _, e := range m.Efforts {
		efforts = append(efforts, msp.ReasoningEffort(e))
		row.ReasoningEffortVariants = append(row.ReasoningEffortVariants, msp.ModelDescribedReasoningEffort{Tier: msp.ReasoningEffort(e)})
	}
	switch {
	case efforts != nil:
		row.Variants = &msp.ModelReasoningEffortVariants{Efforts: efforts}
	case !m.NoReasoning:
		row.Variants = &msp.ModelReasoningEffortVariants{Unknown: true}
	}
	if m.DefaultEffort != "" {
		row.DefaultReasoningEffort = msp.ReasoningEffort(m.DefaultEffort)
	}
	return row
}
