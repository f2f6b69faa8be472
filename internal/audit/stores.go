package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/openmuse/muse/internal/view/timeline"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// maxTrust bounds the trust file, which is read whole.
const maxTrust = 64 << 20

// history reads the prompt history: a JSON string, then an object with project
// and session, for each prompt; no times (seed 000, Prompt history). A string
// without its object still gives a row.
func (m *merger) history(f *File, order int) error {
	r, err := f.Open()
	if err != nil {
		m.problem(f.Label, err)
		return nil
	}
	defer r.Close()
	m.stats.Logs++
	s := &source{m: m, f: f, order: order}
	s.log = &timeline.Log{File: f.Label}
	c := newChunker(r, 256<<10, m.pool)
	h := historyReader{s: s}
	for {
		ch, err := c.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				m.problem(f.Label, fmt.Errorf("read: %w", err))
			}
			break
		}
		if ch.tooLong > 0 {
			h.bad(badLine{ch.data, ch.line, ch.offset}, ch.tooLong)
		} else {
			ch.lines(h.line)
		}
		c.recycle(ch)
		if s.err != nil {
			return s.err
		}
	}
	h.prompt(nil)
	m.stats.Bytes += c.offset
	return s.err
}

type historyReader struct {
	s       *source
	pending bool
	row     timeline.Row
}

func (h *historyReader) line(line []byte, number, offset int64) {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
	case !jsonline.Valid(line):
		h.bad(badLine{line, number, offset}, 0)
	case line[0] == '"':
		h.prompt(nil)
		lit, _ := jsonline.Literal(line)
		row := timeline.Row{
			Type: timeline.User, Kind: timeline.Prompt, Line: number, Offset: offset, File: h.s.f.Label,
			Text: timeline.Text{Literal: lit},
		}
		h.row, h.pending = row.Clone(), true
	case line[0] == '{':
		h.prompt(line)
	}
}

// prompt ends the pending prompt with its object, if there is one.
func (h *historyReader) prompt(object []byte) {
	if !h.pending {
		return
	}
	h.pending = false
	for f := jsonline.Members(object); f.Next(); {
		lit, _ := jsonline.Literal(f.Val)
		switch string(f.Key) {
		case "project":
			h.row.Project = string(jsonline.Text(lit))
		case "session":
			h.row.Session = string(jsonline.Text(lit))
		}
	}
	h.s.later(&h.row, 0)
}

func (h *historyReader) bad(b badLine, tooLong int64) {
	h.s.m.stats.BadLines++
	reason := jsonline.Reason(b.line)
	if tooLong > 0 {
		reason = fmt.Sprintf("line of %d bytes is longer than %d; its first %d bytes", tooLong, maxLine, len(b.line))
	}
	row := h.s.log.BadLine(b.number, b.offset, reason, b.line)
	h.s.later(&row, 1)
}

// trust gives a row for each project of trust.json, at the file's time (seed
// 000, coverage table).
func (m *merger) trust(f *File, order int) (*source, error) {
	r, err := f.Open()
	if err != nil {
		m.problem(f.Label, err)
		return nil, nil
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxTrust))
	if err != nil {
		m.problem(f.Label, fmt.Errorf("read: %w", err))
	}
	m.stats.Logs++
	m.stats.Bytes += int64(len(data))
	s := &source{m: m, order: order, first: f.ModTime.UnixMicro()}
	data = bytes.TrimPrefix(data, bom)
	text := bytes.TrimSpace(data)
	if len(text) == 0 {
		return nil, nil
	}
	if !jsonline.Valid(text) {
		log := &timeline.Log{File: f.Label}
		row := log.BadLine(1, 0, jsonline.Reason(text), text)
		m.stats.BadLines++
		s.later(&row, 1)
		return nil, s.err
	}
	line, counted := int64(1), 0
	for p := jsonline.Members(jsonline.Get(text, "projects")); p.Next(); {
		project := string(jsonline.Text(p.Key))
		decision := "-"
		if lit, ok := jsonline.Literal(jsonline.Get(p.Val, "decision")); ok {
			decision = string(jsonline.Text(lit))
		}
		offset := cap(data) - cap(p.Key) // the key is a part of data
		line += int64(bytes.Count(data[counted:offset], []byte{'\n'}))
		counted = offset
		row := timeline.Row{
			At: s.first, Timed: true, Type: timeline.System, Kind: timeline.Profile, Project: project, File: f.Label,
			Line: line, Offset: int64(offset),
			Text: timeline.PlainText("permission setting: projects." + project + ".decision=" + decision + " (from .config/muse/trust.json, file mtime)"),
		}
		s.emit(&row)
	}
	return s, nil
}
