package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// line is a notification as it would be paged.
type line struct {
	Method, Params string
	Number         int64
}

func lines(t interface{ Fatal(...any) }, notes []Note, live bool) []line {
	out := []line{}
	for _, n := range notes {
		if n.Live && !live {
			continue
		}
		k, err := n.Keep()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line{n.Method, string(k.Params), n.Number})
	}
	return out
}

func applyAll(f *Fold, events []event.Recorded) []Note {
	var out []Note
	for _, r := range events {
		out = append(out, f.Apply(r)...)
	}
	return out
}

// TestLiveAndReplayedViewsAreOne: what a live fold says of the log, a fold over
// the log says again, cursor for cursor; so does a fold that was saved
// anywhere on the way.
func TestLiveAndReplayedViewsAreOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := session(rt)
		lived := New(testSession)
		want := lines(rt, applyAll(lived, s.events), false)

		log := throughLog(t, s.durable())
		replayed := New(testSession)
		if diff := cmp.Diff(want, lines(rt, applyAll(replayed, log), false)); diff != "" {
			rt.Fatalf("a replay differs (-live +replayed):\n%s", diff)
		}
		if diff := cmp.Diff(encoded(t, lived.State()), encoded(t, replayed.State())); diff != "" {
			rt.Fatalf("states differ (-live +replayed):\n%s", diff)
		}

		at := rapid.IntRange(0, len(log)).Draw(rt, "saved at")
		first := New(testSession)
		head := lines(rt, applyAll(first, log[:at]), false)
		saved, err := ViewOf(first, Limits{}).Save()
		if err != nil {
			rt.Fatal(err)
		}
		second, err := Restore(saved, Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		got := append(head, lines(rt, applyAll(second.Fold(), log[at:]), false)...)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("saved at %d, it goes on differently:\n%s", at, diff)
		}
	})
}

// TestAKeptViewIsTheFreshOne: a view that was kept at any instant, in the middle
// of what was only shown too, and brought up to date from the log is to the
// byte the one that a whole reading makes: what it remembers, its window, its
// histories and its pages.
func TestAKeptViewIsTheFreshOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := session(rt)
		at := rapid.IntRange(0, len(s.events)).Draw(rt, "kept at")
		until := rapid.IntRange(at, len(s.events)).Draw(rt, "read at")
		limits := Limits{Window: rapid.SampledFrom([]int{1, 3_000, 20_000, 0}).Draw(rt, "window"), Answer: rapid.SampledFrom([]int{2_000, 0}).Draw(rt, "answer")}
		log := func(events []event.Recorded) LogFrom {
			return func(from int64, yield func(event.Recorded) error) error {
				for _, r := range events {
					if r.Sequence <= from || event.FamilyOf(r.Event) == event.LiveOnly {
						continue
					}
					if err := yield(r); err != nil {
						return err
					}
				}
				return nil
			}
		}
		dir, err := os.MkdirTemp(t.TempDir(), "views")
		if err != nil {
			rt.Fatal(err)
		}
		path := filepath.Join(dir, "session.jsonl")
		if err := os.WriteFile(path, []byte("a log\n"), 0o600); err != nil {
			rt.Fatal(err)
		}
		live := NewView(testSession, limits)
		for _, r := range s.events[:at] {
			if _, err := live.Apply(r); err != nil {
				rt.Fatal(err)
			}
		}
		c := Cache{Dir: dir}
		if err := c.Keep(live, path); err != nil {
			rt.Fatal(err)
		}
		read, err := c.Read(testSession, path, log(s.events[:until]), limits)
		if err != nil {
			rt.Fatal(err)
		}
		if end := live.Fold().Record().Sequence; end > 0 && read.Saved() != end {
			rt.Fatalf("the kept view, of record %d, was not used: %d", end, read.Saved())
		}
		fresh, err := ReadLog(testSession, log(s.events[:until]), limits)
		if err != nil {
			rt.Fatal(err)
		}
		for _, preference := range []msp.HistoryPreference{msp.HistoryPreferenceAuto, msp.HistoryPreferenceAnchored, msp.HistoryPreferenceSnapshot, msp.HistoryPreferenceInline} {
			want, err := fresh.History(HistoryRequest{Preference: preference})
			if err != nil {
				rt.Fatal(err)
			}
			got, err := read.History(HistoryRequest{Preference: preference})
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" {
				rt.Fatalf("history %q (-fresh +kept):\n%s", preference, diff)
			}
		}
		for _, p := range []msp.ViewPageParams{{Limit: 3}, {Limit: 3, Direction: msp.ViewPageDirectionBackward}} {
			page := func(v *View) (msp.ViewPageResult, error) {
				out, err := v.Page(p)
				if errors.Is(err, ErrBehindWindow) {
					return PageLog(v.Fold(), log(s.events), p, limits)
				}
				return out, err
			}
			want, wantErr := page(fresh)
			got, gotErr := page(read)
			if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" || fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
				rt.Fatalf("page %+v (-fresh +kept): %v, %v\n%s", p, wantErr, gotErr, diff)
			}
		}
		want, err := fresh.Save()
		if err != nil {
			rt.Fatal(err)
		}
		got, err := read.Save()
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			rt.Fatalf("(-fresh +kept):\n%s", diff)
		}
	})
}

// TestTheTailSaysWhatTheWholeSays: what a reading of the end alone shows as ended
// is what the whole reading shows, in the same order.
func TestTheTailSaysWhatTheWholeSays(t *testing.T) {
	useful := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := session(rt)
		from := int64(rapid.IntRange(0, int(s.seq)).Draw(rt, "from"))
		tail, ok, err := ReadTail(testSession, logOf(s), from, Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		if !ok {
			return
		}
		whole := viewOf(t, s, Limits{})
		ended := func(v *View) []string {
			items, err := v.items().list()
			if err != nil {
				rt.Fatal(err)
			}
			out := []string{}
			for _, i := range items {
				if i.Status != msp.ItemStatusInProgress {
					out = append(out, encoded(t, i))
				}
			}
			return out
		}
		got, want := ended(tail), ended(whole)
		if len(got) > 0 {
			useful++
		}
		want = want[max(0, len(want)-len(got)):]
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("after record %d (-whole +tail):\n%s", from, diff)
		}
	})
	if useful == 0 {
		t.Error("no tail showed anything: the test says nothing")
	}
}

// TestRecentIsTheEndOfTheItems: what is shown of the end are the newest items
// and those of the kinds that were asked for, and nothing that is left out
// began later than said.
func TestRecentIsTheEndOfTheItems(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := viewOf(t, session(rt), Limits{})
		all, err := v.items().list()
		if err != nil {
			rt.Fatal(err)
		}
		last := rapid.IntRange(0, len(all)+1).Draw(rt, "last")
		got, from, err := v.Recent(last, msp.ItemKindUserMessage)
		if err != nil {
			rt.Fatal(err)
		}
		want := []msp.Item{}
		for n, i := range all {
			if n >= len(all)-last || i.Kind == msp.ItemKindUserMessage {
				want = append(want, i)
			}
		}
		if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" {
			rt.Fatal(diff)
		}
		if (from == 0) != (min(last, len(all)) == 0) {
			rt.Fatalf("%d items of %d begin at %d", last, len(all), from)
		}
	})
}

// TestClientsCanFoldTheView: cursors rise, notifications fit the schema, items
// begin once and end once, deltas make what is committed, and nothing stays
// open.
func TestClientsCanFoldTheView(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := session(rt)
		f := New(testSession)
		client := msptest.NewFold()
		last := int64(0)
		for _, n := range applyAll(f, s.events) {
			if n.Number <= last {
				rt.Fatalf("%s has number %d after %d", n.Method, n.Number, last)
			}
			last = n.Number
			check(t, n)
			for _, err := range client.Apply(n.Params) {
				if p, ok := n.Params.(*msp.ItemUpdatedParams); ok && p.Item.Retracted {
					continue
				}
				rt.Fatalf("%s: %v", n.Method, err)
			}
		}
		if open := client.Open(); len(open) > 0 {
			rt.Fatalf("still open: %q", open)
		}
	})
}

// TestSnapshotAndSuffixMakeTheWhole: a client that joins anywhere with a
// snapshot and reads on has the items of one that was there from the start.
func TestSnapshotAndSuffixMakeTheWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := session(rt)
		at := rapid.IntRange(0, len(s.events)).Draw(rt, "joins at")
		v := NewView(testSession, Limits{})
		apply := func(events []event.Recorded) {
			for _, r := range events {
				if _, err := v.Apply(r); err != nil {
					rt.Fatal(err)
				}
			}
		}
		apply(s.events[:at])
		snapshot, err := v.Snapshot()
		if err != nil {
			rt.Fatal(err)
		}
		number, err := v.Number(snapshot.ViewCursor)
		if err != nil {
			rt.Fatalf("the cursor of the snapshot: %v", err)
		}
		apply(s.events[at:])
		suffix, err := v.After(number)
		if err != nil {
			rt.Fatal(err)
		}
		got := splice(rt, snapshot.State.Items, suffix)
		whole, err := v.Snapshot()
		if err != nil {
			rt.Fatal(err)
		}
		want := map[string]msp.Item{}
		for _, i := range whole.State.Items {
			want[i.ItemID] = i
		}
		for id, i := range got {
			if i.Status == msp.ItemStatusInProgress {
				delete(got, id) // a reply that was never committed
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-whole +spliced):\n%s", diff)
		}
	})
}

// splice folds item notifications onto items, as a client does.
func splice(t *rapid.T, items []msp.Item, suffix []Kept) map[string]msp.Item {
	out := map[string]msp.Item{}
	for _, i := range items {
		out[i.ItemID] = i
	}
	for _, k := range suffix {
		var p struct {
			Item *msp.Item `json:"item"`
		}
		if err := json.Unmarshal(k.Params, &p); err != nil {
			t.Fatal(err)
		}
		if p.Item == nil {
			continue
		}
		if was, ok := out[p.Item.ItemID]; !ok || p.Item.Revision > was.Revision {
			out[p.Item.ItemID] = *p.Item
		}
	}
	return out
}

// TestARecordIsTakenInOnce: events that come again say nothing.
func TestARecordIsTakenInOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := session(rt).durable()
		f := New(testSession)
		applyAll(f, log)
		if again := applyAll(f, log); len(again) != 0 {
			rt.Fatalf("said again: %q", words(again))
		}
	})
}
