package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is the kernel's own limit for one look-up.
const maxLinks = 40

// Links follows the links of an absolute path as the kernel does, component by
// component, so that "link/.." means the directory above the link's target.
// What does not exist yet is taken as it is written.
func Links(p string) (string, error) {
	if !filepath.IsAbs(p) {
		return "", fmt.Errorf("follow links of %q: not absolute", p)
	}
	volume := filepath.VolumeName(p)
	rest := strings.Split(filepath.ToSlash(p[len(volume):]), "/")
	done := volume + string(filepath.Separator)
	missing := false
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		if missing {
			done = next
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing, done = true, next
		case err != nil:
			return "", fmt.Errorf("follow links of %q: %w", p, err)
		case info.Mode()&fs.ModeSymlink == 0:
			done = next
		default:
			if links++; links > maxLinks {
				return "", fmt.Errorf("follow links of %q: too many links", p)
			}
			to, err := os.Readlink(next)
			if err != nil {
				return "", fmt.Errorf("follow links of %q: %w", p, err)
			}
			if filepath.IsAbs(to) {
				done = filepath.VolumeName(to) + string(filepath.Separator)
				to = to[len(filepath.VolumeName(to)):]
			}
			rest = append(strings.Split(filepath.ToSlash(to), "/"), rest...)
		}
	}
	return done, nil
}
