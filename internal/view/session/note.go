package session

import (
	"strconv"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/msp"
)

// Stride is the distance between the numbers of neighbouring records: room for
// the notifications of one record and the live-only ones after it.
const Stride = 1 << 22

// Note is one notification of the view. Its Params point at the params of its
// Method, with the position filled in, and are not shared with the fold.
type Note struct {
	msp.UnframedViewNotification

	Number int64 // in the cursor
	// At is when the record was made, µs since the Unix epoch. The emission time
	// of a live notification is a matter of the connection.
	At int64
	// Live says that no record of the log stands for the notification: it is
	// pushed, not paged, and a replay does not have it. What the params look
	// like does not tell: the end of a reply that broke off names a record too.
	Live bool
}

// Cursor spells a number as clients see it; 0 is "", before the first event.
func Cursor(sessionID string, number int64) string {
	if number == 0 {
		return ""
	}
	return "v:" + sessionID + ":" + strconv.FormatInt(number, 10)
}

// ParseCursor reads a cursor of the session; false for one that this session
// cannot have given out. Whether it was given out is for [View.Issued] to say.
func ParseCursor(sessionID, cursor string) (int64, bool) {
	if cursor == "" {
		return 0, true
	}
	digits, ok := strings.CutPrefix(cursor, "v:"+sessionID+":")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != digits {
		return 0, false
	}
	return n, true
}

// Sequence is the place in the log of the record that a number belongs to. A
// number between two records belongs to the first.
func Sequence(number int64) int64 { return number / Stride }

// LastOf is the highest number that record sequence can have: the cursor that
// is behind everything said up to there.
func LastOf(sequence int64) int64 { return (sequence+1)*Stride - 1 }

// stamp is a time of the log as the wire has it.
func stamp(at int64) string { return time.UnixMicro(at).UTC().Format(time.RFC3339Nano) }

// here is the position of the next durable notification of the current record.
func (f *Fold) here() msp.Durable { return f.since(f.position()) }

// position is the current record.
func (f *Fold) position() msp.RecordPosition {
	return msp.RecordPosition{ID: f.cur.ID, Sequence: f.cur.Sequence}
}

// since is like here for something that began with an earlier record.
func (f *Fold) since(first msp.RecordPosition) msp.Durable {
	f.given++
	return msp.Durable{
		Position: msp.Position{SessionID: f.s.Session, ViewCursor: Cursor(f.s.Session, f.cur.Sequence*Stride+f.given)},
		SourceRange: msp.SourceRange{
			Stream: msp.StreamRef{Kind: "session", ID: f.s.Session}, First: first, Last: f.position(),
		},
	}
}

// say adds a durable notification whose position came from here or since.
func (f *Fold) say(method string, params msp.View) {
	n := f.cur.Sequence*Stride + f.given
	f.s.Last, f.s.Head = n, n
	f.out = append(f.out, Note{UnframedViewNotification: msp.UnframedViewNotification{Method: method, Params: params}, Number: n, At: f.cur.At})
}

// live is the position of the next live-only notification; false when the room
// between two records is used up, which no real stream of fragments does.
func (f *Fold) live() (msp.Position, bool) {
	n := max(f.s.Last, f.s.Sequence*Stride) + 1
	if n >= (f.s.Sequence+1)*Stride {
		return msp.Position{}, false
	}
	f.s.Last = n
	return msp.Position{SessionID: f.s.Session, ViewCursor: Cursor(f.s.Session, n)}, true
}

// show adds a live-only notification whose position came from live.
func (f *Fold) show(method string, params msp.View) {
	f.out = append(f.out, Note{
		UnframedViewNotification: msp.UnframedViewNotification{Method: method, Params: params}, Number: f.s.Last, At: f.cur.At, Live: true,
	})
}
