package seccomp

import "errors"

// Arch is a processor architecture by its Go name.
type Arch string

// The architectures a filter can be made for.
const (
	AMD64 Arch = "amd64"
	ARM64 Arch = "arm64"
)

// ErrArch says that no table of system calls is known for an architecture.
var ErrArch = errors.New("no system call table for this architecture")

// none marks a call that an architecture does not have.
const none = -1

// call is one system call by its number on each architecture.
type call struct {
	name         string
	amd64, arm64 int
}

func (c call) number(a Arch) int {
	if a == ARM64 {
		return c.arm64
	}
	return c.amd64
}

// newest is the highest system call number that was looked at when the tables
// were made (rseq_slice_yield). What came later is answered with ENOSYS, as an
// older kernel would: a call nobody has reviewed is not let through.
const newest = 471

// refused returns the calls that are never let through, whatever their
// arguments (THREATS.md 4.3).
func refused() []call {
	return []call{
		// Other processes: their memory, descriptors and control flow.
		{"ptrace", 101, 117},
		{"process_vm_readv", 310, 270},
		{"process_vm_writev", 311, 271},
		{"process_madvise", 440, 440},
		{"pidfd_getfd", 438, 438},
		{"kcmp", 312, 272},
		// io_uring makes sockets and opens files past every filter.
		{"io_uring_setup", 425, 425},
		{"io_uring_enter", 426, 426},
		{"io_uring_register", 427, 427},
		// Large attack surfaces that no build or test needs.
		{"bpf", 321, 280},
		{"perf_event_open", 298, 241},
		{"userfaultfd", 323, 282},
		{"modify_ldt", 154, none},
		{"uselib", 134, none},
		{"nfsservctl", 180, 42},
		{"lookup_dcookie", 212, 18},
		{"_sysctl", 156, none},
		{"sysfs", 139, none},
		{"migrate_pages", 256, 238},
		{"move_pages", 279, 239},
		// The user's keyrings.
		{"keyctl", 250, 219},
		{"add_key", 248, 217},
		{"request_key", 249, 218},
		// The mount tree, in every spelling.
		{"mount", 165, 40},
		{"umount2", 166, 39},
		{"pivot_root", 155, 41},
		{"chroot", 161, 51},
		{"move_mount", 429, 429},
		{"open_tree", 428, 428},
		{"open_tree_attr", 467, 467},
		{"fsopen", 430, 430},
		{"fsconfig", 431, 431},
		{"fsmount", 432, 432},
		{"fspick", 433, 433},
		{"mount_setattr", 442, 442},
		{"statmount", 457, 457},
		{"listmount", 458, 458},
		{"listns", 470, 470},
		{"setns", 308, 268},
		// Files by handle reach past the mount tree.
		{"name_to_handle_at", 303, 264},
		{"open_by_handle_at", 304, 265},
		// The machine.
		{"kexec_load", 246, 104},
		{"kexec_file_load", 320, 294},
		{"init_module", 175, 105},
		{"finit_module", 313, 273},
		{"delete_module", 176, 106},
		{"create_module", 174, none},
		{"get_kernel_syms", 177, none},
		{"query_module", 178, none},
		{"reboot", 169, 142},
		{"swapon", 167, 224},
		{"swapoff", 168, 225},
		{"acct", 163, 89},
		{"quotactl", 179, 60},
		{"quotactl_fd", 443, 443},
		{"syslog", 103, 116},
		{"iopl", 172, none},
		{"ioperm", 173, none},
		{"settimeofday", 164, 170},
		{"clock_settime", 227, 112},
		{"sethostname", 170, 161},
		{"setdomainname", 171, 162},
		{"fanotify_init", 300, 262},
		{"fanotify_mark", 301, 263},
		{"vhangup", 153, 58},
	}
}

// absent returns the calls that are answered as if the kernel did not have
// them: what they ask for lies behind a pointer that a filter cannot follow,
// and every C library falls back to the older call.
func absent() []call {
	return []call{
		{"clone3", 435, 435},
		{"openat2", 437, 437},
	}
}

// Calls whose arguments decide.
var (
	callClone      = call{"clone", 56, 220}
	callUnshare    = call{"unshare", 272, 97}
	callSocket     = call{"socket", 41, 198}
	callSocketpair = call{"socketpair", 53, 199}
	callIoctl      = call{"ioctl", 16, 29}
	callOpen       = call{"open", 2, none}
	callCreat      = call{"creat", 85, none}
	callOpenat     = call{"openat", 257, 56}
	callChmod      = call{"chmod", 90, none}
	callFchmod     = call{"fchmod", 91, 52}
	callFchmodat   = call{"fchmodat", 268, 53}
	callFchmodat2  = call{"fchmodat2", 452, 452}
	callMknod      = call{"mknod", 133, none}
	callMknodat    = call{"mknodat", 259, 33}
)
