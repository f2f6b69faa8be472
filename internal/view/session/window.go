package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

// Kept is a durable notification in its encoded form.
type Kept struct {
	Method string
	Params jsontext.Value
	Number int64
	At     int64 // µs, of the record
	// Item, Kind and Revision are those of the item that the notification
	// shows, so that finding one does not take decoding all; "" for others.
	Item, Kind string
	Revision   int64
}

// Keep encodes a notification.
func (n Note) Keep() (Kept, error) {
	// The texts of a log are UTF-8; those of a session without one may not be.
	raw, err := json.Marshal(n.Params, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return Kept{}, fmt.Errorf("encode %s: %w", n.Method, err)
	}
	k := Kept{Method: n.Method, Params: raw, Number: n.Number, At: n.At}
	if i := n.item(); i != nil {
		k.Item, k.Kind, k.Revision = i.ItemID, string(i.Kind), i.Revision
	}
	return k, nil
}

// item is the item that the notification shows, nil for none.
func (n Note) item() *msp.Item {
	switch p := n.Params.(type) {
	case *msp.ItemStartedParams:
		return &p.Item
	case *msp.ItemUpdatedParams:
		return &p.Item
	case *msp.ItemCompletedParams:
		return &p.Item
	}
	return nil
}

// Limits bound a view's memory and what one answer may hold.
type Limits struct {
	// Window is how many bytes of encoded notifications stay in memory.
	Window int
	// Answer is how many bytes of history or of a page one answer may hold; a
	// frame has little more room (MSP.md 2).
	Answer int
}

// DefaultLimits fit a frame of 10 MiB.
func DefaultLimits() Limits { return Limits{Window: 8 << 20, Answer: 8 << 20} }

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	if l.Window <= 0 {
		l.Window = d.Window
	}
	if l.Answer <= 0 {
		l.Answer = d.Answer
	}
	return l
}

// View is a fold with the newest part of what it said. It is for one
// goroutine.
type View struct {
	fold   *Fold
	limits Limits
	kept   []Kept // oldest first
	from   int    // kept before it are let go
	bytes  int
	// gone is the number of the newest notification that is not kept any more,
	// 0 when all of them are.
	gone  int64
	saved int64 // newest record that the cache holds
}

// NewView is the view of a session of which nothing has been read.
func NewView(sessionID string, limits Limits) *View { return ViewOf(New(sessionID), limits) }

// ViewOf goes on with a fold. What the fold said before is not kept.
func ViewOf(f *Fold, limits Limits) *View {
	return &View{fold: f, limits: limits.orDefault(), gone: f.s.Head}
}

// Fold is the view's fold; it must not be fed past the view.
func (v *View) Fold() *Fold { return v.fold }

// Apply takes in one event and returns what it says to viewers.
func (v *View) Apply(r event.Recorded) ([]Note, error) {
	notes := v.fold.Apply(r)
	for _, n := range notes {
		if n.Live {
			continue
		}
		k, err := n.Keep()
		if err != nil {
			return nil, err
		}
		v.kept = append(v.kept, k)
		v.bytes += len(k.Params)
	}
	v.shrink()
	return notes, nil
}

// shrink lets the oldest go; the newest stays whatever its size.
func (v *View) shrink() {
	for v.bytes > v.limits.Window && v.from < len(v.kept)-1 {
		v.bytes -= len(v.kept[v.from].Params)
		v.gone = v.kept[v.from].Number
		v.kept[v.from] = Kept{}
		v.from++
	}
	if v.from > len(v.kept)/2 && v.from > 64 {
		v.kept = append([]Kept(nil), v.kept[v.from:]...)
		v.from = 0
	}
}

// window is what is kept, oldest first.
func (v *View) window() []Kept { return v.kept[v.from:] }

// Newest is what is kept in memory, oldest first. It is not to be changed.
func (v *View) Newest() []Kept { return slices.Clip(v.window()) }

// Whole says that nothing was let go.
func (v *View) Whole() bool { return v.gone == 0 }

// Earliest is the cursor from which everything after it is in memory; "" is the
// beginning.
func (v *View) Earliest() string { return Cursor(v.fold.s.Session, v.gone) }

// What pages and cursors are refused for.
var (
	// ErrNotIssued is a cursor that this session never gave out.
	ErrNotIssued = errors.New("the cursor was not given out by this session")
	// ErrBehindWindow is a request for what is not in memory any more; it has
	// to be folded from the log.
	ErrBehindWindow = errors.New("the requested events are no longer in memory")
	// ErrNoBoundary is a request for the newest compaction where there is none.
	ErrNoBoundary = errors.New("the session was never compacted")
)

// Number finds the place that a client names: a cursor it was given, or the
// name of a compaction's boundary (MSP.md 13, Item.summarizedThrough).
func (v *View) Number(cursor string) (int64, error) { return v.fold.Number(cursor) }

// Number is like [View.Number].
func (f *Fold) Number(cursor string) (int64, error) {
	if n, ok := f.s.BoundaryMark[cursor]; ok {
		return n, nil
	}
	n, ok := ParseCursor(f.s.Session, cursor)
	if ok && (n == 0 || (Sequence(n) >= 1 && Sequence(n) <= f.s.Sequence)) {
		return n, nil
	}
	return 0, fmt.Errorf("%w: %q", ErrNotIssued, clipped(cursor))
}

func clipped(s string) string {
	s, _ = clip(s, 120)
	return s
}

// After is every durable notification after number, oldest first; an error
// wrapping ErrBehindWindow when some are not in memory ([LogAfter]).
func (v *View) After(number int64) ([]Kept, error) {
	if number < v.gone {
		return nil, ErrBehindWindow
	}
	all := v.window()
	for i, k := range all {
		if k.Number > number {
			return append([]Kept(nil), all[i:]...), nil
		}
	}
	return nil, nil
}

// LogFrom replays the kept events of a session after the sequence from, in log
// order. It returns yield's error.
type LogFrom func(from int64, yield func(event.Recorded) error) error

// ReadLog folds a whole log.
func ReadLog(sessionID string, log LogFrom, limits Limits) (*View, error) {
	v := NewView(sessionID, limits)
	err := log(0, func(r event.Recorded) error {
		_, err := v.Apply(r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fold the log of session %s: %w", sessionID, err)
	}
	return v, nil
}

// ReadTail folds the records after from alone, so that the end of a long log can
// be shown before the whole is read: what its items are is what a whole reading
// says, what the session is as a whole is not known. It begins with the first
// turn whose prompt is there. ok is false when the records say something of a
// turn or a command whose beginning is not, and then the view is worth nothing.
func ReadTail(sessionID string, log LogFrom, from int64, limits Limits) (v *View, ok bool, err error) {
	v = NewView(sessionID, limits)
	accepted := map[string]bool{}
	begun, unknown := false, false
	err = log(from, func(r event.Recorded) error {
		switch b := r.Body.(type) {
		case event.IntentAccepted:
			accepted[b.IntentID] = true
		case event.RunStarted:
			begun = begun || accepted[r.Run]
		case event.UserShellCommand:
			accepted[b.CommandID] = true
		case event.UserShellResult:
			unknown = unknown || begun && !accepted[b.CommandID]
		case event.UserShellRejected:
			unknown = unknown || begun && !accepted[b.CommandID]
		}
		if _, intent := r.Body.(event.IntentAccepted); !begun && !intent {
			return nil
		}
		if unknown || r.Run != "" && !accepted[r.Run] {
			return errEnough
		}
		_, err := v.Apply(r)
		return err
	})
	if errors.Is(err, errEnough) {
		return v, false, nil
	}
	if err != nil {
		return v, false, fmt.Errorf("fold the end of the log of session %s: %w", sessionID, err)
	}
	return v, begun, nil
}

// LogAfter yields every durable notification of a log after number, oldest
// first. It returns yield's error.
func LogAfter(sessionID string, log LogFrom, number int64, yield func(Kept) error) error {
	f := New(sessionID)
	return log(0, func(r event.Recorded) error {
		for _, n := range f.Apply(r) {
			if n.Live || n.Number <= number {
				continue
			}
			k, err := n.Keep()
			if err != nil {
				return err
			}
			if err := yield(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// rawView is encoded params as a page carries them.
type rawView struct {
	position msp.Position
	raw      jsontext.Value
}

// At implements msp.View.
func (r *rawView) At() *msp.Position { return &r.position }

// MarshalJSONTo implements json.MarshalerTo.
func (r *rawView) MarshalJSONTo(enc *jsontext.Encoder) error { return enc.WriteValue(r.raw) }

func (k Kept) unframed(sessionID string) msp.UnframedViewNotification {
	return msp.UnframedViewNotification{
		Method: k.Method,
		Params: &rawView{msp.Position{SessionID: sessionID, ViewCursor: Cursor(sessionID, k.Number)}, k.Params},
	}
}
