package models

import (
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/provider"
)

// TestEveryRowIsUsable reads all tables: each row parses, no id is there
// twice, no default model trains on its input.
func TestEveryRowIsUsable(t *testing.T) {
	names, err := fs.Glob(data, "data/*.tsv")
	if err != nil || len(names) < 3 {
		t.Fatalf("tables %v %v", names, err)
	}
	for _, name := range names {
		table := strings.TrimSuffix(strings.TrimPrefix(name, "data/"), ".tsv")
		if table == "endpoints" {
			continue
		}
		seen := map[string]bool{}
		for line := range strings.Lines(read(table)) {
			if !isRow(line) {
				continue
			}
			m, err := parseRow(strings.TrimRight(line, "\n"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if seen[m.ID] {
				t.Errorf("%s: %s is there twice", name, m.ID)
			}
			seen[m.ID] = true
			if m.ContextLimit <= 0 || m.OutputLimit < 0 || m.Label == "" {
				t.Errorf("%s: %+v", name, m)
			}
			if p := m.Price; p != nil && p.CachedInput != nil && *p.CachedInput > p.Input {
				t.Errorf("%s: %s: reading the cache costs more than input", name, m.ID)
			}
		}
		if d := Default(table); d != "" && Lookup(table, d).Contributor {
			t.Errorf("%s: the default %s trains on its input", name, d)
		}
	}
	for line := range strings.Lines(read("endpoints")) {
		if _, table, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && read(table) == "" {
			t.Errorf("endpoints.tsv names the table %s, which is not there", table)
		}
	}
}

func TestMetaRows(t *testing.T) {
	tests := []struct {
		id                    string
		input, cached, output string // "" when no price is published
		max, contributor      bool
	}{
		{"muse-wonder-1.0", "$4.00", "$0.20", "$20.00", true, false},
		{"muse-wonder-1.0-contributor", "", "", "", true, true},
		{"muse-wonder-full-1.0", "", "", "", true, false},
		{"muse-spark-1.3", "$1.25", "$0.15", "$4.25", true, false},
		{"muse-spark-1.3-contributor", "$0.10", "$0.002", "$0.20", true, true},
		{"muse-spark-1.2", "$1.25", "$0.15", "$4.25", false, false},
		{"muse-spark-1.1", "$1.25", "$0.15", "$4.25", false, false},
	}
	for _, tt := range tests {
		m := Lookup("meta", tt.id)
		if m.Assumed || m.ContextLimit != 1_000_000 || m.OutputLimit != 128_000 || m.Contributor != tt.contributor {
			t.Errorf("%+v", m)
		}
		hasMax := false
		for _, e := range m.Efforts {
			hasMax = hasMax || e == "max"
			if e == "none" {
				t.Errorf("%s takes effort none", tt.id)
			}
		}
		if hasMax != tt.max {
			t.Errorf("%s: effort max %v", tt.id, hasMax)
		}
		if (m.Price != nil) != (tt.input != "") {
			t.Errorf("%s: price %v", tt.id, m.Price)
			continue
		}
		if p := m.Price; p != nil && (p.Input.String() != tt.input || p.CachedInput.String() != tt.cached || p.Output.String() != tt.output) {
			t.Errorf("%s: %s %s %s", tt.id, p.Input, p.CachedInput, p.Output)
		}
	}
	if got := Default("meta"); got != "muse-wonder-1.0" {
		t.Errorf("default %q", got)
	}
}

func TestLookup(t *testing.T) {
	tests := []struct {
		name, table, id string
		assumed, priced bool
		contributor     bool
	}{
		{"exact", "anthropic", "claude-haiku-4-5-20251001", false, true, false},
		{"without the table's date", "anthropic", "claude-haiku-4-5", false, true, false},
		{"with a date", "openai", "gpt-4.1-2025-04-14", false, true, false},
		{"with another date", "anthropic", "claude-haiku-4-5-20990101", false, true, false},
		{"variant", "openrouter", "meta/muse-spark-1.3:nitro", false, false, false},
		{"contributor elsewhere", "openrouter", "meta/muse-spark-1.3-contributor", false, true, true},
		{"unknown", "openai", "llama-x", true, false, false},
		{"unknown contributor", "meta", "muse-spark-9-contributor", true, false, true},
		{"unknown table", "nobody", "x", true, false, false},
		{"table as a path", "../data/openai", "gpt-4.1", true, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := Lookup(tt.table, tt.id)
			if m.ID != tt.id || m.Assumed != tt.assumed || (m.Price != nil) != tt.priced || m.Contributor != tt.contributor || m.ContextLimit <= 0 {
				t.Errorf("%+v", m)
			}
		})
	}
	if m := Lookup("meta", ""); m.ContextLimit != 0 || m.Assumed {
		t.Errorf("no id gives %+v", m)
	}
}

func TestTableOf(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.openai.com/v1":        "openai",
		"https://API.openai.com":           "openai",
		"https://openrouter.ai/api/v1":     "openrouter",
		"https://opencode.ai/zen/v1":       "opencode-zen",
		"https://opencode.ai/zen/go/v1":    "opencode-go",
		"http://api.openai.com/v1":         "",
		"https://api.openai.com.evil.test": "",
		"http://127.0.0.1:11434/v1":        "",
		"":                                 "",
	} {
		if got := TableOf(base); got != want {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

func rate(r Rate) *Rate { return &r }

func TestCost(t *testing.T) {
	wonder := Price{Input: 4_000_000, CachedInput: rate(200_000), Output: 20_000_000}
	claude := Price{Input: 10_000_000, CachedInput: rate(250_000), CacheWrite: rate(12_500_000), Output: 50_000_000}
	tests := []struct {
		name  string
		price Price
		usage provider.Usage
		want  string
	}{
		{"nothing", wonder, provider.Usage{}, "$0.00"},
		{"one token", wonder, provider.Usage{Input: 1}, "$0.000004"},
		{"a million each", wonder, provider.Usage{Input: 1_000_000, Output: 1_000_000}, "$24.00"},
		{"cached input costs less", wonder, provider.Usage{Input: 1000, CacheRead: 900}, "$0.00058"},
		{"reasoning is part of output", wonder, provider.Usage{Output: 10, Reasoning: 10}, "$0.0002"},
		{"writes cost more", claude, provider.Usage{Input: 1000, CacheRead: 400, CacheWrite: 500, Output: 1}, "$0.0074"},
		{"no price for writes", wonder, provider.Usage{Input: 100, CacheWrite: 100}, "$0.0004"},
		{"more cached than input", wonder, provider.Usage{Input: 1, CacheRead: 5}, "$0.000001"},
		{"negative counts", wonder, provider.Usage{Input: -5, Output: -5, CacheRead: -1}, "$0.00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.price.Cost(tt.usage).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := (Price{Input: maxRate, Output: maxRate}).Cost(provider.Usage{Input: math.MaxInt64, Output: math.MaxInt64}); got != math.MaxInt64 {
		t.Errorf("overflow gives %d", got)
	}
}

func TestMoney(t *testing.T) {
	for m, want := range map[Money]struct {
		text   string
		micros int64
	}{
		0:                       {"$0.00", 0},
		1:                       {"$0.000000000001", 0},
		499_999:                 {"$0.000000499999", 0},
		500_000:                 {"$0.0000005", 1},
		Dollar:                  {"$1.00", 1_000_000},
		3*Dollar + Dollar/4:     {"$3.25", 3_250_000},
		-Dollar:                 {"-$1.00", -1_000_000},
		Money(math.MaxInt64):    {"$9223372.036854775807", 9_223_372_036_855},
		Money(math.MinInt64):    {"-$9223372.036854775808", -9_223_372_036_855},
		Dollar/1000 + 2_500_000: {"$0.0010025", 1003},
	} {
		if m.String() != want.text || m.Micros() != want.micros {
			t.Errorf("%d: %s %d, want %s %d", int64(m), m, m.Micros(), want.text, want.micros)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{"0": 0, "4": 4_000_000, "1.25": 1_250_000, "0.002": 2000, "0.000001": 1, "1.10": 1_100_000, "1000000": maxRate, "1.0000000": 1_000_000} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"", ".", ".5", "1.", "-1", "1e3", "1.0000001", "1000001", "99999999999999999999", "1.2.3", " 1", "NaN"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%q: accepted as %d", text, got)
		}
	}
}
