package serve

import (
	"context"

	"github.com/openmuse/muse/internal/msp"
)

// Models is the catalogue of models that can be chosen.
type Models interface {
	// List returns the rows, without saying which of them is active. It must
	// answer without a login and without a network.
	List(ctx context.Context) (msp.ModelListResult, error)
}

// listModels shows the catalogue; with a session the model that its next call
// would use is marked.
func listModels(k *call, p msp.ModelListParams) (msp.ModelListResult, error) {
	out, err := k.opts.Models.List(k.ctx)
	if err != nil {
		return out, err
	}
	if p.SessionID == nil {
		return out, nil
	}
	err = k.seeing(*p.SessionID, func(v *view, _ bool) error {
		if m := v.Fold().Model(); m != nil {
			markActive(&out, m)
		}
		return nil
	})
	return out, err
}

// markActive marks the model in effect. One that the catalogue does not list
// gets a row, because the list must hold what the session uses.
func markActive(out *msp.ModelListResult, m *msp.EffectiveModel) {
	provider := out.ProviderID
	if m.ProviderID != nil {
		provider = *m.ProviderID
	}
	found := false
	for i := range out.Models {
		row := &out.Models[i]
		row.IsActive = !found && row.ModelID == m.ModelID && row.ProviderID == provider
		found = found || row.IsActive
	}
	if !found {
		out.Models = append(out.Models, msp.ModelCatalogEntry{
			ModelID: m.ModelID, ProviderID: provider, DisplayLabel: m.ModelID, IsActive: true,
		})
	}
}
