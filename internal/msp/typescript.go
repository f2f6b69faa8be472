package msp

import (
	"fmt"
	"reflect"
	"strings"
)

// TypeScript is the declarations of the wire as a text file: a type for every
// definition, and maps from names to params and results.
func TypeScript(experimental bool) ([]byte, error) {
	print, err := Fingerprint(experimental)
	if err != nil {
		return nil, err
	}
	s := surfaceOf(experimental)
	var b strings.Builder
	fmt.Fprintf(&b, "// Muse Session Protocol, version %d. Generated from the types that the host speaks with.\n// Surface: %s\n// Unions that end in (string & {}) may grow: bear other words.\n", EnvelopeVersion, print)
	for _, d := range s.defs {
		b.WriteString("\n")
		declare(&b, d)
	}
	s.declareTables(&b)
	return []byte(b.String()), nil
}

func declare(b *strings.Builder, s *shape) {
	if s.form == formObject && s.variants == nil {
		if len(s.members) == 0 {
			fmt.Fprintf(b, "export type %s = Record<string, never>;\n", s.name)
			return
		}
		fmt.Fprintf(b, "export interface %s {\n", s.name)
		for _, m := range s.members {
			fmt.Fprintf(b, "  %s;\n", tsMember(m.name, m.required, m.nullable, m.shape))
		}
		for _, name := range s.refused {
			fmt.Fprintf(b, "  %s?: never;\n", name)
		}
		b.WriteString("}\n")
		return
	}
	fmt.Fprintf(b, "export type %s = %s;\n", s.name, tsDefinition(s))
}

func tsMember(name string, required, nullable bool, s *shape) string {
	mark := "?"
	if required {
		mark = ""
	}
	text := tsType(s)
	if nullable {
		text += " | null"
	}
	return name + mark + ": " + text
}

// tsType is how s is written where it is used.
func tsType(s *shape) string {
	if s.name != "" {
		return s.name
	}
	return tsDefinition(s)
}

func tsDefinition(s *shape) string {
	switch s.form {
	case formText:
		return "string"
	case formBool:
		return "boolean"
	case formInteger, formNumber:
		return "number"
	case formAny:
		return "unknown"
	case formAnyObject:
		return "Record<string, unknown>"
	case formID:
		return "number | string"
	case formWords:
		return tsWords(s.words)
	case formList:
		elem := tsType(s.elem)
		if s.nullElem {
			return "(" + elem + " | null)[]"
		}
		return elem + "[]"
	case formDictionary:
		return "Record<string, " + tsType(s.elem) + ">"
	case formEither:
		var arms []string
		for _, e := range s.either {
			arms = append(arms, tsType(e))
		}
		return strings.Join(arms, " | ")
	case formObject:
		return tsVariants(s)
	}
	panic("msp: form without a declaration")
}

func tsWords(e enumeration) string {
	var words []string
	for _, w := range e.words {
		words = append(words, fmt.Sprintf("%q", w))
	}
	if e.open {
		words = append(words, "(string & {})")
	}
	return strings.Join(words, " | ")
}

func tsVariants(s *shape) string {
	var arms []string
	for _, arm := range s.variants {
		word := fmt.Sprintf("%q", arm.word)
		if arm.word == "" {
			word = "string"
		}
		members := []string{arm.key + ": " + word}
		for _, name := range arm.members {
			m, _ := s.member(name)
			if t, ok := arm.types[name]; ok {
				m.shape = shapeOf(t)
			}
			required := false
			for _, r := range arm.required {
				required = required || r == name
			}
			members = append(members, tsMember(name, required, m.nullable, m.shape))
		}
		arms = append(arms, "{ "+strings.Join(members, "; ")+" }")
	}
	return strings.Join(arms, " | ")
}

func (s *surface) declareTables(b *strings.Builder) {
	b.WriteString("\nexport interface MspMethods {\n")
	for _, m := range s.methods {
		fmt.Fprintf(b, "  /** %s */\n  %q: { params: %s; result: %s };\n", description(m.Name), m.Name, tsName(m.params), tsName(m.result))
	}
	b.WriteString("}\n\nexport interface MspNotifications {\n")
	for _, n := range notificationTable() {
		fmt.Fprintf(b, "  /** %s */\n  %q: %s;\n", description(n.Name), n.Name, tsName(n.params))
	}
	b.WriteString("}\n\nexport interface MspServerRequests {\n")
	for _, r := range serverRequestTable() {
		fmt.Fprintf(b, "  /** %s */\n  %q: { params: %s; result: %s };\n", description(r.Name), r.Name, tsName(r.params), tsName(r.result))
	}
	b.WriteString("}\n\nexport type MspMethod = keyof MspMethods;\nexport type MspNotification = keyof MspNotifications;\nexport type MspServerRequest = keyof MspServerRequests;\nexport type MspErrorDataKind = ErrorKind;\n")
}

func tsName(t reflect.Type) string {
	if t == nil {
		return "undefined"
	}
	return t.Name()
}
