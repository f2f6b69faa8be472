package tool

import (
	"bytes"
	"context"
	_ "embed" // the text for the model
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/openmuse/muse/internal/tool/edit"
	"github.com/openmuse/muse/internal/workspace"
)

//go:embed writefile.md
var writeFileText string

const writeFileSchema = `{"type":"object","properties":{
"path":{"type":"string"},
"content":{"type":"string"}},
"required":["path","content"],"additionalProperties":false}`

// maxEditable is the largest file that is edited or compared with what it is
// replaced by.
const maxEditable = 32 << 20

// writeFile is the tool write_file.
type writeFile struct{ set *Set }

var writeFileSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "write_file", Description: strings.TrimSpace(writeFileText),
		Schema: compact(writeFileSchema), Effects: true, Writes: true,
	}
})

func (t *writeFile) Spec() Spec { return writeFileSpec() }

func (t *writeFile) Run(ctx context.Context, call Call) Result {
	var args struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	f, no := t.set.reach(ctx, call, args.Path, workspace.Create)
	if no != nil {
		return *no
	}
	defer f.close()
	data := []byte(args.Content)
	var old []byte
	var expect fs.FileInfo
	note := ""
	if f.Info != nil {
		var err error
		old, expect, err = f.ReadAll(maxEditable)
		if err != nil {
			return *failed(err)
		}
		now := versionOf(old, expect)
		if t.set.seen.stale(f.Key(), now) {
			return Fail(staleReason)
		}
		if _, known := t.set.seen.known(f.Key()); !known && len(old) > 0 {
			note = fmt.Sprintf("\nIt replaced a file of %s that had not been read here.", count(edit.Lines(string(old)), "line"))
		}
	}
	facts := &Edit{Path: f.shown}
	if bytes.IndexByte(old, 0) < 0 {
		facts.Added, facts.Removed = edit.Count(string(old), args.Content)
	} else {
		facts.Added = edit.Lines(args.Content)
	}
	if err := f.Replace(data, expect); err != nil {
		return *failed(err)
	}
	t.set.seen.note(f.Key(), versionOf(data, f.Info))
	return Result{Text: fmt.Sprintf("wrote %d bytes to %s", len(data), printable(f.Abs())) + note, Edit: facts}
}
