package drive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/pkg/muse"
)

// Names of the files in an artifacts directory. Files that grow are appended
// to, so one directory can hold several turns.
const (
	fileLiveReply = "live_reply.md"
	fileToolCalls = "tool_calls.jsonl"
	fileMetadata  = "run_metadata.json"
	fileWaitGuard = "wait_guard_log.jsonl"
	fileUsage     = "usage.json"
	fileStderr    = "stderr_tail.txt"
	fileReply     = "reply.md"
	filePrompt    = "prompt.md"
	fileResult    = "result.json"
)

// streamLimit bounds the kept copy of one run's stdout.
const streamLimit = 256 << 20

// Artifacts is an artifacts directory (mode 0700, files 0600). A nil
// *Artifacts keeps nothing. A failing write is reported once and never ends a
// run.
type Artifacts struct {
	dir   string
	clock muse.Clock
	live  *liveReply
	tools *os.File
	diags muse.DiagnosticLog
}

// OpenArtifacts creates or reopens a directory.
func OpenArtifacts(dir string, clock muse.Clock) (*Artifacts, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open artifacts directory: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open artifacts directory: %w", err)
	}
	a := &Artifacts{dir: dir, clock: clock}
	live, err := a.append(fileLiveReply)
	if err != nil {
		return nil, fmt.Errorf("open artifacts directory: %w", err)
	}
	if a.tools, err = a.append(fileToolCalls); err != nil {
		return nil, fmt.Errorf("open artifacts directory: %w", errors.Join(err, live.Close()))
	}
	info, err := live.Stat()
	if err != nil {
		return nil, fmt.Errorf("open artifacts directory: %w", errors.Join(err, live.Close(), a.tools.Close()))
	}
	a.live = &liveReply{w: live, now: clock.Now, begun: info.Size() > 0}
	return a, nil
}

// Dir is the directory, or empty.
func (a *Artifacts) Dir() string {
	if a == nil {
		return ""
	}
	return a.dir
}

func (a *Artifacts) path(name string) string { return filepath.Join(a.dir, name) }

func (a *Artifacts) append(name string) (*os.File, error) {
	return os.OpenFile(a.path(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

func (a *Artifacts) failed(what string, err error) {
	if err != nil {
		a.diags.Add(muse.DiagArtifact, 0, "write %s: %v", what, err)
	}
}

// Findings are the writes that failed.
func (a *Artifacts) Findings() []muse.Diagnostic {
	if a == nil {
		return nil
	}
	return a.diags.List()
}

// Delta appends a fragment to the live reply.
func (a *Artifacts) Delta(runKey, text string) {
	if a != nil {
		a.failed(fileLiveReply, a.live.delta(runKey, text))
	}
}

// RunEnd closes the chunk of a run. A run that streamed nothing shows its
// terminal's text.
func (a *Artifacts) RunEnd(runKey string, t *muse.Terminal) {
	if a != nil {
		a.failed(fileLiveReply, a.live.end(runKey, t.Text))
	}
}

// StreamEnd closes the chunk that a stream left open.
func (a *Artifacts) StreamEnd() {
	if a != nil {
		a.failed(fileLiveReply, a.live.close())
	}
}

// ToolCall appends one record.
func (a *Artifacts) ToolCall(c muse.ToolCall) {
	if a == nil {
		return
	}
	line, err := json.Marshal(c, json.Deterministic(true))
	if err == nil {
		_, err = a.tools.Write(append(line, '\n'))
	}
	a.failed(fileToolCalls, err)
}

// WaitGuard appends one firing of the wait guard.
func (a *Artifacts) WaitGuard(f WaitFiring) {
	if a == nil {
		return
	}
	line, err := json.Marshal(f, json.Deterministic(true))
	if err == nil {
		var file *os.File
		if file, err = a.append(fileWaitGuard); err == nil {
			_, err = file.Write(append(line, '\n'))
			err = errors.Join(err, file.Close())
		}
	}
	a.failed(fileWaitGuard, err)
}

// Stream opens the copy of a run's raw stdout under the next free number.
func (a *Artifacts) Stream() (io.WriteCloser, string) {
	if a == nil {
		return nil, ""
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("stream-%03d.jsonl", n)
		f, err := os.OpenFile(a.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			a.failed(name, err)
			return nil, ""
		}
		return &limitedFile{f: f, left: streamLimit}, name
	}
}

// Text replaces a text file.
func (a *Artifacts) Text(name, text string) {
	if a != nil {
		a.failed(name, writeAtomic(a.path(name), []byte(text)))
	}
}

// JSON replaces a JSON file.
func (a *Artifacts) JSON(name string, v any) {
	if a != nil {
		a.failed(name, writeJSON(a.path(name), v))
	}
}

// Close closes what is open.
func (a *Artifacts) Close() {
	if a == nil {
		return
	}
	a.failed(fileLiveReply, a.live.close())
	a.failed(fileLiveReply, a.live.w.Close())
	a.failed(fileToolCalls, a.tools.Close())
}

// writeJSON writes indented JSON with a stable order of keys.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return writeAtomic(path, append(data, '\n'))
}

// writeAtomic replaces a file so that a reader, or a process killed at any
// instant, sees the old or the new content whole.
func writeAtomic(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(f.Name())))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// limitedFile stops keeping, not accepting, beyond its limit.
type limitedFile struct {
	f    *os.File
	left int
}

func (l *limitedFile) Write(b []byte) (int, error) {
	keep := b[:min(len(b), l.left)]
	l.left -= len(keep)
	if _, err := l.f.Write(keep); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (l *limitedFile) Close() error { return l.f.Close() }

// liveReply is the reply as it is being written: one chunk a run stream, each
// under one divider with a time, separated by a blank line. Every fragment is
// written as it arrives; the file has no buffer.
type liveReply struct {
	w     io.WriteCloser
	now   func() time.Time
	begun bool   // something was written before
	open  bool   // a chunk is open
	key   string // of the open chunk
	nl    bool   // the last byte written was a newline
	ended map[string]bool
}

func (l *liveReply) delta(key, text string) error {
	if text == "" {
		return nil
	}
	if !l.open || l.key != key {
		if err := l.begin(key); err != nil {
			return err
		}
	}
	l.nl = text[len(text)-1] == '\n'
	_, err := io.WriteString(l.w, text)
	return err
}

func (l *liveReply) begin(key string) error {
	err := l.close()
	head := "--- " + l.now().UTC().Format("2006-01-02 15:04:05Z") + "\n\n"
	if l.begun {
		head = "\n" + head
	}
	l.begun, l.open, l.key, l.nl = true, true, key, true
	_, writeErr := io.WriteString(l.w, head)
	return errors.Join(err, writeErr)
}

func (l *liveReply) end(key string, text *string) error {
	if l.open && l.key == key {
		return l.close()
	}
	if text == nil || *text == "" || l.ended[key] {
		return nil
	}
	return errors.Join(l.delta(key, *text), l.close())
}

func (l *liveReply) close() error {
	if !l.open {
		return nil
	}
	if l.ended == nil {
		l.ended = map[string]bool{}
	}
	if len(l.ended) < 1024 {
		l.ended[l.key] = true
	}
	l.open = false
	if l.nl {
		return nil
	}
	_, err := io.WriteString(l.w, "\n")
	return err
}
