package tui

import (
	"context"
	"strings"

	"github.com/openmuse/muse/internal/tui/compose"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/tui/text"
)

// history are the prompts of before, and the way through them.
type history struct {
	all   []string // oldest first
	at    int      // len(all) is the draft
	draft string   // what was being written before

	searching bool
	query     compose.Buffer
	found     int // in all, -1 for none
}

// newHistory reads the prompts beside the loop.
func newHistory(u *ui) *history {
	h := &history{}
	if u.History == nil {
		return h
	}
	beside(u, func(context.Context) ([]string, error) { return u.History.Read(u.Workspace) }, func(all []string, err error) {
		if err != nil {
			u.say(text.Warn, err.Error())
		}
		fresh := h.at == len(h.all)
		h.all = append(all, h.all...)
		if fresh {
			h.at = len(h.all)
		} else {
			h.at += len(all)
		}
	})
	return h
}

// remember adds a prompt.
func (h *history) remember(s string) {
	if n := len(h.all); n == 0 || h.all[n-1] != s {
		h.all = append(h.all, s)
	}
	h.at = len(h.all)
}

func (h *history) older(u *ui) {
	if h.at == 0 {
		return
	}
	if h.at == len(h.all) {
		h.draft = u.draft.Text()
	}
	h.at--
	u.draft.Clear()
	u.draft.Set(h.all[h.at])
}

func (h *history) newer(u *ui) {
	if h.at >= len(h.all) {
		return
	}
	h.at++
	u.draft.Clear()
	if h.at == len(h.all) {
		u.draft.Set(h.draft)
	} else {
		u.draft.Set(h.all[h.at])
	}
}

// search begins to look for a prompt, newest first.
func (h *history) search(u *ui) {
	h.searching, h.found = true, -1
	h.query.Clear()
	h.draft = u.draft.Text()
}

func (h *history) key(u *ui, k term.Key, action keymap.Action) {
	switch action {
	case keymap.Search, keymap.Up, keymap.Older:
		h.find(h.found - 1)
		return
	case keymap.Down, keymap.Newer:
		for i := h.found + 1; i < len(h.all); i++ {
			if h.matches(i) {
				h.found = i
				return
			}
		}
		return
	case keymap.Cancel, keymap.Interrupt:
		h.searching = false
		return
	case keymap.Submit, keymap.Complete:
		h.searching = false
		if h.found >= 0 {
			u.draft.Clear()
			u.draft.Set(h.all[h.found])
			h.at = len(h.all)
		}
		return
	}
	editKey(&h.query, k, action)
	h.find(len(h.all) - 1)
}

func (h *history) matches(i int) bool {
	return strings.Contains(strings.ToLower(h.all[i]), strings.ToLower(h.query.Raw()))
}

func (h *history) find(from int) {
	if h.query.Empty() && from == -2 {
		from = len(h.all) - 1
	}
	for i := min(from, len(h.all)-1); i >= 0; i-- {
		if h.matches(i) {
			h.found = i
			return
		}
	}
	if h.found >= 0 && h.found < len(h.all) && !h.matches(h.found) {
		h.found = -1
	}
}

func (h *history) view(u *ui, w int) []text.Line {
	if !h.searching {
		return nil
	}
	out := h.query.View(text.Of(text.Accent, "search: "), w, 1)
	if h.found >= 0 {
		lines := text.Lines(text.Plain, h.all[h.found])
		for n, l := range lines {
			if n == 4 {
				out = append(out, text.Of(text.Muted, "  …"))
				break
			}
			out = append(out, text.Cut(append(text.Of(0, "  "), l...), w))
		}
	} else if !h.query.Empty() {
		out = append(out, text.Of(text.Muted, "  nothing found"))
	}
	return append(out, text.Cut(text.Of(text.Muted, "  "+u.Keys.Key(keymap.Submit)+" takes it, "+u.Keys.Key(keymap.Search)+" older, "+u.Keys.Key(keymap.Cancel)+" closes"), w))
}
