package msptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/openmuse/muse/internal/msp"
)

// Schema checks JSON against definitions of the printed schema.
type Schema struct {
	defs map[string]*jsonschema.Schema

	mu       sync.Mutex
	resolved map[string]*jsonschema.Resolved
}

// PrintedSchema is the schema of the whole surface as `muse schema` prints it,
// read once for the process.
func PrintedSchema() (*Schema, error) { return printed() }

var printed = sync.OnceValues(func() (*Schema, error) {
	text, err := msp.JSONSchema(true)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Defs map[string]*jsonschema.Schema `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the printed schema: %w", err)
	}
	return &Schema{defs: doc.Defs, resolved: make(map[string]*jsonschema.Resolved)}, nil
})

// Check says how raw differs from a definition.
func (s *Schema) Check(definition string, raw []byte) error {
	r, err := s.resolve(definition)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("read a %s: %w", definition, err)
	}
	if err := r.Validate(value); err != nil {
		return fmt.Errorf("not a %s by the printed schema: %w", definition, err)
	}
	return nil
}

func (s *Schema) resolve(definition string) (*jsonschema.Resolved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.resolved[definition]; ok {
		return r, nil
	}
	if s.defs[definition] == nil {
		return nil, fmt.Errorf("the printed schema has no %s", definition)
	}
	root := &jsonschema.Schema{Ref: "#/$defs/" + definition, Defs: cloneAll(s.defs)}
	r, err := root.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", definition, err)
	}
	s.resolved[definition] = r
	return r, nil
}

// cloneAll copies schemas, because a schema can be resolved in one tree only.
func cloneAll(defs map[string]*jsonschema.Schema) map[string]*jsonschema.Schema {
	out := maps.Clone(defs)
	for name, d := range out {
		out[name] = d.CloneSchemas()
	}
	return out
}
