package paths

import (
	"path"
	"strings"
)

// protected and guarded are compared with every spelling that a file system
// may take for them.
var (
	protectedAnywhere = []string{".git"}
	protectedAtRoot   = []string{".muse", ".agents"}
	guarded           = []string{
		".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".envrc", ".mcp.json",
		".claude", ".codex", ".cursor", ".gemini", ".aider.conf.yml",
	}
)

// nameArea judges one component of a path. Pattern characters match as the
// shell would match them.
func nameArea(name string, root bool) Area {
	if name == "" || (name[0] != '.' && !strings.Contains(name, "~") && name[0] < 0x80) {
		// Patterns do not match a leading dot, and short names hold a tilde.
		return Inside
	}
	name = plainSpelling(name)
	for _, p := range protectedAnywhere {
		if spells(name, p) {
			return Protected
		}
	}
	if root {
		for _, p := range protectedAtRoot {
			if spells(name, p) {
				return Protected
			}
		}
	}
	for _, p := range guarded {
		if spells(name, p) {
			return Guarded
		}
	}
	return Inside
}

// plainSpelling undoes what file systems ignore: characters that HFS+ skips,
// trailing dots and spaces and stream names on Windows.
func plainSpelling(name string) string {
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	name = strings.TrimRight(name, ". ")
	for i := 0; i < len(name); i++ {
		if name[i] >= 0x80 {
			return strings.Map(func(r rune) rune {
				if ignorable(r) {
					return -1
				}
				return r
			}, name)
		}
	}
	return name
}

// ignorable lists the code points that HFS+ leaves out of a comparison.
func ignorable(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// spells reports whether name is canonical in some spelling: other case
// (Unicode folding, as case-insensitive systems do it), a pattern that matches
// it, or the short name of a DOS file system.
func spells(name, canonical string) bool {
	if strings.EqualFold(name, canonical) {
		return true
	}
	if strings.ContainsAny(name, "*?[") {
		ok, err := path.Match(strings.ToLower(name), canonical)
		return err != nil || ok
	}
	short, tail, ok := strings.Cut(name, "~")
	if !ok || tail == "" || strings.Trim(tail, "0123456789") != "" {
		return false
	}
	base := strings.TrimPrefix(canonical, ".")
	base, _, _ = strings.Cut(base, ".")
	return strings.EqualFold(short, base[:min(len(base), 6)]) || canonical == ".git" && strings.EqualFold(short, "gi7eba")
}
