package tool

import (
	"context"
	_ "embed" // the text for the model
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/openmuse/muse/internal/tool/edit"
	"github.com/openmuse/muse/internal/tool/process"
	"github.com/openmuse/muse/internal/workspace"
)

//go:embed editfile.md
var editFileText string

const editFileSchema = `{"type":"object","properties":{
"path":{"type":"string"},
"find":{"type":"string"},
"replace":{"type":"string"}},
"required":["path","find","replace"],"additionalProperties":false}`

// maxDiff bounds the diff in a result: the model wrote the new text itself.
const maxDiff = 3000

// editFile is the tool edit_file.
type editFile struct{ set *Set }

var editFileSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "edit_file", Description: strings.TrimSpace(editFileText),
		Schema: compact(editFileSchema), Effects: true, Writes: true,
	}
})

func (t *editFile) Spec() Spec { return editFileSpec() }

func (t *editFile) Run(ctx context.Context, call Call) Result {
	var args struct {
		Path    string `json:"path"`
		Find    string `json:"find"`
		Replace string `json:"replace"`
	}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	f, no := t.set.reach(ctx, call, args.Path, workspace.Write)
	if no != nil {
		return *no
	}
	defer f.close()
	if f.Info == nil {
		return *f.missing()
	}
	data, info, err := f.ReadAll(maxEditable)
	if err != nil {
		return *failed(err)
	}
	if t.set.seen.stale(f.Key(), versionOf(data, info)) {
		return Fail(staleReason)
	}
	text, enc, err := decodeText(data)
	if errors.Is(err, errBinary) {
		return Fail(fmt.Sprintf("`%s` is not text: %s", f.name(), binaryKind(data)))
	}
	if enc != plainText && string(encodeText(text, enc)) != string(data) {
		return Fail(fmt.Sprintf("`%s` has damaged UTF-16 text, which an edit would change elsewhere too", f.name()))
	}
	change, err := edit.Apply(text, strings.TrimPrefix(args.Find, "\uFEFF"), strings.TrimPrefix(args.Replace, "\uFEFF"))
	if err != nil {
		r := Fail(err.Error())
		r.Reason, _, _ = strings.Cut(r.Reason, "\n") // the places shown are for the model
		return r
	}
	changed := encodeText(change.Text, enc)
	if err := f.Replace(changed, info); err != nil {
		return *failed(err)
	}
	t.set.seen.note(f.Key(), versionOf(changed, f.Info))
	return Result{
		Text: editText(change),
		Edit: &Edit{Path: f.shown, Added: change.Added, Removed: change.Removed},
	}
}

// editText is the result in the form of STREAM.md (a), "Text forms seen".
func editText(c edit.Change) string {
	lines := fmt.Sprintf("lines %d-%d", c.First, c.Last)
	if c.First == c.Last {
		lines = fmt.Sprintf("line %d", c.First)
	}
	text := "edited\nchanged lines: " + lines + "\n"
	if c.How != "" {
		text += "find did not match exactly; it matched looking past " + c.How + "\n"
	}
	diff := process.Text([]byte(c.Diff))
	if len(diff) > maxDiff {
		cut := strings.LastIndexByte(diff[:maxDiff], '\n') + 1
		diff = diff[:cut] + fmt.Sprintf("… (%s more)\n", count(strings.Count(diff[cut:], "\n"), "line"))
	}
	return text + "--- original\n+++ updated\n" + strings.TrimSuffix(diff, "\n")
}
