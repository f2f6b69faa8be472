package muse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

const (
	session = "6fbeab95-439f-4d74-878c-debcd879c148"
	runID   = "c1783ec7-83d4-4a15-86c6-49d73a0bb797"
)

func ptr[T any](v T) *T { return &v }

// stream renders a stream written by f.
func stream(f func(s *musetest.Stream)) string {
	var b bytes.Buffer
	s := musetest.NewStream(&b, session, runID)
	f(s)
	return b.String()
}

// plain is a whole answer in fragments.
func plain(text string, deltas ...string) string {
	return stream(func(s *musetest.Stream) {
		s.Open("say it", "muse-spark-1.3")
		for _, d := range deltas {
			s.Delta(d)
		}
		s.Terminal("completed", &text, "", nil)
	})
}

func read(t testing.TB, text string) *muse.Outcome {
	t.Helper()
	return collect(t, strings.NewReader(text), muse.ReaderOptions{}, muse.CollectorOptions{})
}

func TestReply(t *testing.T) {
	empty := ""
	tests := []struct {
		name, stream string
		reply        string
		source       muse.ReplySource
		settled      *bool
		kinds        []muse.DiagnosticKind
	}{
		{"the terminal's text is authoritative", plain("final", "dra", "ft"), "final", muse.ReplyTerminal, ptr(true), nil},
		{"deltas are not added to it", plain("ab", "a", "b"), "ab", muse.ReplyTerminal, ptr(true), nil},
		{"terminal with empty text", plain("", "a", "b"), "ab", muse.ReplyDeltas, ptr(true), nil},
		{
			"terminal with null text",
			stream(func(s *musetest.Stream) {
				s.Open("p", "")
				s.Delta("a")
				s.Terminal("completed", nil, "", nil)
			}),
			"a", muse.ReplyDeltas, ptr(true), nil,
		},
		{
			"no terminal",
			stream(func(s *musetest.Stream) { s.Open("p", ""); s.Delta("half "); s.Delta("an answer") }),
			"half an answer", muse.ReplyDeltas, nil, []muse.DiagnosticKind{muse.DiagMissingTerminal},
		},
		{"nothing at all", "", "", muse.ReplyNone, nil, []muse.DiagnosticKind{muse.DiagMissingTerminal}},
		{
			"failed", stream(func(s *musetest.Stream) {
				s.Open("p", "")
				s.Terminal("failed", &empty, "API error 500", nil)
			}), "", muse.ReplyNone, ptr(false), nil,
		},
		{
			"cancelled keeps what was streamed", stream(func(s *musetest.Stream) {
				s.Open("p", "")
				s.Delta("part")
				s.Terminal("cancelled", &empty, "", nil)
			}), "part", muse.ReplyDeltas, ptr(false), nil,
		},
		{
			"a second terminal of the run is not believed", stream(func(s *musetest.Stream) {
				s.Open("p", "")
				s.Terminal("completed", ptr("one"), "", nil)
				s.Terminal("failed", ptr("two"), "no", nil)
			}), "one", muse.ReplyTerminal, ptr(true), []muse.DiagnosticKind{muse.DiagSecondTerminal},
		},
		{
			"a task that failed is not the run", stream(func(s *musetest.Stream) {
				s.Open("p", "")
				id := s.Task("reminder.agent.skill-reminder")
				s.Lifecycle(id, "rejected", map[string]any{"reason": "skip_if_running"})
				s.Terminal("completed", ptr("fine"), "", nil)
			}), "fine", muse.ReplyTerminal, ptr(true), nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := read(t, tt.stream)
			if o.Reply != tt.reply || o.ReplySource != tt.source {
				t.Errorf("reply %q from %s, want %q from %s", o.Reply, o.ReplySource, tt.reply, tt.source)
			}
			if diff := cmp.Diff(tt.settled, o.Settled); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.kinds, kindsOf(o.Findings)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s\n%v", diff, o.Findings)
			}
		})
	}
}

func TestTwoRunStreams(t *testing.T) {
	text := stream(func(s *musetest.Stream) {
		s.Open("p", "")
		s.Delta("first")
		s.Terminal("completed", ptr("first"), "", nil)
		s.Run = "22222222-0000-4000-8000-000000000000"
		s.Delta("sec")
		s.Delta("ond")
		s.Terminal("completed", ptr("second"), "", nil)
	})
	got := map[string]string{}
	var ends []string
	o := collect(t, strings.NewReader(text), muse.ReaderOptions{}, muse.CollectorOptions{
		OnDelta:  func(key, text string) { got[key] += text },
		OnRunEnd: func(key string, _ *muse.Terminal) { ends = append(ends, key) },
	})
	if diff := cmp.Diff(map[string]string{runID: "first", "22222222-0000-4000-8000-000000000000": "second"}, got); diff != "" {
		t.Error(diff)
	}
	if o.Reply != "second" || len(ends) != 2 || len(o.RunIDs) != 2 {
		t.Errorf("reply %q, ends %v, runs %v", o.Reply, ends, o.RunIDs)
	}
}

// TestDiagnostics gives each way of being wrong its diagnostic.
func TestDiagnostics(t *testing.T) {
	good := plain("ok", "ok")
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the sample has no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	tests := []struct {
		name, stream string
		reply        string
		want         muse.DiagnosticKind
		says         string
	}{
		{"unknown payload type", swap(`"payload_type":"run.lifecycle.started"`, `"payload_type":"run.lifecycle.paused"`), "ok", muse.DiagUnknownType, "run.lifecycle.paused"},
		{"unknown task event", swap(`"payload_type":"turn.input.user"`, `"payload_type":"task.lifecycle.paused"`), "ok", muse.DiagUnknownType, "task.lifecycle.paused"},
		{"newer envelope", swap(`{"schema_version":1`, `{"schema_version":2`), "ok", muse.DiagNewerSchema, "schema_version 2"},
		{"newer payload", swap(`"payload_schema_version":1`, `"payload_schema_version":3`), "ok", muse.DiagNewerPayload, "payload_schema_version 3"},
		{"version of another type", swap(`{"schema_version":1`, `{"schema_version":"1"`), "ok", muse.DiagField, "schema_version"},
		{"noise", "WARN something\n" + good, "ok", muse.DiagNotJSON, "WARN something"},
		{"other JSON", `{"level":"info"}` + "\n" + good, "ok", muse.DiagNotEnvelope, "info"},
		{"JSON scalar", "42\n" + good, "ok", muse.DiagNotEnvelope, "42"},
		{"payload is no object", swap(`"payload":{`, `"payload":[],"was":{`), "ok", muse.DiagNotEnvelope, "payload"},
		{"duplicate key", swap(`"payload_type":"turn.input.user"`, `"payload_type":"turn.input.user","payload_type":"turn.input.user"`), "ok", muse.DiagDuplicateKey, "payload_type"},
		{"invalid UTF-8", swap("say it", "say \xff it"), "ok", muse.DiagInvalidUTF8, "UTF-8"},
		{"delta without text", swap(`"text":"ok"`, `"text":7`), "ok", muse.DiagField, "text"},
		{"cut in mid-record", good[:len(good)-20], "ok", muse.DiagTruncatedLine, "unexpected end"},
		{"another session", swap(session, "00000000-0000-4000-8000-00000000abcd"), "ok", muse.DiagSession, "session"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := read(t, tt.stream)
			if o.Reply != tt.reply {
				t.Errorf("reply %q, want %q", o.Reply, tt.reply)
			}
			i := slices.IndexFunc(o.Findings, func(d muse.Diagnostic) bool { return d.Kind == tt.want })
			if i < 0 {
				t.Fatalf("no %s in %v", tt.want, o.Findings)
			}
			if !strings.Contains(o.Findings[i].String(), tt.says) {
				t.Errorf("%s does not say %q", o.Findings[i], tt.says)
			}
		})
	}
}

func TestDecodeFailureNamesVersions(t *testing.T) {
	o := read(t, strings.ReplaceAll(plain("ok"), `"payload":{`, `"payload":[],"x":{`))
	if o.Lost != 6 || o.Terminal != "" {
		t.Fatalf("lost %d, terminal %q", o.Lost, o.Terminal)
	}
	o = read(t, strings.ReplaceAll(plain("ok"), `"schema_version":1,"id"`, `"schema_version":7,"id"`)+"noise\n")
	i := slices.IndexFunc(o.Findings, func(d muse.Diagnostic) bool { return d.Kind == muse.DiagStdoutDecode })
	if i < 0 || !strings.Contains(o.Findings[i].Message, "schema versions seen: [7]") {
		t.Errorf("findings %v", o.Findings)
	}
	if o.Reply != "ok" {
		t.Errorf("reply %q", o.Reply)
	}
}

func TestDiagnosticsAreCapped(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "noise %d\n", i)
		fmt.Fprintf(&b, `{"schema_version":1,"payload_schema_version":1,"payload_type":"new.type.%d","payload":{}}`+"\n", i)
	}
	o := read(t, b.String())
	if len(o.Findings) > 20 {
		t.Errorf("%d findings", len(o.Findings))
	}
	total := int64(0)
	for _, d := range o.Findings {
		if d.Kind == muse.DiagUnknownType {
			total += d.Count
		}
	}
	if total != 100_000 || o.Lost != 100_000 {
		t.Errorf("%d unknown types counted, %d lines lost", total, o.Lost)
	}
}

func TestExtensionsAreSilent(t *testing.T) {
	o := read(t, stream(func(s *musetest.Stream) {
		s.Open("p", "")
		s.Record("openmuse.usage", "usage", map[string]any{"input_tokens": 3})
		s.Terminal("completed", ptr("ok"), "", nil)
	}))
	if len(o.Findings) > 0 {
		t.Errorf("diagnostics: %v", o.Findings)
	}
}

func TestLongLines(t *testing.T) {
	long := stream(func(s *musetest.Stream) {
		s.Open("p", "")
		s.Delta(strings.Repeat("y", 5000))
		s.Delta("short")
		s.Terminal("completed", ptr("done"), "", nil)
	})
	for _, size := range []int{1, 7, 4096} {
		o := collect(t, &chunked{data: []byte(long), size: size}, muse.ReaderOptions{MaxLine: 2000}, muse.CollectorOptions{})
		i := slices.IndexFunc(o.Findings, func(d muse.Diagnostic) bool { return d.Kind == muse.DiagLineTooLong })
		if i < 0 || !strings.Contains(o.Findings[i].Message, `"run.output.delta"`) || !strings.Contains(o.Findings[i].Message, "limit of 2000") {
			t.Errorf("chunks of %d: findings %v", size, o.Findings)
		}
		if o.Reply != "done" || o.Lost != 1 || o.LastLine != 7 {
			t.Errorf("chunks of %d: reply %q, lost %d, last line %d", size, o.Reply, o.Lost, o.LastLine)
		}
	}
	// Over-long to the end of the stream.
	o := collect(t, strings.NewReader(strings.Repeat("z", 10_000)), muse.ReaderOptions{MaxLine: 100}, muse.CollectorOptions{})
	if o.Lost != 1 {
		t.Errorf("lost %d", o.Lost)
	}
	if _, err := muse.ReadStrict(strings.NewReader(long), muse.ReaderOptions{MaxLine: 2000}); err == nil {
		t.Error("strict reading took an over-long line")
	}
}

// chunked returns at most size bytes a read.
type chunked struct {
	data []byte
	size int
}

func (c *chunked) Read(b []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.size)], c.data)
	c.data = c.data[n:]
	return n, nil
}

func TestChunking(t *testing.T) {
	text := plain("final", "a", "b") + "tail without end"
	want := read(t, text)
	for _, src := range []io.Reader{
		iotest.OneByteReader(strings.NewReader(text)), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text)),
	} {
		got := collect(t, src, muse.ReaderOptions{}, muse.CollectorOptions{})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("chunked reading differs:\n%s", diff)
		}
	}
}

func TestSourceErrors(t *testing.T) {
	r := muse.NewReader(io.MultiReader(strings.NewReader(plain("x")), iotest.ErrReader(errors.New("disk on fire"))), muse.ReaderOptions{})
	var err error
	for n := 0; err == nil; n++ {
		if _, err = r.Next(); n > 100 {
			t.Fatal("no end")
		}
	}
	if err.Error() != "disk on fire" {
		t.Errorf("error %v", err)
	}
}

func TestStrict(t *testing.T) {
	good := plain("ok", "ok")
	replace := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	tests := []struct {
		name, stream, says string
	}{
		{"duplicate key in the envelope", replace(`{"schema_version":1`, `{"schema_version":1,"schema_version":1`), "line 1: "},
		{"duplicate key in the payload", replace(`"payload":{`, `"payload":{"kind":"x",`), "duplicate"},
		{"duplicate key deep inside", replace(`"payload":{`, `"payload":{"a":[{"b":{"c":1,"c":2}}],`), "duplicate"},
		{"escaped duplicate key", replace(`"payload":{`, `"payload":{"k\u0069nd":"x",`), "duplicate"},
		{"noise", good + "bye\n", "line 8"},
		{"blank line", strings.Replace(good, "\n", "\n\n", 1), "line 2"},
		{"byte order mark", "\ufeff" + good, "line 1"},
		{"invalid UTF-8", replace("say it", "say \xff"), "line 4"},
		{"two values on a line", replace("}\n", "} {}\n"), "line 1"},
		{"newer version", replace(`{"schema_version":1`, `{"schema_version":2`), "schema_version 2"},
		{"no terminal", good[:strings.LastIndex(good[:len(good)-1], "\n")+1], "no final event"},
		{"two terminals", good + lastLine(good), "more than one terminal"},
		{"two sessions", replace(session, "00000000-0000-4000-8000-00000000abcd"), "more than one session"},
		{"completed without text", plain("", "deltas only"), "no final text"},
		{"text of another type", strings.Replace(good, `"text":"ok"}`, `"text":["ok"]}`, 2), "text"},
		{"truncated", good[:len(good)-10], "line 7"},
	}
	if o, err := muse.ReadStrict(strings.NewReader(good), muse.ReaderOptions{}); err != nil || o.Reply != "ok" {
		t.Fatalf("the good stream: %v", err)
	}
	if _, err := muse.ReadStrict(strings.NewReader(strings.TrimSuffix(good, "\n")), muse.ReaderOptions{}); err != nil {
		t.Errorf("without a final newline: %v", err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := muse.ReadStrict(strings.NewReader(tt.stream), muse.ReaderOptions{})
			var strict *muse.StrictError
			if !errors.As(err, &strict) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
	failed := stream(func(s *musetest.Stream) { s.Open("p", ""); s.Terminal("failed", ptr(""), "no", nil) })
	if o, err := muse.ReadStrict(strings.NewReader(failed), muse.ReaderOptions{}); err != nil || o.Terminal != "failed" {
		t.Errorf("a failed run is no violation: %v", err)
	}
}

func lastLine(text string) string {
	return text[strings.LastIndex(text[:len(text)-1], "\n")+1:]
}

func TestCheckJSON(t *testing.T) {
	for text, ok := range map[string]bool{`{"a":1}`: true, `[1,2]`: true, `{"a":1,"a":2}`: false, `{"x":{"a":1,"a":2}}`: false, `{} {}`: false, ``: false, "\"\xff\"": false, `OK`: false} {
		if err := muse.CheckJSON(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAll(t *testing.T) {
	n := 0
	for e, err := range muse.NewReader(strings.NewReader(plain("x", "x")), muse.ReaderOptions{}).All() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Line != int64(n+1) || e.StreamID != session || e.CommandID != runID || e.Sequence != int64(n+1) || e.CausationID != runID || !strings.HasPrefix(e.ID, "018f0000-") {
			t.Errorf("envelope of record %d: %+v", n, e.Envelope)
		}
		n++
	}
	if n != 7 {
		t.Errorf("%d records", n)
	}
}

func TestReplyIsBounded(t *testing.T) {
	o := collect(t, strings.NewReader(stream(func(s *musetest.Stream) {
		s.Open("p", "")
		for range 100 {
			s.Delta(strings.Repeat("x", 100))
		}
	})), muse.ReaderOptions{}, muse.CollectorOptions{MaxReply: 1000})
	if len(o.Reply) != 1000 || !slices.Contains(kindsOf(o.Findings), muse.DiagReplyCut) {
		t.Errorf("%d bytes kept, %v", len(o.Reply), o.Findings)
	}
}

// TestMemoryIsFlat reads a stream far larger than what may stay allocated.
func TestMemoryIsFlat(t *testing.T) {
	size := int64(1 << 30)
	if testing.Short() {
		size = 64 << 20
	}
	src := &endless{chunk: []byte(strings.Join(strings.SplitAfter(stream(func(s *musetest.Stream) {
		s.Open("p", "muse-spark-1.3")
		for i := range 50 {
			s.Tool(musetest.Tool{Name: "bash", CallID: fmt.Sprintf("call_%d", i), Text: strings.Repeat("output ", 200)})
			s.Delta("some words of an answer ")
		}
	}), "\n")[5:], "")), left: size}
	r := muse.NewReader(src, muse.ReaderOptions{})
	c := muse.NewCollector(r.Diagnostics(), muse.CollectorOptions{MaxReply: 1 << 20})
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	for n := 0; ; n++ {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Observe(e, time.Time{})
		if n%200_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&during)
			peak = max(peak, during.HeapAlloc)
		}
	}
	o := c.Finish(r, time.Time{})
	if o.Records == 0 || o.Lost > 0 {
		t.Errorf("%d records, %d lost", o.Records, o.Lost)
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("heap grew by %d bytes over a stream of %d", grown, size)
	}
}

// endless repeats a chunk until a number of bytes was read.
type endless struct {
	chunk []byte
	pos   int
	left  int64
}

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(b, e.chunk[e.pos:])
	e.pos = (e.pos + n) % len(e.chunk)
	if e.left -= int64(n); e.left <= 0 {
		// End on a line: the rest of the chunk may be cut anywhere.
		n = bytes.LastIndexByte(b[:n], '\n') + 1
	}
	return n, nil
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(plain("ok", "o", "k")), 0)
	f.Add([]byte(stream(func(s *musetest.Stream) {
		s.Open("p", "m")
		s.Tool(musetest.Tool{Name: "bash", CallID: "call_1", Text: `{"command":"ls","exit_code":0}`})
		s.Terminal("failed", nil, "429 rate limit, reset_at=2026-11-30T10:00:00Z", map[string]any{"quota_scope": "model"})
	})), 100)
	f.Add([]byte("noise\n{\"payload_type\":\"x\"}\r\n\n\x00\xff{"), 10)
	f.Fuzz(func(t *testing.T, data []byte, maxLine int) {
		opts := muse.ReaderOptions{MaxLine: max(maxLine, 0) % 100_000}
		whole := collect(t, bytes.NewReader(data), opts, muse.CollectorOptions{})
		pieces := collect(t, &chunked{data: bytes.Clone(data), size: 13}, opts, muse.CollectorOptions{})
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Errorf("reading in pieces differs:\n%s", diff)
		}
		if lines := int64(bytes.Count(data, []byte("\n")) + 1); whole.Records+whole.Lost > lines {
			t.Errorf("%d records and %d lost of %d lines", whole.Records, whole.Lost, lines)
		}
		if whole.Terminal == "" && whole.Settled != nil {
			t.Error("settled without a terminal")
		}
		// What strict reading accepts, lenient reading understands the same way.
		if strict, err := muse.ReadStrict(bytes.NewReader(data), opts); err == nil && (strict.Reply != whole.Reply || strict.Terminal != whole.Terminal || whole.Lost > 0) {
			t.Errorf("strict %q %q, lenient %q %q, lost %d", strict.Terminal, strict.Reply, whole.Terminal, whole.Reply, whole.Lost)
		}
	})
}

func benchmarkStream() []byte {
	return []byte(stream(func(s *musetest.Stream) {
		s.Open("fix the failing test", "muse-spark-1.3")
		for i := range 10 {
			id := s.Task("model.meta.response")
			s.Lifecycle(id, "accepted", nil)
			s.Lifecycle(id, "scheduled", map[string]any{"idempotency_key": "model:" + runID + ":" + id})
			s.Lifecycle(id, "started", nil)
			s.Lifecycle(id, "completed", nil)
			s.Tool(musetest.Tool{Name: "bash", CallID: fmt.Sprintf("call_%032d", i), Text: "{\n  \"command\": \"go test ./...\",\n  \"exit_code\": 0,\n  \"output\": \"ok\\n\"\n}"})
		}
		for range 20 {
			s.Delta("a few words ")
		}
		s.Terminal("completed", ptr(strings.Repeat("a few words ", 20)), "", nil)
	}))
}

// BenchmarkReader measures decoding and folding of streams like recorded ones.
func BenchmarkReader(b *testing.B) {
	data := benchmarkStream()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		collect(b, bytes.NewReader(data), muse.ReaderOptions{}, muse.CollectorOptions{})
	}
}

// BenchmarkReaderLong measures one long stream: the cost per byte alone.
func BenchmarkReaderLong(b *testing.B) {
	chunk := benchmarkStream()
	const size = 64 << 20
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		r := muse.NewReader(&endless{chunk: chunk, left: size}, muse.ReaderOptions{})
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}

// BenchmarkReaderStrict is BenchmarkReader in strict mode.
func BenchmarkReaderStrict(b *testing.B) {
	data := benchmarkStream()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := muse.ReadStrict(bytes.NewReader(data), muse.ReaderOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
