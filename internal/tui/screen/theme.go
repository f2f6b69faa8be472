// Package screen draws the UI on a terminal: finished lines go into the
// scrollback once and stay, and a live area below them is redrawn.
//
// Between two frames the terminal's cursor is parked at the first cell of the
// live area, hidden; the cursor that a person sees is a cell drawn in reverse.
// So the live area can be found again after the terminal has changed its size
// in whatever way it does that: everything from the cursor on is the live
// area, everything before it is not ours any more. No line is doubled and none
// is lost.
package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/tui/text"
)

// Theme gives roles their colours, as the parameters of an SGR sequence.
type Theme struct {
	Name  string
	roles [text.Roles]string
}

// Colour modes.
const (
	NoColour  = 0
	Palette   = 16
	TrueColor = 1 << 24
)

// Themes are the names of the themes that are built in.
func Themes() []string { return []string{"default", "light", "contrast", "plain"} }

// NewTheme is a built-in theme. "default" uses the terminal's own palette, so
// that it fits the colours a person has chosen; "light" and "contrast" use it
// otherwise; "plain" uses attributes alone.
func NewTheme(name string) (Theme, error) {
	t := Theme{Name: name}
	switch name {
	case "default":
		t.set("2", "36", "32", "33", "31", "1", "1;36", "4;34", "36", "35", "32", "33", "2", "32", "31")
	case "light":
		t.set("2", "34", "32", "35", "31", "1", "1;34", "4;34", "34", "35", "32", "36", "2", "32", "31")
	case "contrast":
		t.set("", "1;96", "1;92", "1;93", "1;91", "1", "1;97", "4;96", "96", "95", "92", "93", "37", "1;92", "1;91")
	case "plain":
		t.set("", "", "", "1", "1", "1", "1", "4", "", "", "", "", "", "", "")
	default:
		return t, fmt.Errorf("there is no theme %q: there are %s", name, strings.Join(Themes(), ", "))
	}
	return t, nil
}

func (t *Theme) set(muted, accent, good, warn, bad, person, heading, link, code, keyword, str, number, comment, added, removed string) {
	t.roles = [text.Roles]string{
		text.Muted: muted, text.Accent: accent, text.Good: good, text.Warn: warn, text.Bad: bad, text.Person: person,
		text.Heading: heading, text.Link: link, text.Code: code, text.Keyword: keyword, text.String: str,
		text.Number: number, text.Comment: comment, text.Added: added, text.Removed: removed,
	}
}

// RoleNames are the roles as a theme of a person names them.
func RoleNames() []string {
	return []string{"", "muted", "accent", "good", "warn", "bad", "person", "heading", "link", "code", "keyword", "string", "number", "comment", "added", "removed"}
}

// With is the theme with one role in another look: words such as "bold",
// "dim", "underline", a colour of the palette ("red", "bright-red", "0" to
// "255") or "#rrggbb".
func (t Theme) With(role, look string) (Theme, error) {
	i := slices.Index(RoleNames(), role)
	if i < 1 {
		return t, fmt.Errorf("a theme has no role %q: there are %s", role, strings.Join(RoleNames()[1:], ", "))
	}
	var p []string
	for _, w := range strings.Fields(look) {
		code, ok := lookCode(w)
		if !ok {
			return t, fmt.Errorf("role %s: %q is no look: want bold, dim, italic, underline, a colour such as red, bright-red, 0 to 255, or #rrggbb", role, w)
		}
		p = append(p, code)
	}
	t.roles[i] = strings.Join(p, ";")
	return t, nil
}

func lookCode(w string) (string, bool) {
	switch w {
	case "bold":
		return "1", true
	case "dim":
		return "2", true
	case "italic":
		return "3", true
	case "underline":
		return "4", true
	}
	name, base := w, 30
	if rest, bright := strings.CutPrefix(w, "bright-"); bright {
		name, base = rest, 90
	}
	if i := slices.Index([]string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}, name); i >= 0 {
		return strconv.Itoa(base + i), true
	}
	if n, err := strconv.ParseUint(w, 10, 8); err == nil {
		return "38;5;" + strconv.FormatUint(n, 10), true
	}
	if hex, ok := strings.CutPrefix(w, "#"); ok && len(hex) == 6 {
		if n, err := strconv.ParseUint(hex, 16, 32); err == nil {
			return fmt.Sprintf("38;2;%d;%d;%d", n>>16, n>>8&255, n&255), true
		}
	}
	return "", false
}

// sgr is the sequence that turns a style on after a reset.
func (t *Theme) sgr(s text.Style) string {
	var p []string
	if r := int(s.Role()); r < len(t.roles) && t.roles[r] != "" {
		p = append(p, t.roles[r])
	}
	for _, a := range []struct {
		bit  text.Style
		code string
	}{{text.Bold, "1"}, {text.Italic, "3"}, {text.Underline, "4"}, {text.Reverse, "7"}, {text.Strike, "9"}} {
		if s&a.bit != 0 {
			p = append(p, a.code)
		}
	}
	if len(p) == 0 {
		return ""
	}
	return "\x1b[" + strings.Join(p, ";") + "m"
}
