package names

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func authority(t *testing.T, root string, known ...Known) *Authority {
	t.Helper()
	now := int64(0)
	var mu sync.Mutex
	a := New(Options{
		Root: root,
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now++
			return time.UnixMicro(now)
		},
		Known: func(context.Context) ([]Known, error) { return known, nil },
	})
	t.Cleanup(func() { a.Close() })
	return a
}

func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"quiet-lyra":                           "quiet-lyra",
		"  My\tsession \n 2 ":                  "My session 2",
		"u\u0308bung":                          "übung",
		"v1.2_x":                               "v1.2_x",
		"日本語":                                  "日本語",
		"ab":                                   "",
		"":                                     "",
		"-rf":                                  "",
		"...":                                  "",
		"a/b":                                  "",
		"a\x1b[31m":                            "",
		"bidi\u202eabc":                        "",
		"\xff\xfe\xfd":                         "",
		strings.Repeat("x", 33):                "",
		strings.Repeat("ü", 32):                strings.Repeat("ü", 32),
		"01a0f000-0000-7000-8000-000000000001": "",
	} {
		got, err := Normalize(text)
		var invalid *InvalidError
		if got != want || (want == "") != errors.As(err, &invalid) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for i := range 3000 {
		name := generate(newRand(i), i)
		if got, err := Normalize(name); err != nil || got != name {
			t.Fatalf("generated %q: %v", name, err)
		}
	}
}

func TestClaims(t *testing.T) {
	ctx := t.Context()
	a := authority(t, t.TempDir())
	first, err := a.Claim(ctx, "s1", " Red  fox ", "op1")
	if err != nil || first.Name != "Red fox" || first.Previous != "" || first.Source != User || first.Authority == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	var taken *TakenError
	if _, err := a.Claim(ctx, "s2", "RED FOX", "op2"); !errors.As(err, &taken) || taken.Session != "s1" {
		t.Fatalf("taken name: %v", err)
	}
	if again, err := a.Claim(ctx, "s1", "Red fox", "op1"); err != nil || again != first {
		t.Fatalf("asked again: %+v, %v", again, err)
	}
	if _, err := a.Claim(ctx, "s1", "blue fox", "op1"); !errors.Is(err, ErrOperation) {
		t.Fatalf("operation used twice: %v", err)
	}
	// The same name in another case is a change of one's own name.
	if c, err := a.Claim(ctx, "s1", "red FOX", "op3"); err != nil || c.Previous != "Red fox" {
		t.Fatalf("%+v, %v", c, err)
	}
	if c, err := a.Claim(ctx, "s1", "other", "op4"); err != nil || c.Previous != "red FOX" {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := a.Claim(ctx, "s2", "red fox", "op5"); err != nil {
		t.Fatalf("a name that was given up: %v", err)
	}
	if s, err := a.Holder(ctx, "Red Fox"); err != nil || s != "s2" {
		t.Fatalf("holder %q, %v", s, err)
	}
	if n, err := a.Of(ctx, "s1"); err != nil || n != "other" {
		t.Fatalf("name %q, %v", n, err)
	}
	if err := a.Release(ctx, "s2"); err != nil {
		t.Fatal(err)
	}
	if s, err := a.Holder(ctx, "red fox"); err != nil || s != "" {
		t.Fatalf("holder %q, %v", s, err)
	}
}

func TestSettle(t *testing.T) {
	ctx := t.Context()
	a := authority(t, t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := a.Claim(ctx, "s1", "one", "op1")
	must(err)
	must(a.Settle(ctx, "op1", true))
	must(a.Settle(ctx, "op1", false)) // too late
	if n, _ := a.Of(ctx, "s1"); n != "one" {
		t.Fatalf("name %q", n)
	}
	_, err = a.Claim(ctx, "s1", "two", "op2")
	must(err)
	if list, err := a.Pending(ctx, "s1"); err != nil || len(list) != 1 || list[0].Operation != "op2" || list[0].Name != "two" || list[0].Previous != "one" {
		t.Fatalf("pending %+v, %v", list, err)
	}
	must(a.Settle(ctx, "op2", false))
	if n, _ := a.Of(ctx, "s1"); n != "one" {
		t.Fatalf("after taking back: %q", n)
	}
	if list, _ := a.Pending(ctx, "s1"); len(list) != 0 {
		t.Fatalf("pending %+v", list)
	}
	if _, err := a.Claim(ctx, "s1", "two", "op2"); !errors.Is(err, ErrOperation) {
		t.Fatalf("an operation that was taken back: %v", err)
	}
	// The name before is someone else's by now.
	_, err = a.Claim(ctx, "s1", "three", "op3")
	must(err)
	_, err = a.Claim(ctx, "s2", "one", "op4")
	must(err)
	must(a.Settle(ctx, "op3", false))
	if n, _ := a.Of(ctx, "s1"); n != "" {
		t.Fatalf("name %q", n)
	}
	must(a.Settle(ctx, "unknown", true))
}

func TestAutomaticNames(t *testing.T) {
	ctx := t.Context()
	a := authority(t, t.TempDir())
	seen := map[string]bool{}
	for i := range 300 {
		c, err := a.Name(ctx, fmt.Sprint("session ", i), fmt.Sprint("op", i))
		if err != nil || c.Source != Automatic || seen[fold(c.Name)] {
			t.Fatalf("%+v, %v", c, err)
		}
		seen[fold(c.Name)] = true
		if again, err := a.Name(ctx, fmt.Sprint("session ", i), fmt.Sprint("op", i)); err != nil || again != c {
			t.Fatalf("asked again: %+v, %v", again, err)
		}
	}
}

// TestLostDatabase: a missing or damaged database is made from the logs, and
// the authority stays the same one.
func TestLostDatabase(t *testing.T) {
	ctx, root := t.Context(), t.TempDir()
	a := authority(t, root)
	id, err := a.ID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Claim(ctx, "s1", "fox", "op1"); err != nil {
		t.Fatal(err)
	}
	a.Close()
	path := filepath.Join(root, "session-name-authority", "session-names.db")
	for _, data := range [][]byte{nil, []byte(strings.Repeat("no database ", 1000))} {
		os.Remove(path)
		if data != nil {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a := authority(t, root, Known{"s1", "fox", User}, Known{"s2", "Fox", Automatic}, Known{"s3", "hen", User}, Known{Session: "s4"})
		for name, want := range map[string]string{"fox": "s1", "hen": "s3"} {
			if s, err := a.Holder(ctx, name); err != nil || s != want {
				t.Errorf("%s belongs to %q, %v", name, s, err)
			}
		}
		if again, err := a.ID(ctx); err != nil || again != id {
			t.Errorf("authority %s, %v", again, err)
		}
		a.Close()
	}
}

// TestOneAuthority: processes that mint at once agree.
func TestOneAuthority(t *testing.T) {
	root := t.TempDir()
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		a := authority(t, root)
		wg.Go(func() {
			var err error
			if ids[i], err = a.ID(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("ids %q", ids)
		}
	}
	path := filepath.Join(root, "session-name-authority", "authority.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if id, err := authority(t, root).ID(t.Context()); err != nil || id == ids[0] || id == "" {
		t.Errorf("after damage: %q, %v", id, err)
	}
}

// TestRace: of many who claim one name at once, one gets it.
func TestRace(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 6 {
		a := authority(t, root)
		wg.Go(func() {
			_, err := a.Claim(context.Background(), fmt.Sprint("s", i), "the one", fmt.Sprint("op", i))
			var taken *TakenError
			switch {
			case err == nil:
				mu.Lock()
				won++
				mu.Unlock()
			case !errors.As(err, &taken):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Fatalf("%d sessions have the name", won)
	}
}

// TestNamesThatNoLogKnows: a claim that never came into the log of its session
// does not keep a name for ever, nor does a session that is gone.
func TestNamesThatNoLogKnows(t *testing.T) {
	ctx := t.Context()
	now := time.UnixMicro(1)
	logs := map[string]string{"written": "fox", "never": ""}
	a := New(Options{Root: t.TempDir(), Now: func() time.Time { return now }, Logged: func(_ context.Context, s string) (string, bool, error) {
		name, there := logs[s]
		return name, there, nil
	}})
	defer a.Close()
	for session, name := range map[string]string{"written": "Fox", "never": "hen", "gone": "owl"} {
		if _, err := a.Claim(ctx, session, name, "op of "+session); err != nil {
			t.Fatal(err)
		}
	}
	var taken *TakenError
	for _, name := range []string{"fox", "hen", "owl"} {
		if _, err := a.Claim(ctx, "other", name, "too early "+name); !errors.As(err, &taken) {
			t.Errorf("%s at once: %v", name, err)
		}
	}
	now = now.Add(2 * settling)
	for name, free := range map[string]bool{"fox": false, "hen": true, "owl": true} {
		if _, err := a.Claim(ctx, "other", name, "later "+name); (err == nil) != free || !free && !errors.As(err, &taken) {
			t.Errorf("%s later: %v", name, err)
		}
	}
}
