package collect

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"unicode/utf8"
)

// outPath is where the copy of a machine path goes. Names come from the
// evidence and are not trusted: a component never is "." or "..", holds no
// separator of any system and no control character.
func outPath(machinePath string, windows bool) string {
	parts := []string{"files"}
	for part := range strings.SplitSeq(machinePath, "/") {
		if part != "" {
			parts = append(parts, outName(part, windows))
		}
	}
	return path.Join(parts...)
}

// outName writes the bytes of name that some system could not hold, or would
// read as something else, as %XX.
func outName(name string, windows bool) string {
	if name == "." || name == ".." {
		return strings.Repeat("%2E", len(name))
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if bad := r == utf8.RuneError && size == 1 || r < 0x20 || r == 0x7f || r == '\\'; bad || windows && strings.ContainsRune(`<>:"|?*`, r) {
			fmt.Fprintf(&b, "%%%02X", name[i])
		} else {
			b.WriteString(name[i : i+size])
		}
		i += size
	}
	out := b.String()
	if windows && (strings.HasSuffix(out, ".") || strings.HasSuffix(out, " ") || reserved(out)) {
		out += "%"
	}
	return out
}

// reserved reports the device names of Windows, with any extension.
func reserved(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '1' && stem[3] <= '9'
}

// namer gives each machine path its own name in the output, also where
// escaping or a file system that folds case would make two of them one.
type namer struct {
	windows, fold bool
	taken         map[string]struct{}
}

func newNamer() *namer {
	windows := runtime.GOOS == "windows"
	return &namer{windows: windows, fold: windows || runtime.GOOS == "darwin", taken: map[string]struct{}{}}
}

func (n *namer) name(machinePath string) string {
	out := outPath(machinePath, n.windows)
	for i := 2; ; i++ {
		key := foldCase(out, n.fold)
		if _, used := n.taken[key]; !used {
			n.taken[key] = struct{}{}
			return out
		}
		out = fmt.Sprintf("%s~%d", outPath(machinePath, n.windows), i)
	}
}
