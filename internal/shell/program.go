package shell

import (
	"path"
	"strings"
)

// SystemProgram reports whether a program word names what the machine has
// installed: a bare name, looked up in a PATH without relative entries, or a
// path in one of the usual program directories. "/proc/self/root/bin/rm" and
// "/tmp/rm" are not.
func SystemProgram(program string) bool {
	if !strings.ContainsRune(program, '/') {
		return true
	}
	if program[0] != '/' {
		return false
	}
	switch dir := path.Dir(path.Clean(program)); dir {
	case "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin",
		"/opt/homebrew/bin", "/opt/homebrew/sbin", "/opt/local/bin", "/snap/bin",
		"/run/current-system/sw/bin", "/usr/local/go/bin", "/usr/games":
		return true
	default:
		return strings.HasPrefix(dir, "/nix/store/") && strings.HasSuffix(dir, "/bin") && strings.Count(dir, "/") == 4
	}
}

// loader reports whether a program is the dynamic loader, which runs the
// program it is given whatever its permission bits say.
func loader(name string) bool {
	return name == "ld.so" || strings.HasPrefix(name, "ld64.so") ||
		strings.HasPrefix(name, "ld-") && strings.Contains(name, ".so")
}
