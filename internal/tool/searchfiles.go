package tool

import (
	"context"
	_ "embed" // the text for the model
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/search"
	"github.com/openmuse/muse/internal/workspace"
)

//go:embed searchfiles.md
var searchText string

const searchSchema = `{"type":"object","properties":{
"pattern":{"type":"string","minLength":1},
"mode":{"enum":["literal","regex"],"description":"default literal"},
"paths":{"type":["array","string"],"items":{"type":"string"},"description":"files or directories"},
"glob":{"type":["array","string"],"items":{"type":"string"},"description":"*.go, !vendor/"},
"case_sensitive":{"type":"boolean","description":"default true"},
"smart_case":{"type":"boolean"},
"word":{"type":"boolean"},
"whole_line":{"type":"boolean"},
"context_before":{"type":"integer","minimum":0,"maximum":50},
"context_after":{"type":"integer","minimum":0,"maximum":50},
"max_matches":{"type":"integer","minimum":1,"maximum":10000,"description":"default 200"},
"hidden":{"type":"boolean"},
"no_ignore":{"type":"boolean"},
"follow_symlinks":{"type":"boolean"},
"binary":{"enum":["skip","text"]},
"output_mode":{"enum":["text","json","files_with_matches"]}},
"required":["pattern"],"additionalProperties":false}`

const defaultMaxMatches = 200

// searchFiles is the tool search.
type searchFiles struct{ set *Set }

var searchFilesSpec = sync.OnceValue(func() Spec {
	return Spec{
		Name: "search", Description: strings.TrimSpace(searchText),
		Schema: compact(searchSchema), Parallel: true,
	}
})

func (t *searchFiles) Spec() Spec { return searchFilesSpec() }

type searchArgs struct {
	Pattern       string     `json:"pattern"`
	Mode          string     `json:"mode"`
	Paths         stringList `json:"paths"`
	Glob          stringList `json:"glob"`
	CaseSensitive bool       `json:"case_sensitive"`
	SmartCase     bool       `json:"smart_case"`
	Word          bool       `json:"word"`
	WholeLine     bool       `json:"whole_line"`
	Before        int        `json:"context_before"`
	After         int        `json:"context_after"`
	MaxMatches    int        `json:"max_matches"`
	Hidden        bool       `json:"hidden"`
	NoIgnore      bool       `json:"no_ignore"`
	Follow        bool       `json:"follow_symlinks"`
	Binary        string     `json:"binary"`
	Output        string     `json:"output_mode"`
}

// stringList takes one string for a list of one: models write both.
type stringList []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *stringList) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		var one string
		if err := json.UnmarshalDecode(dec, &one); err != nil {
			return err
		}
		*l = stringList{one}
		return nil
	}
	return json.UnmarshalDecode(dec, (*[]string)(l))
}

func (t *searchFiles) Run(ctx context.Context, call Call) Result {
	args := searchArgs{CaseSensitive: true, MaxMatches: defaultMaxMatches}
	if r := decodeArgs(call, &args); r != nil {
		return *r
	}
	pattern, err := search.Compile(search.Query{
		Pattern: args.Pattern, Regex: args.Mode == "regex", IgnoreCase: !args.CaseSensitive,
		SmartCase: args.SmartCase, Word: args.Word, WholeLine: args.WholeLine,
	})
	if err != nil {
		return Fail(err.Error())
	}
	trees, no := t.trees(ctx, call, args.Paths)
	if no != nil {
		return *no
	}
	found := searchOutput{args: args, limit: t.set.opt.MaxOutputBytes}
	for _, tree := range trees {
		r, err := search.Run(ctx, pattern, search.Options{
			Dir: tree.dir, Paths: tree.paths, Globs: args.Glob,
			Hidden: args.Hidden, NoIgnore: args.NoIgnore, Follow: args.Follow, Binary: args.Binary == "text",
			Before: args.Before, After: args.After, MaxMatches: args.MaxMatches - found.matches,
			FilesOnly: args.Output == "files_with_matches",
		})
		if err != nil {
			if errors.Is(err, context.Canceled) {
				err = errors.New("cancelled")
			}
			return Fail(errorText(err))
		}
		if tree.dir != t.set.opt.Workspace.Dir() {
			for i := range r.Files {
				r.Files[i].Path = filepath.Join(tree.dir, filepath.FromSlash(r.Files[i].Path))
			}
		}
		if found.add(r); found.matches >= args.MaxMatches {
			break
		}
	}
	return found.result()
}

// searchTree is a directory with the paths in it that are searched.
type searchTree struct {
	dir   string
	paths []string
}

// trees resolves the paths of a call; none is the workspace.
func (t *searchFiles) trees(ctx context.Context, call Call, paths []string) ([]searchTree, *Result) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var trees []searchTree
	for _, p := range paths {
		f, no := t.set.reach(ctx, call, p, workspace.Read)
		if no != nil {
			return nil, no
		}
		dir, rel, exists := f.Root().Dir(), f.Rel, f.Info != nil
		missing := f.missing
		if !exists {
			no = missing()
		}
		f.close()
		if no != nil {
			return nil, no
		}
		if n := len(trees); n == 0 || trees[n-1].dir != dir {
			trees = append(trees, searchTree{dir: dir})
		}
		last := &trees[len(trees)-1]
		last.paths = append(last.paths, rel)
	}
	return trees, nil
}

// searchOutput makes the text of a search out of the results of its trees.
type searchOutput struct {
	args  searchArgs
	limit int // bytes

	text      strings.Builder
	lines     []jsonLine
	matches   int // shown
	truncated bool
	full      bool // the byte limit was reached
	searched  int64
	binary    int64
}

type jsonLine struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitzero"`
	Text    string `json:"text,omitzero"`
	Context bool   `json:"context,omitzero"`
}

func (o *searchOutput) add(r search.Result) {
	o.truncated = o.truncated || r.Truncated
	o.searched += r.Searched
	o.binary += r.Binary
	for _, f := range r.Files {
		shown := printable(f.Path)
		if o.args.Output == "files_with_matches" {
			if !o.put(shown+"\n", jsonLine{Path: f.Path}) {
				return
			}
			o.matches++
			continue
		}
		previous := -1
		for _, line := range f.Lines {
			separator := ":"
			if !line.Match {
				separator = "-"
			}
			entry := fmt.Sprintf("%s%s%d%s%s\n", shown, separator, line.Number, separator, line.Text)
			if o.args.Before+o.args.After > 0 && line.Number != previous+1 && o.text.Len() > 0 {
				entry = "--\n" + entry
			}
			if !o.put(entry, jsonLine{f.Path, line.Number, line.Text, !line.Match}) {
				return
			}
			previous = line.Number
			if line.Match {
				o.matches++
			}
		}
	}
}

// put takes one entry as long as there is room.
func (o *searchOutput) put(entry string, line jsonLine) bool {
	if o.full || o.text.Len()+len(entry) > o.limit && o.text.Len() > 0 {
		o.full, o.truncated = true, true
		return false
	}
	if len(entry) > o.limit { // at least the beginning of one
		entry = shorten(entry, o.limit)
	}
	o.text.WriteString(entry)
	o.lines = append(o.lines, line)
	return true
}

func (o *searchOutput) result() Result {
	if o.args.Output == "json" {
		if o.lines == nil {
			o.lines = []jsonLine{}
		}
		text, err := json.Marshal(struct {
			Matches   []jsonLine `json:"matches"`
			Truncated bool       `json:"truncated"`
		}{o.lines, o.truncated}, jsontext.AllowInvalidUTF8(true)) // names of files need not be UTF-8
		if err != nil {
			return Fail("the result cannot be written: " + err.Error())
		}
		return Result{Text: string(text)}
	}
	unit := "matches"
	if o.args.Output == "files_with_matches" {
		unit = "files"
	}
	text := o.text.String()
	switch {
	case o.matches == 0:
		text = fmt.Sprintf("No matches in %s.", count(int(o.searched-o.binary), "file"))
		if o.binary > 0 {
			text += fmt.Sprintf(" %s skipped; binary: text searches them.", count(int(o.binary), "binary file"))
		}
	case o.full:
		text += fmt.Sprintf("[cut after %d %s: the text is too long; narrow the search]", o.matches, unit)
	case o.truncated:
		text += fmt.Sprintf("[there are more than %d %s; narrow the search or raise max_matches]", o.matches, unit)
	}
	return Result{Text: strings.TrimSuffix(text, "\n")}
}
