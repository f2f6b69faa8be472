// Package tree measures what depends on how many files there are: the search
// engine beside ripgrep, and trees of any size to start in.
package tree

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/openmuse/muse/internal/search"
)

// SearchArg is the argument under which the binary has to call [RunSearch].
const SearchArg = "search-tree"

// Query is one search that both engines carry out.
type Query struct {
	Name       string
	Pattern    string
	Regex      bool
	IgnoreCase bool
}

// Queries are literals that are rare, common and nowhere, expressions with a
// literal in them, and either without regard to case.
func Queries() []Query {
	return []Query{
		{Name: "literal", Pattern: "sync.Mutex"},
		{Name: "literal, common", Pattern: "return nil"},
		{Name: "literal, nowhere", Pattern: "nowhere_in_this_tree_9f2c"},
		{Name: "regex", Pattern: `errors\.(Is|As)\(`, Regex: true},
		{Name: "regex, literal behind", Pattern: `func \w+Handler\(`, Regex: true},
		{Name: "regex, literal inside", Pattern: `[a-z]+Deadline\([a-z]+ time\.Time\)`, Regex: true},
		{Name: "any case, literal", Pattern: "waitgroup", IgnoreCase: true},
		{Name: "any case, regex", Pattern: `http/[12]\.\d`, Regex: true, IgnoreCase: true},
	}
}

// Ripgrep is the command line of ripgrep for q in the current directory.
func (q Query) Ripgrep() []string {
	args := []string{"--no-config", "--line-number", "--no-heading", "--color=never"}
	if !q.Regex {
		args = append(args, "--fixed-strings")
	}
	if q.IgnoreCase {
		args = append(args, "--ignore-case")
	}
	return append(args, "--regexp="+q.Pattern, "./")
}

// Ours is the command line of [RunSearch] for q below dir.
func (q Query) Ours(dir string) []string {
	return []string{
		SearchArg, "-dir=" + dir, "-pattern=" + q.Pattern, "-regex=" + strconv.FormatBool(q.Regex), "-ignore-case=" + strconv.FormatBool(q.IgnoreCase),
	}
}

// RunSearch searches with the engine of the search tool and prints what
// ripgrep prints.
func RunSearch(args []string, out io.Writer) error {
	var q search.Query
	f := flag.NewFlagSet(SearchArg, flag.ContinueOnError)
	dir := f.String("dir", "", "")
	f.StringVar(&q.Pattern, "pattern", "", "")
	f.BoolVar(&q.Regex, "regex", false, "")
	f.BoolVar(&q.IgnoreCase, "ignore-case", false, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	p, err := search.Compile(q)
	if err != nil {
		return err
	}
	r, err := search.Run(context.Background(), p, search.Options{Dir: *dir})
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 64<<10)
	for _, file := range r.Files {
		for _, line := range file.Lines {
			fmt.Fprintf(w, "./%s:%d:%s\n", file.Path, line.Number, line.Text)
		}
	}
	return w.Flush()
}

var matchLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\./(.+?):(\d+):`) })

// Places reads which lines an engine printed: "path:line". Remarks about
// binary files have no line number and do not count.
func Places(file string) (map[string]bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]bool{}
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if m := matchLine().FindStringSubmatch(line); m != nil {
			out[m[1]+":"+m[2]] = true
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read matches: %w", err)
		}
	}
}

// Make makes a tree of small files, a few hundred to a directory.
func Make(dir string, files int) error {
	const perDir = 400
	for i := range files {
		parent := filepath.Join(dir, fmt.Sprintf("pkg%02d", i/perDir%20), fmt.Sprintf("part%04d", i/perDir))
		if i%perDir == 0 {
			if err := os.MkdirAll(parent, 0o700); err != nil {
				return err
			}
		}
		text := "package part\n\n// Value is one of many.\nconst Value = 1\n"
		if err := os.WriteFile(filepath.Join(parent, fmt.Sprintf("file%03d.go", i%perDir)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Difference says how two sets of places differ, "" when they do not.
func Difference(theirs, ours map[string]bool) string {
	missing, extra := lack(theirs, ours), lack(ours, theirs)
	if len(missing)+len(extra) == 0 {
		return ""
	}
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, fmt.Sprintf("%d missing, such as %s", len(missing), missing[0]))
	}
	if len(extra) > 0 {
		parts = append(parts, fmt.Sprintf("%d extra, such as %s", len(extra), extra[0]))
	}
	return strings.Join(parts, "; ")
}

// lack lists what is in a and not in b.
func lack(a, b map[string]bool) []string {
	var out []string
	for k := range a {
		if !b[k] {
			out = append(out, k)
		}
	}
	return out
}
