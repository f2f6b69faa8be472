package drive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/openmuse/muse/pkg/muse"
)

// CheckResult is one verdict of the check.
type CheckResult struct {
	Passed   bool    `json:"passed"`
	ExitCode int     `json:"exit_code"` // -1: ended by a signal or not run
	TimedOut bool    `json:"timed_out,omitempty"`
	Seconds  float64 `json:"seconds"`
	Output   string  `json:"output"` // head and tail of a long one
	Digest   string  `json:"digest"` // of the whole output, numbers left out
	Log      string  `json:"log,omitempty"`
	Schema   string  `json:"schema_error,omitempty"` // why the answer does not fit
}

// Limits of a check's output.
const (
	checkHead     = 4 << 10
	checkTail     = 12 << 10
	checkLogLimit = 16 << 20
)

// check runs the check command in dir and writes its output to logPath.
// started is told of its process.
func check(ctx context.Context, o *LoopOptions, dir, logPath string, started func(muse.Started)) (*CheckResult, error) {
	shell, args := "/bin/sh", []string{"-c", "exec 2>&1\n" + o.Until}
	if runtime.GOOS == "windows" {
		shell, args = "cmd", []string{"/C", o.Until + " 2>&1"}
	}
	clock := o.Turn.Clock
	checkCtx, cancel := withDeadline(ctx, clock, o.CheckTimeout)
	defer cancel()
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open check log: %w", err)
	}
	start := clock.Now()
	mark := muse.NewSessionID()
	env := append(muse.ScrubEnv(o.Turn.Env), muse.RunVariable+"="+mark)
	p, err := muse.Start(checkCtx, muse.Launch{Path: shell, Args: args, Env: env, Dir: dir, Grace: o.Turn.Grace, Clock: clock})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run check: %w", err), log.Close())
	}
	started(muse.Started{Pid: p.Pid(), StartID: muse.ProcessStart(p.Pid()), RunMark: mark})
	out := &excerpt{}
	digest := &numberless{h: sha256.New()}
	_, copyErr := io.Copy(io.MultiWriter(&limitedFile{f: log, left: checkLogLimit}, out, digest), p.Stdout())
	if copyErr != nil {
		p.Stop() // what is left of the output has no reader
	}
	exit := p.Wait()
	if err := errors.Join(copyErr, log.Close()); err != nil {
		return nil, fmt.Errorf("keep check output: %w", err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("run check: %w", context.Cause(ctx))
	}
	return &CheckResult{
		Passed: exit.Code == 0, ExitCode: exit.Code, TimedOut: checkCtx.Err() != nil, Seconds: clock.Now().Sub(start).Seconds(),
		Output: out.String(), Digest: hex.EncodeToString(digest.h.Sum(nil)), Log: logPath,
	}, nil
}

// withDeadline is context.WithTimeout on an injected clock.
func withDeadline(ctx context.Context, clock muse.Clock, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if d <= 0 {
		return ctx, func() { cancel(nil) }
	}
	timer := clock.After(d)
	go func() {
		select {
		case <-timer:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// excerpt keeps the head and the tail of what is written to it.
type excerpt struct {
	head, tail []byte
	total      int64
}

func (e *excerpt) Write(b []byte) (int, error) {
	n := len(b)
	e.total += int64(n)
	if room := checkHead - len(e.head); room > 0 {
		take := min(room, len(b))
		e.head = append(e.head, b[:take]...)
		b = b[take:]
	}
	e.tail = append(e.tail, b...)
	if len(e.tail) > 2*checkTail {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-checkTail:]...)
	}
	return n, nil
}

func (e *excerpt) String() string {
	tail := e.tail
	if len(tail) > checkTail {
		tail = tail[len(tail)-checkTail:]
	}
	text := string(e.head)
	if cut := e.total - int64(len(e.head)) - int64(len(tail)); cut > 0 {
		text += fmt.Sprintf("\n[... %d bytes left out ...]\n", cut)
	}
	return strings.ToValidUTF8(text+string(tail), "\uFFFD")
}

// numberless hashes text without its digits.
type numberless struct {
	h   hash.Hash
	buf []byte
}

func (n *numberless) Write(b []byte) (int, error) {
	n.buf = n.buf[:0]
	for _, c := range b {
		if c < '0' || c > '9' {
			n.buf = append(n.buf, c)
		}
	}
	if _, err := n.h.Write(n.buf); err != nil {
		return 0, err
	}
	return len(b), nil
}

// checkAnswer says why an answer does not fit a schema file; empty when it
// does. An error is about the schema, not the answer.
func checkAnswer(schemaFile, answer string) (string, error) {
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		return "", fmt.Errorf("read schema: %w", err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		return "", fmt.Errorf("read schema %s: %w", schemaFile, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return "", fmt.Errorf("resolve schema %s: %w", schemaFile, err)
	}
	text := answerJSON(answer)
	if err := muse.CheckJSON(text); err != nil {
		return fmt.Sprintf("the answer is not one JSON value: %v", err), nil
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Sprintf("the answer is not JSON: %v", err), nil
	}
	if err := resolved.Validate(value); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

// answerJSON is the answer, or the one fenced block in it.
func answerJSON(answer string) string {
	text := strings.TrimSpace(answer)
	if strings.Count(text, "```") != 2 {
		return text
	}
	_, rest, _ := strings.Cut(text, "```")
	body, _, _ := strings.Cut(rest, "```")
	if _, after, ok := strings.Cut(body, "\n"); ok && !strings.ContainsAny(strings.TrimSpace(strings.SplitN(body, "\n", 2)[0]), "{[\"") {
		body = after
	}
	return strings.TrimSpace(body)
}

// fenced quotes output in a prompt: the fence is longer than any run of
// backticks in it.
func fenced(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + string(bytes.TrimRight([]byte(text), "\n")) + "\n" + fence
}
