// Package keymap says which key does what. Bindings are those of the table
// below, changed by tui.keymap of settings.json; a binding that cannot be is
// named, never ignored.
package keymap

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Action is something a key can do.
type Action string

// Actions. Their names are what tui.keymap of settings.json binds.
const (
	Interrupt Action = "app.interrupt"
	Quit      Action = "app.quit"
	Suspend   Action = "app.suspend"
	Editor    Action = "app.editor"
	Redraw    Action = "app.clear"
	Details   Action = "app.details"
	Beside    Action = "app.background"
	Approval  Action = "app.approval_mode"
	Picture   Action = "app.paste_image"

	Submit   Action = "composer.submit"
	Newline  Action = "composer.newline"
	Queue    Action = "composer.queue"
	Complete Action = "composer.complete"
	Cancel   Action = "composer.cancel"
	Search   Action = "composer.search"
	Older    Action = "composer.older"
	Newer    Action = "composer.newer"

	Left          Action = "editor.left"
	Right         Action = "editor.right"
	WordLeft      Action = "editor.word_left"
	WordRight     Action = "editor.word_right"
	Home          Action = "editor.home"
	End           Action = "editor.end"
	Backspace     Action = "editor.backspace"
	Delete        Action = "editor.delete"
	KillWord      Action = "editor.kill_word"
	KillWordRight Action = "editor.kill_word_right"
	KillStart     Action = "editor.kill_start"
	KillEnd       Action = "editor.kill_end"
	Yank          Action = "editor.yank"
	Transpose     Action = "editor.transpose"

	Up       Action = "move.up"
	Down     Action = "move.down"
	PageUp   Action = "move.page_up"
	PageDown Action = "move.page_down"
)

// Row is one action with its keys.
type Row struct {
	Action Action
	Keys   []string
	Help   string
}

func defaults() []Row {
	return []Row{
		{Interrupt, []string{"ctrl+c"}, "stop the running turn; empty the prompt; twice: leave"},
		{Quit, []string{"ctrl+d"}, "leave, when the prompt is empty"},
		{Suspend, []string{"ctrl+z"}, "suspend muse"},
		{Editor, []string{"ctrl+g"}, "write the prompt in $VISUAL or $EDITOR"},
		{Redraw, []string{"ctrl+l"}, "clear the screen"},
		{Details, []string{"ctrl+o"}, "show the last tool call in full; in an approval the whole command"},
		{Beside, []string{"ctrl+b"}, "let the running command go on in the background"},
		{Approval, []string{"shift+tab"}, "next approval mode"},
		{Picture, []string{"ctrl+v"}, "attach the picture on the clipboard"},

		{Submit, []string{"enter"}, "send the prompt; while a turn runs, hand it to that turn"},
		{Newline, []string{"shift+enter", "ctrl+j"}, "new line"},
		{Queue, []string{"alt+enter"}, "send the prompt after the running turn"},
		{Complete, []string{"tab"}, "take the completion; while a turn runs, queue the prompt"},
		{Cancel, []string{"esc"}, "close what is open; stop the running turn; twice on an empty prompt: go back to an earlier one"},
		{Search, []string{"ctrl+r"}, "search the prompts of before"},
		{Older, []string{"ctrl+p"}, "the prompt before"},
		{Newer, []string{"ctrl+n"}, "the prompt after"},

		{Left, []string{"left"}, "a character left"},
		{Right, []string{"right", "ctrl+f"}, "a character right"},
		{WordLeft, []string{"alt+b", "alt+left", "ctrl+left"}, "a word left"},
		{WordRight, []string{"alt+f", "alt+right", "ctrl+right"}, "a word right"},
		{Home, []string{"home", "ctrl+a"}, "beginning of the line"},
		{End, []string{"end", "ctrl+e"}, "end of the line"},
		{Backspace, []string{"backspace", "ctrl+h", "shift+backspace"}, "delete the character before the cursor"},
		{Delete, []string{"delete"}, "delete the character at the cursor"},
		{KillWord, []string{"ctrl+w", "alt+backspace", "ctrl+backspace"}, "cut the word before the cursor"},
		{KillWordRight, []string{"alt+d"}, "cut the word behind the cursor"},
		{KillStart, []string{"ctrl+u"}, "cut to the beginning of the line"},
		{KillEnd, []string{"ctrl+k"}, "cut to the end of the line"},
		{Yank, []string{"ctrl+y"}, "insert what was cut"},
		{Transpose, []string{"ctrl+t"}, "swap the characters around the cursor"},

		{Up, []string{"up"}, "a line up; on the first line the prompt before"},
		{Down, []string{"down"}, "a line down; on the last line the prompt after"},
		{PageUp, []string{"pgup"}, "a page up in a list or a long command"},
		{PageDown, []string{"pgdown"}, "a page down"},
	}
}

// Map is a key map.
type Map struct {
	rows []Row
	keys map[string]Action
}

// New is the key map with the changes of settings: for an action the keys that
// take the place of its own, none to unbind it. Every fault is named, and the
// map is usable beside them.
func New(changes map[string][]string) (*Map, []error) {
	m := &Map{rows: defaults(), keys: map[string]Action{}}
	var faults []error
	changed := map[Action]bool{}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		i := slices.IndexFunc(m.rows, func(r Row) bool { return string(r.Action) == name })
		if i < 0 {
			faults = append(faults, fmt.Errorf("tui.keymap: there is no action %q; \"/keymap\" lists them", name))
			continue
		}
		var keys []string
		for _, k := range changes[name] {
			normal, err := normalKey(k)
			if err != nil {
				faults = append(faults, fmt.Errorf("tui.keymap: %s: %w", name, err))
				continue
			}
			keys = append(keys, normal)
		}
		m.rows[i].Keys, changed[Action(name)] = keys, true
	}
	// What a person bound goes before what was bound anyway.
	for _, own := range []bool{true, false} {
		for i := range m.rows {
			r := &m.rows[i]
			if changed[r.Action] != own {
				continue
			}
			var kept []string
			for _, k := range r.Keys {
				switch other, taken := m.keys[k]; {
				case taken && own:
					faults = append(faults, fmt.Errorf("tui.keymap: %s is bound twice, to %s and %s", k, other, r.Action))
				case taken:
					faults = append(faults, fmt.Errorf("tui.keymap: %s is bound to %s, and %s has it too: bind that to another key, or to []", k, other, r.Action))
				default:
					m.keys[k] = r.Action
					kept = append(kept, k)
				}
			}
			r.Keys = kept
		}
	}
	if len(m.Keys(Interrupt)) == 0 && len(m.Keys(Quit)) == 0 {
		faults = append(faults, fmt.Errorf("tui.keymap: neither %s nor %s has a key: ctrl+c interrupts", Interrupt, Quit))
		m.keys["ctrl+c"] = Interrupt
	}
	return m, faults
}

// Action is what a key does, "" for nothing.
func (m *Map) Action(key string) Action { return m.keys[key] }

// Keys are the keys of an action.
func (m *Map) Keys(a Action) []string {
	for _, r := range m.rows {
		if r.Action == a {
			return r.Keys
		}
	}
	return nil
}

// Key is the first key of an action as help names it, "" for none.
func (m *Map) Key(a Action) string {
	if k := m.Keys(a); len(k) > 0 {
		return k[0]
	}
	return ""
}

// Rows are all actions, in the order of the documentation.
func (m *Map) Rows() []Row { return m.rows }

// normalKey is a key in the form in which it is compared.
func normalKey(k string) (string, error) {
	parts := strings.Split(strings.ToLower(strings.TrimSpace(k)), "+")
	name := parts[len(parts)-1]
	if strings.HasSuffix(k, "++") || k == "+" {
		name, parts = "+", parts[:len(parts)-1]
	}
	switch name {
	case "escape":
		name = "esc"
	case "return":
		name = "enter"
	case "del":
		name = "delete"
	case "pageup":
		name = "pgup"
	case "pagedown":
		name = "pgdown"
	}
	named := []string{"esc", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pgup", "pgdown", "up", "down", "left", "right"}
	single := len([]rune(name)) == 1
	if !single && !slices.Contains(named, name) {
		return "", fmt.Errorf("%q is no key that can be bound: want a character or one of %s, behind ctrl+, alt+, super+, shift+", k, strings.Join(named, ", "))
	}
	given := map[string]bool{}
	for _, p := range parts[:len(parts)-1] {
		switch p {
		case "ctrl", "alt", "shift", "super":
		case "control":
			p = "ctrl"
		case "option", "meta":
			p = "alt"
		case "cmd", "command":
			p = "super"
		default:
			return "", fmt.Errorf("%q: there is no modifier %q", k, p)
		}
		if given[p] {
			return "", fmt.Errorf("%q names %s twice", k, p)
		}
		given[p] = true
	}
	if single && !given["ctrl"] && !given["alt"] && !given["super"] {
		return "", fmt.Errorf("%q types a character: bind it with ctrl+, alt+ or super+", k)
	}
	out := ""
	for _, p := range []string{"ctrl", "alt", "super", "shift"} {
		if given[p] {
			out += p + "+"
		}
	}
	return out + name, nil
}
