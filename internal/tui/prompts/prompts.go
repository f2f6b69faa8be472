// Package prompts keeps what a person has typed, for the next time: the file
// tui-history.jsonl of the data root, two lines for each prompt, a JSON string
// and an object with the workspace and the session (seed 000, Prompt history).
package prompts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"
)

// Bounds of what is read and kept.
const (
	maxRead  = 4 << 20 // of the file's end
	maxKept  = 2000    // prompts offered
	maxBytes = 256 << 10
	lockWait = 2 * time.Second
)

// File is the history of a data root.
type File struct {
	path string // "" keeps nothing
}

// Open is the history of a data root; with keep false nothing is read or
// written.
func Open(dataRoot string, keep bool) *File {
	if !keep {
		return &File{}
	}
	return &File{filepath.Join(dataRoot, "tui-history.jsonl")}
}

// Entry is one prompt.
type Entry struct {
	Text    string
	Project string
	Session string
}

type place struct {
	Project string `json:"project"`
	Session string `json:"session"`
}

// Read returns prompts, oldest first: those of the workspace behind all others,
// each text once, at its newest place. What cannot be read is passed over.
func (f *File) Read(project string) ([]string, error) {
	if f.path == "" {
		return nil, nil
	}
	data, err := tail(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the prompt history: %w", err)
	}
	var here, elsewhere []string
	for _, e := range parse(data) {
		if e.Project == project {
			here = append(here, e.Text)
		} else {
			elsewhere = append(elsewhere, e.Text)
		}
	}
	all := append(elsewhere, here...)
	seen := map[string]bool{}
	var out []string
	for _, t := range slices.Backward(all) {
		if !seen[t] && len(out) < maxKept {
			seen[t] = true
			out = append(out, t)
		}
	}
	slices.Reverse(out)
	return out, nil
}

func tail(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if n := info.Size(); n > maxRead {
		if _, err := file.Seek(n-maxRead, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(file, maxRead))
}

// parse reads pairs of lines. A line without its partner is passed over.
func parse(data []byte) []Entry {
	var out []Entry
	text, some := "", false
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case line[0] == '"':
			some = json.Unmarshal(line, &text) == nil
		case some:
			var p place
			if json.Unmarshal(line, &p) == nil && strings.TrimSpace(text) != "" {
				out = append(out, Entry{text, p.Project, p.Session})
			}
			some = false
		}
	}
	return out
}

// Append adds a prompt. Other programs may append at the same time: a lock
// beside the file keeps pairs together.
func (f *File) Append(ctx context.Context, e Entry) (err error) {
	if f.path == "" || strings.TrimSpace(e.Text) == "" || len(e.Text) > maxBytes {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("keep the prompt in the history: %w", err)
		}
	}()
	text, err := json.Marshal(strings.ToValidUTF8(e.Text, "\uFFFD"))
	if err != nil {
		return err
	}
	where, err := json.Marshal(place{e.Project, e.Session})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(f.path + ".lock")
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	pair := append(append(append(text, '\n'), where...), '\n')
	if broken, err := unended(file); err != nil {
		return err
	} else if broken {
		pair = append([]byte("\n"), pair...)
	}
	_, err = file.Write(pair)
	return err
}

// unended reports whether the file ends within a line.
func unended(file *os.File) (bool, error) {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}
