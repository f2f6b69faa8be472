package provider

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// StrictSchema reports whether a JSON Schema fits the strict mode of structured
// answers, where a service forces the model's tokens into it: every object
// lists all its properties as required and allows no others. A service refuses
// a strict request with any other schema, so it is then only asked to try.
func StrictSchema(schema jsontext.Value) bool {
	if schema.Kind() != '{' {
		return false
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(schema, &members); err != nil {
		return false
	}
	for _, name := range []string{"allOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "$dynamicRef"} {
		if _, ok := members[name]; ok {
			return false
		}
	}
	if !strictObject(members) {
		return false
	}
	for _, name := range []string{"properties", "$defs", "definitions"} {
		var inner map[string]jsontext.Value
		if v, ok := members[name]; ok && json.Unmarshal(v, &inner) != nil {
			return false
		}
		for _, v := range inner {
			if !StrictSchema(v) {
				return false
			}
		}
	}
	if v, ok := members["items"]; ok && !StrictSchema(v) {
		return false
	}
	var choices []jsontext.Value
	if v, ok := members["anyOf"]; ok && json.Unmarshal(v, &choices) != nil {
		return false
	}
	for _, v := range choices {
		if !StrictSchema(v) {
			return false
		}
	}
	return true
}

// strictObject checks the rules for one object schema; other schemas pass.
func strictObject(members map[string]jsontext.Value) bool {
	properties, isObject := members["properties"]
	if !isObject && string(members["type"]) != `"object"` {
		return true
	}
	if string(members["additionalProperties"]) != "false" || !isObject {
		return false
	}
	var names map[string]jsontext.Value
	var required []string
	if json.Unmarshal(properties, &names) != nil {
		return false
	}
	if v, ok := members["required"]; ok && json.Unmarshal(v, &required) != nil {
		return false
	}
	listed := map[string]bool{}
	for _, name := range required {
		listed[name] = true
	}
	for name := range names {
		if !listed[name] {
			return false
		}
	}
	return true
}
