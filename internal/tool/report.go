package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/tool/process"
)

// chunk is the result of bash and bash_input: these keys in this order, as
// indented JSON (STREAM.md (a), "Text forms seen"; seed 000, "Tool call
// arguments and results").
type chunk struct {
	ChunkID     string `json:"chunk_id"`
	Command     string `json:"command"`
	Description string `json:"description"`
	ExitCode    *int   `json:"exit_code"` // null while it runs and when a signal ended it
	// TerminalStatus is "completed", "failed" or "running".
	TerminalStatus string `json:"terminal_status"`
	TerminalReason string `json:"terminal_reason,omitzero"`
	SessionID      string `json:"session_id,omitzero"` // only while it runs
	Output         string `json:"output"`
	// The original counts are of all the output since the last chunk.
	OriginalOutputBytes  int64 `json:"original_output_bytes"`
	OriginalOutputTokens int64 `json:"original_output_tokens"`
	Truncated            bool  `json:"truncated"`
}

// bytesPerToken is the estimate that the counts of the recordings fit: bytes
// divided by four, rounded up.
const bytesPerToken = 4

// report makes the result of a call that waited for the command: what was
// printed since the last report, and how it stands. It ends the call's watching.
func (c *command) report(call Call, kind string, maxTokens int) Result {
	running := c.unwatch()
	c.mu.Lock()
	c.chunks++
	out := chunk{
		ChunkID: fmt.Sprintf("%s-%d", c.id, c.chunks), Command: c.line, Description: c.description,
		TerminalStatus: "completed",
	}
	cause := c.cause
	c.mu.Unlock()
	if running {
		out.TerminalStatus, out.SessionID = "running", c.id
	} else {
		c.set.cmds.done(c)
		if err := c.proc.Exit().Err; errors.Is(err, ErrNoSandbox) {
			c.set.spool.discard(c.out.Take().File) // what was printed is not the command's
			return environmentFailure(err)
		}
		c.ending(&out, cause)
	}
	limit := c.set.opt.MaxOutputBytes
	if maxTokens > 0 && maxTokens <= limit/bytesPerToken { // asked so, no number is too large to multiply
		limit = maxTokens * bytesPerToken
	}
	cut := c.set.cut(c.out.Take(), call, kind, limit, c.tty)
	out.Output, out.Truncated = cut.text, cut.truncated
	out.OriginalOutputBytes = cut.total
	out.OriginalOutputTokens = (cut.total + bytesPerToken - 1) / bytesPerToken
	// A path in the output or the reason need not be UTF-8.
	text, err := json.Marshal(out, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return Fail("the result cannot be written: " + err.Error())
	}
	return Result{Text: string(text), Spill: cut.spill}
}

// ending fills in how a command ended.
func (c *command) ending(out *chunk, cause string) {
	exit := c.proc.Exit()
	if exit.Code >= 0 && cause == "" {
		code := exit.Code
		out.ExitCode = &code
	}
	if exit.Success() && cause == "" {
		return
	}
	out.TerminalStatus = "failed"
	switch {
	case cause != "":
		out.TerminalReason = cause
	case exit.Err != nil:
		out.TerminalReason = exit.Err.Error()
	default:
		out.TerminalReason = "process exited with status " + exit.Status
	}
}

// cutOutput is output as the model gets it.
type cutOutput struct {
	text      string
	total     int64
	truncated bool
	spill     *Spill
}

// cut shortens output to about limit bytes, the beginning and the end, and
// saves all of it in a file when something is left out.
func (s *Set) cut(k process.Kept, call Call, kind string, limit int, tty bool) cutOutput {
	text := process.Text
	if tty {
		text = process.TerminalText
	}
	out := cutOutput{total: k.Total}
	if k.Omitted() == 0 && len(k.Head)+len(k.Tail) <= limit {
		s.spool.discard(k.File)
		out.text = text(append(k.Head, k.Tail...))
		return out
	}
	if k.File == nil && k.FileErr == nil { // all of it is in memory still
		k.File, k.FileErr = s.spool.open(call, kind)
		if k.FileErr == nil {
			_, k.FileErr = k.File.Write(slices.Concat(k.Head, k.Tail))
		}
	}
	head, tail := k.Head, k.Tail
	if k.Omitted() == 0 {
		all := slices.Concat(head, tail)
		head, tail = all, all
	}
	head, tail = wholeHead(head, limit/2), wholeTail(tail, limit-limit/2)
	out.truncated = true
	out.text = fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text(head), k.Total-int64(len(head)+len(tail)), text(tail))
	if k.FileErr == nil {
		out.spill, k.FileErr = s.spool.keep(k.File, call, kind, s.opt.Workspace)
		k.File = nil
	}
	if k.FileErr != nil {
		s.spool.discard(k.File)
		out.text = endLine(out.text) + "The full output could not be saved: " + k.FileErr.Error()
		return out
	}
	out.text = endLine(out.text) + "Full output saved to: " + out.spill.Path
	return out
}

func endLine(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// wholeHead is at most n bytes from the beginning, without half a character at
// the end.
func wholeHead(b []byte, n int) []byte {
	b = b[:min(len(b), n)]
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// wholeTail is at most n bytes from the end, without half a character at the
// beginning.
func wholeTail(b []byte, n int) []byte {
	b = b[max(len(b)-n, 0):]
	for i := 1; i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return b
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
