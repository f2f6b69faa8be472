// Package seatbelt writes the profile by which macOS confines a command: the
// same boundary as on Linux, in the language of sandbox-exec (THREATS.md
// 4.9). It is text in, text out, and is tested on every system.
//
// The rules of a profile are read in order and the last one that matches
// counts. So everything starts from "deny", what is allowed follows, and what
// stays forbidden inside of that comes last. Paths are never written into the
// profile: they are parameters, which the program takes beside it.
package seatbelt

import (
	"fmt"
	"strings"
)

// Boundary is what a profile describes. All paths are absolute and free of
// links; macOS compares them after resolving.
type Boundary struct {
	Writable  []string // directories that may be written, the workspace first
	Protected []string // paths in them that may not, present or not
	// ProtectedNames are refused below every writable directory in any
	// spelling of upper and lower case: the file system does not tell them
	// apart.
	ProtectedNames []string
	// Pinned are the directories above protected paths: they must not be
	// renamed or removed, or another one could be put in their place.
	Pinned []string
	Masked []string // paths that show nothing
	// Visible are paths below masked ones that can be read after all.
	Visible []string
	// ProxyPort is the one port of the loopback that can be reached; 0 for
	// none.
	ProxyPort int
	// Network lets everything through.
	Network bool
	// UnixSockets lets the command use sockets below writable directories.
	UnixSockets bool
}

// Profile is a profile and the values of its parameters.
type Profile struct {
	Text   string
	Params [][2]string // name and value, for -D name=value
}

// Args are the arguments of sandbox-exec, up to the command.
func (p Profile) Args() []string {
	args := []string{"-p", p.Text}
	for _, kv := range p.Params {
		args = append(args, "-D", kv[0]+"="+kv[1])
	}
	return append(args, "--")
}

// writer collects rules and parameters.
type writer struct {
	text   strings.Builder
	params [][2]string
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.text, format+"\n", args...)
}

// param names a value and returns how a rule refers to it.
func (w *writer) param(prefix, value string) string {
	name := fmt.Sprintf("%s_%d", prefix, len(w.params))
	w.params = append(w.params, [2]string{name, value})
	return fmt.Sprintf("(param %q)", name)
}

// both matches a path itself and everything below it. Below alone would let
// the path itself be made.
func (w *writer) both(prefix, path string) string {
	p := w.param(prefix, path)
	return fmt.Sprintf("(literal %s) (subpath %s)", p, p)
}

// Write makes the profile of b.
func Write(b Boundary) Profile {
	w := &writer{}
	w.line("(version 1)")
	w.line("(deny default)")
	w.processes()
	w.reads(b)
	w.writes(b)
	w.network(b)
	return Profile{Text: w.text.String(), Params: w.params}
}

// processes allows programs to run, and to see and signal each other, not the
// rest of the machine.
func (w *writer) processes() {
	w.line("(allow process-exec)")
	w.line("(allow process-fork)")
	w.line("(allow signal (target same-sandbox))")
	w.line("(allow process-info* (target same-sandbox))")
	w.line("(allow sysctl-read)")
	w.line("(allow ipc-posix-sem)")
	w.line("(allow pseudo-tty)")
	// What the C library and the linker need to come up; none of it hands out
	// secrets or reaches another program of the user's.
	for _, service := range []string{
		"com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership",
		"com.apple.system.notification_center", "com.apple.logd", "com.apple.bsd.dirhelper",
	} {
		w.line("(allow mach-lookup (global-name %q))", service)
	}
	w.line("(deny job-creation)")
}

// reads allows everything but the masks.
func (w *writer) reads(b Boundary) {
	w.line("(allow file-read*)")
	for _, path := range b.Masked {
		w.line("(deny file-read* %s)", w.both("MASKED", path))
	}
	for _, path := range b.Visible {
		w.line("(allow file-read* %s)", w.both("VISIBLE", path))
	}
}

// writes allows the writable directories, and takes out of them what is
// protected.
func (w *writer) writes(b Boundary) {
	for _, path := range b.Masked {
		w.line("(deny file-write* %s)", w.both("MASKED", path))
	}
	for _, dir := range b.Writable {
		w.line("(allow file-write* (subpath %s))", w.param("WRITABLE", dir))
	}
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper"} {
		w.line("(allow file-write-data file-ioctl (literal %q))", device)
	}
	w.line(`(allow file-write-data file-ioctl (regex #"^/dev/ttys[0-9]+$"))`)
	// A writable directory itself stays where it is.
	for _, dir := range b.Writable {
		w.line("(deny file-write-unlink (literal %s))", w.param("ROOT", dir))
	}
	for _, path := range b.Protected {
		w.line("(deny file-write* %s)", w.both("PROTECTED", path))
	}
	for _, dir := range b.Writable {
		for _, name := range b.ProtectedNames {
			w.line("(deny file-write* (regex #\"%s\"))", namePattern(dir, name))
		}
	}
	for _, dir := range b.Pinned {
		w.line("(deny file-write-unlink (literal %s))", w.param("PINNED", dir))
	}
	for _, path := range b.Masked {
		if !b.writableBelow(path) { // otherwise it was forbidden before they were allowed
			w.line("(deny file-write* %s)", w.both("MASKED", path))
		}
	}
	// Set-id files lend the user's identity to others.
	w.line("(deny file-write-setugid)")
}

// writableBelow reports a mask around one of the writable directories, such
// as our own state around the temporary directory.
func (b Boundary) writableBelow(mask string) bool {
	for _, dir := range b.Writable {
		if strings.HasPrefix(dir, mask+"/") {
			return true
		}
	}
	return false
}

// namePattern matches a name directly below dir in any case, and everything
// in it. There is no sure way to escape a character in the profile's language,
// so none is: a character of dir that could mean something stands for any
// character. The pattern only ever forbids.
func namePattern(dir, name string) string {
	var b strings.Builder
	b.WriteByte('^')
	for _, r := range dir {
		b.WriteString(literal(r))
	}
	b.WriteByte('/')
	for _, r := range name {
		lower, upper := strings.ToLower(string(r)), strings.ToUpper(string(r))
		switch {
		case r == '.':
			b.WriteString("[.]")
		case lower != upper && literal(r) != ".":
			b.WriteString("[" + lower + upper + "]")
		default:
			b.WriteString(literal(r))
		}
	}
	b.WriteString("(/.*)?$")
	return b.String()
}

// literal is a pattern for one character.
func literal(r rune) string {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '/', r == '-', r == '_', r == ' ', r == ',', r == '@', r == '~':
		return string(r)
	}
	return "."
}

// network allows the command's own loopback ports to be listened on, and one
// port to be reached. Names are resolved by the gate: the system's resolver is
// a service that is not reached.
func (w *writer) network(b Boundary) {
	if b.Network {
		w.line("(allow network*)")
		w.line(`(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.mDNSResponder"))`)
		if !b.UnixSockets {
			w.line("(deny network* (local unix-socket))")
			w.line("(deny network* (remote unix-socket))")
			w.line(`(allow network-outbound (literal "/private/var/run/mDNSResponder"))`)
		}
		return
	}
	if b.ProxyPort != 0 {
		w.line(`(allow network-outbound (remote ip "localhost:%d"))`, b.ProxyPort)
	}
	if b.UnixSockets {
		for _, dir := range b.Writable {
			p := w.param("SOCKETS", dir)
			w.line("(allow network-bind (local unix-socket (subpath %s)))", p)
			w.line("(allow network-outbound (remote unix-socket (subpath %s)))", p)
		}
	}
}
