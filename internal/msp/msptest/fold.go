package msptest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/msp"
)

// Fold is the view of one session as a client builds it from what is pushed
// (MSP.md 6, Item state machine and Turn state machine).
type Fold struct {
	items map[string]*item
	turns map[string]msp.TurnTerminal // "" while it runs
	// partial is set after a gap: what is missing may explain what is odd.
	partial bool
}

type item struct {
	msp.Item
	started bool              // an item/started was seen, so every delta was too
	deltas  map[string]string // by field
}

// NewFold is an empty view.
func NewFold() *Fold {
	return &Fold{items: make(map[string]*item), turns: make(map[string]msp.TurnTerminal)}
}

// Gap notes that events are missing.
func (f *Fold) Gap() {
	f.partial = true
	f.items = make(map[string]*item)
}

// Item returns what is known of an item.
func (f *Fold) Item(id string) (msp.Item, bool) {
	i, ok := f.items[id]
	if !ok {
		return msp.Item{}, false
	}
	return i.Item, true
}

// Apply takes the params of a notification and says what is wrong with it at
// this point. What does not concern items and turns is passed over.
func (f *Fold) Apply(params any) []error {
	switch p := params.(type) {
	case *msp.ItemStartedParams:
		return f.itemStarted(p.Item)
	case *msp.ItemUpdatedParams:
		return f.itemChanged(p.Item, false)
	case *msp.ItemCompletedParams:
		return f.itemChanged(p.Item, true)
	case *msp.ItemDeltaParams:
		return f.delta(p)
	case *msp.TurnStartedParams:
		return f.turnStarted(p.TurnID)
	case *msp.TurnCompletedParams:
		return f.turnCompleted(p)
	case *msp.TurnUnqueuedParams:
		if _, began := f.turns[p.TurnID]; began {
			return faults("turn %s was unqueued after it began", p.TurnID)
		}
	}
	return nil
}

func faults(format string, args ...any) []error { return []error{fmt.Errorf(format, args...)} }

func (f *Fold) itemStarted(it msp.Item) []error {
	if _, known := f.items[it.ItemID]; known {
		return faults("item %s began twice", it.ItemID)
	}
	f.items[it.ItemID] = &item{Item: it, started: true, deltas: make(map[string]string)}
	if it.Revision != 1 || it.Status != msp.ItemStatusInProgress {
		return faults("item %s begins with revision %d and status %s", it.ItemID, it.Revision, it.Status)
	}
	if it.Kind == msp.ItemKindAgentMessage && (it.Text == nil || *it.Text != "") {
		return faults("message %s does not begin empty", it.ItemID)
	}
	return nil
}

func (f *Fold) itemChanged(it msp.Item, last bool) []error {
	known, ok := f.items[it.ItemID]
	if !ok {
		known = &item{deltas: make(map[string]string)}
		f.items[it.ItemID] = known
	}
	var out []error
	if ok && it.Revision <= known.Revision {
		out = append(out, fmt.Errorf("item %s has revision %d after %d", it.ItemID, it.Revision, known.Revision))
	}
	// An item that has ended may still change, as a retracted prompt does; only
	// item/completed ends it.
	ends := it.Status != msp.ItemStatusInProgress && (!ok || known.Status == msp.ItemStatusInProgress)
	if last && it.Status == msp.ItemStatusInProgress || !last && ends && !f.partial {
		out = append(out, fmt.Errorf("item %s has status %s", it.ItemID, it.Status))
	}
	if ok && known.Kind != it.Kind {
		out = append(out, fmt.Errorf("item %s changed from %s to %s", it.ItemID, known.Kind, it.Kind))
	}
	if last && known.started && !it.Truncated {
		out = append(out, compareDeltas(known.deltas, it)...)
	}
	known.Item = it
	return out
}

// compareDeltas holds that what was streamed is what was committed.
func compareDeltas(deltas map[string]string, it msp.Item) []error {
	var out []error
	for field, text := range deltas {
		if want := fieldOf(it, field); want != text {
			out = append(out, fmt.Errorf("deltas of %s.%s make %.200q, committed was %.200q", it.ItemID, field, text, want))
		}
	}
	return out
}

// fieldOf is the text that deltas of a field append to (MSP.md 8, item/delta).
func fieldOf(it msp.Item, field string) string {
	value := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if n, ok := strings.CutPrefix(field, "summary."); ok {
		if i, err := strconv.Atoi(n); err == nil && i >= 0 && i < len(it.Summary) {
			return it.Summary[i]
		}
		return ""
	}
	if field == "output" {
		return value(it.VisibleOutput)
	}
	return value(it.Text)
}

func (f *Fold) delta(p *msp.ItemDeltaParams) []error {
	known, ok := f.items[p.ItemID]
	if !ok {
		if f.partial {
			return nil
		}
		return faults("a delta of the unknown item %s", p.ItemID)
	}
	if known.Status != msp.ItemStatusInProgress {
		return faults("a delta of the item %s, which is %s", p.ItemID, known.Status)
	}
	field := p.Field
	if field == "" {
		field = "text"
	}
	known.deltas[field] += p.Delta
	return nil
}

func (f *Fold) turnStarted(id string) []error {
	if _, known := f.turns[id]; known {
		return faults("turn %s began twice", id)
	}
	f.turns[id] = ""
	return nil
}

func (f *Fold) turnCompleted(p *msp.TurnCompletedParams) []error {
	terminal, began := f.turns[p.TurnID]
	f.turns[p.TurnID] = p.Terminal
	switch {
	case terminal != "":
		return faults("turn %s ended twice", p.TurnID)
	case !began && !f.partial && (p.Error == nil || p.Error.Kind != msp.TurnErrorKindLaunchError):
		return faults("turn %s ended and never began", p.TurnID)
	case p.Terminal == msp.TurnTerminalFailed && p.Error == nil && p.Reason == "":
		return faults("turn %s failed without error or reason", p.TurnID)
	}
	return nil
}

// Open lists what began and did not end, sorted.
func (f *Fold) Open() []string {
	var out []string
	for id, i := range f.items {
		if i.Status == msp.ItemStatusInProgress {
			out = append(out, fmt.Sprintf("item %s (%s)", id, i.Kind))
		}
	}
	for id, terminal := range f.turns {
		if terminal == "" {
			out = append(out, "turn "+id)
		}
	}
	slices.Sort(out)
	return out
}
