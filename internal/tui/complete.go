package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/text"
)

// drawer are the completions of what is being written, below the prompt.
type drawer struct {
	kind   byte // '/' or '@', 0 for none
	from   int  // where the completed word begins in the draft
	rows   []drawerRow
	at     int
	closed string // a draft for which it was closed
}

type drawerRow struct{ insert, label, detail string }

func (d *drawer) open() bool { return d.kind != 0 && len(d.rows) > 0 }

// fileList are the files of the workspace, read when they are first asked for.
type fileList struct {
	names   []string
	lower   []string // the same in lower case
	read    time.Time
	reading bool
}

// filesFor is how long a list of files is taken for what there is.
const filesFor = 30 * time.Second

// complete looks for what the word at the cursor may become.
func (u *ui) complete() {
	raw, at := u.draft.Raw(), u.draft.At()
	if u.drawer.closed != "" && raw == u.drawer.closed {
		return
	}
	u.drawer = drawer{}
	head := raw[:at]
	if strings.HasPrefix(head, "/") && !strings.ContainsAny(head, " \n") && len(head) == len(raw) {
		d := drawer{kind: '/'}
		for _, c := range commands() {
			if c.have(u) && strings.HasPrefix(c.name, head[1:]) {
				d.rows = append(d.rows, drawerRow{"/" + c.name, "/" + c.name + c.usage(), c.help})
			}
		}
		u.drawer = d
		return
	}
	word := head[strings.LastIndexAny(head, " \n\t")+1:]
	if !strings.HasPrefix(word, "@") || u.Files == nil {
		return
	}
	u.readFiles()
	d := drawer{kind: '@', from: at - len(word)}
	for _, f := range u.files.match(word[1:], 50) {
		insert := "@" + f
		if strings.ContainsAny(f, " \t") {
			insert = `@"` + f + `"`
		}
		d.rows = append(d.rows, drawerRow{insert + " ", f, ""})
	}
	u.drawer = d
}

func (u *ui) readFiles() {
	if u.files.reading || u.files.names != nil && u.Now().Sub(u.files.read) < filesFor {
		return
	}
	u.files.reading = true
	beside(u, u.Files, func(names []string, err error) {
		u.files.reading, u.files.read = false, u.Now()
		if err != nil {
			u.hint = "the files cannot be listed: " + err.Error()
			return
		}
		u.files.set(names)
		u.complete()
	})
}

func (l *fileList) set(names []string) {
	l.names, l.lower = names, make([]string, len(names))
	for i, n := range names {
		l.lower[i] = strings.ToLower(n)
	}
}

// match are the names that have the letters of a word in their order, the best
// first: those with the word in their last part before all others.
func (l *fileList) match(word string, limit int) []string {
	type hit struct {
		name  string
		score int
	}
	word = strings.ToLower(word)
	var hits []hit
	for i, n := range l.lower {
		if s := score(n, word); s >= 0 {
			hits = append(hits, hit{l.names[i], s})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return len(a.name) - len(b.name)
	})
	var out []string
	for _, h := range hits[:min(limit, len(hits))] {
		out = append(out, h.name)
	}
	return out
}

// score is how far a name is from a word, both in lower case, -1 for out of
// reach.
func score(lower, word string) int {
	if word == "" {
		return strings.Count(lower, "/")
	}
	base := lower[strings.LastIndexByte(lower, '/')+1:]
	switch {
	case base == word:
		return 0
	case strings.HasPrefix(base, word):
		return 1
	case strings.Contains(base, word):
		return 2
	case strings.Contains(lower, word):
		return 3
	}
	from, gaps := 0, 0
	for i := range len(word) {
		j := strings.IndexByte(lower[from:], word[i])
		if j < 0 {
			return -1
		}
		if j > 0 {
			gaps++
		}
		from += j + 1
	}
	return 4 + gaps
}

// key is a key while completions are shown; false leaves it to the prompt.
func (d *drawer) key(u *ui, action keymap.Action) bool {
	switch action {
	case keymap.Up, keymap.Older:
		d.at = (d.at + len(d.rows) - 1) % len(d.rows)
	case keymap.Down, keymap.Newer:
		d.at = (d.at + 1) % len(d.rows)
	case keymap.Complete:
		d.take(u)
	case keymap.Submit:
		if d.kind == '/' && d.rows[d.at].insert == u.draft.Raw() {
			*d = drawer{}
			return false
		}
		run := d.kind == '/' && !commandNamed(d.rows[d.at].insert[1:]).needs
		d.take(u)
		if run {
			u.enterPressed("")
			u.draftChanged()
		}
	case keymap.Cancel:
		*d = drawer{closed: u.draft.Raw()}
	default:
		return false
	}
	return true
}

// take puts the selected completion into the draft.
func (d *drawer) take(u *ui) {
	row := d.rows[d.at]
	insert := row.insert
	if d.kind == '/' && commandNamed(insert[1:]).takesWords() {
		insert += " "
	}
	if d.kind == '@' {
		before, at := u.draft.State(), u.draft.At()
		u.draft.Replace(d.from, "")
		if u.completedPicture(row.label) {
			*d = drawer{}
			return
		}
		before.At = at
		u.draft.Restore(before)
	}
	u.draft.Replace(d.from, insert)
	*d = drawer{}
	if row.insert[0] == '/' && !strings.HasSuffix(insert, " ") {
		d.closed = u.draft.Raw()
	}
}

func (d *drawer) view(w, room int) []text.Line {
	if !d.open() || room < 1 {
		return nil
	}
	from := max(0, min(d.at-room+2, len(d.rows)-room+1))
	to := min(len(d.rows), from+max(1, room-1))
	wide := 0
	for _, r := range d.rows[from:to] {
		wide = max(wide, text.Width(text.Clean(r.label)))
	}
	wide = min(wide, w/2)
	var out []text.Line
	for n, r := range d.rows[from:to] {
		style := text.Plain
		if from+n == d.at {
			style = text.Reverse
		}
		label := text.Of(style, r.label)
		if r.detail == "" {
			label = text.Of(style, text.CutLeft(text.Clean(r.label), w-2))
		} else {
			label = text.Pad(text.Cut(label, wide), wide).Add(text.Muted, "  "+r.detail)
		}
		out = append(out, text.Cut(append(text.Of(0, "  "), label...), w))
	}
	if n := len(d.rows) - (to - from); n > 0 {
		out = append(out, text.Of(text.Muted, fmt.Sprintf("  … %d more", n)))
	}
	return out
}
