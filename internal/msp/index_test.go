package msp

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// index is the published surface in the form of msp-index.json.
type index struct {
	EnvelopeVersion   int64  `json:"envelopeVersion"`
	StableFingerprint string `json:"stableFingerprint"`
	Methods           map[string]struct {
		Params *string `json:"params"`
		Result string  `json:"result"`
	} `json:"methods"`
	Notifications map[string]struct {
		Params *string `json:"params"`
		From   string  `json:"from"`
	} `json:"notifications"`
	ServerRequests map[string]struct {
		Params string `json:"params"`
		Result string `json:"result"`
	} `json:"serverRequests"`
	Errors []struct {
		Code      int64       `json:"code"`
		Kind      ErrorKind   `json:"kind"`
		Overrides []ErrorKind `json:"overrideKinds"`
		Retryable *bool       `json:"retryable"`
	} `json:"errors"`
	Capabilities struct {
		Grantable []string `json:"grantable"`
	} `json:"capabilities"`
	Types map[string]struct {
		Fields []struct {
			Name     string `json:"name"`
			Optional bool   `json:"optional"`
			Type     string `json:"type"`
		} `json:"fields"`
		Alias string `json:"alias"`
		Open  bool   `json:"open"`
	} `json:"types"`
}

func readIndex(t *testing.T) index {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sharedDir(t), "reference", "msp-index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ix index
	if err := json.Unmarshal(data, &ix); err != nil {
		t.Fatal(err)
	}
	return ix
}

func nameOf(t reflect.Type) *string {
	if t == nil {
		return nil
	}
	return new(t.Name())
}

func sameName(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func TestIndexTables(t *testing.T) {
	ix := readIndex(t)
	if ix.EnvelopeVersion != EnvelopeVersion || ix.StableFingerprint != PinnedFingerprint {
		t.Errorf("version %d and fingerprint %s", ix.EnvelopeVersion, ix.StableFingerprint)
	}
	for _, m := range Methods() {
		want, ok := ix.Methods[m.Name]
		if !ok || !sameName(want.Params, nameOf(m.params)) || want.Result != m.result.Name() {
			t.Errorf("method %s: params %v, result %v, want %+v", m.Name, m.params, m.result, want)
		}
		delete(ix.Methods, m.Name)
	}
	for _, n := range Notifications() {
		want, ok := ix.Notifications[n.Name]
		if !ok || !sameName(want.Params, nameOf(n.params)) || (want.From == "client") != n.FromClient {
			t.Errorf("notification %s: params %v, want %+v", n.Name, n.params, want)
		}
		delete(ix.Notifications, n.Name)
	}
	for _, r := range ServerRequests() {
		if want := ix.ServerRequests[r.Name]; want.Params != r.params.Name() || want.Result != r.result.Name() {
			t.Errorf("server request %s: %v, %v, want %+v", r.Name, r.params, r.result, want)
		}
		delete(ix.ServerRequests, r.Name)
	}
	if n := len(ix.Methods) + len(ix.Notifications) + len(ix.ServerRequests); n != 0 {
		t.Errorf("missing: %v %v %v", ix.Methods, ix.Notifications, ix.ServerRequests)
	}
	if got := CapabilityName("").values().words; !slices.Equal(got, ix.Capabilities.Grantable) {
		t.Errorf("capabilities %v, want %v", got, ix.Capabilities.Grantable)
	}
}

func TestIndexErrors(t *testing.T) {
	ix := readIndex(t)
	byCode := map[int64]ErrorSpec{}
	for _, row := range Errors() {
		byCode[row.Code] = row
	}
	delete(byCode, -32029) // from the guide, not from the index (MSP.md 9)
	for _, want := range ix.Errors {
		got := byCode[want.Code]
		if got.Kind != want.Kind || !slices.Equal(got.Overrides, want.Overrides) || !reflect.DeepEqual(got.Retryable, want.Retryable) {
			t.Errorf("error %d: %+v, want %+v", want.Code, got, want)
		}
		delete(byCode, want.Code)
	}
	if len(byCode) > 0 {
		t.Errorf("not published: %+v", byCode)
	}
}

// described are the types whose form a field list cannot say.
var described = []string{"ModelReasoningEffortVariants", "RequestId", "SessionMcpServerConfig", "ToolReceipt", "UnframedViewNotification"}

func TestIndexTypes(t *testing.T) {
	ix := readIndex(t)
	defs := map[string]*shape{}
	for _, d := range all().defs {
		defs[d.name] = d
	}
	quoted := regexp.MustCompile(`"([^"]*)"`)
	for name, want := range ix.Types {
		if strings.HasPrefix(name, "Msp") {
			continue
		}
		got := defs[name]
		if got == nil {
			t.Errorf("type %s is missing", name)
			continue
		}
		if slices.Contains(described, name) {
			continue
		}
		if want.Alias != "" {
			var words []string
			for _, m := range quoted.FindAllStringSubmatch(want.Alias, -1) {
				words = append(words, m[1])
			}
			mine := slices.DeleteFunc(slices.Clone(got.words.words), func(w string) bool { return w == string(ErrorKindWorkspaceNotTrusted) })
			if !slices.Equal(mine, words) || got.words.open != want.Open {
				t.Errorf("%s is %v, want %v (open %v)", name, got.words, words, want.Open)
			}
			continue
		}
		for _, f := range want.Fields {
			m, ok := got.member(f.Name)
			if !ok {
				t.Errorf("%s.%s is missing", name, f.Name)
				continue
			}
			if m.required == f.Optional {
				t.Errorf("%s.%s: required %v", name, f.Name, m.required)
			}
			text := tsType(m.shape)
			if m.nullable && !m.mayLack {
				text += " | null"
			}
			if wantType := strings.TrimSuffix(f.Type, " | null"); m.mayLack && text != wantType || !m.mayLack && text != f.Type {
				t.Errorf("%s.%s is %s, want %s", name, f.Name, text, f.Type)
			}
		}
		if len(got.members) != len(want.Fields) {
			t.Errorf("%s has %d members, want %d", name, len(got.members), len(want.Fields))
		}
	}
	for name := range defs {
		if _, ok := ix.Types[name]; !ok && name != "SessionMcpTransport" {
			t.Errorf("type %s is not published", name)
		}
	}
}
