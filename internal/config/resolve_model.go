package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/provider"
)

// resolveModel chooses the model: --model, MUSE_MODEL, the preset, settings,
// the provider's default (CLI.md 2.1).
func (r *resolver) resolveModel() error {
	e := r.out.Endpoint
	v, named := r.namedModel()
	if !named && !e.Offline {
		v = r.defaultModel()
		if v.V == "" {
			return fmt.Errorf("no model is named for provider %s: use --model, MUSE_MODEL or openmuse.providers.%s.default_model", e.ID, e.ID)
		}
	}
	v, err := r.allowedModel(v, named)
	if err != nil {
		return err
	}
	r.out.Model = v
	r.out.ModelInfo = r.modelInfo(v.V)
	if v.V == "" || e.Offline {
		return nil
	}
	if r.out.ModelInfo.Contributor {
		r.warn("the provider trains on what is sent to and made by the contributor model %s (%s)", v.V, v.Origin)
	}
	if r.out.ModelInfo.Assumed {
		r.warn("the model %s is in no table: assuming a context of %d tokens and no known price", v.V, r.out.ModelInfo.ContextLimit)
	}
	return nil
}

// namedModel is the model that somebody asked for.
func (r *resolver) namedModel() (Value[string], bool) {
	if m := r.in.Flags.Model; m != nil {
		return flag(*m, "model"), true
	}
	if m := strings.TrimSpace(r.getenv("MUSE_MODEL")); m != "" {
		return env(m, "MUSE_MODEL"), true
	}
	if p := r.preset; p != nil && p.Model != nil {
		if p.Provider == nil || *p.Provider == r.out.Provider.V {
			return Value[string]{*p.Model, r.presetOrigin("model")}, true
		}
		r.warn("the model %s of preset %s is for provider %s and is not used for %s", *p.Model, p.Name, *p.Provider, r.out.Provider.V)
	}
	for _, s := range []*Settings{r.in.Settings, r.in.Defaults} {
		if s == nil || s.Model == nil {
			continue
		}
		if settingsProvider(s) == r.out.Provider.V {
			return Value[string]{*s.Model, s.Origin("model")}, true
		}
		if !r.out.Endpoint.Offline {
			r.warn("the model %s (%s) is for provider %s and is not used for %s", *s.Model, s.Origin("model"), settingsProvider(s), r.out.Provider.V)
		}
	}
	return Value[string]{}, false
}

// defaultModel is the provider's default, which never trains on its input.
func (r *resolver) defaultModel() Value[string] {
	e := r.out.Endpoint
	if r.own != nil && r.own.DefaultModel != nil {
		return Value[string]{*r.own.DefaultModel, r.in.Settings.Origin("openmuse", "providers", e.ID, "default_model")}
	}
	for _, s := range []*Settings{r.in.Settings, r.in.Defaults} {
		if s == nil {
			continue
		}
		for _, row := range s.ModelCatalog {
			if row.IsDefault && row.ProviderID == e.ID && !r.modelInfo(row.ModelID).Contributor {
				return Value[string]{row.ModelID, row.origin}
			}
		}
	}
	if e.DefaultModel != "" {
		return Value[string]{e.DefaultModel, Origin{Name: e.ID}}
	}
	if e.ID == "openai" || e.ID == "anthropic" {
		return Value[string]{models.Default(e.ID), Origin{Layer: Catalog}}
	}
	return Value[string]{}
}

func (r *resolver) allowedModel(v Value[string], named bool) (Value[string], error) {
	p := r.in.Policy
	if p == nil || p.AllowedModels == nil || v.V == "" || slices.Contains(p.AllowedModels, v.V) {
		return v, nil
	}
	if !named && p.ModelFallback != "" {
		return Value[string]{p.ModelFallback, Origin{Layer: EnterprisePolicy, Name: "model_egress.model_fallback", File: p.File}}, nil
	}
	return v, fmt.Errorf("model %q (%s) is not allowed by the enterprise policy %s; allowed: %s", v.V, v.Origin, p.File, strings.Join(p.AllowedModels, ", "))
}

// modelInfo is what the table of the provider says, with what settings add.
func (r *resolver) modelInfo(id string) models.Model {
	m := models.Lookup(r.table(), id)
	for _, s := range []*Settings{r.in.Defaults, r.in.Settings} {
		if s == nil {
			continue
		}
		for _, row := range s.ModelCatalog {
			if row.ModelID == id && row.ProviderID == r.out.Provider.V {
				m = row.apply(m)
			}
		}
	}
	if r.own != nil {
		for _, add := range r.own.Models {
			if add.ID == id {
				m = add.apply(m)
			}
		}
	}
	return m
}

// table names the model table for the endpoint: that of the host where one
// is known, else that of the wire's own service.
func (r *resolver) table() string {
	e := r.out.Endpoint
	if e.Wire == "meta" || e.Wire == "anthropic" && !e.Custom {
		return e.Wire
	}
	if t := models.TableOf(e.BaseURL); t != "" {
		return t
	}
	if e.Wire == "anthropic" {
		return "anthropic"
	}
	return "openai"
}

func (row CatalogRow) apply(m models.Model) models.Model {
	m.Assumed = false
	set(&m.Label, row.DisplayLabel)
	set(&m.ContextLimit, row.ContextLimit)
	set(&m.OutputLimit, row.OutputLimit)
	return m
}

func (add ModelSettings) apply(m models.Model) models.Model {
	if add.ContextLimit != nil {
		m.Assumed = false
	}
	set(&m.Label, add.Label)
	set(&m.ContextLimit, add.ContextLimit)
	set(&m.OutputLimit, add.OutputLimit)
	if add.Efforts != nil {
		m.Efforts, m.NoReasoning = *add.Efforts, len(*add.Efforts) == 0
	}
	set(&m.Images, add.Images)
	set(&m.Contributor, add.Contributor)
	if add.Price != nil {
		m.Price = add.Price
	}
	return m
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// resolveEffort decides the reasoning effort. Only meta has a default of its
// own, "high" (seed 001); elsewhere nothing is sent and the service decides.
func (r *resolver) resolveEffort() error {
	def := provider.EffortDefault
	if r.out.Endpoint.Wire == "meta" {
		def = provider.EffortHigh
	}
	v := layered(r, def, func(s *Settings) *provider.Effort { return (*provider.Effort)(s.ReasoningEffort) }, "reasoning_effort")
	if f := r.in.Flags.ReasoningEffort; f != nil {
		if !slices.Contains(EffortNames(), *f) {
			text := fmt.Sprintf("invalid value %q for --reasoning-effort", *f)
			if near := Nearest(*f, EffortNames()); near != "" {
				text += fmt.Sprintf(": did you mean %q?", near)
			}
			return &FlagError{"--reasoning-effort", text + " (values: " + strings.Join(EffortNames(), ", ") + ")"}
		}
		v = flag(provider.Effort(*f), "reasoning-effort")
	}
	if r.out.Endpoint.Offline {
		if v.Origin.Layer != CommandLine {
			v = builtin(provider.EffortDefault)
		}
		r.out.EffortAsked = v
		return nil
	}
	if r.out.ModelInfo.NoReasoning {
		r.out.EffortAsked = v
		if v.Origin.Layer != BuiltIn {
			r.warn("the model %s takes no reasoning effort: %s (%s) is not sent", r.out.Model.V, v.V, v.Origin)
		}
		return nil
	}
	var takes []provider.Effort
	for _, level := range r.out.ModelInfo.Efforts {
		takes = append(takes, provider.Effort(level))
	}
	wire, note, err := provider.ResolveEffort(r.out.Endpoint.Wire, v.V, takes)
	if err != nil {
		if v.Origin.Layer == CommandLine {
			return &FlagError{"--reasoning-effort", err.Error()}
		}
		return fmt.Errorf("reasoning_effort (%s): %w", v.Origin, err)
	}
	r.out.EffortAsked, r.out.Effort = v, wire
	if note != "" && v.Origin.Layer != BuiltIn {
		r.warn("%s", note)
	}
	return nil
}
