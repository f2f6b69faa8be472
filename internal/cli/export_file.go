package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxExportNames is how many names are tried for a document that was given
// none.
const maxExportNames = 1000

// exportFile is a document that is being written.
type exportFile struct {
	path string // absolute
	file *os.File
	made bool // it was not there before
}

// createExport opens the file for a document. Nothing is ever overwritten: a
// file that exists is taken only when it is empty, as one that a program made
// to have a name.
func createExport(env *Env, out string) (*exportFile, error) {
	cwd, err := env.Getwd()
	if err != nil {
		return nil, err
	}
	if out != "" {
		if !filepath.IsAbs(out) {
			out = filepath.Join(cwd, out)
		}
		f, err := openExport(filepath.Clean(out))
		if err != nil {
			return nil, fmt.Errorf("could not write %s: %w", out, cause(err))
		}
		return f, nil
	}
	name := "trajectory-" + env.Now().UTC().Format("20060102T150405Z")
	f, err := nameExport(cwd, name)
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		f, err = nameExport(os.TempDir(), name)
	}
	return f, err
}

// nameExport makes a new file in dir, with a number behind its name if need
// be.
func nameExport(dir, name string) (*exportFile, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for n := range maxExportNames {
		path := filepath.Join(dir, name+".json")
		if n > 0 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.json", name, n))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return &exportFile{path: path, file: f, made: true}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("could not write %s: %w", path, cause(err))
		}
	}
	return nil, errors.New("no available export filename")
}

func openExport(path string) (*exportFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return &exportFile{path: path, file: f, made: true}, nil
	}
	info, statErr := os.Lstat(path)
	if !errors.Is(err, fs.ErrExist) || statErr != nil || !info.Mode().IsRegular() || info.Size() > 0 {
		return nil, err
	}
	f, openErr := os.OpenFile(path, os.O_WRONLY, 0)
	if openErr != nil {
		return nil, openErr
	}
	// What was opened may be another file by now.
	if now, statErr := f.Stat(); statErr != nil || !os.SameFile(info, now) || now.Size() > 0 {
		return nil, errors.Join(err, f.Close())
	}
	return &exportFile{path: path, file: f}, nil
}

// finish makes the document durable.
func (f *exportFile) finish() error {
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("could not write %s: %w", f.path, cause(err))
	}
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("could not write %s: %w", f.path, cause(err))
	}
	return nil
}

// discard takes back a document that could not be written whole.
func (f *exportFile) discard() error {
	var errs []error
	if !f.made {
		errs = append(errs, f.file.Truncate(0))
	}
	// After a failed finish the file may be closed already.
	if err := f.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		errs = append(errs, err)
	}
	if f.made {
		errs = append(errs, os.Remove(f.path))
	}
	return errors.Join(errs...)
}

// cause is err without the operation and the path, which the message around it
// names.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
