package session

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

func typeOf2(v any) reflect.Type { return reflect.TypeOf(v) }

// long is a session of n turns with one answer each.
func long(n int) *script {
	s := newScript().begin(false)
	for i := range n {
		s.turn(fmt.Sprintf("turn-%03d", i), "prompt").add(event.AssistantMessage{MessageID: fmt.Sprintf("m-%03d", i), Text: strings.Repeat("x", 200)}).end("completed")
	}
	return s
}

func viewOf(t *testing.T, s *script, l Limits) *View {
	t.Helper()
	v := NewView(testSession, l)
	for _, r := range s.events {
		if _, err := v.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func logOf(s *script) LogFrom {
	return func(from int64, yield func(event.Recorded) error) error {
		for _, r := range s.durable() {
			if r.Sequence <= from {
				continue
			}
			if err := yield(r); err != nil {
				return err
			}
		}
		return nil
	}
}

func cursors(r msp.ViewPageResult) []string {
	var out []string
	for _, e := range r.Events {
		out = append(out, e.Params.At().ViewCursor)
	}
	return out
}

// TestPagesAreWhole pages through a session in both directions, from memory and
// from the log, and gets every durable event once, in order.
func TestPagesAreWhole(t *testing.T) {
	s := long(12)
	v := viewOf(t, s, Limits{})
	all, err := v.After(0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, k := range all {
		want = append(want, Cursor(testSession, k.Number))
	}
	small := viewOf(t, s, Limits{Window: 1500})
	if small.Whole() {
		t.Fatal("the small window holds everything")
	}
	pagers := map[string]func(msp.ViewPageParams) (msp.ViewPageResult, error){
		"memory": v.Page,
		"log": func(p msp.ViewPageParams) (msp.ViewPageResult, error) {
			return PageLog(v.Fold(), logOf(s), p, Limits{})
		},
		"both": func(p msp.ViewPageParams) (msp.ViewPageResult, error) {
			r, err := small.Page(p)
			if errors.Is(err, ErrBehindWindow) {
				return PageLog(small.Fold(), logOf(s), p, Limits{})
			}
			return r, err
		},
	}
	for name, page := range pagers {
		for _, direction := range []msp.ViewPageDirection{msp.ViewPageDirectionForward, msp.ViewPageDirectionBackward} {
			for _, limit := range []int64{1, 5, 1000} {
				var got []string
				p := msp.ViewPageParams{SessionID: testSession, Direction: direction, Limit: limit}
				for range 200 {
					r, err := page(p)
					if err != nil {
						t.Fatalf("%s %s %d: %v", name, direction, limit, err)
					}
					if err := msp.CheckType([]byte(encoded(t, r)), typeOf2(r)); err != nil {
						t.Fatal(err)
					}
					if direction == msp.ViewPageDirectionForward {
						got = append(got, cursors(r)...)
					} else {
						got = append(cursors(r), got...)
					}
					if p.Cursor = r.NextCursor; p.Cursor == nil {
						break
					}
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s %d: %d of %d events", name, direction, limit, len(got), len(want))
				}
			}
		}
	}
}

func TestPageRefusals(t *testing.T) {
	v := viewOf(t, long(2), Limits{})
	for _, cursor := range []string{"v:other:5", Cursor(testSession, 999999), Cursor(testSession, 1<<62), "nonsense", "v:" + testSession + ":007"} {
		if _, err := v.Page(msp.ViewPageParams{Limit: 1, Cursor: &cursor}); !errors.Is(err, ErrNotIssued) {
			t.Errorf("%s: %v", cursor, err)
		}
	}
	if _, err := v.Page(msp.ViewPageParams{Limit: 1, Anchor: msp.ViewPageAnchorLatestCompaction}); !errors.Is(err, ErrNoBoundary) {
		t.Errorf("anchor: %v", err)
	}
	var large *TooLargeError
	tiny := viewOf(t, long(1), Limits{Answer: 10})
	for _, d := range []msp.ViewPageDirection{msp.ViewPageDirectionForward, msp.ViewPageDirectionBackward} {
		if _, err := tiny.Page(msp.ViewPageParams{Limit: 1, Direction: d}); !errors.As(err, &large) || large.Cursor == "" {
			t.Errorf("%s: %v", d, err)
		}
	}
}

func compacted() *script {
	s := long(3)
	s.turn("turn-c", "more").add(event.CompactionInstalled{StrategyID: "s", Through: event.Cursor{Sequence: 9}})
	return s.add(event.AssistantMessage{MessageID: "tail", Text: "tail after boundary"}).end("completed")
}

func TestAnchorOfTheNewestCompaction(t *testing.T) {
	s := compacted()
	v := viewOf(t, s, Limits{})
	r, err := v.Page(msp.ViewPageParams{Limit: 2, Anchor: msp.ViewPageAnchorLatestCompaction})
	if err != nil || r.ResolvedAnchor == nil {
		t.Fatal(r, err)
	}
	boundary, ok := ParseCursor(testSession, r.ResolvedAnchor.BoundaryCursor)
	if !ok || len(r.Events) != 2 || r.Events[0].Method != msp.NoteSessionContextUsage {
		t.Fatalf("boundary %d, events %v", boundary, r.Events)
	}
	again, err := PageLog(v.Fold(), logOf(s), msp.ViewPageParams{Limit: 2, Anchor: msp.ViewPageAnchorLatestCompaction}, Limits{})
	if err != nil || encoded(t, again) != encoded(t, r) {
		t.Errorf("from the log %s, %v", encoded(t, again), err)
	}
	// A boundary may be resumed from by its name, too.
	n, err := v.Number("session:" + testSession + ":seq:9")
	if err != nil || n != boundary {
		t.Errorf("boundary by name %d, %v, want %d", n, err, boundary)
	}
}

func TestHistoryLadder(t *testing.T) {
	for name, c := range map[string]struct {
		script *script
		limits Limits
		ask    HistoryRequest
		mode   msp.HistoryMode
		reason msp.HistoryNoneReason
		items  int
	}{
		"fresh":              {newScript().begin(false), Limits{}, HistoryRequest{}, msp.HistoryModeInline, "", 0},
		"whole":              {long(3), Limits{}, HistoryRequest{}, msp.HistoryModeInline, "", 6},
		"asked for snapshot": {long(3), Limits{}, HistoryRequest{Preference: msp.HistoryPreferenceSnapshot}, msp.HistoryModeSnapshot, "", 6},
		"anchored":           {compacted(), Limits{}, HistoryRequest{}, msp.HistoryModeAnchoredSnapshot, "", 1},
		"asked for inline":   {compacted(), Limits{}, HistoryRequest{Preference: msp.HistoryPreferenceInline}, msp.HistoryModeInline, "", 9},
		"nothing to anchor":  {long(3), Limits{}, HistoryRequest{Preference: msp.HistoryPreferenceAnchored}, msp.HistoryModeInline, "", 6},
		"too much":           {long(30), Limits{Answer: 4000}, HistoryRequest{}, msp.HistoryModeSnapshot, "", 7},
		"far too much":       {long(3), Limits{Answer: 10}, HistoryRequest{}, msp.HistoryModeNone, msp.HistoryNoneReasonHistoryBudget, 0},
		"excluded":           {long(3), Limits{}, HistoryRequest{Exclude: true}, msp.HistoryModeNone, msp.HistoryNoneReasonExcluded, 0},
		"suffix":             {long(3), Limits{}, HistoryRequest{Suffix: true}, msp.HistoryModeNone, msp.HistoryNoneReasonCursorSuffix, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, c.script, c.limits)
			h, err := v.History(c.ask)
			if err != nil {
				t.Fatal(err)
			}
			if err := msp.CheckType([]byte(encoded(t, h)), typeOf2(h)); err != nil {
				t.Error(err)
			}
			items := 0
			switch {
			case h.Items != nil:
				items = len(*h.Items)
			case h.Snapshot != nil:
				items = len(h.Snapshot.State.Items)
				if h.Snapshot.ViewCursor != v.Fold().Cursor() {
					t.Errorf("snapshot at %s, head %s", h.Snapshot.ViewCursor, v.Fold().Cursor())
				}
			}
			if h.Mode != c.mode || h.NoneReason != c.reason || items != c.items {
				t.Errorf("mode %s, reason %q, %d items; want %s, %q, %d", h.Mode, h.NoneReason, items, c.mode, c.reason, c.items)
			}
			if (h.Mode == msp.HistoryModeAnchoredSnapshot) != (h.Snapshot != nil && h.Snapshot.Anchor != nil) {
				t.Errorf("anchor %+v", h.Snapshot)
			}
		})
	}
}

// TestMemoryDoesNotGrow: after many turns a view holds its window and what is
// open, nothing else.
func TestMemoryDoesNotGrow(t *testing.T) {
	v := NewView(testSession, Limits{Window: 64 << 10})
	size := func() int {
		raw, err := ViewOf(v.Fold(), Limits{}).Save()
		if err != nil {
			t.Fatal(err)
		}
		return len(raw)
	}
	early := 0
	for i, r := range long(1000).events {
		if _, err := v.Apply(r); err != nil {
			t.Fatal(err)
		}
		if i == 200 {
			early = size()
		}
	}
	if v.bytes > 64<<10 || len(v.window()) > 1000 || cap(v.kept) > 4000 {
		t.Errorf("the window holds %d bytes in %d of %d places", v.bytes, len(v.window()), cap(v.kept))
	}
	if late := size(); late > early+1024 {
		t.Errorf("the fold grew from %d to %d bytes", early, late)
	}
}
