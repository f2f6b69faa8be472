package edit

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// context is how many unchanged lines a diff shows around a change.
const context = 3

// describe fills in what changed between two texts with LF line ends.
func (c *Change) describe(before, after string) {
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	c.First = min(head+1, max(len(b), 1))
	c.Last = max(len(b)-tail, c.First)

	// Only the changed part with its context is compared: what is the same at
	// both ends of a large file costs nothing.
	from := max(head-context, 0)
	oldPart := a[from:min(len(a)-tail+context, len(a))]
	newPart := b[from:min(len(b)-tail+context, len(b))]
	c.Diff, c.Added, c.Removed = diffOf(strings.Join(oldPart, ""), strings.Join(newPart, ""))
}

// Count is the number of lines that a diff from before to after adds and
// removes. Line ends count: LF and CRLF are different lines.
func Count(before, after string) (added, removed int) {
	if before == "" {
		return Lines(after), 0
	}
	_, added, removed = diffOf(before, after)
	return added, removed
}

// Lines is the number of lines of a text; a last line without end counts.
func Lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// diffOf is the unified diff with bare hunk heads (STREAM.md (a), edit_file).
func diffOf(before, after string) (text string, added, removed int) {
	out := string(diff.Diff("a", []byte(before), "b", []byte(after)))
	var b strings.Builder
	inHunk := false
	for line := range strings.SplitAfterSeq(out, "\n") {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
			b.WriteString("@@\n")
			continue
		case !inHunk || line == "": // the file names
			continue
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
		b.WriteString(line)
	}
	return b.String(), added, removed
}

// splitLines cuts a text after each LF.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
