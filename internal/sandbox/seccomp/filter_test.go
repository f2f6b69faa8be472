package seccomp

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/net/bpf"
)

// answer runs the filter for a on one call. The words are laid out big-endian
// because that is how the machine that runs the program here reads them.
func answer(t *testing.T, vm *bpf.VM, audit uint32, nr int, args ...uint64) uint32 {
	t.Helper()
	data := make([]byte, offArgs+8*6)
	binary.BigEndian.PutUint32(data[offNumber:], uint32(nr))
	binary.BigEndian.PutUint32(data[offArch:], audit)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offArgs+8*i+4:], uint32(a>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

func machine(t *testing.T, a Arch, o Options) *bpf.VM {
	t.Helper()
	code, err := instructions(a, o)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

const (
	allow   = uint32(retAllow)
	kill    = uint32(retKill)
	eperm   = uint32(retErrno | ePERM)
	enosys  = uint32(retErrno | eNOSYS)
	noFamly = uint32(retErrno | eAFNOSUPPORT)
)

func TestArgumentRules(t *testing.T) {
	const high = 1 << 32 // beyond what the kernel looks at
	tests := []struct {
		name string
		call call
		args []uint64
		want uint32
	}{
		{"thread", callClone, []uint64{0x3d0f00}, allow},
		{"fork", callClone, []uint64{17}, allow},
		{"user namespace", callClone, []uint64{0x10000000 | 17}, eperm},
		{"user namespace, high bits", callClone, []uint64{high | 0x10000000}, eperm},
		{"mount namespace", callClone, []uint64{0x00020000}, eperm},
		{"unshare network", callUnshare, []uint64{0x40000000}, eperm},
		{"unshare time", callUnshare, []uint64{0x80}, eperm},
		{"unshare files", callUnshare, []uint64{0x400}, allow},

		{"tcp", callSocket, []uint64{2, 1, 0}, allow},
		{"tcp, flags", callSocket, []uint64{2, 1 | 0x80000 | 0x800, 6}, allow},
		{"udp6", callSocket, []uint64{10, 2, 17}, allow},
		{"mptcp", callSocket, []uint64{2, 1, 262}, allow},
		{"route", callSocket, []uint64{16, 3, 0}, allow},
		{"audit", callSocket, []uint64{16, 3, 9}, noFamly},
		{"unix", callSocket, []uint64{1, 1, 0}, noFamly},
		{"unix, high bits", callSocket, []uint64{high | 1, 1, 0}, noFamly},
		{"vsock", callSocket, []uint64{40, 1, 0}, noFamly},
		{"packet", callSocket, []uint64{17, 3, 0}, noFamly},
		{"alg", callSocket, []uint64{38, 5, 0}, noFamly},
		{"bluetooth", callSocket, []uint64{31, 1, 0}, noFamly},
		{"raw", callSocket, []uint64{2, 3, 1}, eperm},
		{"ping", callSocket, []uint64{2, 2, 1}, eperm},
		{"ping6", callSocket, []uint64{10, 2, 58}, eperm},
		{"sctp", callSocket, []uint64{2, 1, 132}, eperm},
		{"seqpacket", callSocket, []uint64{2, 5, 0}, eperm},

		{"stream pair", callSocketpair, []uint64{1, 1, 0}, allow},
		{"stream pair, flags", callSocketpair, []uint64{1, 1 | 0x80000, 0}, allow},
		{"seqpacket pair", callSocketpair, []uint64{1, 5, 0}, allow},
		{"datagram pair", callSocketpair, []uint64{1, 2, 0}, noFamly},
		{"other pair", callSocketpair, []uint64{30, 1, 0}, noFamly},

		{"window size", callIoctl, []uint64{0, 0x5413}, allow},
		{"TIOCSTI", callIoctl, []uint64{0, 0x5412}, eperm},
		{"TIOCSTI, high bits", callIoctl, []uint64{0, high | 0x5412}, eperm},
		{"TIOCLINUX", callIoctl, []uint64{0, 0x541c}, eperm},
		{"TIOCSETD", callIoctl, []uint64{0, 0x5423}, eperm},

		{"chmod", callChmod, []uint64{0, 0o755}, allow},
		{"chmod set-uid", callChmod, []uint64{0, 0o4755}, eperm},
		{"chmod set-gid directory", callChmod, []uint64{0, 0o2755}, allow},
		{"fchmod set-uid", callFchmod, []uint64{0, 0o4755}, eperm},
		{"fchmodat set-uid", callFchmodat, []uint64{0, 0, 0o4755}, eperm},
		{"fchmodat2 set-uid", callFchmodat2, []uint64{0, 0, 0o4755}, eperm},
		{"creat set-uid", callCreat, []uint64{0, 0o4755}, eperm},
		{"creat set-gid", callCreat, []uint64{0, 0o2755}, eperm},
		{"open, mode without meaning", callOpen, []uint64{0, 0, 0o4755}, allow},
		{"open new set-uid", callOpen, []uint64{0, 0o101, 0o4755}, eperm},
		{"open new", callOpen, []uint64{0, 0o101, 0o644}, allow},
		{"openat, mode without meaning", callOpenat, []uint64{0, 0, 0o2, 0o4755}, allow},
		{"openat new set-uid", callOpenat, []uint64{0, 0, 0o101, 0o4755}, eperm},
		{"openat new set-gid", callOpenat, []uint64{0, 0, 0o101, 0o2755}, eperm},
		{"openat unnamed set-uid", callOpenat, []uint64{0, 0, 0o20200002, 0o4755}, eperm},
		{"openat new", callOpenat, []uint64{0, 0, 0o101, 0o666}, allow},
		{"mknod pipe", callMknod, []uint64{0, 0o010644, 0}, allow},
		{"mknod block device", callMknod, []uint64{0, 0o060600, 0}, eperm},
		{"mknod character device", callMknod, []uint64{0, 0o020600, 0}, eperm},
		{"mknod set-uid", callMknod, []uint64{0, 0o104755, 0}, eperm},
		{"mknodat block device", callMknodat, []uint64{0, 0, 0o060600}, eperm},
		{"mknodat socket", callMknodat, []uint64{0, 0, 0o140755}, allow},
	}
	for _, a := range []Arch{AMD64, ARM64} {
		audit, err := auditArch(a)
		if err != nil {
			t.Fatal(err)
		}
		vm := machine(t, a, Options{})
		for _, tt := range tests {
			nr := tt.call.number(a)
			if nr == none {
				continue
			}
			t.Run(string(a)+"/"+tt.call.name+"/"+tt.name, func(t *testing.T) {
				if got := answer(t, vm, audit, nr, tt.args...); got != tt.want {
					t.Errorf("got %#x, want %#x", got, tt.want)
				}
			})
		}
	}
}

func TestUnixSocketsOption(t *testing.T) {
	vm := machine(t, AMD64, Options{UnixSockets: true})
	if got := answer(t, vm, 0xc000003e, callSocket.amd64, 1, 1, 0); got != allow {
		t.Errorf("unix socket: %#x", got)
	}
	if got := answer(t, vm, 0xc000003e, callSocketpair.amd64, 1, 2, 0); got != noFamly {
		t.Errorf("datagram pair: %#x", got)
	}
	if got := answer(t, vm, 0xc000003e, callSocket.amd64, 40, 1, 0); got != noFamly {
		t.Errorf("vsock: %#x", got)
	}
}

// Every call of the tables is answered as its table says on every
// architecture, and every other known call is let through.
func TestTables(t *testing.T) {
	special := map[string]bool{}
	for _, c := range []call{callClone, callUnshare, callSocket, callSocketpair, callIoctl, callOpen, callCreat, callOpenat,
		callChmod, callFchmod, callFchmodat, callFchmodat2, callMknod, callMknodat} {
		special[c.name] = true
	}
	for _, a := range []Arch{AMD64, ARM64} {
		audit, err := auditArch(a)
		if err != nil {
			t.Fatal(err)
		}
		vm := machine(t, a, Options{})
		want := map[int]uint32{}
		for _, c := range refused() {
			if special[c.name] {
				t.Errorf("%s is in two tables", c.name)
			}
			if n := c.number(a); n != none {
				if _, twice := want[n]; twice {
					t.Errorf("%s: number %d is in the tables twice", a, n)
				}
				want[n] = eperm
			}
		}
		for _, c := range absent() {
			want[c.number(a)] = enosys
		}
		for nr := 0; nr <= newest; nr++ {
			expect, listed := want[nr]
			if !listed {
				expect = allow
			}
			if got := answer(t, vm, audit, nr); got != expect && !takesArguments(a, nr) {
				t.Errorf("%s call %d: got %#x, want %#x", a, nr, got, expect)
			}
		}
	}
}

func takesArguments(a Arch, nr int) bool {
	for _, c := range []call{callSocket, callSocketpair} { // all zeros is not a socket
		if c.number(a) == nr {
			return true
		}
	}
	return false
}

func TestForeignCalls(t *testing.T) {
	vm := machine(t, AMD64, Options{})
	const i386 = 0x40000003
	for name, got := range map[string]uint32{
		"int 0x80":    answer(t, vm, i386, 359),
		"x32":         answer(t, vm, 0xc000003e, x32Bit|41),
		"minus one":   answer(t, vm, 0xc000003e, 0xffffffff),
		"arm 32 bits": answer(t, machine(t, ARM64, Options{}), 0x40000028, 281),
	} {
		if got != kill {
			t.Errorf("%s: got %#x, want %#x", name, got, kill)
		}
	}
	if got := answer(t, vm, 0xc000003e, newest+1); got != enosys {
		t.Errorf("a call that nobody has reviewed: got %#x", got)
	}
	if _, err := Program("riscv64", Options{}); !errors.Is(err, ErrArch) {
		t.Errorf("an architecture without a table: %v", err)
	}
}
