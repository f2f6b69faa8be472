package layout

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrExposed says that the view is not the one that was planned.
var ErrExposed = errors.New("the file system is not confined")

// Verify looks at the finished view from inside and reports the first thing
// that is not as planned. It trusts nothing that the launcher said.
func (p *Plan) Verify() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read the mount table: %w", err)
	}
	if err := p.verifyTable(bytes.NewReader(table)); err != nil {
		return err
	}
	for _, id := range p.Identities {
		if err := verifyIdentity(id); err != nil {
			return err
		}
	}
	for _, path := range p.Protected {
		if err := verifyReadOnly(path); err != nil {
			return err
		}
	}
	for _, path := range p.Hidden {
		if err := verifyHidden(path); err != nil {
			return err
		}
	}
	return nil
}

// verifyTable holds the mount table against the plan: a mount that may be
// written is at or below a writable directory, or part of /dev, and the ones
// at and below protected paths are all read-only.
func (p *Plan) verifyTable(table io.Reader) error {
	lines := bufio.NewScanner(table)
	lines.Buffer(make([]byte, 0, 4096), 1<<20)
	root := false
	for lines.Scan() {
		point, writable, err := mountLine(lines.Text())
		if err != nil {
			return err
		}
		root = root || point == "/"
		if !writable || inside(point, "/dev") {
			continue
		}
		if !insideAny(point, p.Writable) {
			return fmt.Errorf("%w: the mount on %s is writable", ErrExposed, point)
		}
		if insideAny(point, p.Protected) {
			return fmt.Errorf("%w: the mount on the protected path %s is writable", ErrExposed, point)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the mount table: %w", err)
	}
	if !root {
		return fmt.Errorf("%w: the mount table shows no root", ErrExposed)
	}
	return nil
}

// mountLine takes the mount point and its writability from a line of
// mountinfo (proc_pid_mountinfo(5)): "36 35 98:0 /root /point rw,noatime ...".
func mountLine(line string) (point string, writable bool, err error) {
	fields := strings.SplitN(line, " ", 7)
	if len(fields) < 7 {
		return "", false, fmt.Errorf("read the mount table: cannot read line %q", line)
	}
	options := fields[5]
	readOnly := options == "ro" || strings.HasPrefix(options, "ro,")
	return unescape(fields[4]), !readOnly, nil
}

// unescape undoes the octal escapes of space, tab, newline and backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func insideAny(path string, dirs []string) bool {
	for _, d := range dirs {
		if inside(path, d) {
			return true
		}
	}
	return false
}

// inside reports whether path is dir or below it.
func inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// verifyReadOnly asks for the mount, not for the rights on the file: those the
// command could change.
func verifyReadOnly(path string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return fmt.Errorf("%w: look at the mount of %s: %w", ErrExposed, path, err)
	}
	if fs.Flags&unix.ST_RDONLY == 0 {
		return fmt.Errorf("%w: %s is not read-only", ErrExposed, path)
	}
	return nil
}

func verifyIdentity(id Identity) error {
	var st unix.Stat_t
	if err := unix.Lstat(id.Path, &st); err != nil {
		return fmt.Errorf("%w: look at %s: %w", ErrExposed, id.Path, err)
	}
	if st.Dev != id.Dev || st.Ino != id.Ino {
		return fmt.Errorf("%w: %s was replaced while the sandbox was set up", ErrExposed, id.Path)
	}
	return nil
}

// verifyHidden makes sure that a masked path gives nothing away.
func verifyHidden(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // cannot even be opened
	}
	defer f.Close()
	var one [1]byte
	if n, err := f.Read(one[:]); n == 0 && errors.Is(err, io.EOF) {
		return nil // an empty file
	}
	if names, err := f.Readdirnames(1); len(names) == 0 && errors.Is(err, io.EOF) {
		return nil // an empty directory
	}
	return fmt.Errorf("%w: %s is not masked", ErrExposed, path)
}
