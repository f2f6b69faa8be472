package tool

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the text for the model
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/tool/process"
	"github.com/openmuse/muse/internal/workspace"
)

//go:embed readfile.md
var readFileText string

const readFileSchema = `{"type":"object","properties":{
"path":{"type":"string"},
"offset":{"type":"integer","minimum":1,"description":"first line; default 1"},
"limit":{"type":"integer","minimum":1,"maximum":2000,"description":"lines; default 500"}},
"required":["path"],"additionalProperties":false}`

const (
	defaultReadLines = 500
	// maxLineBytes is where a line is cut: minified code would crowd out all
	// the rest.
	maxLineBytes = 2000
	// maxWholeRead is the largest file that is read as a whole. Larger ones are
	// read up to the last line asked for.
	maxWholeRead = 4 << 20
)

// readFile is the tool read_file.
type readFile struct{ set *Set }

var readFileSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "read_file", Description: strings.TrimSpace(readFileText),
		Schema: compact(readFileSchema), Parallel: true,
	}
})

func (t *readFile) Spec() Spec { return readFileSpec() }

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func (t *readFile) Run(ctx context.Context, call Call) Result {
	args := readArgs{Offset: 1, Limit: defaultReadLines}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	f, no := t.set.reach(ctx, call, args.Path, workspace.Read)
	if no != nil {
		return *no
	}
	defer f.close()
	switch {
	case f.Info == nil:
		return *f.missing()
	case f.Info.IsDir():
		return t.directory(f)
	}
	in, info, err := f.Open()
	if err != nil {
		return *failed(err)
	}
	defer in.Close()
	head := make([]byte, sniffLen)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return *failed(err)
	}
	head = head[:n]
	if kind := imageType(head); kind != "" {
		return t.image(f, kind)
	}
	enc, ok := encodingOf(head)
	if !ok {
		return Fail(fmt.Sprintf("`%s` is not text: %s, %d bytes", f.name(), binaryKind(head), info.Size()))
	}
	// A page that begins beyond every file still has a number for its end.
	args.Offset = min(args.Offset, math.MaxInt-args.Limit)
	page := &page{from: args.Offset, lines: args.Limit, bytes: t.set.opt.MaxOutputBytes}
	if info.Size() > maxWholeRead {
		err = t.stream(ctx, f, in, info, head, enc, page)
	} else {
		err = t.whole(f, page)
	}
	if err != nil {
		return *failed(err)
	}
	return page.result(f.name())
}

// whole pages through a file read at once and remembers its content.
func (t *readFile) whole(f *file, p *page) error {
	data, info, err := f.ReadAll(2 * maxWholeRead)
	if err != nil {
		return err
	}
	t.set.seen.note(f.Key(), versionOf(data, info))
	text, _, err := decodeText(data)
	if err != nil {
		return err
	}
	p.crlf = strings.Contains(text, "\r\n")
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		p.add([]byte(line))
		text = rest
	}
	p.counted = true
	return nil
}

// stream pages through a large file without holding it, up to the last line
// that is wanted.
func (t *readFile) stream(ctx context.Context, f *file, in io.Reader, info fs.FileInfo, head []byte, enc encoding, p *page) error {
	if enc == utf16LE || enc == utf16BE {
		return fmt.Errorf("UTF-16 text of %d bytes is too large to be read here", info.Size())
	}
	if enc == utf8BOM {
		head = head[3:]
	}
	t.set.seen.note(f.Key(), versionByFacts(info))
	r := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), untilDone{ctx, in}), 64<<10)
	for !p.full() {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			p.counted = true
			return nil
		}
		if err != nil {
			return err
		}
		p.add(line)
	}
	return nil
}

// untilDone reads until a call is cancelled: a sparse file can be far larger
// than the disk.
type untilDone struct {
	ctx context.Context
	in  io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, errors.New("cancelled")
	}
	return r.in.Read(p)
}

// readLine reads one line and keeps a little more of it than is shown, so that
// the page can tell that it was cut.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := maxLineBytes + 8 - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

// page collects the lines of one answer.
type page struct {
	from, lines, bytes int

	out     strings.Builder
	seen    int // lines gone through
	last    int // last line in out
	cut     int // lines that were shortened
	stopped bool
	counted bool // seen is the number of lines of the file
	crlf    bool
}

// full reports that the next line would not be shown.
func (p *page) full() bool { return p.stopped || p.seen >= p.from-1+p.lines }

func (p *page) add(line []byte) {
	p.seen++
	if p.seen < p.from || p.seen >= p.from+p.lines || p.stopped {
		return
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	text := process.Text(line[:min(len(line), maxLineBytes+4)])
	if len(text) > maxLineBytes {
		text = shorten(text, maxLineBytes)
		p.cut++
	}
	entry := strconv.Itoa(p.seen) + "|" + text
	if p.out.Len()+1+len(entry) > p.bytes {
		if p.last > 0 {
			p.stopped = true
			return
		}
		entry = shorten(entry, max(p.bytes-1, 1)) // at least the beginning of one line
		p.cut++
		p.stopped = true
	}
	p.out.WriteByte('\n')
	p.out.WriteString(entry)
	p.last = p.seen
}

func (p *page) result(shown string) Result {
	if p.last == 0 && p.seen > 0 {
		return Fail(fmt.Sprintf("offset %d is past the end: `%s` has %s", p.from, shown, count(p.seen, "line")))
	}
	text := fmt.Sprintf("Read text file `%s`.", shown) + p.out.String()
	var notes []string
	switch {
	case p.seen == 0:
		notes = append(notes, "the file is empty")
	case p.counted && p.last < p.seen:
		notes = append(notes, fmt.Sprintf("lines %d-%d of %d; go on with offset %d", p.from, p.last, p.seen, p.last+1))
	case !p.counted:
		notes = append(notes, fmt.Sprintf("lines %d-%d, more follow; go on with offset %d", p.from, p.last, p.last+1))
	}
	if p.cut > 0 {
		notes = append(notes, count(p.cut, "long line")+" cut at "+strconv.Itoa(maxLineBytes)+" bytes, marked …")
	}
	if p.crlf {
		notes = append(notes, "line ends are CRLF")
	}
	if len(notes) > 0 {
		text += "\n[" + strings.Join(notes, "; ") + "]"
	}
	return Result{Text: text}
}

// image attaches a picture.
func (t *readFile) image(f *file, kind string) Result {
	if !t.set.opt.Images {
		return Fail(fmt.Sprintf("`%s` is a picture (%s, %d bytes); this model takes no pictures", f.name(), kind, f.Info.Size()))
	}
	data, _, err := f.ReadAll(maxImage)
	if err != nil {
		return *failed(err)
	}
	return Result{
		Text:   fmt.Sprintf("Read image file `%s` (%s, %d bytes).", f.name(), kind, len(data)),
		Images: []Image{{MediaType: kind, Data: data}},
	}
}

// directory is a failed read that says what the directory holds.
func (t *readFile) directory(f *file) Result {
	const most = 100
	entries, err := f.ReadDir(most + 1)
	if err != nil {
		return *failed(err)
	}
	r := Fail(fmt.Sprintf("`%s` is a directory", f.name()))
	var names []string
	for _, e := range entries[:min(len(entries), most)] {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, printable(name))
	}
	switch {
	case len(entries) > most:
		names = append(names, "…")
	case len(entries) == 0:
		names = append(names, "nothing")
	}
	r.Text += "\nIt has: " + shorten(strings.Join(names, "  "), t.set.opt.MaxOutputBytes)
	return r
}

// decodeArgs reads a call's checked arguments over the defaults in args.
func decodeArgs(call Call, args any) *Result {
	if err := json.Unmarshal(call.Args, args); err != nil {
		r := Fail("the arguments cannot be read: " + plainJSONError(err).Error())
		return &r
	}
	return nil
}

// compact is a schema without the line breaks it is written with. The specs
// that hold it are made once, when first asked for.
func compact(schema string) jsontext.Value {
	v := jsontext.Value(schema)
	if err := v.Compact(); err != nil {
		panic("tool schema: " + err.Error()) // a fault in this package; every test sees it
	}
	return v
}
