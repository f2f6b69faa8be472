// Package compose is the prompt that a person writes: several lines, a cursor
// that moves by what people see as characters, the editing keys of a shell,
// and large pastes folded to one word.
package compose

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/openmuse/muse/internal/tui/text"
)

// Pastes beyond these are folded.
const (
	foldLines = 12
	foldBytes = 1200
)

// Buffer is a draft. The zero Buffer is empty.
type Buffer struct {
	text   string
	at     int // byte offset of the cursor
	killed string
	pastes []fold
	count  int // pastes folded so far
}

// fold is a paste that is shown as one word.
type fold struct{ mark, text string }

// Raw is the draft as it is shown, with folded pastes as words.
func (b *Buffer) Raw() string { return b.text }

// Empty reports whether nothing was written.
func (b *Buffer) Empty() bool { return b.text == "" }

// At is the byte offset of the cursor in Raw.
func (b *Buffer) At() int { return b.at }

// Text is the draft with its pastes unfolded.
func (b *Buffer) Text() string {
	out := b.text
	for _, p := range b.pastes {
		out = strings.Replace(out, p.mark, p.text, 1)
	}
	return out
}

// Set replaces the draft; the cursor goes to its end. Folded pastes of the
// draft before are forgotten when their words are.
func (b *Buffer) Set(s string) { b.text, b.at = s, len(s) }

// Clear empties the draft.
func (b *Buffer) Clear() { b.text, b.at, b.pastes = "", 0, nil }

// Insert types s.
func (b *Buffer) Insert(s string) {
	b.text = b.text[:b.at] + s + b.text[b.at:]
	b.at += len(s)
}

// Paste inserts what was pasted, folded when it is large.
func (b *Buffer) Paste(s string) {
	lines := strings.Count(s, "\n") + 1
	if lines <= foldLines && len(s) <= foldBytes {
		b.Insert(s)
		return
	}
	b.count++
	mark := fmt.Sprintf("[paste %d: %d lines, %s]", b.count, lines, size(len(s)))
	b.pastes = append(b.pastes, fold{mark, s})
	b.Insert(mark)
}

// Chip inserts a word that stands for something: it is passed and removed as
// one character, and is in the text as it is.
func (b *Buffer) Chip(mark string) {
	b.Mark(mark)
	b.Insert(mark)
}

// Mark makes a word of the draft a chip.
func (b *Buffer) Mark(mark string) { b.pastes = append(b.pastes, fold{mark, mark}) }

// Holds reports whether a chip stands in the draft.
func (b *Buffer) Holds(mark string) bool {
	return slices.Contains(b.pastes, fold{mark, mark}) && strings.Contains(b.text, mark)
}

// State is a draft as it can be kept.
type State struct {
	Text  string   `json:"text"`
	At    int      `json:"at"`
	Folds []Folded `json:"folds,omitempty"`
}

// Folded is a word of the draft that stands for a longer text, or for itself.
type Folded struct {
	Mark string `json:"mark"`
	Text string `json:"text"`
}

// State is the draft as it is now.
func (b *Buffer) State() State {
	s := State{Text: b.text, At: b.at}
	for _, p := range b.pastes {
		if strings.Contains(b.text, p.mark) {
			s.Folds = append(s.Folds, Folded{p.mark, p.text})
		}
	}
	return s
}

// Restore makes a draft that was kept the present one. What does not fit
// together in it is mended: it comes from a file.
func (b *Buffer) Restore(s State) {
	b.text, b.at, b.pastes = strings.ToValidUTF8(s.Text, "\uFFFD"), 0, nil
	for _, f := range s.Folds {
		if f.Mark != "" && strings.Contains(b.text, f.Mark) {
			b.pastes = append(b.pastes, fold{f.Mark, f.Text})
			b.count++
		}
	}
	if b.at = min(max(0, s.At), len(b.text)); b.at < len(b.text) && !utf8.RuneStart(b.text[b.at]) {
		b.at = len(b.text)
	}
}

func size(n int) string {
	if n < 10_000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", n/1000)
}

// Replace puts s in the place of the bytes from up to the cursor.
func (b *Buffer) Replace(from int, s string) {
	b.text = b.text[:from] + s + b.text[b.at:]
	b.at = from + len(s)
}

// prev is the offset of the character before i; a folded paste is one.
func (b *Buffer) prev(i int) int {
	for _, p := range b.pastes {
		if strings.HasSuffix(b.text[:i], p.mark) {
			return i - len(p.mark)
		}
	}
	start := strings.LastIndexByte(b.text[:i], '\n') + 1
	if start == i {
		return max(0, i-1)
	}
	last := start
	g := displaywidth.StringGraphemes(b.text[start:i])
	for off := start; g.Next(); {
		last = off
		off += len(g.Value())
	}
	return last
}

// next is the offset of the character after the one at i.
func (b *Buffer) next(i int) int {
	if i >= len(b.text) {
		return i
	}
	for _, p := range b.pastes {
		if strings.HasPrefix(b.text[i:], p.mark) {
			return i + len(p.mark)
		}
	}
	g := displaywidth.StringGraphemes(b.text[i:])
	if g.Next() {
		return i + len(g.Value())
	}
	return i + 1
}

// Left and Right move by a character.
func (b *Buffer) Left() { b.at = b.prev(b.at) }

// Right moves to the next character.
func (b *Buffer) Right() { b.at = b.next(b.at) }

func (b *Buffer) wordLeft() int {
	i := b.at
	inWord := false
	for i > 0 {
		r, n := utf8.DecodeLastRuneInString(b.text[:i])
		if w := isWord(r); w {
			inWord = true
		} else if inWord {
			break
		}
		i -= n
	}
	return i
}

func (b *Buffer) wordRight() int {
	i := b.at
	inWord := false
	for i < len(b.text) {
		r, n := utf8.DecodeRuneInString(b.text[i:])
		if w := isWord(r); w {
			inWord = true
		} else if inWord {
			break
		}
		i += n
	}
	return i
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// WordLeft and WordRight move by a word.
func (b *Buffer) WordLeft() { b.at = b.wordLeft() }

// WordRight moves behind the next word.
func (b *Buffer) WordRight() { b.at = b.wordRight() }

func (b *Buffer) lineStart() int { return strings.LastIndexByte(b.text[:b.at], '\n') + 1 }

func (b *Buffer) lineEnd() int {
	if i := strings.IndexByte(b.text[b.at:], '\n'); i >= 0 {
		return b.at + i
	}
	return len(b.text)
}

// Home moves to the beginning of the line, End to its end.
func (b *Buffer) Home() { b.at = b.lineStart() }

// End moves to the end of the line.
func (b *Buffer) End() { b.at = b.lineEnd() }

// Up moves a line up; false on the first one.
func (b *Buffer) Up() bool {
	start := b.lineStart()
	if start == 0 {
		return false
	}
	col := text.Width(text.Clean(b.text[start:b.at]))
	b.at = start - 1
	b.column(b.lineStart(), col)
	return true
}

// Down moves a line down; false on the last one.
func (b *Buffer) Down() bool {
	end := b.lineEnd()
	if end == len(b.text) {
		return false
	}
	col := text.Width(text.Clean(b.text[b.lineStart():b.at]))
	b.column(end+1, col)
	return true
}

// column puts the cursor into the line that begins at start.
func (b *Buffer) column(start, col int) {
	b.at = start
	w := 0
	for b.at < len(b.text) && b.text[b.at] != '\n' {
		n := b.next(b.at)
		w += text.Width(text.Clean(b.text[b.at:n]))
		if w > col {
			return
		}
		b.at = n
	}
}

// Backspace deletes the character before the cursor, Delete the one at it.
func (b *Buffer) Backspace() { b.cut(b.prev(b.at), b.at) }

// Delete deletes the character at the cursor.
func (b *Buffer) Delete() { b.cut(b.at, b.next(b.at)) }

func (b *Buffer) cut(from, to int) string {
	out := b.text[from:to]
	b.text = b.text[:from] + b.text[to:]
	b.at = from
	return out
}

// KillWord cuts the word before the cursor.
func (b *Buffer) KillWord() { b.kill(b.wordLeft(), b.at) }

// KillWordRight cuts the word behind it.
func (b *Buffer) KillWordRight() { b.kill(b.at, b.wordRight()) }

// KillStart cuts up to the beginning of the line.
func (b *Buffer) KillStart() {
	from := b.lineStart()
	if from == b.at && from > 0 {
		from--
	}
	b.kill(from, b.at)
}

// KillEnd cuts up to the end of the line.
func (b *Buffer) KillEnd() {
	to := b.lineEnd()
	if to == b.at && to < len(b.text) {
		to++
	}
	b.kill(b.at, to)
}

func (b *Buffer) kill(from, to int) {
	if from < to {
		b.killed = b.cut(from, to)
	}
}

// Yank inserts what was cut last.
func (b *Buffer) Yank() { b.Insert(b.killed) }

// Transpose swaps the two characters around the cursor.
func (b *Buffer) Transpose() {
	if b.at == b.lineEnd() {
		b.at = b.prev(b.at)
	}
	before := b.prev(b.at)
	after := b.next(b.at)
	if before < b.lineStart() || before == b.at || after == b.at {
		return
	}
	b.text = b.text[:before] + b.text[b.at:after] + b.text[before:b.at] + b.text[after:]
	b.at = after
}

// View draws the draft in rows of at most width columns behind prompt, with the
// cursor, and no more than height rows of it.
func (b *Buffer) View(prompt text.Line, width, height int) []text.Line {
	indent := prompt.Width()
	if indent+4 > width {
		prompt, indent = nil, 0
	}
	blank := text.Of(0, strings.Repeat(" ", indent))
	rows := []text.Line{prompt[:len(prompt):len(prompt)]}
	col, cursor := indent, 0
	put := func(s string, style text.Style) {
		w := text.Width(s)
		if col+w > width {
			rows = append(rows, blank[:len(blank):len(blank)])
			col = indent
		}
		last := &rows[len(rows)-1]
		if n := len(*last); n > 0 && (*last)[n-1].Style == style && n > len(prompt) {
			(*last)[n-1].Text += s
		} else {
			*last = append(*last, text.Span{Text: s, Style: style})
		}
		col += w
		if style&text.Reverse != 0 {
			cursor = len(rows) - 1
		}
	}
	chip := 0 // where the word ends that stands for something
	for i := 0; i < len(b.text); {
		n := b.nextShown(i)
		s, style := b.text[i:n], text.Plain
		if i < chip {
			style = text.Accent
		} else if end := b.chipAt(i); end > i {
			chip, style = end, text.Accent
		}
		if i == b.at {
			style = text.Reverse
		}
		if s == "\n" {
			if i == b.at {
				put(" ", style)
			}
			rows = append(rows, blank[:len(blank):len(blank)])
			col = indent
		} else {
			put(text.Clean(s), style)
		}
		i = n
	}
	if b.at >= len(b.text) {
		put(" ", text.Reverse)
	}
	if len(rows) > height {
		from := min(max(0, cursor-height+1), len(rows)-height)
		rows = rows[from : from+height]
	}
	return rows
}

// chipAt is where the folded word ends that begins at i, or i.
func (b *Buffer) chipAt(i int) int {
	for _, p := range b.pastes {
		if strings.HasPrefix(b.text[i:], p.mark) {
			return i + len(p.mark)
		}
	}
	return i
}

func (b *Buffer) nextShown(i int) int {
	g := displaywidth.StringGraphemes(b.text[i:])
	if g.Next() {
		return i + len(g.Value())
	}
	return i + 1
}
