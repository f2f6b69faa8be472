// Package term is the terminal as the UI uses it: raw mode, its size, and what
// a person types, decoded. It writes nothing but the switches of terminal
// modes.
package term

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mod are the modifiers of a key, in the bits of the xterm encoding.
type Mod uint8

// Modifiers.
const (
	Shift Mod = 1 << iota
	Alt
	Ctrl
	Super
)

// Event is something that came from the terminal: a Key, a Paste or a Focus.
type Event interface{ event() }

// Key is one key press. Name is "a", "enter", "pgup" …, without modifiers;
// Text is what the key types, "" for keys that type nothing.
type Key struct {
	Name string
	Mod  Mod
	Text string
}

// Paste is a text that was pasted.
type Paste struct{ Text string }

// Focus says whether the terminal is looked at.
type Focus struct{ In bool }

func (Key) event()   {}
func (Paste) event() {}
func (Focus) event() {}

// String is the key as key maps spell it: "ctrl+shift+a".
func (k Key) String() string {
	var b strings.Builder
	for _, m := range []struct {
		bit  Mod
		name string
	}{{Ctrl, "ctrl+"}, {Alt, "alt+"}, {Super, "super+"}, {Shift, "shift+"}} {
		if k.Mod&m.bit != 0 {
			b.WriteString(m.name)
		}
	}
	return b.String() + k.Name
}

// Decoder makes events of bytes. The zero Decoder is ready.
type Decoder struct {
	buf     []byte
	pasting bool
	scanned int // of buf, for the end of a paste
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	maxPaste   = 16 << 20
)

// Feed takes in bytes and returns the events that are whole.
func (d *Decoder) Feed(p []byte) []Event {
	d.buf = append(d.buf, p...)
	return d.take(false)
}

// Waiting reports whether bytes are held back because they may be the
// beginning of a sequence.
func (d *Decoder) Waiting() bool { return len(d.buf) > 0 && !d.pasting }

// Flush takes what is held back for what it is: an Esc that nothing followed.
func (d *Decoder) Flush() []Event { return d.take(true) }

func (d *Decoder) take(whole bool) []Event {
	var out []Event
	for len(d.buf) > 0 {
		if d.pasting {
			from := max(0, d.scanned-len(pasteEnd))
			i := strings.Index(string(d.buf[from:]), pasteEnd)
			if i < 0 && len(d.buf) < maxPaste {
				d.scanned = len(d.buf)
				return out
			}
			end, rest := len(d.buf), len(d.buf)
			if i >= 0 {
				end, rest = from+i, from+i+len(pasteEnd)
			}
			out = append(out, Paste{pasted(string(d.buf[:end]))})
			d.buf, d.pasting, d.scanned = d.buf[rest:], false, 0
			continue
		}
		e, n := d.one(whole)
		if n == 0 {
			return out
		}
		d.buf = d.buf[n:]
		if e != nil {
			out = append(out, e)
		}
	}
	d.buf = nil
	return out
}

// pasted is a pasted text with the line ends of a file.
func pasted(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\r", "\n"), "\uFFFD")
}

// one decodes the first event of the buffer and how many bytes it takes: 0
// when more have to come. A nil event is something that is of no use here.
func (d *Decoder) one(whole bool) (Event, int) {
	b := d.buf
	if b[0] != 0x1b {
		return d.plain(whole)
	}
	if len(b) == 1 {
		if whole {
			return Key{Name: "esc"}, 1
		}
		return nil, 0
	}
	switch b[1] {
	case '[':
		return d.csi(whole)
	case 'O':
		if len(b) < 3 {
			if whole {
				return Key{Name: "o", Mod: Alt | Shift}, 2
			}
			return nil, 0
		}
		if name := letterKey(b[2]); name != "" {
			return Key{Name: name}, 3
		}
		return nil, 3
	case ']', 'P', '_', '^', 'X':
		return d.stringSequence(whole)
	case 0x1b:
		return Key{Name: "esc"}, 1
	}
	rest := Decoder{buf: b[1:]}
	e, n := rest.plain(whole)
	if n == 0 {
		return nil, 0
	}
	if k, ok := e.(Key); ok {
		k.Mod |= Alt
		k.Text = ""
		return k, n + 1
	}
	return nil, n + 1
}

func (d *Decoder) plain(whole bool) (Event, int) {
	b := d.buf
	switch c := b[0]; {
	case c == '\r':
		return Key{Name: "enter"}, 1
	case c == '\t':
		return Key{Name: "tab"}, 1
	case c == 0x7f || c == 8:
		return Key{Name: "backspace"}, 1
	case c == ' ':
		return Key{Name: "space", Text: " "}, 1
	case c == 0:
		return Key{Name: "space", Mod: Ctrl}, 1
	case c < 0x1b:
		return Key{Name: string(rune('a' + c - 1)), Mod: Ctrl}, 1
	case c < 0x20:
		return Key{Name: string(rune(c + 0x40)), Mod: Ctrl}, 1
	case !utf8.FullRune(b) && !whole:
		return nil, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n <= 1 || r >= 0x80 && r < 0xa0 {
		return nil, n
	}
	return typed(r), n
}

// typed is the key that types a character.
func typed(r rune) Key {
	k := Key{Name: string(r), Text: string(r)}
	if r >= 'A' && r <= 'Z' {
		k.Name, k.Mod = string(r+'a'-'A'), Shift
	}
	return k
}

// stringSequence passes over an answer of the terminal that nobody asked for.
func (d *Decoder) stringSequence(whole bool) (Event, int) {
	for i := 2; i < len(d.buf); i++ {
		switch {
		case d.buf[i] == 7:
			return nil, i + 1
		case d.buf[i] == '\\' && d.buf[i-1] == 0x1b:
			return nil, i + 1
		}
	}
	if len(d.buf) > 4096 || whole {
		return typedAlt(d.buf[1]), 2
	}
	return nil, 0
}

func typedAlt(c byte) Event {
	k := typed(rune(c))
	k.Mod, k.Text = k.Mod|Alt, ""
	return k
}

func (d *Decoder) csi(whole bool) (Event, int) {
	b := d.buf
	i := 2
	for i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f {
		i++
	}
	if i >= len(b) {
		if whole {
			return typedAlt('['), 2
		}
		return nil, 0
	}
	if b[i] < 0x40 || b[i] > 0x7e {
		return nil, i // broken off
	}
	args, final := string(b[2:i]), b[i]
	n := i + 1
	if final == '~' && args == "200" {
		d.pasting = true
		return nil, n
	}
	if final == 'I' && args == "" || final == 'O' && args == "" {
		return Focus{final == 'I'}, n
	}
	if args != "" && (args[0] == '?' || args[0] == '>' || args[0] == '<') {
		return nil, n
	}
	p := strings.Split(args, ";")
	number := func(i int) int {
		if i >= len(p) {
			return 0
		}
		first, _, _ := strings.Cut(p[i], ":")
		v, err := strconv.Atoi(first)
		if err != nil {
			return 0
		}
		return v
	}
	mod := Mod(max(0, number(1)-1)) & (Shift | Alt | Ctrl | Super)
	if _, kind, ok := strings.Cut(args, ":"); ok && strings.HasPrefix(kind, "3") && final != 'u' {
		return nil, n // a release
	}
	switch {
	case final == 'u':
		return kittyKey(rune(number(0)), mod), n
	case final == '~' && number(0) == 27: // modifyOtherKeys
		return kittyKey(rune(number(2)), mod), n
	case final == '~':
		if name := tildeKey(number(0)); name != "" {
			return Key{Name: name, Mod: mod}, n
		}
		return nil, n
	case final == 'Z':
		return Key{Name: "tab", Mod: Shift}, n
	}
	if name := letterKey(final); name != "" {
		return Key{Name: name, Mod: mod}, n
	}
	return nil, n
}

// kittyKey is a key by its code point.
func kittyKey(r rune, mod Mod) Event {
	switch r {
	case 13, 57414:
		return Key{Name: "enter", Mod: mod}
	case 9:
		return Key{Name: "tab", Mod: mod}
	case 27:
		return Key{Name: "esc", Mod: mod}
	case 127, 8:
		return Key{Name: "backspace", Mod: mod}
	case 32:
		k := Key{Name: "space", Mod: mod}
		if mod&^Shift == 0 {
			k.Text = " "
		}
		return k
	}
	if name, text := keypad(r); name != "" {
		return Key{Name: name, Mod: mod, Text: text}
	}
	if r < 0x20 || r >= 57344 && r <= 63743 || !utf8.ValidRune(r) {
		return nil
	}
	k := typed(r)
	k.Mod |= mod
	if mod&^Shift != 0 {
		k.Text = ""
	} else if mod&Shift != 0 && r >= 'a' && r <= 'z' {
		k.Text = string(r - 'a' + 'A')
	}
	return k
}

// keypad is a key of the number pad in the kitty protocol.
func keypad(r rune) (name, text string) {
	const keys = "0123456789./*-+"
	if i := int(r) - 57399; i >= 0 && i < len(keys) {
		return keys[i : i+1], keys[i : i+1]
	}
	moves := [...]string{"left", "right", "up", "down", "pgup", "pgdown", "home", "end", "insert", "delete"}
	if i := int(r) - 57417; i >= 0 && i < len(moves) {
		return moves[i], ""
	}
	return "", ""
}

func letterKey(c byte) string {
	switch c {
	case 'A':
		return "up"
	case 'B':
		return "down"
	case 'C':
		return "right"
	case 'D':
		return "left"
	case 'H':
		return "home"
	case 'F':
		return "end"
	case 'M':
		return "enter"
	}
	return ""
}

func tildeKey(n int) string {
	switch n {
	case 1, 7:
		return "home"
	case 2:
		return "insert"
	case 3:
		return "delete"
	case 4, 8:
		return "end"
	case 5:
		return "pgup"
	case 6:
		return "pgdown"
	}
	return ""
}
