package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/audit/logtest"
	"github.com/openmuse/muse/internal/view/timeline"
)

// benchLog writes a log of the usual mix: for each step of a run its
// bookkeeping, opaque reasoning, a call and its result, the result twice.
// OPENMUSE_BENCH_MB sets its size; a gigabyte is what the target speaks of.
func benchLog(b *testing.B) (name string, size int64) {
	b.Helper()
	mb := 64
	if s := os.Getenv("OPENMUSE_BENCH_MB"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		mb = n
	}
	name = filepath.Join(b.TempDir(), "session.jsonl")
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	code := strings.Repeat(`\tif err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n`, 40)
	inner := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(code)
	opaque := strings.Repeat("Qx7aZ", 150)
	at, run := int64(logtest.Start), 0
	for size < int64(mb)<<20 {
		l := logtest.New(sid)
		l.At = at
		l.Metadata("/srv/proj", "muse-spark-1.3", "")
		for range 20 {
			run++
			id := fmt.Sprintf("0b7e6f5a-4c3d-4e2f-9a1b-%012d", run)
			l.RunModel(id, "muse-spark-1.3")
			l.Run(id, `{"kind":"started","prompt":"fix the failing test and tell me why it failed"}`)
			l.Run(id, `{"kind":"model_request_configured","base_instructions":"`+strings.Repeat("You are a careful engineer. ", 400)+`"}`)
			for step := range 8 {
				call := fmt.Sprintf("call_%d_%d", run, step)
				for _, k := range []string{"proposed", "accepted", "scheduled", "side_effect_intent", "started"} {
					l.Task(id, call, `{"kind":"`+k+`","task_id":"t","task_kind":"model.meta.response"}`)
				}
				l.Run(id, `{"kind":"reasoning_committed","message_id":"m","text":"","encrypted_content":"`+opaque+`"}`)
				l.Run(id, `{"kind":"model_completed","model":"muse-spark-1.3","usage":{"input_tokens":15727,"output_tokens":235}}`)
				l.Run(id, `{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{\"command\":\"go test ./...\",\"description\":\"Run the tests\"}","call_id":"`+call+`","name":"bash"}]}`)
				l.Task(id, call, `{"kind":"output","chunk":"`+code+`","final_result":true}`)
				l.Run(id, `{"kind":"tool_result_batch_committed","results":[{"tool_call_id":"`+call+`","text":"{\"exit_code\":1,\"output\":\"`+inner+`\"}"}]}`)
			}
			l.Run(id, `{"kind":"assistant_message_committed","text":"The fixture date is stale."}`)
			l.Run(id, `{"kind":"terminal","terminal":"completed","reason":null}`)
		}
		at = l.At
		n, err := f.Write(l.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		size += int64(n)
	}
	return name, size
}

// BenchmarkTimeline and the two below it read the same log to JSONL: ours, a
// plain reader on encoding/json that makes four kinds of rows and checks
// nothing, and jq, which only copies. One run compares them:
//
//	OPENMUSE_BENCH_MB=1000 go test -run '^$' -bench 'Timeline|EncodingJSON|JQ' -benchtime 1x ./internal/audit
func BenchmarkTimeline(b *testing.B) {
	name, size := benchLog(b)
	b.SetBytes(size)
	for b.Loop() {
		in, err := Find([]string{name})
		if err != nil {
			b.Fatal(err)
		}
		w := timeline.NewJSONL(io.Discard, false)
		if _, err := Timeline(context.Background(), in, TimelineOptions{}, w); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	name, size := benchLog(b)
	b.SetBytes(size)
	for b.Loop() {
		if err := plainReader(name, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// plainReader is what one would write in ten minutes.
func plainReader(name string, w io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	enc := json.NewEncoder(w)
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	for lines.Scan() {
		var rec struct {
			At      int64 `json:"recorded_at"`
			Payload struct {
				Event struct {
					Kind, Prompt, Text string
					Calls              []struct{ Name, Args string } `json:"tool_calls"`
					Results            []struct{ Text string }       `json:"results"`
				} `json:"event"`
			} `json:"payload"`
		}
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			continue
		}
		ev := rec.Payload.Event
		out := []string{ev.Prompt + ev.Text}
		for _, c := range ev.Calls {
			out = append(out, c.Args)
		}
		for _, r := range ev.Results {
			out = append(out, r.Text)
		}
		for _, text := range out {
			if text == "" {
				continue
			}
			if err := enc.Encode(map[string]any{"at": rec.At, "kind": ev.Kind, "text": text}); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

func BenchmarkJQ(b *testing.B) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		b.Skip("no jq to compare with")
	}
	name, size := benchLog(b)
	b.SetBytes(size)
	for b.Loop() {
		cmd := exec.Command(jq, "-c", ".", name)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v %s", err, errs.String())
		}
	}
}
