// Package models knows what models can do and what they cost: context and
// output limits, prices, reasoning levels, whether they take pictures, whether
// their provider trains on what they are given.
//
// Meta's rows are written by hand; all others are generated from a maintained
// catalogue by tools/models. Each service's rows are one embedded file, which
// is only read when that service is asked for, and only up to the row wanted.
// Settings can add to and correct the tables; that is the caller's part.
package models

import (
	"embed"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

//go:embed data/*.tsv
var data embed.FS

// Model is what is known about one model.
type Model struct {
	ID    string
	Label string
	// ContextLimit and OutputLimit are in tokens; an OutputLimit of 0 is not
	// known.
	ContextLimit, OutputLimit int64
	// Price is nil when no price is published or known.
	Price *Price
	// Efforts are the reasoning levels the model is listed with, lowest first;
	// empty when it has none or they are not known.
	Efforts       []string
	DefaultEffort string
	// NoReasoning models take no effort at all.
	NoReasoning bool
	Images      bool
	// Contributor models are those whose provider trains on their input and
	// output.
	Contributor bool
	// Assumed models are in no table: their limits are a careful guess.
	Assumed bool
	Table   string // the service whose row this is, "" when assumed
}

// assumedContext and assumedOutput are what models in no table are taken to
// have: nearly every current model has as much.
const (
	assumedContext = 128_000
	assumedOutput  = 16_384
)

// The columns of a table file, separated by tabs. Prices are dollars for a
// million tokens, empty where unknown; flags are letters: i takes images, n
// takes no reasoning effort, c contributor.
const (
	colID = iota
	colContext
	colOutput
	colInput
	colCached
	colWrite
	colOutputPrice
	colEfforts
	colDefaultEffort
	colFlags
	colLabel
	columns
)

// Lookup is the model with this id in a service's table. An id that the table
// has only with or without its date ("-20250929", "-2026-01-31") or variant
// (":free") finds that row's limits. Anything else gets assumed metadata.
func Lookup(table, id string) Model {
	if id == "" {
		return Model{}
	}
	text := read(table)
	if m, ok := find(text, table, func(row string) bool { return row == id }); ok {
		return m
	}
	bare, variant, _ := strings.Cut(id, ":")
	undated := withoutDate(bare)
	m, ok := find(text, table, func(row string) bool { return row == bare || row == undated || withoutDate(row) == undated })
	if !ok {
		return Model{ID: id, Label: id, ContextLimit: assumedContext, OutputLimit: assumedOutput, Assumed: true, Contributor: isContributor(id)}
	}
	m.ID = id
	if variant != "" {
		// Variants have prices of their own.
		m.Price = nil
	}
	return m
}

// IDs lists a service's models in the table's order.
func IDs(table string) []string {
	var ids []string
	for line := range strings.Lines(read(table)) {
		if isRow(line) {
			id, _, _ := strings.Cut(line, "\t")
			ids = append(ids, id)
		}
	}
	return ids
}

// Default is the catalogue's choice of a service's model for hard work, "" for
// an unknown service.
func Default(table string) string {
	for line := range strings.Lines(read(table)) {
		if rest, ok := strings.CutPrefix(line, "#default\t"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// TableOf names the table of the service at a base URL, "" when none is known.
// Services that share a host are told apart by path.
func TableOf(baseURL string) string {
	best, bestLen := "", -1
	for line := range strings.Lines(read("endpoints")) {
		address, table, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		shared := sharedPath(address, baseURL)
		if shared > bestLen {
			best, bestLen = table, shared
		}
	}
	return best
}

// sharedPath counts the leading path elements that two URLs of one origin have
// in common; -1 means that the origins differ.
func sharedPath(a, b string) int {
	ua, errA := url.Parse(a)
	ub, errB := url.Parse(b)
	if errA != nil || errB != nil || ua.Scheme != ub.Scheme || !strings.EqualFold(ua.Host, ub.Host) || ua.Host == "" {
		return -1
	}
	pa, pb := strings.Split(strings.Trim(ua.Path, "/"), "/"), strings.Split(strings.Trim(ub.Path, "/"), "/")
	n := 0
	for n < len(pa) && n < len(pb) && pa[n] == pb[n] {
		n++
	}
	return n
}

// isContributor follows the naming rule of seed 001: such models end in
// "-contributor".
func isContributor(id string) bool {
	bare, _, _ := strings.Cut(id, ":")
	return strings.HasSuffix(bare, "-contributor")
}

func read(table string) string {
	if table == "" || strings.ContainsAny(table, `/\.`) {
		return ""
	}
	text, err := data.ReadFile("data/" + table + ".tsv")
	if err != nil {
		// The files are part of the binary: the only failure is a name that is
		// none of theirs.
		return ""
	}
	return string(text)
}

func isRow(line string) bool { return line != "" && line[0] != '#' && line[0] != '\n' }

// find parses the first row whose id fits.
func find(text, table string, fits func(id string) bool) (Model, bool) {
	for line := range strings.Lines(text) {
		if !isRow(line) {
			continue
		}
		id, _, _ := strings.Cut(line, "\t")
		if !fits(id) {
			continue
		}
		m, err := parseRow(strings.TrimRight(line, "\n"))
		if err != nil {
			// A test reads every row of every file.
			return Model{}, false
		}
		m.Table = table
		return m, true
	}
	return Model{}, false
}

func parseRow(line string) (Model, error) {
	f := strings.Split(line, "\t")
	if len(f) != columns {
		return Model{}, fmt.Errorf("model row %q has %d columns, want %d", f[0], len(f), columns)
	}
	m := Model{ID: f[colID], Label: f[colLabel], DefaultEffort: f[colDefaultEffort]}
	var err error
	if m.ContextLimit, err = strconv.ParseInt(f[colContext], 10, 64); err != nil {
		return m, fmt.Errorf("model row %q: context limit: %w", m.ID, err)
	}
	if m.OutputLimit, err = strconv.ParseInt(f[colOutput], 10, 64); err != nil {
		return m, fmt.Errorf("model row %q: output limit: %w", m.ID, err)
	}
	if f[colEfforts] != "" {
		m.Efforts = strings.Split(f[colEfforts], ",")
	}
	m.Images = strings.Contains(f[colFlags], "i")
	m.NoReasoning = strings.Contains(f[colFlags], "n")
	m.Contributor = strings.Contains(f[colFlags], "c") || isContributor(m.ID)
	if f[colInput] == "" {
		return m, nil
	}
	m.Price = &Price{}
	for _, one := range []struct {
		text     string
		required *Rate
		optional **Rate
	}{
		{f[colInput], &m.Price.Input, nil}, {f[colOutputPrice], &m.Price.Output, nil},
		{f[colCached], nil, &m.Price.CachedInput}, {f[colWrite], nil, &m.Price.CacheWrite},
	} {
		if one.text == "" && one.optional != nil {
			continue
		}
		rate, err := ParseRate(one.text)
		if err != nil {
			return m, fmt.Errorf("model row %q: price: %w", m.ID, err)
		}
		if one.optional != nil {
			*one.optional = &rate
		} else {
			*one.required = rate
		}
	}
	return m, nil
}

// withoutDate cuts a trailing release date.
func withoutDate(id string) string {
	for _, form := range []string{"-dddddddd", "-dddd-dd-dd"} {
		at := len(id) - len(form)
		if at > 0 && slices.EqualFunc([]byte(id[at:]), []byte(form), func(c, f byte) bool {
			return f == '-' && c == '-' || f == 'd' && c >= '0' && c <= '9'
		}) {
			return id[:at]
		}
	}
	return id
}
