package summary

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const session = "01a0f000-0000-7000-8000-000000000001"

// line is one record of a log, as every known build writes it.
func line(sequence int, payloadType, payload string) string {
	return fmt.Sprintf(`{"schema_version":1,"id":"00000000-0000-4000-8000-%012d","stream":{"kind":"session","id":"%s"},"sequence":%d,`+
		`"recorded_at":%d,"record_type":"event","durability":"durable","causation_id":null,"payload_type":"%s","payload_schema_version":1,"payload":%s}`,
		sequence, session, sequence, 1790845200000000+sequence*1000, payloadType, payload)
}

func log(records ...string) string {
	var b strings.Builder
	for i, r := range records {
		kind, payload, _ := strings.Cut(r, " ")
		b.WriteString(line(i+1, kind, payload) + "\n")
	}
	return b.String()
}

const (
	metadata = `runtime.session.metadata {"kind":"metadata","record":{"build":{"semver":"1.4.2","sha":"x"},"model_id":"m1","provider_id":"meta","workspace_root":"/srv/proj"}}`
	intent   = `runtime.user_intent.accepted {"intent_id":"r1","model_messages":[{"content":[{"kind":"text","text":"fix the  failing\ntest"}]}],"surface":"main"}`
	started  = `runtime.session {"event":{"kind":"started","prompt":"fix the  failing\ntest"},"kind":"run","run_id":"r1"}`
	task     = `runtime.session {"event":{"kind":"started","task_id":"t1"},"kind":"task","run_id":"r1","task_id":"t1"}`
	answer   = `runtime.session {"event":{"kind":"assistant_message_committed","text":"the words \"kind\":\"started\" and \"payload_type\":\"session.end\" mean nothing here"},"kind":"run","run_id":"r1"}`
	end      = `session.end {"kind":"session_end","record":{"exit_reason":"clean","session_id":"` + session + `"}}`
)

func read(t *testing.T, text string) Summary {
	t.Helper()
	s, st, err := Read(t.Context(), strings.NewReader(text), int64(len(text)), Summary{ID: session}, State{})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(strings.LastIndexByte(text, '\n') + 1); st.Through != want {
		t.Fatalf("read through %d of %d", st.Through, want)
	}
	return s
}

func TestRead(t *testing.T) {
	tests := []struct {
		name string
		log  string
		want func(*Summary)
	}{
		{"a turn", log(metadata, intent, started, task, answer), func(s *Summary) {
			s.Workspace, s.Provider, s.Model = "/srv/proj", "meta", "m1"
			s.FirstPrompt, s.Search, s.Intents, s.Turns = "fix the  failing\ntest", "fix the failing test\n", 1, 1
			s.Active = s.Updated
		}},
		{"an earlier build without intents", log(started), func(s *Summary) {
			s.FirstPrompt, s.Search, s.Turns = "fix the  failing\ntest", "fix the failing test\n", 1
			s.Active = s.Updated
		}},
		{"ended", log(metadata, end), func(s *Summary) { s.Workspace, s.Provider, s.Model, s.End = "/srv/proj", "meta", "m1", "clean" }},
		{"ended and gone on with", log(end, `session.opened.observed {"kind":"session_opened","record":{"resume":true}}`), func(*Summary) {}},
		{"sealed", log(end, `openmuse.integrity.checkpoint {"kind":"integrity_checkpoint","record":{}}`), func(s *Summary) { s.End = "clean" }},
		{"payload without record", log(`runtime.session.metadata {"workspace_root":"/old"}`), func(s *Summary) { s.Workspace = "/old" }},
		{"route facts", log(`runtime.session.route_facts {"kind":"route_facts","record":{"cwd":"/cwd","pid":1}}`), func(s *Summary) { s.Cwd = "/cwd" }},
		{"named", log(`session.name.changed {"new_name":"quiet-lyra","previous_name":null,"session_id":"` + session + `","source":"automatic"}`),
			func(s *Summary) { s.Name, s.NameSource = "quiet-lyra", "automatic" }},
		{"a name that came with a copy", log(`session.name.changed {"new_name":"other","session_id":"01a0f000-0000-7000-8000-00000000ffff","source":"user"}`), func(*Summary) {}},
		{"branch", log(`session.workspace_branch.observed {"kind":"workspace_branch","record":{"reference":{"kind":"branch","name":"main"}}}`), func(s *Summary) { s.Branch = "main" }},
		{"no branch any more", log(`session.workspace_branch.observed {"kind":"workspace_branch","record":{"reference":{"kind":"branch","name":"main"}}}`,
			`session.workspace_branch.observed {"kind":"workspace_branch","record":{"reference":{"kind":"detached","name":"HEAD"}}}`), func(*Summary) {}},
		{"another model", log(metadata, `runtime.model_reconfigure.completed {"kind":"model_reconfigure","record":{"effective":{"model_id":"m2","provider_id":"p2"},"source":"user"}}`),
			func(s *Summary) { s.Workspace, s.Provider, s.Model = "/srv/proj", "p2", "m2" }},
		{"forked", log(`session.fork.created {"kind":"session_fork","record":{"command_id":"c","cut_cursor":"v:x:4","cut_explicit":true,"source_session_id":"s"}}`),
			func(s *Summary) { s.Forked = &Provenance{"s", "c", "v:x:4", true} }},
		{"side", log(`openmuse.side.started {"kind":"side_started","record":{"command_id":"c","cut_cursor":"v:x:4","source_session_id":"s"}}`),
			func(s *Summary) { s.Side = &Provenance{Session: "s", Command: "c", CutCursor: "v:x:4"} }},
		{"client and mode", log(`openmuse.session.created {"kind":"session_created","record":{"client":{"name":"sdk","version":"1"},"command_id":"c"}}`,
			`openmuse.approval_mode.changed {"kind":"approval_mode_changed","record":{"client_name":"sdk","command_id":"d","mode":"allowAll","source":"approvalReconfigure"}}`),
			func(s *Summary) {
				s.Client, s.Mode = &Client{Name: "sdk", Version: "1"}, &ApprovalMode{"allowAll", "approvalReconfigure", "d"}
			}},
		{"bad lines between", "not json\n" + log(metadata) + "{\"schema_version\":1,\"id\":\"\n\n", func(s *Summary) { s.Workspace, s.Provider, s.Model = "/srv/proj", "meta", "m1" }},
		{"torn tail", log(metadata) + line(2, "session.end", `{"record":{"exit_reason":"clean"}}`), func(s *Summary) { s.Workspace, s.Provider, s.Model = "/srv/proj", "meta", "m1" }},
		{"nothing", "", func(s *Summary) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := read(t, tt.log)
			want := Summary{ID: session, Created: got.Created, Updated: got.Updated}
			if n := strings.Count(tt.log, `"schema_version"`); n > 0 && got.Created != 1790845200001000 {
				t.Errorf("created %d", got.Created)
			}
			tt.want(&want)
			if tt.log != "" && want.Active != 0 {
				want.Active = got.Updated
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			// The order of an envelope's members and space between them are free.
			loose := strings.ReplaceAll(tt.log, `{"schema_version":1,`, `{ "schema_version": 1, `)
			if d := cmp.Diff(got, read(t, loose)); d != "" {
				t.Errorf("read otherwise when written otherwise:\n%s", d)
			}
		})
	}
}

func TestText(t *testing.T) {
	s := Summary{FirstPrompt: "  one\n\ttwo  " + strings.Repeat("ä", 400)}
	if got := s.Title(); !strings.HasPrefix(got, "one two ä") || len(got) > MaxTitle || !utf8.ValidString(got) {
		t.Errorf("title %q", got)
	}
	if s.Description = "made"; s.Title() != "made" {
		t.Errorf("title %q", s.Title())
	}
	if Fold(" ÄÖ\n\tx ") != "äö x" {
		t.Errorf("folded %q", Fold(" ÄÖ\n\tx "))
	}
	big := Summary{}
	for range 100 {
		big.prompt(strings.Repeat("ü", 20000))
	}
	if len(big.Search) > MaxSearch || len(big.FirstPrompt) > MaxPrompt || !utf8.ValidString(big.Search+big.FirstPrompt) {
		t.Errorf("kept %d and %d bytes", len(big.Search), len(big.FirstPrompt))
	}
}

// TestGrowing: reading a log in any pieces, also when it is read in the middle
// of a line, gives what reading it at once gives.
func TestGrowing(t *testing.T) {
	records := []string{metadata, intent, started, task, answer, end,
		`session.name.changed {"new_name":"n","session_id":"` + session + `","source":"user"}`,
		`runtime.user_intent.accepted {"refill_blocks":[{"kind":"text","text":"again"}]}`}
	rapid.Check(t, func(t *rapid.T) {
		var all []string
		for range rapid.IntRange(1, 30).Draw(t, "records") {
			all = append(all, records[rapid.IntRange(0, len(records)-1).Draw(t, "record")])
		}
		text := log(all...)
		whole, _, err := Read(context.Background(), strings.NewReader(text), int64(len(text)), Summary{ID: session}, State{})
		if err != nil {
			t.Fatal(err)
		}
		s, st := Summary{ID: session}, State{}
		for at := 0; at < len(text); {
			at = min(len(text), at+rapid.IntRange(1, 900).Draw(t, "growth"))
			if s, st, err = Read(context.Background(), strings.NewReader(text), int64(at), s, st); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(whole, s); d != "" {
			t.Fatal(d)
		}
	})
}

// TestReplaced: a log that is not the one that was read is read from the
// beginning.
func TestReplaced(t *testing.T) {
	first := log(metadata, intent, started, answer, end)
	s, st, err := Read(t.Context(), strings.NewReader(first), int64(len(first)), Summary{ID: session}, State{})
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{
		"shorter":        log(started),
		"other":          strings.ReplaceAll(log(metadata, intent, started, answer, end, started), "srv", "xyz"),
		"same until end": strings.Replace(first, `"clean"`, `"dirty"`, 1) + line(9, "session.opened.observed", "{}") + "\n",
	} {
		got, _, err := Read(t.Context(), strings.NewReader(other), int64(len(other)), s, st)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(read(t, other), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestQuick: the look at a large log finds what stands at its two ends, and
// reads only these.
func TestQuick(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(log(metadata, intent, started))
	for i := range 20000 {
		b.WriteString(line(10+i, "runtime.session", `{"event":{"kind":"output","chunk":"`+strings.Repeat("x", 500)+`"},"kind":"task"}`) + "\n")
	}
	b.WriteString(line(99998, "session.name.changed", `{"new_name":"late","source":"user"}`) + "\n")
	b.WriteString(line(99999, "session.end", `{"record":{"exit_reason":"clean"}}`) + "\n")
	counted := &countingReader{r: bytes.NewReader(b.Bytes())}
	s, err := Quick(t.Context(), counted, int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if s.Title() != "fix the failing test" || s.Workspace != "/srv/proj" || s.Name != "late" || s.End != "clean" || s.Updated != 1790845200000000+99999*1000 {
		t.Errorf("got %+v", s)
	}
	if counted.n > headBytes+tailBytes {
		t.Errorf("%d bytes were read", counted.n)
	}
}

// TestQuickOfSmall: of a log that is all head, everything is seen, once.
func TestQuickOfSmall(t *testing.T) {
	text := log(metadata, intent, started, answer, end)
	s, err := Quick(t.Context(), strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	s.ID = session
	if d := cmp.Diff(read(t, text), s); d != "" {
		t.Error(d)
	}
}

type countingReader struct {
	r *bytes.Reader
	n int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += n
	return n, err
}

// TestLongLine: a line beyond the limit says nothing, what follows does.
func TestLongLine(t *testing.T) {
	text := line(1, "runtime.user_intent.accepted", `{"refill_blocks":[{"kind":"text","text":"`+strings.Repeat("y", maxLine)+`"}]}`) + "\n" + log(metadata)
	if s := read(t, text); s.Workspace != "/srv/proj" || s.Intents != 0 || s.Search != "" {
		t.Errorf("workspace %q, %d intents", s.Workspace, s.Intents)
	}
}

// TestNoise: nothing makes the reader fail.
func TestNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	good := []byte(log(metadata, intent, started, task, answer, end))
	for range 500 {
		b := bytes.Clone(good)
		for range 1 + r.IntN(40) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		if _, _, err := Read(t.Context(), bytes.NewReader(b), int64(len(b)), Summary{}, State{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRealLogs reads the recorded logs of other builds.
func TestRealLogs(t *testing.T) {
	shared := os.Getenv("OPENMUSE_SHARED")
	if shared == "" {
		shared = "../../../../shared"
	}
	path := filepath.Join(shared, "fixtures/home/.local/share/muse/sessions/2026/10/01", session, "session.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no recorded logs: %v", err)
	}
	s, _, err := Read(t.Context(), bytes.NewReader(data), int64(len(data)), Summary{ID: session}, State{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Title() != "fix the failing test" || s.Name != "quiet-lyra" || s.Branch != "main" || s.Workspace != "/srv/proj" ||
		s.Model != "muse-spark-1.3-contributor" || s.Turns != 1 || s.Created != 1790845200100000 {
		t.Errorf("got %+v", s)
	}
}

func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(log(metadata, intent, started))
	for i := range 20000 {
		text.WriteString(line(10+i, "runtime.session", `{"event":{"kind":"output","chunk":"`+strings.Repeat("x", 1500)+`"},"kind":"task"}`) + "\n")
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, _, err := Read(context.Background(), bytes.NewReader(text.Bytes()), int64(text.Len()), Summary{}, State{}); err != nil {
			b.Fatal(err)
		}
	}
}
