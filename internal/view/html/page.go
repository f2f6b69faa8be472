// Package html writes a timeline as one page that needs nothing but itself: a
// filterable list of rows with arguments and results, a lane for each session
// with approvals and permission changes marked, tokens and cost over time.
//
// The page is safe against what it shows. Data are JSON in script elements of a
// type that is not run, with every "<" escaped; the script puts them into the
// page as text only; a policy in the page forbids every script but that one,
// every request and every form.
package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/view/timeline"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed page.html
var body string

// Limits of what one page holds: a browser must still open it. What is over is
// counted and named on the page.
const (
	maxText = 16 << 10 // of a row
	maxMore = 16 << 10 // of a row's arguments or record
	maxData = 96 << 20 // of all rows; later ones are shown without their texts
	maxRows = 500_000
)

// Page is a [timeline.Writer]. Its Observe must see the events of the same
// logs.
type Page struct {
	w    io.Writer
	buf  []byte
	rows int64
	size int64
	left int64 // rows left out

	sessions table
	models   table
	tools    table
	files    table
	known    map[string]*session
	calls    []byte
	called   int64
	runs     map[string]string // provider of a run's model
	provider map[string]string // of a session
	err      error
}

type session struct {
	id, project, name string
	child             bool
}

// table numbers strings in the order they come.
type table struct {
	index map[string]int
	list  []string
}

func (t *table) of(s string) int {
	if i, ok := t.index[s]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[string]int{}
	}
	i := len(t.list)
	t.index[s] = i
	t.list = append(t.list, s)
	return i
}

// New starts a page.
func New(w io.Writer) *Page {
	p := &Page{w: w, known: map[string]*session{}, runs: map[string]string{}, provider: map[string]string{}}
	p.tools.of("") // most rows have none
	p.buf = append(p.buf, head()...)
	p.buf = append(p.buf, `<script type="application/json" id="rows">[`...)
	return p
}

// head is the page up to its data.
func head() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src %s; style-src-elem %s; style-src-attr 'none'; base-uri 'none'; form-action 'none'\">\n", hash(script), hash(style))
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>Timeline</title>\n<style>" + style + "</style>\n</head>\n<body>\n" + body)
	return b.String()
}

// Observe takes what is no row: what calls used, and names of sessions.
func (p *Page) Observe(subagent bool, ev *timeline.Event) {
	id := string(ev.Stream)
	s := p.session(id)
	s.child = s.child || subagent
	switch ev.Kind {
	case timeline.Metadata:
		if len(ev.Second) > 0 {
			p.provider[id] = string(ev.Second)
		}
	case timeline.RunModel:
		if len(p.runs) < 1<<16 {
			p.runs[string(ev.Run)] = string(ev.Second)
		}
	case timeline.Renamed:
		s.name = timeline.Text{Literal: ev.Text.Literal, Plain: ev.Text.Plain}.String()
	case timeline.ModelDone:
		p.call(id, ev)
	}
}

func (p *Page) session(id string) *session {
	s := p.known[id]
	if s == nil {
		s = &session{id: id}
		p.known[id] = s
		p.sessions.of(id)
	}
	return s
}

// call notes one model call: [ms, session, model, input, output, cached, cost].
func (p *Page) call(id string, ev *timeline.Event) {
	if p.called++; p.called > maxRows {
		return
	}
	if len(p.calls) > 0 {
		p.calls = append(p.calls, ',')
	}
	b := append(p.calls, '[')
	b = appendTime(b, ev.At, ev.Timed)
	cached := max(ev.Usage.Cached, ev.Usage.CacheRead)
	for _, n := range []int64{int64(p.sessions.of(id)), int64(p.models.of(string(ev.Name))), ev.Usage.Input, ev.Usage.Output, cached, p.cost(id, ev, cached)} {
		b = append(b, ',')
		b = strconv.AppendInt(b, n, 10)
	}
	p.calls = append(b, ']')
}

// cost is in millionths of a dollar, -1 when no price is known.
func (p *Page) cost(id string, ev *timeline.Event, cached int64) int64 {
	if ev.Usage.Priced {
		return ev.Usage.CostMicros
	}
	name := p.runs[string(ev.Run)]
	if name == "" {
		name = p.provider[id]
	}
	if name == "" {
		name = "meta"
	}
	price := models.Lookup(name, string(ev.Name)).Price
	if price == nil {
		return -1
	}
	return price.Cost(provider.Usage{Input: ev.Usage.Input, Output: ev.Usage.Output, CacheRead: cached, CacheWrite: ev.Usage.CacheWrite}).Micros()
}

func appendTime(b []byte, at int64, timed bool) []byte {
	if !timed {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, at/1000, 10)
}

// Write implements [timeline.Writer].
func (p *Page) Write(r *timeline.Row) error {
	if p.err != nil {
		return p.err
	}
	if p.rows >= maxRows {
		p.left++
		return nil
	}
	s := p.session(r.Session)
	if s.project == "" {
		s.project = r.Project
	}
	b := p.buf
	if p.rows > 0 {
		b = append(b, ',', '\n')
	}
	p.rows++
	b = appendTime(append(b, '['), r.At, r.Timed)
	for _, n := range []int{p.sessions.of(r.Session), typeNumber(r.Type), p.models.of(r.Model), p.tools.of(r.Tool)} {
		b = strconv.AppendInt(append(b, ','), int64(n), 10)
	}
	b = appendString(append(b, ','), []byte(r.CallID))
	text, more := r.Text.Append(nil), r.Raw
	if r.Kind != timeline.ToolCall && mark(r) == 0 {
		more = nil // a result's text says it all
	}
	if p.size > maxData {
		text, more = nil, nil
	}
	kept, cut := clip(text, maxText)
	b = appendString(append(b, ','), kept)
	b = strconv.AppendInt(append(b, ','), int64(cut), 10)
	b = strconv.AppendInt(append(b, ','), int64(p.files.of(r.File)), 10)
	b = strconv.AppendInt(append(b, ','), r.Line, 10)
	b = strconv.AppendInt(append(b, ','), int64(mark(r)), 10)
	if len(more) > 0 {
		kept, _ = clip(more, maxMore)
		b = appendString(append(b, ','), kept)
	} else {
		b = append(b, `,""`...)
	}
	b = append(b, ']')
	p.size += int64(len(b) - len(p.buf))
	p.buf = b
	if len(p.buf) > 256<<10 {
		p.flush()
	}
	return p.err
}

func typeNumber(t timeline.TurnType) int {
	for i, known := range timeline.TurnTypes {
		if t == known {
			return i
		}
	}
	return len(timeline.TurnTypes) - 1
}

// mark says how a row is marked: 1 an approval, 2 a denial, 3 a permission.
func mark(r *timeline.Row) int {
	switch r.Kind {
	case timeline.Asked, timeline.Reviewed:
		return 1
	case timeline.Decided:
		lit, _ := jsonline.Literal(jsonline.Get(r.Raw, "decision"))
		if len(lit) > 0 && !strings.HasPrefix(string(lit), "approve") {
			return 2
		}
		return 1
	case timeline.Profile, timeline.SecurityMode:
		return 3
	}
	return 0
}

// clip cuts text to at most n bytes at a character and says how many are over.
func clip(text []byte, n int) (kept []byte, cut int) {
	if len(text) <= n {
		return text, 0
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], len(text) - n
}

// appendString appends a JSON string that is safe inside a script element.
func appendString(b, text []byte) []byte {
	b = append(b, '"')
	start := len(b)
	b = jsonline.AppendQuoted(b, text)
	if strings.IndexByte(string(b[start:]), '<') >= 0 {
		safe := strings.ReplaceAll(string(b[start:]), "<", `\u003c`)
		b = append(b[:start], safe...)
	}
	return append(b, '"')
}

func (p *Page) flush() {
	if _, err := p.w.Write(p.buf); err != nil && p.err == nil {
		p.err = fmt.Errorf("write page: %w", err)
	}
	p.buf = p.buf[:0]
}

// Close writes the rest of the page.
func (p *Page) Close() error {
	b := append(p.buf, "]</script>\n<script type=\"application/json\" id=\"calls\">["...)
	b = append(b, p.calls...)
	b = append(b, "]</script>\n<script type=\"application/json\" id=\"meta\">{\"sessions\":["...)
	for i, id := range p.sessions.list {
		s := p.known[id]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"id":`...), []byte(s.id))
		b = appendString(append(b, `,"project":`...), []byte(s.project))
		b = appendString(append(b, `,"name":`...), []byte(s.name))
		b = strconv.AppendBool(append(b, `,"child":`...), s.child)
		b = append(b, '}')
	}
	for _, t := range []struct {
		name string
		list []string
	}{{"models", p.models.list}, {"tools", p.tools.list}, {"files", p.files.list}} {
		b = append(b, `],"`+t.name+`":[`...)
		for i, s := range t.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, []byte(s))
		}
	}
	b = append(b, "]}</script>\n"...)
	if p.left > 0 || p.size > maxData {
		b = fmt.Appendf(b, "<p class=\"dim\">The page is full: %d rows were left out, and later ones have no text. Narrow it with --since, --session or --project.</p>\n", p.left)
	}
	b = append(b, "<script>"+script+"</script>\n</body>\n</html>\n"...)
	p.buf = b
	p.flush()
	return p.err
}
