package tui

import (
	"fmt"
	"strings"

	"github.com/openmuse/muse/internal/tui/compose"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/tui/text"
)

// picker is a list of which one is chosen; typing narrows it.
type picker struct {
	title  string
	rows   []pickRow
	filter compose.Buffer
	at     int
	chosen func(pickRow)
	closed func() // when nothing is chosen; nil for nothing to do
	room   int    // rows seen at once, of the last frame
}

// pickRow is one choice.
type pickRow struct {
	id, label, detail string
	warn              bool
}

func (p *picker) shown() []pickRow {
	words := strings.Fields(strings.ToLower(p.filter.Raw()))
	var out []pickRow
rows:
	for _, r := range p.rows {
		all := strings.ToLower(r.label + " " + r.detail + " " + r.id)
		for _, w := range words {
			if !strings.Contains(all, w) {
				continue rows
			}
		}
		out = append(out, r)
	}
	return out
}

func (p *picker) key(u *ui, k term.Key, action keymap.Action) {
	rows := p.shown()
	switch action {
	case keymap.Up, keymap.Older:
		p.at--
	case keymap.Down, keymap.Newer, keymap.Complete:
		p.at++
	case keymap.PageUp:
		p.at -= max(1, p.room-1)
	case keymap.PageDown:
		p.at += max(1, p.room-1)
	case keymap.Cancel, keymap.Interrupt:
		p.close(u)
		return
	case keymap.Submit:
		if p.at < len(rows) {
			u.pick = nil
			p.chosen(rows[p.at])
		}
		return
	default:
		editKey(&p.filter, k, action)
		p.at = 0
	}
	p.at = max(0, min(p.at, len(p.shown())-1))
}

// close ends the list without a choice. Without a session there is nothing to
// go back to.
func (p *picker) close(u *ui) {
	u.pick = nil
	switch {
	case p.closed != nil:
		p.closed()
	case u.session == nil && !u.opening:
		u.quit()
	}
}

func (p *picker) view(u *ui, w, room int) []text.Line {
	rows := p.shown()
	out := []text.Line{text.Cut(text.Of(text.Bold, p.title).Add(text.Muted, fmt.Sprintf("  %d of %d", len(rows), len(p.rows))), w)}
	if !p.filter.Empty() {
		out = append(out, p.filter.View(text.Of(text.Accent, "  narrow: "), w, 1)...)
	}
	p.room = max(1, min(12, room-len(out)-1))
	from := max(0, min(p.at-p.room/2, len(rows)-p.room))
	for n := from; n < len(rows) && n < from+p.room; n++ {
		r := rows[n]
		mark, style := "  ", text.Plain
		if n == p.at {
			mark, style = "▸ ", text.Bold
		}
		line := text.Of(text.Accent, mark).Add(style, r.label)
		if r.detail != "" {
			detail := text.Muted
			if r.warn {
				detail = text.Warn
			}
			line = line.Add(detail, "  "+r.detail)
		}
		out = append(out, text.Cut(line, w))
	}
	help := fmt.Sprintf("  %s chooses, %s closes, typing narrows", u.Keys.Key(keymap.Submit), u.Keys.Key(keymap.Cancel))
	return append(out, text.Cut(text.Of(text.Muted, help), w))
}

// confirmation is a question that is answered with y or n.
type confirmation struct {
	lines []text.Line
	yes   func()
	no    func()

	scroll, page int // of the last frame
}

func (c *confirmation) key(u *ui, k term.Key, action keymap.Action) {
	switch {
	case action == keymap.PageUp, action == keymap.Up:
		c.scroll = max(0, c.scroll-max(1, c.page-1))
	case action == keymap.PageDown, action == keymap.Down:
		c.scroll += max(1, c.page-1)
	case k.Name == "y" && k.Text != "":
		u.confirm = nil
		c.yes()
	case k.Name == "n" && k.Text != "", action == keymap.Cancel, action == keymap.Interrupt:
		u.confirm = nil
		if c.no != nil {
			c.no()
		}
	}
}

func (c *confirmation) view(u *ui, w, room int) []text.Line {
	out := text.WrapAll(c.lines, w, text.Of(0, "  "))
	// What is asked about has to be readable whole before it is answered.
	if n := len(out); n > room-1 {
		c.page = max(1, room-2)
		c.scroll = max(0, min(c.scroll, n-c.page))
		out = append(out[c.scroll:c.scroll+c.page:c.scroll+c.page], text.Cut(text.Of(text.Warn, fmt.Sprintf("  rows %d to %d of %d; %s and %s scroll",
			c.scroll+1, c.scroll+c.page, n, u.Keys.Key(keymap.PageUp), u.Keys.Key(keymap.PageDown))), w))
	}
	return append(out, text.Of(text.Bold, "  y").Add(0, " yes   ").Add(text.Bold, "n").Add(0, " no"))
}
