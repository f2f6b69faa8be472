package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/registry"
)

// TestOpenSessions: sessions that a program announces are listed while they
// are open, and neither before nor after.
func TestOpenSessions(t *testing.T) {
	home, err := os.MkdirTemp("", "open") // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	var out, errOut bytes.Buffer
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	env := &Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Now: func() time.Time { return now },
		Getenv:  func(name string) string { return map[string]string{"HOME": home}[name] },
		Environ: func() []string { return nil }, Getwd: func() (string, error) { return home, nil },
	}
	list := func() string {
		t.Helper()
		out.Reset()
		if code := Main(context.Background(), []string{"sessions", "list", "--open", "--json"}, *env); code != 0 {
			t.Fatalf("exit %d: %s", code, errOut.String())
		}
		return out.String()
	}
	s, err := openSessions(env)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var ids []string
	for range 2 {
		place, err := store.Create(s.root, ident.V7(now), now)
		if err != nil {
			t.Fatal(err)
		}
		log := `{"schema_version":1,"id":"x","stream":{"kind":"session","id":"` + place.ID + `"},"sequence":1,"recorded_at":1790845200000000,"record_type":"event",` +
			`"durability":"durable","causation_id":null,"payload_type":"session.end","payload_schema_version":1,"payload":{}}` + "\n"
		if err := os.WriteFile(place.LogPath(), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, place.ID)
	}
	if got := list(); got != "" {
		t.Fatalf("before: %s", got)
	}
	a := newAnnouncer(env, s, "muse serve", func(format string, args ...any) { t.Errorf(format, args...) })
	for _, id := range ids {
		session := openedSession{id: id, workspace: "/srv", name: func() string { return "name" }}
		a.opened(session)
		a.opened(session) // a second client
	}
	a.work.Wait()
	got := list()
	if want := fmt.Sprintf(`"open":{"pid":%d,"program":"muse serve","since":"2026-10-01T12:00:00Z","answers":true}`, os.Getpid()); strings.Count(got, want) != 2 {
		t.Fatalf("open: %s", got)
	}
	a.changed(ids[0], "other")
	a.work.Wait()
	entries, err := registry.New(s.root, env.Getenv).List(t.Context())
	if err != nil || len(entries) != 2 || entries[0].Name == entries[1].Name {
		t.Errorf("renamed: %+v, %v", entries, err)
	}
	a.closed(ids[0])
	a.closed(ids[0])
	if got := list(); strings.Contains(got, ids[0]) || !strings.Contains(got, ids[1]) {
		t.Errorf("one closed: %s", got)
	}
	a.close()
	a.opened(openedSession{id: ids[0], name: func() string { return "" }})
	if got := list(); got != "" {
		t.Errorf("after: %s", got)
	}
}
