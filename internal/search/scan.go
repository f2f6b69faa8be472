package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var errBinary = errors.New("binary file")

const (
	// blockSize is how much of a file is in memory at once. It holds nearly
	// every source file whole.
	blockSize = 1 << 20
	// maxLine is how long a line may get before it is cut in two.
	maxLine = 16 << 20
	// maxShown is how much of a line is in a result.
	maxShown = 400
)

// scanner searches one file after the other with the same buffer.
type scanner struct {
	p      *Pattern
	opt    Options
	finder *finder
	dfa    *dfa // nil = the expression is too large for it
	buf    []byte
}

func newScanner(p *Pattern, o Options) *scanner {
	return &scanner{p: p, opt: o, finder: newFinder(p.lits), dfa: newDFA(p.source), buf: make([]byte, 64<<10)}
}

// scan is the search of one file.
type scan struct {
	*scanner
	out    File
	number int // number of the line that begins at counted
	// The following are offsets in the block.
	counted int
	shown   int // end of the last line in out, -1 when it is not in the block
	after   int // context lines still to come
	done    bool
}

// file searches an open file. errBinary means that it was passed over; the end
// of ctx is looked for before each read.
func (s *scanner) file(ctx context.Context, c content, named bool) (File, error) {
	st := &scan{scanner: s, number: 1, shown: -1}
	text := s.opt.Binary || named
	length, from := 0, 0 // of the data in buf, and where unsearched lines begin
	for first := true; ; first = false {
		n, err := s.fill(ctx, c, length)
		if err != nil && !errors.Is(err, io.EOF) {
			return File{}, err
		}
		eof := errors.Is(err, io.EOF)
		fresh := s.buf[length : length+n]
		length += n
		if first {
			skip, wide := byteOrderMark(s.buf[:length])
			if wide != nil {
				return st.wide(c, wide, s.buf[:length])
			}
			from, st.counted = skip, skip
		}
		if !text && bytes.IndexByte(fresh, 0) >= 0 {
			return File{}, errBinary
		}
		limit := length
		if !eof {
			limit = bytes.LastIndexByte(s.buf[:length], '\n') + 1
			if limit <= from {
				if length < maxLine {
					continue // no line end yet: read more
				}
				limit = length
			}
		}
		st.block(s.buf[:limit], from)
		if eof || st.done {
			if len(s.buf) > blockSize {
				s.buf = make([]byte, 64<<10) // one long line must not stay
			}
			return st.out, nil
		}
		keep := st.keepFrom(s.buf[:limit])
		st.count(s.buf, limit)
		copy(s.buf, s.buf[keep:length])
		length -= keep
		from = limit - keep
		st.counted = from
		if st.shown -= keep; st.shown < 0 {
			st.shown = -1
		}
	}
}

// fill reads behind the data in buf until it is full or the file ends. A file
// that fits the size known is not asked for its end once more.
func (s *scanner) fill(ctx context.Context, c content, length int) (int, error) {
	if want := min(int64(length)+c.size+1, blockSize); want > int64(len(s.buf)) {
		grown := make([]byte, max(int(want), 2*len(s.buf)))
		copy(grown, s.buf[:length])
		s.buf = grown
	}
	if length == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n := 0
	for length+n < len(s.buf) {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		m, err := c.read(s.buf[length+n:])
		n += m
		if err != nil {
			return n, err
		}
		if length == 0 && int64(n) == c.size {
			return n, io.EOF
		}
	}
	return n, nil
}

// block searches the complete lines of a block from an offset on.
func (st *scan) block(b []byte, from int) {
	st.finder.reset()
	lits := st.p.lits
	useLits := len(lits.texts) > 0 && !lits.foldsBeyondASCII(b)
	for at := from; at < len(b) && !st.done; {
		hit := at
		if useLits {
			if hit = st.finder.find(b, at); hit < 0 {
				break
			}
		}
		begin := bytes.LastIndexByte(b[at:hit], '\n') + 1 + at
		end := len(b)
		if i := bytes.IndexByte(b[hit:], '\n'); i >= 0 {
			end = hit + i
		}
		line := b[begin:end]
		if !st.p.seesCR {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		if st.isMatch(line, useLits) {
			st.match(b, begin, end)
		}
		at = end + 1
	}
	if !st.done {
		st.trail(b, len(b))
	}
}

// isMatch decides about a line. When a literal is all there is to the pattern,
// a hit is the answer.
func (s *scanner) isMatch(line []byte, hit bool) bool {
	if hit && s.p.re == nil {
		return true
	}
	if s.dfa != nil {
		if matched, ok := s.dfa.match(line); ok {
			return matched
		}
	}
	switch {
	case s.p.re == nil:
		return s.p.show.Match(line)
	case s.p.wide != s.p.re && !isASCII(line):
		return s.p.wide.Match(line)
	}
	return s.p.re.Match(line)
}

// match puts a matching line with its context into the result.
func (st *scan) match(b []byte, begin, end int) {
	st.out.Matches++
	if st.opt.FilesOnly {
		st.done = true
		return
	}
	st.trail(b, begin)
	first := begin
	for n := 0; n < st.opt.Before && first > 0 && first > st.shown; n++ {
		first = bytes.LastIndexByte(b[:first-1], '\n') + 1
	}
	for at := max(first, st.shown); at < begin; {
		next := lineEnd(b, at)
		st.line(b, at, next, false)
		at = next + 1
	}
	st.line(b, begin, end, true)
	st.shown = end + 1
	st.after = st.opt.After
	// One more than the limit, so that it is known that there was more.
	st.done = st.opt.MaxMatches > 0 && st.out.Matches > st.opt.MaxMatches
}

// trail puts the context lines that still belong to the last match into the
// result, as far as they begin before to.
func (st *scan) trail(b []byte, to int) {
	for st.after > 0 && st.shown >= 0 && st.shown < to {
		end := lineEnd(b, st.shown)
		st.line(b, st.shown, end, false)
		st.shown = end + 1
		st.after--
	}
}

func (st *scan) line(b []byte, begin, end int, match bool) {
	st.count(b, begin)
	text := bytes.TrimSuffix(b[begin:min(end, len(b))], []byte("\r"))
	st.out.Lines = append(st.out.Lines, Line{Number: st.number, Text: st.excerpt(text, match), Match: match})
}

// count brings the line number to an offset at which a line begins.
func (st *scan) count(b []byte, at int) {
	if at > st.counted {
		st.number += bytes.Count(b[st.counted:at], []byte("\n"))
		st.counted = at
	} else if at < st.counted {
		st.number -= bytes.Count(b[at:st.counted], []byte("\n"))
		st.counted = at
	}
}

// keepFrom is where the data begins that the next block may show as context.
func (st *scan) keepFrom(b []byte) int {
	keep := len(b)
	for n := 0; n < st.opt.Before && keep > 0; n++ {
		keep = bytes.LastIndexByte(b[:keep-1], '\n') + 1
	}
	if len(b)-keep > blockSize/2 {
		return len(b) // context of huge lines is not worth the memory
	}
	return keep
}

// excerpt is a line as it is shown: valid text, and of a very long line the
// part around the match.
func (st *scan) excerpt(line []byte, match bool) string {
	begin, end := 0, len(line)
	if len(line) > maxShown {
		if match {
			if loc := st.p.show.FindIndex(line); loc != nil {
				begin = max(0, min(loc[0]-maxShown/4, len(line)-maxShown))
			}
		}
		end = min(begin+maxShown, len(line))
		begin, end = runeStart(line, begin), runeStart(line, end)
	}
	text := strings.ToValidUTF8(string(line[begin:end]), "\uFFFD")
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if begin > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return text
}

// runeStart is where the character begins that at lies in. In bytes that are no
// text it stays where it is.
func runeStart(line []byte, at int) int {
	for i := at; i < len(line) && i > at-utf8.UTFMax && i >= 0; i-- {
		if utf8.RuneStart(line[i]) {
			return i
		}
	}
	return at
}

// wide searches a file in UTF-16, decoded as a whole.
func (st *scan) wide(c content, order binary.ByteOrder, head []byte) (File, error) {
	data := append([]byte(nil), head...)
	if int64(len(head)) < c.size {
		rest, err := io.ReadAll(io.LimitReader(readerOf{c}, maxLine))
		if err != nil {
			return File{}, err
		}
		data = append(data, rest...)
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	b := []byte(string(utf16.Decode(units)))
	if !st.opt.Binary && bytes.IndexByte(b, 0) >= 0 {
		return File{}, errBinary
	}
	st.block(b, 0)
	return st.out, nil
}

// byteOrderMark returns how many bytes a UTF-8 mark takes, or the byte order
// that a UTF-16 mark announces.
func byteOrderMark(b []byte) (int, binary.ByteOrder) {
	switch {
	case bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")):
		return 3, nil
	case bytes.HasPrefix(b, []byte("\xFF\xFE")):
		return 0, binary.LittleEndian
	case bytes.HasPrefix(b, []byte("\xFE\xFF")):
		return 0, binary.BigEndian
	}
	return 0, nil
}

// lineEnd is the offset of the LF of the line that begins at at, or the end.
func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(b)
}
