package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedExamples reads every JSON example of the settings page, and
// holds its tables against the keys that the reader knows.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	examples := 0
	for rest := page; ; {
		_, after, ok := strings.Cut(rest, "```json\n")
		if !ok {
			break
		}
		example, next, _ := strings.Cut(after, "```")
		examples++
		s, err := ParseSettings("example", []byte(example))
		if err != nil {
			t.Errorf("example %d: %v", examples, err)
		} else if len(s.Unknown) > 0 {
			t.Errorf("example %d has unknown keys: %v", examples, s.Unknown)
		}
		rest = next
	}
	if examples == 0 {
		t.Error("no examples found")
	}
	for _, e := range builtinEndpoints() {
		for _, name := range []string{e.ID, e.KeyEnv, e.BaseEnv} {
			if name != "" && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s is not documented", name)
			}
		}
	}
	for _, key := range []string{"provider_retry", "endpoint_transport", "model_catalog", "context_compaction", "run", "presets", "context"} {
		if !strings.Contains(page, "`"+key) {
			t.Errorf("%s is not documented", key)
		}
	}
}
