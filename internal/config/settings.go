package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/config/atomicfile"
	"github.com/openmuse/muse/internal/config/jsondoc"
	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/plainfile"
)

// Settings is settings.json (CLI.md 2.2) as this program understands it. A nil
// pointer or empty slice means that the file does not say. Keys of features
// that read their own part of the file (hooks, MCP servers, permissions) are
// reached with Node.
type Settings struct {
	Provider        *string
	Model           *string
	ReasoningEffort *string

	Presets           []NamedPreset
	ProviderRetry     RetrySettings
	EndpointTransport TransportSettings
	ModelCatalog      []CatalogRow
	ContextCompaction CompactionSettings
	Run               RunSettings
	Context           ContextSettings
	Sandbox           SandboxSettings

	// Providers is openmuse.providers: endpoints of the person's own, and
	// additions to the built-in ones.
	Providers []ProviderSettings

	// Unknown are the keys that nothing in this program reads. They are kept
	// on every rewrite.
	Unknown []UnknownKey

	doc *jsondoc.Document
	// layer is SettingsFile, or EnterpriseDefaults for a file of that plane.
	layer Layer
}

// NamedPreset is one entry of presets.
type NamedPreset struct {
	Name            string
	Provider, Model *string
	Run             RunSettings
	path            []string
}

// RunSettings is the part of run that a headless run honours.
type RunSettings struct {
	SystemPrompt      *string
	DeveloperPrompt   *string
	Toolset           *[]string
	ParallelToolCalls *bool
}

// RetrySettings is provider_retry. MaxAttempts counts the first try,
// MaxRetries does not; a file gives one of them at most.
type RetrySettings struct {
	MaxAttempts     *int64
	MaxRetries      *int64
	BaseDelayMS     *int64
	RetryAfterCapMS *int64
}

// TransportSettings is endpoint_transport.
type TransportSettings struct {
	BaseURL    *string
	Proxy      *string
	Auth       *string // "bearer" or "none"
	ClientCert *string
	ClientKey  *string
	CABundle   *string
	// Headers are http_headers and env_http_headers, in the file's order.
	Headers     []HeaderSetting
	AllowOpenAI *bool
}

// HeaderSetting is one extra header. Exactly one of Value and Env is set; Env
// names the variable that holds the value.
type HeaderSetting struct{ Name, Value, Env string }

// CompactionSettings is context_compaction.
type CompactionSettings struct {
	Strategy                   *string
	SoftThreshold              *float64
	HardThreshold              *float64
	ProviderContextLimitTokens *int64
	ToolResultClearingEnabled  *bool
}

// ContextSettings is context.
type ContextSettings struct {
	ForeignPersonalRules  *bool
	ForeignPersonalSkills *bool
}

// SandboxSettings is openmuse.sandbox.
type SandboxSettings struct {
	Launcher   *string // "auto", "native" or "bubblewrap"
	GitCommits *bool
}

// CatalogRow is one row of model_catalog.
type CatalogRow struct {
	ModelID      string
	ProviderID   string
	ProfileID    *string
	DisplayLabel *string
	Visibility   *string
	ReleaseDate  *string
	Description  *string
	DisplayOrder *int64
	IsDefault    bool
	ContextLimit *int64
	OutputLimit  *int64
	origin       Origin
}

// ProviderSettings is openmuse.providers.<id>.
type ProviderSettings struct {
	ID string
	// Wire is the protocol an endpoint of the person's own speaks: "openai",
	// "openai-chat", "anthropic" or "meta". Built-in providers have theirs.
	Wire          *string
	BaseURL       *string
	Auth          *string // "bearer" or "none"
	DefaultModel  *string
	APIKeyEnv     *string
	APIKeyCommand *[]string
	Headers       []HeaderSetting
	Models        []ModelSettings
}

// ModelSettings is openmuse.providers.<id>.models.<model>: facts that the
// built-in table lacks or has wrong.
type ModelSettings struct {
	ID           string
	Label        *string
	ContextLimit *int64
	OutputLimit  *int64
	Price        *models.Price
	Efforts      *[]string
	Images       *bool
	Contributor  *bool
}

// UnknownKey is a key that this program does not read.
type UnknownKey struct {
	Path         string
	Line, Column int
	// Near is a known key that it may be a misspelling of, "" when none is
	// near.
	Near string
}

// ReadSettings reads the settings file at path. A missing file is fine and
// gives empty settings; anything wrong in an existing one is an error with its
// place.
func ReadSettings(path string) (*Settings, error) {
	data, err := plainfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Settings{layer: SettingsFile}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return ParseSettings(path, data)
}

// ParseSettings reads a settings file's content. All faults are reported, one
// a line.
func ParseSettings(path string, data []byte) (*Settings, error) {
	return parseSettings(path, data, SettingsFile)
}

// ParseDefaults reads settings of the enterprise defaults plane: the same
// keys, a layer lower.
func ParseDefaults(path string, data []byte) (*Settings, error) {
	return parseSettings(path, data, EnterpriseDefaults)
}

// ReadDefaults reads the enterprise defaults at path. No file is no defaults.
func ReadDefaults(path string) (*Settings, error) {
	if path == "" {
		return nil, nil
	}
	data, err := plainfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the enterprise defaults: %w", err)
	}
	return ParseDefaults(path, data)
}

func parseSettings(path string, data []byte, layer Layer) (*Settings, error) {
	doc, err := jsondoc.Parse(path, data)
	if err != nil {
		return nil, err
	}
	s := &Settings{doc: doc, layer: layer}
	r := &reader{}
	r.settings(s, doc.Root())
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	s.Unknown = r.unknown
	return s, nil
}

// File is the path the settings were read from, "" when there was no file.
func (s *Settings) File() string {
	if s == nil || s.doc == nil {
		return ""
	}
	return s.doc.Name()
}

// Node is the value at path for packages that read their own part of the
// file, nil when the file does not have it.
func (s *Settings) Node(path ...string) *jsondoc.Node {
	if s == nil || s.doc == nil {
		return nil
	}
	return s.doc.Root().Get(path...)
}

// Origin is where the value at path stands.
func (s *Settings) Origin(path ...string) Origin {
	o := Origin{Layer: s.layer, File: s.File()}
	if n := s.Node(path...); n != nil {
		o.Name = n.Path()
		o.Line, o.Column = n.Pos()
	}
	return o
}

// Change is one edit of a settings file.
type Change struct {
	Path []string
	// Value is the new value; nil removes the key.
	Value jsontext.Value
}

// UpdateSettings makes changes to the settings file under its lock and leaves
// every other byte as it is. A file that does not exist is made, private to
// its owner. A file that cannot be read as settings, or that would no longer
// be readable, is left alone and the reason returned.
func UpdateSettings(ctx context.Context, path string, changes ...Change) error {
	return atomicfile.Update(ctx, path, atomicfile.Private, func(old []byte) ([]byte, error) {
		return change(path, old, changes)
	})
}

// change is the settings text with the changes made; nil is no file.
func change(path string, old []byte, changes []Change) ([]byte, error) {
	if old == nil {
		old = []byte("{\n  \"schema_version\": 1\n}\n")
	}
	if _, err := ParseSettings(path, old); err != nil {
		return nil, fmt.Errorf("settings are not changed because they cannot be read: %w", err)
	}
	doc, err := jsondoc.Parse(path, old)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if c.Value == nil {
			err = doc.Delete(c.Path...)
		} else {
			err = doc.Set(c.Value, c.Path...)
		}
		if err != nil {
			return nil, err
		}
	}
	next := doc.Bytes()
	if _, err := ParseSettings(path, next); err != nil {
		return nil, fmt.Errorf("settings are not changed because the result would be refused: %w", err)
	}
	return next, nil
}
