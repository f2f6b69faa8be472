// Package summary is what a list of sessions says of one: where it ran, with
// which model, what it was asked first, how many turns it had, when it was
// last written. It is a fold over the lines of the session's log and keeps
// enough to go on with the lines that come later, so that a log is read once.
//
// Logs of every build are read (seed 000, Record schema). A line that cannot
// be read says nothing; memory does not grow with the log.
package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what is kept of a session, in bytes.
const (
	MaxTitle  = 200
	MaxPrompt = 4 << 10
	MaxSearch = 16 << 10
)

// Summary is what a log says about its session. Times are microseconds since
// the Unix epoch, 0 when not known.
type Summary struct {
	// ID is the session's own id: a fork's log holds records of its source.
	// Whoever reads sets it.
	ID          string
	Workspace   string // of the last metadata
	Cwd         string // of the last route facts
	Provider    string
	Model       string
	Branch      string // "" outside a repository and on no branch
	Description string // a title that was made for the session
	FirstPrompt string // cut to MaxPrompt
	Name        string // as of the last session.name.changed
	NameSource  string // "automatic" or "user"
	// Search is the person's prompts, folded for searching, cut to MaxSearch.
	Search  string
	Intents int64 // prompts accepted; earlier builds recorded none
	Turns   int64 // runs started
	Created int64 // of the first record
	Updated int64 // of the latest record
	// Active is when a turn last did something: opening and closing a session
	// does not count.
	Active int64
	// End is the exit reason of the session's last end, "" while it is open or
	// when it was cut off.
	End    string
	Forked *Provenance
	Side   *Provenance
	Client *Client       // who asked for the session; nil when no program did
	Mode   *ApprovalMode // the last one that was chosen
}

// Client is the program that asked for a session.
type Client struct{ Name, Title, Version string }

// ApprovalMode is an approval mode in the words of the wire and where it came
// from.
type ApprovalMode struct{ Mode, Source, Command string }

// Provenance says which session another one was made from.
type Provenance struct {
	Session   string
	Command   string
	CutCursor string
	Explicit  bool // the cut was asked for
}

// Title is the line that stands for the session in a list: what was made for
// it, else the beginning of its first prompt.
func (s *Summary) Title() string {
	text := s.Description
	if text == "" {
		text = s.FirstPrompt
	}
	return Cut(strings.Join(strings.Fields(text), " "), MaxTitle)
}

// Prompts is how many prompts the person gave.
func (s *Summary) Prompts() int64 {
	if s.Intents > 0 {
		return s.Intents
	}
	return s.Turns
}

// Root is the workspace that the session was last used in.
func (s *Summary) Root() string {
	if s.Workspace != "" {
		return s.Workspace
	}
	return s.Cwd
}

// Readable reports whether the log has any record.
func (s *Summary) Readable() bool { return s.Updated != 0 }

// prompt takes in what the person asked.
func (s *Summary) prompt(text string) {
	if text == "" {
		return
	}
	if s.FirstPrompt == "" {
		s.FirstPrompt = Cut(strings.ToValidUTF8(text, "\ufffd"), MaxPrompt)
	}
	if len(s.Search) < MaxSearch {
		s.Search = Cut(s.Search+Fold(Cut(text, MaxSearch))+"\n", MaxSearch)
	}
}

// Fold brings text into the form in which it is compared: lower case in every
// script, white space as single spaces.
func Fold(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(strings.ToValidUTF8(text, "\ufffd")), unicode.IsSpace), " ")
}

// Cut shortens s to at most n bytes without breaking a character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
