package msp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// EnvelopeVersion is the version of the wire that initialize reports.
const EnvelopeVersion = 1

// PinnedFingerprint is the fingerprint of the stable surface that the published
// SDK 1.4.4 was built against. It is a hash of that vendor's own bundle, so it
// cannot be computed from another description of the same wire (MSP.md 1).
const PinnedFingerprint = "sha256:7c94f153c41659cb3f1bd3c3e04438be254644cb2a97d65d48edc7449b74858a"

// Fingerprint identifies the stable or the whole surface as this program
// describes it: the SHA-256 of the compact JSON Schema.
func Fingerprint(experimental bool) (string, error) {
	if experimental {
		return allFingerprint()
	}
	return stableFingerprint()
}

var stableFingerprint = sync.OnceValues(func() (string, error) { return fingerprint(stable()) })

var allFingerprint = sync.OnceValues(func() (string, error) { return fingerprint(all()) })

func fingerprint(s *surface) (string, error) {
	text, err := json.Marshal(s.document(), json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("encode the schema: %w", err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// OwnClientPrefix begins the names of clients that were built against this
// program's schema.
const OwnClientPrefix = "openmuse_"

// ServedFingerprint is what initialize reports to a client. Clients of the
// published SDK choose their names freely and compare with the fingerprint that
// their SDK pins, so that one is for everybody but clients that say by their
// name that they were built against ours.
func ServedFingerprint(client ClientInfo) (string, error) {
	if strings.HasPrefix(client.Name, OwnClientPrefix) {
		return Fingerprint(false)
	}
	return PinnedFingerprint, nil
}

// Manifest accompanies a schema.
type Manifest struct {
	Experimental  bool   `json:"experimental"`
	Fingerprint   string `json:"fingerprint"`
	SchemaVersion int64  `json:"schemaVersion"`
}

// JSONManifest is the manifest as a text file.
func JSONManifest(experimental bool) ([]byte, error) {
	print, err := Fingerprint(experimental)
	if err != nil {
		return nil, err
	}
	return pretty(Manifest{Experimental: experimental, Fingerprint: print, SchemaVersion: EnvelopeVersion})
}

// JSONSchema is the JSON Schema (draft 2020-12) of the wire as a text file. The
// document itself describes one frame; methods, notifications and
// serverRequests lead from names to the definitions of their params and results.
func JSONSchema(experimental bool) ([]byte, error) {
	return pretty(surfaceOf(experimental).document())
}

func pretty(v any) ([]byte, error) {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return append(text, '\n'), nil
}

// object is a JSON object under construction; it is written with sorted names.
type object = map[string]any

func (s *surface) document() object {
	defs := object{}
	for _, d := range s.defs {
		defs[d.name] = define(d)
	}
	return object{
		"$schema":         "https://json-schema.org/draft/2020-12/schema",
		"title":           "Muse Session Protocol",
		"description":     "One line of the wire, and the types behind every method. Generated from the types that the host speaks with.",
		"envelopeVersion": EnvelopeVersion,
		"frameCapBytes":   FrameCap,
		"anyOf":           frameRefs(),
		"$defs":           defs,
		"methods":         s.methodTable(),
		"notifications":   s.notificationTable(),
		"serverRequests":  serverRequestObject(),
		"errors":          errorList(),
		"capabilities":    object{"grantable": CapabilityName("").values().words, "reserved": []string{"rawLog"}},
	}
}

func frameRefs() []any {
	var out []any
	for _, t := range frameTypes() {
		out = append(out, ref(t.Name()))
	}
	return out
}

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

func (s *surface) methodTable() object {
	out := object{}
	for _, m := range s.methods {
		row := object{"description": description(m.Name), "command": m.Command, "result": ref(m.result.Name())}
		if m.params != nil {
			row["params"] = ref(m.params.Name())
		}
		if m.Experimental {
			row["experimental"] = true
		}
		out[m.Name] = row
	}
	return out
}

func (s *surface) notificationTable() object {
	out := object{}
	for _, n := range notificationTable() {
		row := object{"description": description(n.Name), "from": "server"}
		if n.FromClient {
			row["from"] = "client"
		}
		if n.params != nil {
			row["params"] = ref(n.params.Name())
		}
		out[n.Name] = row
	}
	return out
}

func serverRequestObject() object {
	out := object{}
	for _, r := range serverRequestTable() {
		out[r.Name] = object{"description": description(r.Name), "params": ref(r.params.Name()), "result": ref(r.result.Name())}
	}
	return out
}

func errorList() []any {
	var out []any
	for _, e := range errorTable() {
		row := object{"code": e.Code, "kind": e.Kind}
		if len(e.Overrides) > 0 {
			row["overrideKinds"] = e.Overrides
		}
		if e.Retryable != nil {
			row["retryable"] = *e.Retryable
		}
		out = append(out, row)
	}
	return out
}

// describe is the schema where s is used: a reference when s has a name.
func describe(s *shape) object {
	if s.name != "" {
		return ref(s.name)
	}
	return define(s)
}

// define is the schema of s itself.
func define(s *shape) object {
	switch s.form {
	case formText:
		out := object{"type": "string"}
		if s.notEmpty {
			out["minLength"] = 1
		}
		return out
	case formBool:
		return object{"type": "boolean"}
	case formNumber:
		return object{"type": "number"}
	case formInteger:
		out := object{"type": "integer"}
		if s.low != nil {
			out["minimum"] = *s.low
		}
		if s.high != nil {
			out["maximum"] = *s.high
		}
		return out
	case formAny:
		return object{}
	case formAnyObject:
		return object{"type": "object"}
	case formID:
		return object{"type": []string{"string", "integer"}}
	case formWords:
		openness := "closed"
		if s.words.open {
			openness = "open"
		}
		return object{"type": "string", "enum": s.words.words, "x-msp-openness": openness}
	case formList:
		out := object{"type": "array", "items": orNull(describe(s.elem), s.nullElem)}
		if s.minItems > 0 {
			out["minItems"] = s.minItems
		}
		return out
	case formDictionary:
		return object{"type": "object", "additionalProperties": describe(s.elem)}
	case formEither:
		var arms []any
		for _, e := range s.either {
			arms = append(arms, describe(e))
		}
		return object{"oneOf": arms}
	case formObject:
		if s.variants != nil {
			return defineVariants(s)
		}
		return defineObject(s)
	}
	panic("msp: form without a schema")
}

func orNull(schema object, nullable bool) object {
	if !nullable {
		return schema
	}
	if t, ok := schema["type"].(string); ok {
		out := maps.Clone(schema)
		out["type"] = []string{t, "null"}
		return out
	}
	return object{"anyOf": []any{schema, object{"type": "null"}}}
}

func defineObject(s *shape) object {
	properties, required := object{}, []string{}
	for _, m := range s.members {
		properties[m.name] = orNull(describe(m.shape), m.nullable)
		if m.required {
			required = append(required, m.name)
		}
	}
	for _, name := range s.refused {
		properties[name] = false
	}
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	return out
}

func defineVariants(s *shape) object {
	var arms, words []any
	for _, arm := range s.variants {
		properties := object{arm.key: object{"const": arm.word}}
		if arm.word == "" {
			properties[arm.key] = object{"type": "string", "not": object{"enum": words}}
		}
		words = append(words, arm.word)
		for _, name := range arm.members {
			m, _ := s.member(name)
			if t, ok := arm.types[name]; ok {
				m.shape = shapeOf(t)
			}
			properties[name] = orNull(describe(m.shape), m.nullable)
		}
		required := append([]string{arm.key}, arm.required...)
		slices.Sort(required)
		arms = append(arms, object{"type": "object", "properties": properties, "required": required})
	}
	return object{"oneOf": arms}
}
