package redact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/audit"
)

// ProofName is the proof's file in the output directory.
const ProofName = "redaction.jsonl"

// Options say what to redact and where to put it.
type Options struct {
	Out  string // a directory that does not exist or is empty
	Tool string
	Now  func() time.Time
}

// Summary is what a redaction did.
type Summary struct {
	Files   int
	LeftOut int
	Removed int64 // places
	Secrets int   // different ones
}

// target is a file to redact.
type target struct {
	name  string // in the output, slash-separated
	label string
	form  form
	open  func() (io.ReadCloser, error)
	time  time.Time
}

// form is how a file is read.
type form int

const (
	jsonLines form = iota // one JSON value a line
	document              // one JSON value
	text                  // lines of text
)

// Run redacts the logs of an input and the texts that belong to them. What
// cannot be redacted with confidence, such as databases, is left out and named
// in the proof.
func Run(ctx context.Context, in *audit.Input, o Options) (Summary, error) {
	var s Summary
	targets, left := targets(in)
	known := newSecrets()
	learn := &editor{secrets: known}
	for _, t := range targets {
		if err := t.each(ctx, learn, nil); err != nil {
			return s, err
		}
	}
	root, err := openOut(o.Out)
	if err != nil {
		return s, err
	}
	defer root.Close()
	proof, err := newProof(root, o)
	if err != nil {
		return s, err
	}
	literal := newMatcher(known.known())
	for _, t := range targets {
		n, err := write(ctx, root, t, known, literal, proof)
		if err != nil {
			return s, errors.Join(err, proof.close())
		}
		s.Files++
		s.Removed += n
	}
	for _, p := range left {
		proof.leftOut(p)
	}
	s.LeftOut = len(left)
	for _, x := range known.order {
		if x.count > 0 {
			s.Secrets++
			proof.secret(x)
		}
	}
	return s, proof.close()
}

func openOut(dir string) (*os.Root, error) {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("output %s: %w", dir, fs.ErrExist)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create output: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open output: %w", err)
	}
	return root, nil
}

// targets lists what is redacted, and what is left out.
func targets(in *audit.Input) (list []target, left []string) {
	taken := map[string]int{}
	add := func(f *audit.File, name string, fm form, open func() (io.ReadCloser, error)) {
		out := outName(name)
		if n := taken[out]; n > 0 {
			taken[out]++
			out = fmt.Sprintf("%d/%s", n+1, out) // the same path in another input
		} else {
			taken[out] = 1
		}
		list = append(list, target{name: out, label: path.Join(path.Dir(f.Label), path.Base(name)), form: fm, open: open, time: f.ModTime})
	}
	for _, f := range in.Files {
		own := path.Join(f.Dir, path.Base(f.Label))
		switch f.Kind {
		case audit.Trust:
			add(f, own, document, f.Open)
		case audit.History:
			add(f, own, jsonLines, f.Open)
		default:
			add(f, own, jsonLines, f.Open)
			if path.Base(f.Label) == "session.jsonl" {
				beside(f, f.Dir, 0, func(name string, fm form) {
					add(f, name, fm, func() (io.ReadCloser, error) { return f.OpenBeside(name) })
				}, func(name string) { left = append(left, path.Join(path.Dir(f.Label), strings.TrimPrefix(name, f.Dir))) })
			}
		}
	}
	return list, left
}

// beside finds the texts in a session's directory.
func beside(f *audit.File, dir string, depth int, take func(string, form), leave func(string)) {
	names, err := f.ListBeside(dir)
	if err != nil || depth > 8 {
		return
	}
	inside := strings.Contains(dir+"/", "/tool-outputs/")
	for _, n := range names {
		p := path.Join(dir, n)
		switch {
		case strings.HasSuffix(n, "/"):
			if n != "subagent/" { // has logs of its own, found by themselves
				beside(f, p, depth+1, take, leave)
			}
		case n == "session.jsonl":
		case strings.HasSuffix(n, ".jsonl"):
			take(p, jsonLines)
		case inside, strings.HasSuffix(n, ".txt"), strings.HasSuffix(n, ".log"):
			take(p, text)
		case strings.HasSuffix(n, ".lock"):
		default:
			leave(p)
		}
	}
}

// outName is a path of the evidence as one below the output.
func outName(name string) string {
	var parts []string
	for part := range strings.SplitSeq(path.Clean("/"+name), "/") {
		if part == "" {
			continue
		}
		parts = append(parts, strings.Map(func(r rune) rune {
			if r < 0x20 || r == 0x7f || strings.ContainsRune(`\:*?"<>|`, r) {
				return '_'
			}
			return r
		}, strings.ToValidUTF8(part, "_")))
	}
	return path.Join(parts...)
}

// maxDocument bounds a JSON document, which is read whole.
const maxDocument = 64 << 20

// each edits a file and hands out its lines. Without out it only learns.
func (t target) each(ctx context.Context, e *editor, out func(line []byte, torn bool) error) error {
	rc, err := t.open()
	if err != nil {
		return fmt.Errorf("open %s: %w", t.label, err)
	}
	defer rc.Close()
	if t.form == document {
		data, err := io.ReadAll(io.LimitReader(rc, maxDocument))
		if err != nil {
			return fmt.Errorf("read %s: %w", t.label, err)
		}
		e.number = 1
		edited := e.line(data)
		if out == nil {
			return nil
		}
		return out(edited, true)
	}
	key := false // inside a private key that goes over lines
	err = audit.EachLine(rc, func(l audit.Line) error {
		if l.Number&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		data := l.Data
		e.number = l.Number
		if l.TooLong > 0 {
			data = fmt.Appendf(nil, "%sline:0] a line of %d bytes was left out", mark, l.TooLong)
		} else if t.form == jsonLines {
			data = e.line(data)
		} else {
			data, key = e.keyLine(data, key)
		}
		if out == nil {
			return nil
		}
		return out(data, l.Torn)
	})
	if err != nil {
		return fmt.Errorf("redact %s: %w", t.label, err)
	}
	return nil
}

// keyLine edits a line of text; the lines of a private key are one secret.
func (e *editor) keyLine(line []byte, inKey bool) ([]byte, bool) {
	begin, end := bytes.Contains(line, []byte("-----BEGIN ")) && bytes.Contains(line, []byte("PRIVATE KEY")), bytes.Contains(line, []byte("-----END "))
	switch {
	case inKey:
		s := e.take("", "private-key", string(line))
		return []byte(s.placeholder), !end
	case begin && !end:
		out, _ := e.text(line, "")
		return out, true
	}
	out, _ := e.text(line, "")
	return out, false
}

// write redacts one file into the output.
func write(ctx context.Context, root *os.Root, t target, known *secrets, literal *matcher, p *proof) (int64, error) {
	if err := root.MkdirAll(path.Dir(t.name), 0o700); err != nil {
		return 0, fmt.Errorf("create output directory: %w", err)
	}
	f, err := root.OpenFile(t.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("create output: %w", err)
	}
	n, err := writeTo(ctx, f, t, known, literal, p)
	if cerr := f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close output: %w", cerr)
	}
	if err == nil && !t.time.IsZero() {
		if err = root.Chtimes(t.name, t.time, t.time); err != nil {
			err = fmt.Errorf("set times: %w", err)
		}
	}
	return n, err
}

func writeTo(ctx context.Context, f io.Writer, t target, known *secrets, literal *matcher, p *proof) (int64, error) {
	before, after := sha256.New(), sha256.New()
	w := &buffered{w: io.MultiWriter(f, after)}
	var removed int64
	e := &editor{secrets: known, literal: literal}
	e.report = func(place, rule string, s *secret, length int) {
		removed++
		p.removed(t.name, e.number, place, rule, s, length)
	}
	inner := t.open
	t.open = func() (io.ReadCloser, error) { return hashed(inner, before) }
	err := t.each(ctx, e, func(data []byte, torn bool) error {
		w.write(data)
		if !torn {
			w.write([]byte{'\n'})
		}
		return w.err
	})
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return removed, err
	}
	p.file(t, hex.EncodeToString(before.Sum(nil)), hex.EncodeToString(after.Sum(nil)), removed)
	return removed, nil
}

// hashed opens a file so that all that is read is hashed.
func hashed(open func() (io.ReadCloser, error), h hash.Hash) (io.ReadCloser, error) {
	rc, err := open()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(rc, h), rc}, nil
}

type buffered struct {
	w   io.Writer
	buf []byte
	err error
}

func (b *buffered) write(p []byte) {
	b.buf = append(b.buf, p...)
	if len(b.buf) >= 256<<10 {
		b.err = b.flush()
	}
}

func (b *buffered) flush() error {
	if b.err != nil {
		return b.err
	}
	_, err := b.w.Write(b.buf)
	b.buf = slices.Delete(b.buf, 0, len(b.buf))
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
