package tool

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// explain words the first thing about v that does not fit s, or "" when it
// finds none. at is the path of v within the arguments.
func explain(at string, v any, s shape) string {
	types := s.types()
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isType(v, t) }) {
		return fmt.Sprintf("%s must be %s, not %s", subject(at), orList(withArticles(types)), describe(v))
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return e == v }) {
		return fmt.Sprintf("%s must be one of %s, not %s", subject(at), quoteAll(s.Enum), describe(v))
	}
	switch v := v.(type) {
	case map[string]any:
		return explainObject(at, v, s)
	case []any:
		return explainArray(at, v, s)
	case string:
		return explainLength(at, utf8.RuneCountInString(v), "characters", s.MinLength, s.MaxLength)
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			return fmt.Sprintf("%s must be %s, not %v", subject(at), numberRange(s), v)
		}
	}
	return ""
}

func explainObject(at string, v map[string]any, s shape) string {
	allowed := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range s.Required {
		if _, ok := v[name]; ok {
			continue
		}
		msg := fmt.Sprintf("%s is missing", quoteAt(at, name))
		for _, given := range slices.Sorted(maps.Keys(v)) {
			if _, known := s.Properties[given]; !known {
				msg += fmt.Sprintf(" (%s was given, which is not an argument)", quoteAt(at, given))
			}
		}
		return msg + "; required: " + strings.Join(s.Required, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p, known := s.Properties[name]
		if !known {
			if !s.closed() {
				continue
			}
			msg := fmt.Sprintf("%s is not an argument", quoteAt(at, name))
			if near := nearest(name, allowed, 1); len(near) > 0 {
				msg += "; did you mean " + near[0] + "?"
			}
			return msg + " Allowed: " + strings.Join(allowed, ", ")
		}
		if why := explain(join(at, name), v[name], p); why != "" {
			return why
		}
	}
	return ""
}

func explainArray(at string, v []any, s shape) string {
	if why := explainLength(at, len(v), "items", s.MinItems, s.MaxItems); why != "" {
		return why
	}
	if s.Items == nil {
		return ""
	}
	for i, item := range v {
		if why := explain(fmt.Sprintf("%s[%d]", at, i), item, *s.Items); why != "" {
			return why
		}
	}
	return ""
}

func explainLength(at string, n int, unit string, low, high *int) string {
	switch {
	case low != nil && n < *low:
		return fmt.Sprintf("%s must have at least %d %s, not %d", subject(at), *low, unit, n)
	case high != nil && n > *high:
		return fmt.Sprintf("%s must have at most %d %s, not %d", subject(at), *high, unit, n)
	}
	return ""
}

func numberRange(s shape) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("from %v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf("at least %v", *s.Minimum)
	}
	return fmt.Sprintf("at most %v", *s.Maximum)
}

func isType(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case float64:
		return t == "number" || t == "integer" && v == math.Trunc(v)
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	}
	return false
}

// describe names a value and its type, short.
func describe(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "a value that cannot be shown"
	}
	return kindName(jsontext.Value(text).Kind()) + " " + shorten(string(text), 60)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	}
	return "an object"
}

func withArticles(types []string) []string {
	out := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			out[i] = t
		case "integer", "array", "object":
			out[i] = "an " + t
		default:
			out[i] = "a " + t
		}
	}
	return out
}

func quoteAll(values []any) string {
	out := make([]string, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Appendf(nil, "%v", v)
		}
		out[i] = string(text)
	}
	return strings.Join(out, ", ")
}

func subject(at string) string {
	if at == "" {
		return "the value"
	}
	return "`" + at + "`"
}

func quoteAt(at, name string) string { return "`" + join(at, name) + "`" }

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
