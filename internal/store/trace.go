package store

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/ident"
)

// Trace is the trace log of one process, cli-<uuid>.log: a line of text for
// each step worth knowing when something went wrong,
//
//	2026-10-04T20:20:31.242428Z INFO muse.host host/open.go:41 event="session opened" id=…
//
// (seed 000, Transcript stores). It is a [slog.Handler]: the message becomes
// event, the package of the caller becomes the target. The file is made with
// the first line. Content of a session does not belong here.
type Trace struct {
	file  *traceFile
	attrs []byte // of With, formatted
	group string
}

type traceFile struct {
	mu   sync.Mutex
	path string
	f    *os.File
	err  error // the first failure; the trace is silent from then on
}

// NewTrace is a trace in dir, a session's directory or, before there is one,
// that of [BootstrapTraces].
func NewTrace(dir string) *Trace {
	return &Trace{file: &traceFile{path: filepath.Join(dir, "cli-"+ident.V4()+".log")}}
}

// BootstrapTraces is the directory for traces of processes that have no
// session yet.
func BootstrapTraces(root string) string {
	return filepath.Join(root, "local-tracing", "bootstrap")
}

// Path is the trace's file, which may not exist yet.
func (t *Trace) Path() string { return t.file.path }

// Close closes the file and returns the first error of all writing.
func (t *Trace) Close() error {
	t.file.mu.Lock()
	defer t.file.mu.Unlock()
	if t.file.f != nil {
		if err := t.file.f.Close(); t.file.err == nil {
			t.file.err = err
		}
		t.file.f = nil
	}
	return t.file.err
}

// Enabled implements slog.Handler: everything from debug up is kept.
func (t *Trace) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelDebug }

// Handle implements slog.Handler.
func (t *Trace) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString(r.Time.UTC().Format("2006-01-02T15:04:05.000000Z"))
	target, place := source(r.PC)
	fmt.Fprintf(&b, " %s %s %s event=%s", r.Level, target, place, strconv.Quote(r.Message))
	b.Write(t.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&b, t.group, a)
		return true
	})
	b.WriteByte('\n')
	return t.file.write(b.Bytes())
}

// WithAttrs implements slog.Handler.
func (t *Trace) WithAttrs(attrs []slog.Attr) slog.Handler {
	b := bytes.NewBuffer(bytes.Clone(t.attrs))
	for _, a := range attrs {
		writeAttr(b, t.group, a)
	}
	return &Trace{file: t.file, attrs: b.Bytes(), group: t.group}
}

// WithGroup implements slog.Handler.
func (t *Trace) WithGroup(name string) slog.Handler {
	if name == "" {
		return t
	}
	return &Trace{file: t.file, attrs: t.attrs, group: t.group + name + "."}
}

func (f *traceFile) write(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f == nil && f.err == nil {
		if f.err = os.MkdirAll(filepath.Dir(f.path), 0o700); f.err == nil {
			f.f, f.err = os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		}
	}
	if f.err == nil {
		_, f.err = f.f.Write(line)
	}
	return f.err
}

// source is the target and the file:line of a caller, both relative to the
// project.
func source(pc uintptr) (target, place string) {
	if pc == 0 {
		return "muse", "-"
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	pkg := frame.Function
	if slash := strings.LastIndexByte(pkg, '/'); slash >= 0 {
		if dot := strings.IndexByte(pkg[slash:], '.'); dot >= 0 {
			pkg = pkg[:slash+dot]
		}
	}
	dir := pkg
	if _, rest, ok := strings.Cut(pkg, "/internal/"); ok {
		dir = rest
	}
	return "muse." + strings.ReplaceAll(dir, "/", "."), fmt.Sprintf("%s/%s:%d", dir, filepath.Base(frame.File), frame.Line)
}

func writeAttr(b *bytes.Buffer, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, sub := range v.Group() {
			writeAttr(b, group, sub)
		}
		return
	}
	if a.Equal(slog.Attr{}) {
		return
	}
	text := v.String()
	if v.Kind() == slog.KindTime {
		text = v.Time().UTC().Format(time.RFC3339Nano)
	}
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' || r == 0x7f || !strconv.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	fmt.Fprintf(b, " %s%s=%s", group, a.Key, text)
}
