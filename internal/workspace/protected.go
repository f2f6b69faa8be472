package workspace

import (
	"os"
	"strings"
	"unicode"
)

// Names that file tools never write. What lies in them is run later by the
// user's own programs (Git hooks and configuration) or steers the agent, so a
// change there outlives the session (THREATS.md 4.4 and 6).
//
// ".git" is protected at every depth, the others directly below the root.
const (
	gitName    = ".git"
	museName   = ".muse"
	agentsName = ".agents"
)

// protectedNames are the names that hold at one depth.
func protectedNames(top bool) []string {
	if top {
		return []string{gitName, museName, agentsName}
	}
	return []string{gitName}
}

// protectedAs returns the protected name that some file system would take
// name for, or "". Case, ignorable Unicode, trailing dots and spaces, stream
// suffixes and Windows short names are all looked through: on a file system
// that keeps them apart nothing of value is lost by refusing the variant.
func protectedAs(name string, top bool) string {
	plain := plainName(name)
	for _, p := range protectedNames(top) {
		if strings.EqualFold(plain, p) || isShortName(plain, p[1:]) {
			return p
		}
	}
	return ""
}

// plainName is name as the most lenient file system reads it.
func plainName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == ':' { // NTFS stream, as in .git::$INDEX_ALLOCATION
			break
		}
		// HFS+ drops these when it compares names; git refuses them for
		// the same reason.
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) {
			continue
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), ". \t")
}

// isShortName matches the 8.3 alias of a dotted name, GIT~1 for .git.
func isShortName(name, stem string) bool {
	head, digits, ok := strings.Cut(name, "~")
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	if len(stem) > 6 {
		stem = stem[:6]
	}
	return strings.EqualFold(head, stem)
}

// protectedTwin reports the protected name that is the same file as info in
// dir. It catches what no spelling rule knows: aliases of the file system at
// hand, hard links and bind mounts.
func protectedTwin(dir *os.Root, info os.FileInfo, top bool) string {
	for _, p := range protectedNames(top) {
		if twin, err := dir.Lstat(p); err == nil && os.SameFile(twin, info) {
			return p
		}
	}
	return ""
}
