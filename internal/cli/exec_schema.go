package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxSchemaDepth is deeper than any schema that a model could answer to.
const maxSchemaDepth = 64

// checkSchema refuses schemas that cannot be judged: those that are none, that
// refer outside of themselves, or that refer to themselves without looking at a
// smaller part of the answer, which no validation would come to an end with.
func checkSchema(doc any) error {
	c := schemaCheck{nodes: map[string]map[string]any{}, state: map[string]int{}}
	if err := c.collect("#", doc, 0); err != nil {
		return err
	}
	for at := range c.nodes {
		if err := c.follow(at); err != nil {
			return err
		}
	}
	return nil
}

type schemaCheck struct {
	nodes map[string]map[string]any // every subschema by its pointer
	state map[string]int            // 1 = on the way, 2 = done
}

var (
	schemaTypes = []string{"null", "boolean", "object", "array", "number", "string", "integer"}
	// listsOfSchemas and mapsOfSchemas are the keywords that hold subschemas;
	// those in sameValue judge the same value as the schema they stand in.
	oneSchema      = []string{"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "additionalItems"}
	listsOfSchemas = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	mapsOfSchemas  = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
	sameValue      = []string{"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"}
)

// collect walks through the subschemas of v.
func (c *schemaCheck) collect(at string, v any, depth int) error {
	switch v := v.(type) {
	case bool:
		return nil
	case map[string]any:
		if depth > maxSchemaDepth {
			return fmt.Errorf("it is nested deeper than %d levels", maxSchemaDepth)
		}
		c.nodes[at] = v
		if err := checkKeywords(at, v); err != nil {
			return err
		}
		return c.children(at, v, func(where, _ string, child any) error { return c.collect(where, child, depth+1) })
	}
	return fmt.Errorf("%s is %s where a schema (an object, true or false) is wanted", at, jsonKind(v))
}

func checkKeywords(at string, v map[string]any) error {
	if s, ok := v["$schema"].(string); ok && !strings.Contains(s, "2020-12") && !strings.Contains(s, "draft-07") {
		return fmt.Errorf("%s/$schema is %q: drafts 2020-12 and 07 are understood", at, s)
	}
	var types []any
	switch t := v["type"].(type) {
	case string:
		types = []any{t}
	case []any:
		types = t
	}
	for _, t := range types {
		if s, ok := t.(string); !ok || !slices.Contains(schemaTypes, s) {
			return fmt.Errorf("%s/type is %v: want one of %s", at, t, strings.Join(schemaTypes, ", "))
		}
	}
	if ref, ok := v["$ref"].(string); ok && !strings.HasPrefix(ref, "#") {
		return fmt.Errorf("%s/$ref is %q: only references within the file (#/…) are followed", at, ref)
	}
	return nil
}

// children calls visit for each subschema that stands in v.
func (c *schemaCheck) children(at string, v map[string]any, visit func(where, keyword string, child any) error) error {
	for _, k := range oneSchema {
		child, ok := v[k]
		if list, isList := child.([]any); isList && k == "items" { // draft 07
			for i, one := range list {
				if err := visit(at+"/items/"+strconv.Itoa(i), k, one); err != nil {
					return err
				}
			}
			continue
		}
		if ok {
			if err := visit(at+"/"+k, k, child); err != nil {
				return err
			}
		}
	}
	for _, k := range listsOfSchemas {
		list, _ := v[k].([]any)
		for i, one := range list {
			if err := visit(at+"/"+k+"/"+strconv.Itoa(i), k, one); err != nil {
				return err
			}
		}
	}
	for _, k := range mapsOfSchemas {
		members, _ := v[k].(map[string]any)
		for name, one := range members {
			if err := visit(at+"/"+k+"/"+pointerEscape(name), k, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow looks for a way from a schema back to itself that never looks at a
// part of the value.
func (c *schemaCheck) follow(at string) error {
	v, ok := c.nodes[at]
	switch {
	case !ok || c.state[at] == 2:
		return nil
	case c.state[at] == 1:
		return fmt.Errorf("%s refers to itself without end", at)
	}
	c.state[at] = 1
	if ref, ok := v["$ref"].(string); ok {
		if err := c.follow(strings.TrimSuffix(ref, "/")); err != nil {
			return err
		}
	}
	err := c.children(at, v, func(where, keyword string, _ any) error {
		if slices.Contains(sameValue, keyword) {
			return c.follow(where)
		}
		return nil
	})
	c.state[at] = 2
	return err
}

func pointerEscape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "an array"
	case string:
		return "a string"
	}
	return "a number"
}
