package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// references are the files that the logs of one session name.
type references struct {
	session  *audit.File // its log; the paths are relative to its directory
	children map[string]mention
	spills   map[string]spill
}

// mention is where something is named first.
type mention struct {
	file *audit.File
	at   place
}

type spill struct {
	mention
	size   int64
	digest string
	sized  bool
}

// maxReferences bounds how many files a session may name.
const maxReferences = 1 << 20

func newReferences(session *audit.File) *references {
	return &references{session: session, children: map[string]mention{}, spills: map[string]spill{}}
}

// read takes what a record names (seed 000, Joins and timestamps).
func (r *references) read(l *log, e *record.Envelope, at place) {
	if len(r.children)+len(r.spills) > maxReferences {
		return
	}
	switch e.PayloadType {
	case "subagent.control.start_attested":
		r.child(l, at, literal(fact(e.Payload), "subagent_session_id"))
	case "runtime.session":
		event := jsonline.Get(e.Payload, "event")
		switch literal(event, "kind") {
		case "memory_reminder_child_session_linked":
			r.child(l, at, childOf(literal(event, "child_session_log_path"), literal(event, "child_session_id")))
		case "task_stream_linked":
			if p := literal(jsonline.Get(event, "display"), "path"); p != "" {
				r.child(l, at, childOf(p, ""))
			}
		case "tool_output_ref":
			r.spill(l, at, jsonline.Get(event, "output_ref"))
		}
	}
}

func fact(payload []byte) []byte {
	if rec := jsonline.Get(payload, "record"); rec != nil {
		return rec
	}
	return payload
}

func literal(val []byte, key string) string {
	lit, _ := jsonline.Literal(jsonline.Get(val, key))
	return string(jsonline.Text(lit))
}

// childOf is the id in subagent/<id>/session.jsonl.
func childOf(p, id string) string {
	if path.Base(p) == "session.jsonl" && path.Base(path.Dir(path.Dir(p))) == "subagent" {
		return path.Base(path.Dir(p))
	}
	return id
}

func (r *references) child(l *log, at place, id string) {
	if id == "" {
		return
	}
	if strings.ContainsAny(id, `/\`) || id == "." || id == ".." {
		l.find(at, Error, HostilePath, "a subagent named %q", id)
		return
	}
	if _, known := r.children[id]; !known {
		r.children[id] = mention{l.file, at}
	}
}

func (r *references) spill(l *log, at place, ref []byte) {
	p := literal(ref, "path")
	if p == "" {
		return
	}
	clean := path.Clean(strings.ReplaceAll(p, `\`, "/"))
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || clean == "." {
		l.find(at, Error, HostilePath, "an output file at %q, outside of the session", p)
		return
	}
	s := spill{mention: mention{l.file, at}, digest: literal(ref, "digest")}
	s.size, s.sized = jsonline.Int(jsonline.Get(ref, "byte_len"))
	key := path.Join(l.file.Dir, clean)
	if _, known := r.spills[key]; !known {
		r.spills[key] = s
	}
}

// check compares what is named with what is there.
func (r *references) check(ctx context.Context, logs []*audit.File, emit func(Finding)) {
	there := map[string]*audit.File{}
	for _, f := range logs {
		if f.Kind == audit.SubagentLog {
			there[f.ID()] = f
		}
	}
	for id, m := range r.children {
		if there[id] == nil {
			emit(m.finding(Warning, MissingChild, fmt.Sprintf("the log of subagent %s is not there (one that failed before it wrote leaves none)", id)))
		}
	}
	for id, f := range there {
		if _, named := r.children[id]; !named {
			emit(Finding{File: f.Label, Severity: Warning, Code: OrphanChild, Message: "no log of the session names this subagent"})
		}
	}
	found := map[string]bool{}
	for _, f := range logs {
		r.outputs(f, path.Join(f.Dir, "tool-outputs"), 0, func(p string) { found[p] = true })
	}
	for p, s := range r.spills {
		if ctx.Err() != nil {
			return
		}
		r.compare(p, s, emit)
	}
	for p := range found {
		if _, named := r.spills[p]; named {
			continue
		}
		f := Finding{File: r.session.Label, Severity: Warning, Code: OrphanSpill, Message: fmt.Sprintf("no log names the output file %q", r.relative(p))}
		if slices.Contains(strings.Split(p, "/"), ".spool") {
			f.Severity, f.Message = Info, fmt.Sprintf("%q is left from a call that did not end", r.relative(p))
		}
		emit(f)
	}
}

func (r *references) relative(p string) string {
	return strings.TrimPrefix(strings.TrimPrefix(p, r.session.Dir), "/")
}

func (m mention) finding(s Severity, code, message string) Finding {
	return Finding{File: m.file.Label, Line: m.at.line, Offset: m.at.offset, Severity: s, Code: code, Message: message}
}

// outputs lists the files below tool-outputs.
func (r *references) outputs(f *audit.File, dir string, depth int, fn func(p string)) {
	names, err := f.ListBeside(dir)
	if err != nil || depth > 8 {
		return // there are none
	}
	for _, n := range names {
		if sub, ok := strings.CutSuffix(n, "/"); ok {
			r.outputs(f, path.Join(dir, sub), depth+1, fn)
		} else {
			fn(path.Join(dir, n))
		}
	}
}

func (r *references) compare(p string, s spill, emit func(Finding)) {
	rc, err := s.file.OpenBeside(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		emit(s.finding(Warning, MissingSpill, fmt.Sprintf("the output file %q is not there", r.relative(p))))
		return
	case err != nil:
		emit(s.finding(Warning, MissingSpill, fmt.Sprintf("the output file %q cannot be read: %v", r.relative(p), err)))
		return
	}
	defer rc.Close()
	h := sha256.New()
	n, err := io.Copy(h, rc)
	sum := hex.EncodeToString(h.Sum(nil))
	switch want := strings.TrimPrefix(s.digest, "sha256:"); {
	case err != nil:
		emit(s.finding(Warning, MissingSpill, fmt.Sprintf("the output file %q cannot be read: %v", r.relative(p), err)))
	case s.sized && n != s.size:
		emit(s.finding(Error, SpillMismatch, fmt.Sprintf("the output file %q has %d bytes, the log says %d", r.relative(p), n, s.size)))
	case len(want) == 64 && !strings.EqualFold(want, sum):
		emit(s.finding(Error, SpillMismatch, fmt.Sprintf("the output file %q has another hash than the log says", r.relative(p))))
	}
}
