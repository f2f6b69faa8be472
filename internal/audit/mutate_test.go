package audit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/audit/logtest"
	"github.com/openmuse/muse/internal/view/timeline"
)

// marked is a log in which every line that gives a row gives one with a text
// of its own, whatever stands around it.
func marked(n int) (log []byte, text map[string]string) {
	l := session(sid, logtest.Start)
	text = map[string]string{}
	for i := range n {
		before := len(l.Bytes())
		word := fmt.Sprintf("word-%04d", i)
		switch i % 5 {
		case 0:
			l.Run("r1", fmt.Sprintf(`{"kind":"assistant_message_committed","text":%q}`, word))
		case 1:
			l.Run("r1", fmt.Sprintf(`{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{\"command\":\"%s\"}","call_id":"c","name":"bash"}]}`, word))
		case 2:
			l.Run("r1", fmt.Sprintf(`{"kind":"tool_result_batch_committed","results":[{"tool_call_id":"c","text":"{\"output\":\"%s\",\"exit_code\":0}"}]}`, word))
		case 3:
			l.Approval("r1", fmt.Sprintf(`{"kind":"requested","pending_action_id":"p","raw_args":%q}`, word))
		case 4:
			l.Run("r1", fmt.Sprintf(`{"kind":"started","prompt":%q}`, word))
		}
		text[strings.TrimSuffix(string(l.Bytes()[before:]), "\n")] = word
	}
	return bytes.Clone(l.Bytes()), text
}

// checkKept fails when a line that is as it was has lost its row.
func checkKept(t *testing.T, what string, log []byte, text map[string]string) Stats {
	t.Helper()
	rows, stats := read(t, TimelineOptions{Thinking: true}, tree(t, map[string][]byte{"session.jsonl": log}))
	have := map[string]bool{}
	for _, r := range rows {
		for _, word := range strings.Fields(strings.NewReplacer(`"`, " ", `\`, " ", ":", " ").Replace(r.Text)) {
			have[word] = true
		}
	}
	for line := range strings.SplitSeq(string(log), "\n") {
		if word, ok := text[line]; ok && !have[word] {
			t.Fatalf("%s: the row of %s is lost", what, word)
		}
	}
	return stats
}

// TestMutatedLogs damages logs in every way that was thought of: whatever
// happens to some lines, the rows of the others stay.
func TestMutatedLogs(t *testing.T) {
	whole, text := marked(60)
	lines := bytes.SplitAfter(whole, []byte{'\n'})
	lines = lines[:len(lines)-1]
	rng := rand.New(rand.NewPCG(4, 2))
	join := func(l [][]byte) []byte { return bytes.Join(l, nil) }
	copied := func() [][]byte {
		c := make([][]byte, len(lines))
		for i := range lines {
			c[i] = bytes.Clone(lines[i])
		}
		return c
	}
	replace := func(old, new string) []byte { return bytes.Replace(whole, []byte(old), []byte(new), 1) }
	kinds := map[string]func() []byte{
		"cut":      func() []byte { return whole[:rng.IntN(len(whole))] },
		"head cut": func() []byte { return whole[rng.IntN(len(whole)):] },
		"bytes flipped": func() []byte {
			b := bytes.Clone(whole)
			for range 1 + rng.IntN(30) {
				b[len(lines[0])+rng.IntN(len(b)-len(lines[0]))] ^= byte(1 << rng.IntN(8))
			}
			return b
		},
		"lines swapped": func() []byte {
			l := copied()
			for range 1 + rng.IntN(20) {
				i, j := 1+rng.IntN(len(l)-1), 1+rng.IntN(len(l)-1)
				l[i], l[j] = l[j], l[i]
			}
			return join(l)
		},
		"lines doubled": func() []byte {
			l := copied()
			i := rng.IntN(len(l))
			return join(append(l[:i:i], append([][]byte{l[i]}, l[i:]...)...))
		},
		"NULs": func() []byte {
			l := copied()
			i := 1 + rng.IntN(len(l)-1)
			clear(l[i][:rng.IntN(len(l[i]))])
			return append(join(l), make([]byte, rng.IntN(9000))...)
		},
		"invalid UTF-8": func() []byte {
			b := bytes.Clone(whole)
			for range 20 {
				b[len(lines[0])+rng.IntN(len(b)-len(lines[0]))] = 0x80 + byte(rng.IntN(0x80))
			}
			return b
		},
		"duplicate keys": func() []byte { return replace(`"kind":"run"`, `"kind":"task","kind":"run"`) },
		"huge number":    func() []byte { return replace(`"recorded_at":17908452000`, `"recorded_at":1e999,"x":17908452000`) },
		"deep nesting":   func() []byte { return replace(`"text":"word-0000"`, `"text":`+strings.Repeat("[", 50_000)) },
		"deep but whole": func() []byte {
			return replace(`"text":"word-0000"`, `"text":`+strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000))
		},
		"lone surrogates": func() []byte { return replace(`word-0000`, `\ud800 \udc00\udc00`) },
		"frames in frames": func() []byte {
			frame := `{"a":1}`
			for range 12 {
				frame = fmt.Sprintf(`{"retained_frame":"x","children":[{"child_index":0,"record_json":%q}]}`, frame)
			}
			return append(append(bytes.Clone(lines[0]), frame+"\n"...), join(lines[1:])...)
		},
		"markup and escapes": func() []byte {
			return replace(`word-0000`, `</script><img src=x onerror=alert(1)>\u001b]0;x\u0007=cmd|' /C calc'!A0`)
		},
	}
	for name, mutate := range kinds {
		t.Run(name, func(t *testing.T) {
			for i := range 25 {
				checkKept(t, fmt.Sprintf("%s %d", name, i), mutate(), text)
			}
		})
	}
}

// TestBigLine has a record of 200 MB and a line that is no record of 100 MB
// between others.
func TestBigLine(t *testing.T) {
	if testing.Short() {
		t.Skip("a log of 300 MB")
	}
	whole, text := marked(10)
	l := logtest.New(sid)
	l.Run("r1", `{"kind":"assistant_message_committed","text":"big `+strings.Repeat("x", 200<<20)+`"}`)
	log := append(append(bytes.Clone(l.Bytes()), bytes.Repeat([]byte{'{'}, 100<<20)...), '\n')
	log = append(append(bytes.Clone(whole), log...), whole...)
	dir := tree(t, map[string][]byte{"session.jsonl": log})
	in, err := Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	sizes := &sizeWriter{}
	stats, err := Timeline(context.Background(), in, TimelineOptions{}, sizes)
	if err != nil || stats.BadLines != 1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if sizes.big != 2 || sizes.small < 2*len(text) {
		t.Errorf("%d big and %d small rows", sizes.big, sizes.small)
	}
}

type sizeWriter struct{ big, small int }

func (w *sizeWriter) Write(r *timeline.Row) error {
	if len(r.Text.Literal)+len(r.Text.Plain) > 90<<20 {
		w.big++
	} else {
		w.small++
	}
	return nil
}

func (w *sizeWriter) Close() error { return nil }

// TestNoise: bytes of no sense at all end soon, and all of them are shown.
func TestNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rng.IntN(256))
	}
	_, stats := read(t, TimelineOptions{}, tree(t, map[string][]byte{"session.jsonl": noise, "tui-history.jsonl": noise, "muse/trust.json": noise}))
	if stats.BadLines < int64(bytes.Count(noise, []byte{'\n'})) {
		t.Errorf("%d bad lines", stats.BadLines)
	}
	many := bytes.Repeat([]byte("x\n"), 100_000)
	if _, stats := read(t, TimelineOptions{}, tree(t, map[string][]byte{"session.jsonl": many})); stats.BadLines != 100_000 {
		t.Errorf("%d bad lines of 100000", stats.BadLines)
	}
}

// TestMemoryStaysFlat: a log many times the size of what is held is read
// without holding it.
func TestMemoryStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("a log of 200 MB")
	}
	l := session(sid, logtest.Start)
	body := strings.Repeat("line of output\\n", 500)
	for i := range 28_000 {
		l.Run("r1", fmt.Sprintf(`{"kind":"tool_result_batch_committed","results":[{"tool_call_id":"c%d","text":"%s"}]}`, i, body))
	}
	dir := tree(t, map[string][]byte{"session.jsonl": l.Bytes()})
	l = nil
	in, err := Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	runtime.GC()
	var peak uint64
	w := timeline.NewJSONL(io.Discard, false)
	n := 0
	_, err = Timeline(context.Background(), in, TimelineOptions{}, writerFunc(func(r *timeline.Row) error {
		if n++; n%2000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
		return w.Write(r)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if peak == 0 || peak > 150<<20 {
		t.Errorf("%d MiB were in use at the peak", peak>>20)
	}
}

type writerFunc func(*timeline.Row) error

func (f writerFunc) Write(r *timeline.Row) error { return f(r) }
func (f writerFunc) Close() error                { return nil }

// FuzzTimeline reads any bytes as a log: it ends, and its rows are in order.
// Which lines are covered depends on how goroutines meet, which confuses the
// shrinking of inputs: run it with -fuzzminimizetime 1x.
func FuzzTimeline(f *testing.F) {
	f.Add(session(sid, logtest.Start).Bytes())
	log, _ := marked(10)
	f.Add(log)
	f.Add([]byte(`{"retained_frame":"x","children":[{"child_index":1,"record_json":"{\"stream\":{\"id\":\"s\"}}"}]}` + "\n{cut"))
	f.Fuzz(func(t *testing.T, log []byte) {
		if len(log) > 1<<16 {
			return
		}
		rows, stats := read(t, TimelineOptions{Thinking: true}, tree(t, map[string][]byte{"session.jsonl": log, "tui-history.jsonl": log, "muse/trust.json": log}))
		last, untimed := "", false
		for _, r := range rows {
			if r.Time == "" {
				untimed = true
			} else if untimed || r.Time < last {
				t.Fatalf("%v after %s", r, last)
			} else {
				last = r.Time
			}
		}
		if len(stats.Problems) > 0 {
			t.Fatalf("problems: %v", stats.Problems)
		}
	})
}
