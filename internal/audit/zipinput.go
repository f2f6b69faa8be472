package audit

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// zipStore reads the members of an archive in place: nothing is unpacked, so
// no name in it can lead anywhere.
type zipStore struct {
	zr    *zip.ReadCloser
	files map[string]*zip.File
}

func (in *Input) addZip(name string) error {
	zr, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("open input: %s: %w", name, err)
	}
	s := &zipStore{zr: zr, files: map[string]*zip.File{}}
	in.stores = append(in.stores, s)
	for _, f := range zr.File {
		p := memberPath(f.Name)
		if !f.Mode().IsRegular() || slices.ContainsFunc(strings.Split(path.Dir(p), "/"), passedOver) {
			continue
		}
		if _, twice := s.files[p]; twice {
			in.Problems = append(in.Problems, Problem{Path: name + "/" + p, Err: fmt.Errorf("the archive has this name twice; the first one is read")})
			continue
		}
		s.files[p] = f
		kind := wanted(p)
		if kind == 0 {
			continue
		}
		in.Files = append(in.Files, &File{
			Kind: kind, Label: name + "/" + p, Size: int64(min(f.UncompressedSize64, 1<<62)), ModTime: f.Modified, Dir: path.Dir(p),
			store: s, at: p,
			open: func() (io.ReadCloser, error) { return s.open(p) },
		})
	}
	return nil
}

// memberPath makes a name of an archive a clean relative path, whatever it
// was. It is used for comparing and showing only.
func memberPath(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

func (s *zipStore) open(name string) (io.ReadCloser, error) {
	f := s.files[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("open %s in the archive: %w", name, err)
	}
	return r, nil
}

func (s *zipStore) size(name string) (int64, error) {
	f := s.files[name]
	if f == nil {
		return 0, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return int64(min(f.UncompressedSize64, 1<<62)), nil
}

func (s *zipStore) list(dir string) ([]string, error) {
	found := map[string]bool{}
	for p := range s.files {
		rest, ok := strings.CutPrefix(p, dir+"/")
		if dir == "." {
			rest, ok = p, true
		}
		if !ok {
			continue
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			found[first+"/"] = true
		} else {
			found[first] = true
		}
	}
	names := make([]string, 0, len(found))
	for n := range found {
		names = append(names, n)
	}
	slices.Sort(names)
	return names, nil
}

func (s *zipStore) Close() error { return s.zr.Close() }
