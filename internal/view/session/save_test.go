package session

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/event"
)

// counted is a log that says how many of its events were read.
func counted(s *script, reads *int) LogFrom {
	return func(from int64, yield func(event.Recorded) error) error {
		for _, r := range s.durable() {
			if r.Sequence <= from {
				continue
			}
			*reads++
			if err := yield(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestCacheSavesReading: a kept view is brought up to date from the records
// that came since, and is the view that a whole reading makes.
func TestCacheSavesReading(t *testing.T) {
	c := Cache{Dir: filepath.Join(t.TempDir(), "views")}
	path := logFile(t, "a log\n")
	s := long(40)
	reads := 0
	v, err := c.Read(testSession, path, counted(s, &reads), Limits{Window: 4000})
	if err != nil || reads != len(s.events) {
		t.Fatalf("read %d of %d events, %v", reads, len(s.events), err)
	}
	if v.Saved() != 0 {
		t.Errorf("saved at %d before it was", v.Saved())
	}
	if err := c.Keep(v, path); err != nil || v.Saved() != s.seq {
		t.Fatalf("saved at %d, %v", v.Saved(), err)
	}
	kept := s.seq
	s.turn("late", "more").end("completed")
	reads = 0
	again, err := c.Read(testSession, path, counted(s, &reads), Limits{Window: 4000})
	if err != nil || reads != 4 || again.Saved() != kept {
		t.Fatalf("read %d events, %v", reads, err)
	}
	whole, err := ReadLog(testSession, logOf(s), Limits{Window: 4000})
	if err != nil {
		t.Fatal(err)
	}
	for name, view := range map[string]*View{"kept": again, "whole": whole} {
		if view.Earliest() == "" {
			t.Errorf("%s: nothing was let go", name)
		}
	}
	a, err := again.Save()
	if err != nil {
		t.Fatal(err)
	}
	b, err := whole.Save()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b), string(a)); diff != "" {
		t.Errorf("(-whole +kept):\n%s", diff)
	}
}

// logFile is a file in the place of a log: a cache looks at its bytes only to
// tell whether they are those it saw.
func logFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUselessCaches: a kept view that is damaged, of another build or of
// another log is not used, and is no error.
func TestUselessCaches(t *testing.T) {
	s := long(3)
	text := strings.Repeat("0123456789\n", 20_000)
	path := logFile(t, text)
	good := Cache{Dir: t.TempDir()}
	if err := good.Keep(viewOf(t, s, Limits{}), path); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(good.Dir, testSession, cacheFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := long(3)
	for i := range other.events {
		other.events[i].ID += "x"
	}
	edited := func(at int) []byte {
		out := bytes.Clone(data)
		out[at] ^= 1
		return out
	}
	for name, c := range map[string]struct {
		data   []byte
		log    *script
		text   string
		useful bool
	}{
		"the same":              {data, s, text, true},
		"a log that grew":       {data, s, text + "more\n", true},
		"cut":                   {data[:len(data)/2], s, text, false},
		"a byte more":           {append(bytes.Clone(data), 0), s, text, false},
		"another build":         {[]byte("openmuse view 99\n" + string(data[len(savedMagic):])), s, text, false},
		"an older form":         {[]byte(`{"version":1,"state":{"Session":"` + testSession + `"}}`), s, text, false},
		"one byte of the state": {edited(len(savedMagic) + 40), s, text, false},
		"one byte of the items": {edited(len(data) - 9), s, text, false},
		"another log":           {data, other, text, false},
		"fewer events":          {data, long(1), text, false},
		"a shorter log":         {data, s, text[:len(text)-1], false},
		"no log":                {data, s, "", false},
		"another beginning":     {data, s, "x" + text[1:], false},
		"another end":           {data, s, text[:len(text)-30_000] + "x" + text[len(text)-29_999:], false},
		"empty":                 {nil, s, text, false},
	} {
		if err := os.WriteFile(file, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		reads := 0
		v, err := good.Read(testSession, path, counted(c.log, &reads), Limits{})
		if err != nil || v.Fold().Record().ID != c.log.events[len(c.log.events)-1].ID {
			t.Errorf("%s: at %+v, %v", name, v.Fold().Record(), err)
		}
		if useful := reads < len(c.log.durable()); useful != c.useful {
			t.Errorf("%s: %d events read of %d", name, reads, len(c.log.durable()))
		}
		if diff := cmp.Diff(encoded(t, viewOf(t, c.log, Limits{}).Fold().State()), encoded(t, v.Fold().State())); diff != "" {
			t.Errorf("%s (-fresh +read):\n%s", name, diff)
		}
	}
	if err := good.Forget(testSession); err != nil {
		t.Error(err)
	}
	if err := good.Forget(testSession); err != nil {
		t.Errorf("forgotten twice: %v", err)
	}
	for _, c := range []struct{ dir, path string }{{"", path}, {t.TempDir(), ""}} {
		if err := (Cache{Dir: c.dir}).Keep(viewOf(t, s, Limits{}), c.path); err != nil {
			t.Errorf("with %+v: %v", c, err)
		}
	}
}

// TestSavedInTheMiddleOfAReply: what was on its way is not saved.
func TestSavedInTheMiddleOfAReply(t *testing.T) {
	s := newScript().turn("t1", "x").add(event.ToolCalls{Calls: []event.ToolCall{{CallID: "c", Name: "bash", Args: "{}"}}}).start("c", "task-1", "bash").
		live(event.TaskProgress{TaskID: "task-1", Chunk: "half"}, event.OutputDelta{MessageID: "m", Text: "half"})
	data, err := viewOf(t, s, Limits{}).Save()
	if err != nil {
		t.Fatal(err)
	}
	v, err := Restore(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	items := v.Fold().openItems()
	if len(items) != 1 || items[0].Item.VisibleOutput != nil {
		t.Errorf("open items %+v", items)
	}
	n := len(s.events)
	s.finish("c", "task-1", "halfway", false)
	var got []string
	for _, r := range s.events[n:] {
		notes, err := v.Apply(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, words(notes)...)
	}
	if diff := cmp.Diff([]string{"item/completed toolCall completed"}, got); diff != "" {
		t.Error(diff)
	}
}
