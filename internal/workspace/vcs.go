package workspace

import (
	"os"
	"path/filepath"
)

// VCSRoot is the top of the working tree that dir is in, found by the
// directory that Git, Jujutsu, Mercurial or Sapling keep there. ok is false,
// and the result dir itself, when there is none.
func VCSRoot(dir string) (root string, ok bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir, false
	}
	for at := abs; ; {
		for _, name := range []string{gitName, ".jj", ".hg", ".sl"} {
			info, err := os.Stat(filepath.Join(at, name))
			if err != nil {
				continue
			}
			if name != gitName && info.IsDir() || name == gitName && looksLikeGit(at, info) {
				return at, true
			}
		}
		up := filepath.Dir(at)
		if up == at {
			return abs, false
		}
		at = up
	}
}
