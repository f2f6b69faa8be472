package session_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/view/session"
)

// A host that loads a session reads its view from the cache and keeps it there
// when the session is unloaded, and now and then between.
func ExampleCache() {
	dir, err := os.MkdirTemp("", "views")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	const id = "0198f0aa-1111-7000-8000-0000000000aa"
	log := []event.Recorded{
		{Event: event.Event{Run: "turn", Body: event.RunStarted{Prompt: "hello"}}, ID: "r1", Sequence: 1, At: 1},
		{Event: event.Event{Run: "turn", Body: event.RunTerminal{Terminal: "completed"}}, ID: "r2", Sequence: 2, At: 2},
	}
	reads := 0
	since := func(from int64, yield func(event.Recorded) error) error { // a session's Watch
		for _, r := range log[from:] {
			reads++
			if err := yield(r); err != nil {
				return err
			}
		}
		return nil
	}
	path := filepath.Join(dir, "session.jsonl") // which the host writes
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	cache := session.Cache{Dir: dir}
	for range 2 {
		reads = 0
		v, err := cache.Read(id, path, since, session.DefaultLimits())
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := cache.Keep(v, path); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.Fold().Cursor(), reads)
	}
	// Output:
	// v:0198f0aa-1111-7000-8000-0000000000aa:8388609 2
	// v:0198f0aa-1111-7000-8000-0000000000aa:8388609 1
}
