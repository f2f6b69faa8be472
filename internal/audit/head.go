package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/openmuse/muse/internal/view/timeline"
)

// Bounds of the look at a log's head for what rows need before it is said, and
// at a parent's for what a subagent's log never says.
const (
	headLines = 2000
	headBytes = 8 << 20
)

// head is what the first lines of a log say.
type head struct {
	first, last timeline.Defaults // the first and the latest value of each
	session     string
}

// readHead looks at the first lines of a log.
func readHead(f *File, pool *sync.Pool) (head, error) {
	var h head
	r, err := f.Open()
	if err != nil {
		return h, err
	}
	defer r.Close()
	c := newChunker(io.LimitReader(r, headBytes), 64<<10, pool)
	var rd timeline.Reader
	var cwd string
	for {
		ch, err := c.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return h, fmt.Errorf("read %s: %w", f.Label, err)
		}
		if err != nil || ch.line > headLines {
			break
		}
		ch.lines(func(line []byte, number, _ int64) {
			if number == 1 {
				line = bytes.TrimPrefix(line, bom)
			}
			events, _ := rd.Line(line, number, 0, nil)
			for i := range events {
				h.event(&events[i], &cwd)
			}
		})
	}
	if h.first.Project == "" {
		h.first.Project = cwd
	}
	if h.last.Project == "" {
		h.last.Project = cwd
	}
	return h, nil
}

func (h *head) event(ev *timeline.Event, cwd *string) {
	set := func(first, last *string, v []byte) {
		if len(v) == 0 {
			return
		}
		*last = string(v)
		if *first == "" {
			*first = *last
		}
	}
	if h.session == "" {
		h.session = string(ev.Stream)
	}
	switch ev.Kind {
	case timeline.Metadata:
		set(&h.first.Project, &h.last.Project, ev.Name)
		set(&h.first.Model, &h.last.Model, ev.Model)
	case timeline.Route:
		if *cwd == "" {
			*cwd = string(ev.Name)
		}
	case timeline.Branch:
		set(&h.first.Branch, &h.last.Branch, ev.Name)
	}
}

// defaults are what the rows of f take until the log says better.
func (m *merger) defaults(f *File) (timeline.Defaults, error) {
	h, err := m.head(f)
	if err != nil {
		return timeline.Defaults{}, err
	}
	d := h.first
	for _, p := range f.Parents {
		if d.Project != "" {
			break
		}
		ph, err := m.head(p)
		if err != nil {
			m.problem(p.Label, err)
			continue
		}
		d.Project = ph.last.Project
		if d.Branch == "" {
			d.Branch = ph.last.Branch
		}
	}
	return d, nil
}

func (m *merger) head(f *File) (head, error) {
	if h, ok := m.heads[f]; ok {
		return h, nil
	}
	h, err := readHead(f, m.pool)
	if err == nil {
		m.heads[f] = h
	}
	return h, err
}
