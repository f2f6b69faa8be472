package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// repair brings the end of the log to a whole record: a record without its
// line feed gets it, a torn one is moved to a file beside the log.
func (j *Journal) repair(report *OpenReport) error {
	t := report.Tail
	switch {
	case t == nil:
		return nil
	case t.Whole:
		return j.addLineFeed(report)
	}
	name, err := j.setAside(t)
	if err != nil {
		return fmt.Errorf("set the torn last line aside: %w", err)
	}
	report.TornFile = name
	if err := j.file.Truncate(t.Offset); err != nil {
		return fmt.Errorf("cut off the torn last line, which is kept in %s: %w", name, err)
	}
	j.size = t.Offset
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync after cutting off the torn last line: %w", err)
	}
	return nil
}

func (j *Journal) addLineFeed(report *OpenReport) error {
	written, err := j.file.WriteAt([]byte{'\n'}, j.size)
	if err == nil && written != 1 {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("end the last line: %w", err)
	}
	j.hash.Write([]byte{'\n'})
	j.size++
	j.lines++
	report.AddedLineFeed = true
	return nil
}

// setAside copies the torn line to a new file beside the log, named after it
// and the time, and makes it durable. The name is returned.
func (j *Journal) setAside(t *Tail) (name string, err error) {
	base := j.path + ".torn-" + j.opts.Now().UTC().Format("20060102T150405.000000Z")
	var f File
	for n := 0; ; n++ {
		name = base
		if n > 0 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		f, err = j.opts.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || n == 1000 {
			return "", err
		}
	}
	_, err = io.Copy(io.NewOffsetWriter(f, 0), io.NewSectionReader(j.file, t.Offset, t.Size))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = j.opts.SyncDir(filepath.Dir(name))
	}
	if err != nil {
		// The log still has the line; a half copy would only mislead.
		if rmErr := os.Remove(name); rmErr != nil {
			err = errors.Join(err, rmErr)
		}
		return "", err
	}
	return name, nil
}
