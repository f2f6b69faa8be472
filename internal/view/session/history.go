package session

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
)

// snapshotSchema is the schema of snapshots (MSP.md 6).
const snapshotSchema = 1

// HistoryRequest says what past a client would like.
type HistoryRequest struct {
	Exclude    bool
	Suffix     bool // the client gave a cursor: it gets what follows instead
	Preference msp.HistoryPreference
}

// History is the past of the session on the highest rung of the ladder that
// fits one answer: anchored snapshot, whole list, snapshot, snapshot without
// the outputs that can be fetched and without the oldest items, nothing
// (MSP.md 6, History modes).
func (v *View) History(q HistoryRequest) (msp.SessionHistory, error) {
	switch {
	case q.Suffix:
		return none(msp.HistoryNoneReasonCursorSuffix), nil
	case q.Exclude:
		return none(msp.HistoryNoneReasonExcluded), nil
	}
	items := v.items()
	room := v.limits.Answer
	anchored := q.Preference == msp.HistoryPreferenceAnchored || q.Preference == msp.HistoryPreferenceAuto || q.Preference == ""
	if b := v.fold.s.Boundary; anchored && b > 0 && b >= v.gone {
		after := items.after(b)
		if after.size() <= room {
			s, err := v.snapshot(after)
			if err != nil {
				return msp.SessionHistory{}, err
			}
			s.Anchor = &msp.SnapshotAnchor{BoundaryCursor: Cursor(v.fold.s.Session, b), SummarizedThrough: v.fold.s.Summarised}
			return msp.SessionHistory{Mode: msp.HistoryModeAnchoredSnapshot, Snapshot: s}, nil
		}
	}
	if v.Whole() && items.size() <= room {
		if q.Preference != msp.HistoryPreferenceSnapshot {
			list, err := items.list()
			return msp.SessionHistory{Mode: msp.HistoryModeInline, Items: &list}, err
		}
		s, err := v.snapshot(items)
		return msp.SessionHistory{Mode: msp.HistoryModeSnapshot, Snapshot: s}, err
	}
	items, err := items.elided(room)
	if err != nil {
		return msp.SessionHistory{}, err
	}
	if len(items) == 0 {
		return none(msp.HistoryNoneReasonHistoryBudget), nil
	}
	s, err := v.snapshot(items)
	return msp.SessionHistory{Mode: msp.HistoryModeSnapshot, Snapshot: s}, err
}

func none(why msp.HistoryNoneReason) msp.SessionHistory {
	return msp.SessionHistory{Mode: msp.HistoryModeNone, NoneReason: why}
}

// Snapshot is the view at its head with every item that is in memory.
func (v *View) Snapshot() (*msp.ViewSnapshot, error) { return v.snapshot(v.items()) }

func (v *View) snapshot(items holding) (*msp.ViewSnapshot, error) {
	list, err := items.list()
	if err != nil {
		return nil, err
	}
	s := &msp.ViewSnapshot{SchemaVersion: snapshotSchema, State: v.fold.State(), ViewCursor: v.fold.Cursor()}
	s.State.Items = list
	return s, nil
}

// held is an item at its newest revision, and where that was said. item is nil
// as long as nobody needed more than that.
type held struct {
	id       string
	kind     msp.ItemKind
	revision int64
	raw      jsontext.Value // params that show the item
	item     *msp.Item
	first    int64 // number of the notification that showed it first
	number   int64
	bytes    int
}

type holding []held

// items are the items of the window in the order in which they were first
// shown; those in progress hold what was shown of them so far.
func (v *View) items() holding {
	var out holding
	place := map[string]int{}
	put := func(h held) {
		if i, ok := place[h.id]; ok {
			if h.revision >= out[i].revision {
				h.first = out[i].first
				out[i] = h
			}
			return
		}
		place[h.id] = len(out)
		out = append(out, h)
	}
	for _, k := range v.window() {
		if k.Item != "" {
			put(held{
				id: k.Item, kind: msp.ItemKind(k.Kind), revision: k.Revision, raw: k.Params, first: k.Number, number: k.Number, bytes: len(k.Params),
			})
		}
	}
	for _, o := range v.fold.openItems() {
		size := 512 + len(o.Item.Args) + len(deref(o.Item.VisibleOutput)) + len(deref(o.Item.Text))
		put(held{
			id: o.Item.ItemID, kind: o.Item.Kind, revision: o.Item.Revision, item: &o.Item,
			first: o.First.Sequence * Stride, number: v.fold.s.Last, bytes: size,
		})
	}
	return out
}

// decoded is the item itself.
func (h held) decoded() (msp.Item, error) {
	if h.item != nil {
		return *h.item, nil
	}
	var p struct {
		Item msp.Item `json:"item"`
	}
	err := json.Unmarshal(h.raw, &p)
	return p.Item, err
}

// after are the items that ended after number, or have not ended.
func (h holding) after(number int64) holding {
	var out holding
	for _, i := range h {
		if i.number > number {
			out = append(out, i)
		}
	}
	return out
}

func (h holding) size() int {
	n := 0
	for _, i := range h {
		n += i.bytes
	}
	return n
}

func (h holding) list() ([]msp.Item, error) {
	out := make([]msp.Item, 0, len(h))
	for _, i := range h {
		item, err := i.decoded()
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// elided fits the items into room: outputs that are kept in a file go first,
// then the oldest items.
func (h holding) elided(room int) (holding, error) {
	n := 0
	at := len(h)
	out := slices.Clone(h)
	for ; at > 0; at-- {
		i := &out[at-1]
		item, err := i.decoded()
		if err != nil {
			return nil, err
		}
		if item.OutputRef != nil && item.VisibleOutput != nil {
			i.bytes -= len(*item.VisibleOutput)
			item.VisibleOutput, item.Truncated = nil, true
		}
		i.item = &item
		if n += i.bytes; n > room {
			break
		}
	}
	return out[at:], nil
}

// Recent is the end of the history for somebody who shows no more than that:
// the newest last items of the window, and of the ones before them those of the
// given kinds, in the order in which they were first shown. from is the oldest
// record that any of the newest last ones came from, so that what else the log
// says of them can be read; 0 without items.
func (v *View) Recent(last int, kinds ...msp.ItemKind) (items []msp.Item, from int64, err error) {
	all := v.items()
	newest := max(0, len(all)-last)
	var out holding
	for n, h := range all {
		if n >= newest || slices.Contains(kinds, h.kind) {
			out = append(out, h)
		}
		if at := Sequence(h.first); n >= newest && (from == 0 || at < from) {
			from = at
		}
	}
	items, err = out.list()
	return items, from, err
}
