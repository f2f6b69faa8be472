package session

import (
	"github.com/go-json-experiment/json"

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
	items, err := v.items()
	if err != nil {
		return msp.SessionHistory{}, err
	}
	room := v.limits.Answer
	anchored := q.Preference == msp.HistoryPreferenceAnchored || q.Preference == msp.HistoryPreferenceAuto || q.Preference == ""
	if b := v.fold.s.Boundary; anchored && b > 0 && b >= v.gone {
		after := items.after(b)
		if after.size() <= room {
			s := v.snapshot(after.list())
			s.Anchor = &msp.SnapshotAnchor{BoundaryCursor: Cursor(v.fold.s.Session, b), SummarizedThrough: v.fold.s.Summarised}
			return msp.SessionHistory{Mode: msp.HistoryModeAnchoredSnapshot, Snapshot: s}, nil
		}
	}
	if v.Whole() && items.size() <= room {
		if q.Preference != msp.HistoryPreferenceSnapshot {
			list := items.list()
			return msp.SessionHistory{Mode: msp.HistoryModeInline, Items: &list}, nil
		}
		return msp.SessionHistory{Mode: msp.HistoryModeSnapshot, Snapshot: v.snapshot(items.list())}, nil
	}
	items = items.elided(room)
	if len(items) == 0 {
		return none(msp.HistoryNoneReasonHistoryBudget), nil
	}
	return msp.SessionHistory{Mode: msp.HistoryModeSnapshot, Snapshot: v.snapshot(items.list())}, nil
}

func none(why msp.HistoryNoneReason) msp.SessionHistory {
	return msp.SessionHistory{Mode: msp.HistoryModeNone, NoneReason: why}
}

// Snapshot is the view at its head with every item that is in memory.
func (v *View) Snapshot() (*msp.ViewSnapshot, error) {
	items, err := v.items()
	if err != nil {
		return nil, err
	}
	return v.snapshot(items.list()), nil
}

func (v *View) snapshot(items []msp.Item) *msp.ViewSnapshot {
	s := &msp.ViewSnapshot{SchemaVersion: snapshotSchema, State: v.fold.State(), ViewCursor: v.fold.Cursor()}
	s.State.Items = items
	return s
}

// held is an item at its newest revision, and where that was said.
type held struct {
	item   msp.Item
	number int64
	bytes  int
}

type holding []held

// items are the items of the window in the order in which they were first
// shown; those in progress hold what was shown of them so far.
func (v *View) items() (holding, error) {
	var out holding
	place := map[string]int{}
	put := func(h held) {
		if i, ok := place[h.item.ItemID]; ok {
			if h.item.Revision >= out[i].item.Revision {
				out[i] = h
			}
			return
		}
		place[h.item.ItemID] = len(out)
		out = append(out, h)
	}
	for _, k := range v.window() {
		switch k.Method {
		case msp.NoteItemStarted, msp.NoteItemUpdated, msp.NoteItemCompleted:
		default:
			continue
		}
		var p struct {
			Item msp.Item `json:"item"`
		}
		if err := json.Unmarshal(k.Params, &p); err != nil {
			return nil, err
		}
		put(held{p.Item, k.Number, len(k.Params)})
	}
	for _, item := range v.fold.openItems() {
		number := v.fold.s.Last
		size := 512 + len(item.Args) + len(deref(item.VisibleOutput)) + len(deref(item.Text))
		put(held{item, number, size})
	}
	return out, nil
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

func (h holding) list() []msp.Item {
	out := make([]msp.Item, 0, len(h))
	for _, i := range h {
		out = append(out, i.item)
	}
	return out
}

// elided fits the items into room: outputs that are kept in a file go first,
// then the oldest items.
func (h holding) elided(room int) holding {
	out := make(holding, 0, len(h))
	for _, i := range h {
		if i.item.OutputRef != nil && i.item.VisibleOutput != nil {
			i.bytes -= len(*i.item.VisibleOutput)
			i.item.VisibleOutput, i.item.Truncated = nil, true
		}
		out = append(out, i)
	}
	n := out.size()
	for len(out) > 0 && n > room {
		n -= out[0].bytes
		out = out[1:]
	}
	return out
}
