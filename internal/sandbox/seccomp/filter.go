// Package seccomp makes the system call filter of a sandboxed command: a deny
// list over an allowing default (THREATS.md 4.3). A call that enters with
// another architecture's table kills the process, because its numbers mean
// something else; a call that nobody has reviewed does not exist.
//
// The program is plain data and can be made and examined on any system;
// Install is Linux only.
package seccomp

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// Options of Program.
type Options struct {
	// UnixSockets lets the command make Unix sockets of its own. Datagram
	// pairs stay refused: one end can be pointed at any path.
	UnixSockets bool
}

// Return values of a filter (include/uapi/linux/seccomp.h).
const (
	retKill  = 0x80000000
	retErrno = 0x00050000
	retAllow = 0x7fff0000
)

// Error numbers, the same on both architectures.
const (
	ePERM        = 1
	eNOSYS       = 38
	eAFNOSUPPORT = 97
)

// Offsets into struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// auditArch is the value of seccomp_data.arch for a.
func auditArch(a Arch) (uint32, error) {
	switch a {
	case AMD64:
		return 0xc000003e, nil
	case ARM64:
		return 0xc00000b7, nil
	}
	return 0, fmt.Errorf("make system call filter for %s: %w", a, ErrArch)
}

// x32Bit marks calls of the x32 interface, which shares the architecture
// value of amd64 but not its table.
const x32Bit = 0x40000000

// Program returns the filter for a.
func Program(a Arch, o Options) ([]bpf.RawInstruction, error) {
	code, err := instructions(a, o)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, fmt.Errorf("assemble system call filter: %w", err)
	}
	return raw, nil
}

func instructions(a Arch, o Options) ([]bpf.Instruction, error) {
	audit, err := auditArch(a)
	if err != nil {
		return nil, err
	}
	p := &program{arch: a}
	p.emit(
		load(offArch), jump(bpf.JumpEqual, audit, 1, 0), ret(retKill),
		load(offNumber),
	)
	if a == AMD64 {
		p.emit(jump(bpf.JumpGreaterOrEqual, x32Bit, 0, 1), ret(retKill))
	}
	p.emit(jump(bpf.JumpGreaterThan, newest, 0, 1), ret(retErrno|eNOSYS))
	for _, c := range refused() {
		p.always(c, ePERM)
	}
	for _, c := range absent() {
		p.always(c, eNOSYS)
	}
	p.namespaces()
	p.sockets(o)
	p.terminals()
	p.modes()
	p.emit(ret(retAllow))
	return p.code, nil
}

// program collects instructions. Every rule ends in a verdict or falls through
// to the next rule with the call's number still loaded.
type program struct {
	arch Arch
	code []bpf.Instruction
}

func (p *program) emit(i ...bpf.Instruction) { p.code = append(p.code, i...) }

// always answers c with errno.
func (p *program) always(c call, errno uint32) {
	if n := c.number(p.arch); n != none {
		p.emit(jump(bpf.JumpEqual, uint32(n), 0, 1), ret(retErrno|errno))
	}
}

// when runs rule for c only. The rule must end in a verdict on every path.
func (p *program) when(c call, rule ...bpf.Instruction) {
	n := c.number(p.arch)
	if n == none {
		return
	}
	p.emit(jump(bpf.JumpEqual, uint32(n), 0, uint8(len(rule))))
	p.emit(rule...)
}

// Namespace flags of clone and unshare.
const (
	newNamespaces = 0x00020000 | // mount
		0x02000000 | // cgroup
		0x04000000 | // host name
		0x08000000 | // System V IPC
		0x10000000 | // user
		0x20000000 | // process
		0x40000000 // network
	newTime = 0x00000080 // unshare only: in clone these bits are a signal
)

func (p *program) namespaces() {
	p.when(callClone, load(arg(0)), jump(bpf.JumpBitsSet, newNamespaces, 0, 1), ret(retErrno|ePERM), ret(retAllow))
	p.when(callUnshare, load(arg(0)), jump(bpf.JumpBitsSet, newNamespaces|newTime, 0, 1), ret(retErrno|ePERM), ret(retAllow))
}

// Socket constants.
const (
	afUnix, afInet, afNetlink, afInet6           = 1, 2, 16, 10
	sockStream, sockDgram, sockSeqpacket         = 1, 2, 5
	protoTCP, protoUDP, protoMPTCP, netlinkRoute = 6, 17, 262, 0
	sockTypeMask                                 = 0xf // the rest are SOCK_CLOEXEC and SOCK_NONBLOCK
)

// sockets lets through TCP and UDP, the routing socket that programs read
// their own interfaces with, and connected pairs.
func (p *program) sockets(o Options) {
	unixVerdict := ret(retErrno | eAFNOSUPPORT)
	if o.UnixSockets {
		unixVerdict = ret(retAllow)
	}
	refuse, allow := ret(retErrno|eAFNOSUPPORT), ret(retAllow)
	p.when(callSocket,
		load(arg(0)),
		jump(bpf.JumpEqual, afUnix, 0, 1), unixVerdict,
		jump(bpf.JumpEqual, afNetlink, 0, 4),
		load(arg(2)), jump(bpf.JumpEqual, netlinkRoute, 0, 1), allow, refuse,
		jump(bpf.JumpEqual, afInet, 2, 0),
		jump(bpf.JumpEqual, afInet6, 1, 0),
		refuse,
		load(arg(1)), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: sockTypeMask},
		jump(bpf.JumpEqual, sockStream, 2, 0),
		jump(bpf.JumpEqual, sockDgram, 1, 0),
		ret(retErrno|ePERM), // raw sockets and stranger things
		load(arg(2)),
		jump(bpf.JumpEqual, 0, 4, 0),
		jump(bpf.JumpEqual, protoTCP, 3, 0),
		jump(bpf.JumpEqual, protoUDP, 2, 0),
		jump(bpf.JumpEqual, protoMPTCP, 1, 0),
		ret(retErrno|ePERM),
		allow,
	)
	// A datagram pair is refused always: either end can be sent from to any
	// path socket of the host.
	p.when(callSocketpair,
		load(arg(0)), jump(bpf.JumpEqual, afUnix, 1, 0), refuse,
		load(arg(1)), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: sockTypeMask},
		jump(bpf.JumpEqual, sockStream, 2, 0),
		jump(bpf.JumpEqual, sockSeqpacket, 1, 0),
		refuse,
		allow,
	)
}

// Terminal requests that act on whoever reads the terminal next.
const (
	tiocSTI   = 0x5412 // push a byte into the input
	tiocLINUX = 0x541c // console selection and paste
	tiocSETD  = 0x5423 // load a line discipline
)

// terminals compares the low half of the request: the kernel looks at no more.
func (p *program) terminals() {
	p.when(callIoctl,
		load(arg(1)),
		jump(bpf.JumpEqual, tiocSTI, 2, 0),
		jump(bpf.JumpEqual, tiocLINUX, 1, 0),
		jump(bpf.JumpEqual, tiocSETD, 0, 1),
		ret(retErrno|ePERM), ret(retAllow),
	)
}

// File mode and open flags.
const (
	setUID, setGID   = 0o4000, 0o2000
	oCreat, oTmpfile = 0o100, 0o20000000
	modeType         = 0o170000
	modeChar         = 0o020000
	modeBlock        = 0o060000
)

// modes refuses files that would lend the user's identity to whoever runs
// them. Directories keep their set-gid bit: it is inherited in shared trees
// and copying tools set it again.
func (p *program) modes() {
	noSetUID := func(i int) []bpf.Instruction {
		return []bpf.Instruction{load(arg(i)), jump(bpf.JumpBitsSet, setUID, 0, 1), ret(retErrno | ePERM), ret(retAllow)}
	}
	p.when(callChmod, noSetUID(1)...)
	p.when(callFchmod, noSetUID(1)...)
	p.when(callFchmodat, noSetUID(2)...)
	p.when(callFchmodat2, noSetUID(2)...)

	noSetID := func(i int) []bpf.Instruction {
		return []bpf.Instruction{load(arg(i)), jump(bpf.JumpBitsSet, setUID|setGID, 0, 1), ret(retErrno | ePERM), ret(retAllow)}
	}
	p.when(callCreat, noSetID(1)...)
	// Without these flags the mode is whatever the register held.
	opens := func(flags, mode int) []bpf.Instruction {
		return append([]bpf.Instruction{
			load(arg(flags)), jump(bpf.JumpBitsSet, oCreat|oTmpfile, 1, 0), ret(retAllow),
		}, noSetID(mode)...)
	}
	p.when(callOpen, opens(1, 2)...)
	p.when(callOpenat, opens(2, 3)...)

	nodes := func(mode int) []bpf.Instruction {
		return append([]bpf.Instruction{
			load(arg(mode)), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: modeType},
			jump(bpf.JumpEqual, modeChar, 1, 0),
			jump(bpf.JumpEqual, modeBlock, 0, 1),
			ret(retErrno | ePERM),
		}, noSetID(mode)...)
	}
	p.when(callMknod, nodes(1)...)
	p.when(callMknodat, nodes(2)...)
}

// arg is the offset of the low half of argument i: both architectures are
// little-endian.
func arg(i int) uint32 { return uint32(offArgs + 8*i) }

func load(off uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: off, Size: 4} }

func ret(v uint32) bpf.Instruction { return bpf.RetConstant{Val: v} }

func jump(cond bpf.JumpTest, val uint32, t, f uint8) bpf.Instruction {
	return bpf.JumpIf{Cond: cond, Val: val, SkipTrue: t, SkipFalse: f}
}
