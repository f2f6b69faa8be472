package collect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// journal is the manifest while it grows: one finished entry a line, written
// as each is done, so that an interrupted collection knows what it has.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func createJournal(name string) (*journal, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	return &journal{file: f}, nil
}

func (j *journal) add(e *Entry) error {
	line, err := e.line()
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(line); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

func (j *journal) close() error { return j.file.Close() }

// readEntries reads a journal or a manifest. A torn last line is what an
// interruption leaves and is dropped; a file that is not there has no entries.
func readEntries(name string) ([]Entry, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open manifest: %w", err)
	}
	defer f.Close()
	var entries []Entry
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		e, err := parseEntry(bytes.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
}
