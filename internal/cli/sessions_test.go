package cli_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/cli"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/store"
)

// TestSessionsInUse: a session that a program has open is listed and shown,
// and neither renamed nor thrown away from outside.
func TestSessionsInUse(t *testing.T) {
	home := t.TempDir()
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	muse := func(args ...string) (code int, stdout, stderr string) {
		var out, errOut bytes.Buffer
		env := cli.Env{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Now: func() time.Time { return now },
			Getenv:  func(name string) string { return map[string]string{"HOME": home}[name] },
			Environ: func() []string { return nil }, Getwd: func() (string, error) { return home, nil },
		}
		code = cli.Main(context.Background(), args, env)
		return code, out.String(), errOut.String()
	}
	id := ident.V7(now)
	s, err := store.Create(home+"/.local/share/muse", id, now)
	if err != nil {
		t.Fatal(err)
	}
	log := `{"schema_version":1,"id":"00000000-0000-4000-8000-000000000001","stream":{"kind":"session","id":"` + id + `"},"sequence":1,"recorded_at":1790845200000000,` +
		`"record_type":"event","durability":"durable","causation_id":null,"payload_type":"runtime.user_intent.accepted","payload_schema_version":1,` +
		`"payload":{"refill_blocks":[{"kind":"text","text":"\u001b[31mred\u001b[0m"}]}}` + "\n"
	if err := os.WriteFile(s.LogPath(), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Lock("muse serve"); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := muse("sessions", "list"); code != 0 || !strings.Contains(out, id) || strings.ContainsRune(out, 0x1b) {
		t.Errorf("list: exit %d, %q", code, out)
	}
	if code, out, _ := muse("sessions", "show", "--json", id); code != 0 || strings.ContainsRune(out, 0x1b) {
		t.Errorf("show: exit %d, %q", code, out)
	}
	for _, args := range [][]string{{"rename", id, "a name"}, {"rm", id}} {
		code, out, errOut := muse(append([]string{"sessions"}, args...)...)
		if code != 1 || out != "" || !strings.Contains(errOut, "is in use by pid") || !strings.Contains(errOut, "muse serve") {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, errOut)
		}
	}
	if data, err := os.ReadFile(s.LogPath()); err != nil || string(data) != log {
		t.Errorf("the log changed: %v", err)
	}
	if err := s.Unlock(); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := muse("sessions", "rename", id, "a name"); code != 0 || out != "a name\n" {
		t.Errorf("rename: exit %d, %q, %q", code, out, errOut)
	}
	if code, out, errOut := muse("sessions", "rm", "A NAME"); code != 0 || out != id+"\n" {
		t.Errorf("rm: exit %d, %q, %q", code, out, errOut)
	}
}
