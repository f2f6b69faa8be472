package tool

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// schema is a tool's compiled argument schema with the parts of it that are
// used to word an error.
type schema struct {
	resolved *jsonschema.Resolved
	root     shape
}

// shape is the part of JSON Schema that tools describe their arguments with.
type shape struct {
	Type       jsontext.Value   `json:"type"`
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
	Items      *shape           `json:"items"`
	Enum       []any            `json:"enum"`
	Minimum    *float64         `json:"minimum"`
	Maximum    *float64         `json:"maximum"`
	MinItems   *int             `json:"minItems"`
	MaxItems   *int             `json:"maxItems"`
	MinLength  *int             `json:"minLength"`
	MaxLength  *int             `json:"maxLength"`
	Additional jsontext.Value   `json:"additionalProperties"`
}

func (s shape) closed() bool { return string(s.Additional) == "false" }

// types lists the JSON types a shape allows; empty means any.
func (s shape) types() []string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(s.Type, &many) == nil {
		return many
	}
	return nil
}

// check parses arguments and holds them against the tool's schema.
func (s *Set) check(t Tool, args string) (jsontext.Value, error) {
	spec := t.Spec()
	if strings.TrimSpace(args) == "" {
		args = "{}" // some models write nothing for "no arguments"
	}
	value, parsed, err := parseArgs(args)
	if err != nil {
		return nil, fmt.Errorf("the arguments of %s are not a JSON object: %w", spec.Name, err)
	}
	sch, err := s.schemaOf(spec)
	if err != nil {
		return nil, err
	}
	value, err = dropNulls(value, parsed, sch.root)
	if err != nil {
		return nil, err
	}
	if err := sch.resolved.Validate(parsed); err != nil {
		if why := explain("", parsed, sch.root); why != "" {
			err = errors.New(why)
		}
		return nil, fmt.Errorf("the arguments of %s do not fit: %w", spec.Name, err)
	}
	return value, nil
}

// schemaOf compiles a schema when the first call needs it.
func (s *Set) schemaOf(spec Spec) (*schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sch, ok := s.schemas[spec.Name]; ok {
		return sch, nil
	}
	var raw jsonschema.Schema
	if err := raw.UnmarshalJSON(spec.Schema); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", spec.Name, err)
	}
	resolved, err := raw.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", spec.Name, err)
	}
	sch := &schema{resolved: resolved}
	// A schema that uses these words in another way is still enforced, only
	// its errors are worded less well.
	_ = json.Unmarshal(spec.Schema, &sch.root)
	s.schemas[spec.Name] = sch
	return sch, nil
}

// parseArgs reads one JSON object and nothing after it.
func parseArgs(args string) (jsontext.Value, map[string]any, error) {
	dec := jsontext.NewDecoder(strings.NewReader(args))
	value, err := dec.ReadValue()
	if err != nil {
		return nil, nil, plainJSONError(err)
	}
	value = value.Clone()
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("text follows the object at byte %d", dec.InputOffset())
	}
	if value.Kind() != '{' {
		return nil, nil, fmt.Errorf("it is %s", kindName(value.Kind()))
	}
	var parsed map[string]any
	if err := json.Unmarshal(value, &parsed); err != nil {
		return nil, nil, plainJSONError(err)
	}
	return value, parsed, nil
}

// plainJSONError takes the library's name off an error.
func plainJSONError(err error) error {
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "jsontext: "), "json: "))
}

// dropNulls removes members whose value is null where the schema has no null:
// models that must name every argument write null for those they do not use.
func dropNulls(value jsontext.Value, parsed map[string]any, root shape) (jsontext.Value, error) {
	dropped := false
	for name, v := range parsed {
		p, known := root.Properties[name]
		if v != nil || !known || slices.Contains(p.types(), "null") || slices.Contains(root.Required, name) {
			continue
		}
		delete(parsed, name)
		dropped = true
	}
	if !dropped {
		return value, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	for name := range members {
		if _, kept := parsed[name]; !kept {
			delete(members, name)
		}
	}
	out, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write arguments: %w", err)
	}
	return out, nil
}
