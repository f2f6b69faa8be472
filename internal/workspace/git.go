package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/openmuse/muse/internal/plainfile"
)

// Head is what a Git working tree has checked out.
type Head struct {
	// Branch is the branch's name without refs/heads/, "" when a commit is
	// checked out directly. It is valid UTF-8 without control characters:
	// U+FFFD stands for what is neither.
	Branch string
	// Commit is the full object id, "" before the first commit.
	Commit string
}

// ShortCommit is the commit's first 12 hex digits, as the log shows it
// (STREAM.md (a), workspace_branch_observed).
func (h Head) ShortCommit() string { return h.Commit[:min(12, len(h.Commit))] }

// ErrNoGit says that a directory is in no Git working tree.
var ErrNoGit = errors.New("not in a git working tree")

// errNoRefFiles says that the repository keeps its references in a form other
// than files.
var errNoRefFiles = errors.New("git references are not kept as files")

// maxRefFile bounds how much of a reference file is read.
const maxRefFile = 4096

// maxPackedRefs bounds the scan of packed-refs.
const maxPackedRefs = 64 << 20

// GitHead reads the branch and commit of the working tree that dir is in from
// the repository's files. No program is started and no configuration is read,
// so an untrusted repository cannot make anything happen.
func GitHead(dir string) (Head, error) {
	top, _, err := gitTop(dir)
	if err != nil {
		return Head{}, err
	}
	gitDir, err := gitDirOf(filepath.Join(top, gitName))
	if err != nil {
		return Head{}, err
	}
	common := commonDir(gitDir)
	ref, commit, err := readHead(gitDir)
	if err != nil {
		return Head{}, err
	}
	if ref == "" {
		return Head{Commit: commit}, nil
	}
	if ref == "refs/heads/.invalid" { // what a reftable repository has in HEAD
		return Head{}, errNoRefFiles
	}
	head := Head{Branch: shownBranch(strings.TrimPrefix(ref, "refs/heads/"))}
	head.Commit, err = resolveRef(gitDir, common, ref, 0)
	return head, err
}

// gitTop walks up to the directory that holds .git.
func gitTop(dir string) (string, fs.FileInfo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, fmt.Errorf("find git directory: %w", err)
	}
	for {
		if info, err := os.Stat(filepath.Join(dir, gitName)); err == nil && looksLikeGit(dir, info) {
			return dir, info, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", nil, ErrNoGit
		}
		dir = up
	}
}

// looksLikeGit tells a repository from an empty .git directory, which a
// sandbox may have put there to reserve the name and which git looks past.
func looksLikeGit(dir string, info fs.FileInfo) bool {
	if !info.IsDir() {
		return info.Mode().IsRegular()
	}
	_, err := os.Lstat(filepath.Join(dir, gitName, "HEAD"))
	return err == nil
}

// gitDirOf follows a .git file (worktrees, submodules) to the directory.
func gitDirOf(dotGit string) (string, error) {
	info, err := os.Stat(dotGit)
	if err != nil {
		return "", fmt.Errorf("read git directory: %w", err)
	}
	if info.IsDir() {
		return dotGit, nil
	}
	text, err := readSmall(dotGit)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok {
		return "", fmt.Errorf("read git directory: %s is not a gitdir file", dotGit)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(dotGit), target)
	}
	return target, nil
}

// commonDir is where a linked worktree shares its references.
func commonDir(gitDir string) string {
	text, err := readSmall(filepath.Join(gitDir, "commondir"))
	if err != nil {
		return gitDir // only linked worktrees have the file
	}
	if filepath.IsAbs(text) {
		return text
	}
	return filepath.Join(gitDir, text)
}

// readHead returns the reference HEAD names, or the commit it holds.
func readHead(gitDir string) (ref, commit string, err error) {
	path := filepath.Join(gitDir, "HEAD")
	if target, err := os.Readlink(path); err == nil { // the form before Git 1.5
		return filepath.ToSlash(target), "", nil
	}
	text, err := readSmall(path)
	if err != nil {
		return "", "", err
	}
	text = firstLine(text)
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.TrimSpace(ref), "", nil
	}
	if !isObjectID(text) {
		return "", "", fmt.Errorf("read %s: neither a reference nor a commit", path)
	}
	return "", text, nil
}

// resolveRef finds a reference's commit; "" means that the branch is unborn.
func resolveRef(gitDir, common, ref string, depth int) (string, error) {
	if depth > 5 || !safeRef(ref) {
		return "", fmt.Errorf("resolve git reference %q: not followed", ref)
	}
	for _, dir := range []string{gitDir, common} {
		text, err := readSmall(filepath.Join(dir, filepath.FromSlash(ref)))
		if err != nil {
			continue // absent or a directory: it may be packed
		}
		text = firstLine(text)
		if next, ok := strings.CutPrefix(text, "ref:"); ok {
			return resolveRef(gitDir, common, strings.TrimSpace(next), depth+1)
		}
		if isObjectID(text) {
			return text, nil
		}
	}
	return packedRef(filepath.Join(common, "packed-refs"), ref)
}

func packedRef(path, ref string) (string, error) {
	f, err := plainfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read packed references: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxPackedRefs))
	for lines.Scan() {
		id, name, ok := strings.Cut(lines.Text(), " ")
		if ok && name == ref && isObjectID(id) {
			return id, nil
		}
	}
	return "", lines.Err()
}

// safeRef keeps a reference inside the repository's own directory.
func safeRef(ref string) bool {
	if !strings.HasPrefix(ref, "refs/") || strings.ContainsRune(ref, 0) || strings.Contains(ref, `\`) {
		return false
	}
	for _, part := range strings.Split(ref, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// firstLine is all of a reference file that counts.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// shownBranch makes a name that Git takes as bytes fit for a screen and the log:
// an untrusted repository chooses it.
func shownBranch(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
}

func isObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func readSmall(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read git file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("read git file %s: %w", path, ErrNotRegular)
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return "", fmt.Errorf("read git file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRefFile))
	if err != nil {
		return "", fmt.Errorf("read git file: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
