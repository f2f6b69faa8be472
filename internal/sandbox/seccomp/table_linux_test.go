package seccomp

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The tables are written by hand; where the system's headers are at hand they
// must agree.
func TestNumbers(t *testing.T) {
	known := map[string]int{
		"ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
		"process_madvise": unix.SYS_PROCESS_MADVISE, "pidfd_getfd": unix.SYS_PIDFD_GETFD, "kcmp": unix.SYS_KCMP,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER,
		"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD,
		"nfsservctl": unix.SYS_NFSSERVCTL, "lookup_dcookie": unix.SYS_LOOKUP_DCOOKIE, "migrate_pages": unix.SYS_MIGRATE_PAGES,
		"move_pages": unix.SYS_MOVE_PAGES, "keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY,
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT, "chroot": unix.SYS_CHROOT,
		"move_mount": unix.SYS_MOVE_MOUNT, "open_tree": unix.SYS_OPEN_TREE, "open_tree_attr": unix.SYS_OPEN_TREE_ATTR,
		"fsopen": unix.SYS_FSOPEN, "fsconfig": unix.SYS_FSCONFIG, "fsmount": unix.SYS_FSMOUNT, "fspick": unix.SYS_FSPICK,
		"mount_setattr": unix.SYS_MOUNT_SETATTR, "statmount": unix.SYS_STATMOUNT, "listmount": unix.SYS_LISTMOUNT, "listns": unix.SYS_LISTNS,
		"setns": unix.SYS_SETNS, "name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT, "open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT,
		"kexec_load": unix.SYS_KEXEC_LOAD, "kexec_file_load": unix.SYS_KEXEC_FILE_LOAD, "init_module": unix.SYS_INIT_MODULE,
		"finit_module": unix.SYS_FINIT_MODULE, "delete_module": unix.SYS_DELETE_MODULE, "reboot": unix.SYS_REBOOT,
		"swapon": unix.SYS_SWAPON, "swapoff": unix.SYS_SWAPOFF, "acct": unix.SYS_ACCT, "quotactl": unix.SYS_QUOTACTL,
		"quotactl_fd": unix.SYS_QUOTACTL_FD, "syslog": unix.SYS_SYSLOG, "settimeofday": unix.SYS_SETTIMEOFDAY,
		"clock_settime": unix.SYS_CLOCK_SETTIME, "sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME,
		"fanotify_init": unix.SYS_FANOTIFY_INIT, "fanotify_mark": unix.SYS_FANOTIFY_MARK, "vhangup": unix.SYS_VHANGUP,
		"clone3": unix.SYS_CLONE3, "openat2": unix.SYS_OPENAT2, "clone": unix.SYS_CLONE, "unshare": unix.SYS_UNSHARE,
		"socket": unix.SYS_SOCKET, "socketpair": unix.SYS_SOCKETPAIR, "ioctl": unix.SYS_IOCTL, "openat": unix.SYS_OPENAT,
		"fchmod": unix.SYS_FCHMOD, "fchmodat": unix.SYS_FCHMODAT, "fchmodat2": unix.SYS_FCHMODAT2, "mknodat": unix.SYS_MKNODAT,
	}
	all := append(refused(), absent()...)
	all = append(all, callClone, callUnshare, callSocket, callSocketpair, callIoctl, callOpenat, callFchmod, callFchmodat, callFchmodat2, callMknodat)
	checked := 0
	for _, c := range all {
		n := c.number(Arch(runtime.GOARCH))
		want, ok := known[c.name]
		if !ok || n == none {
			continue
		}
		if checked++; n != want {
			t.Errorf("%s is %d here, the table says %d", c.name, want, n)
		}
	}
	if checked < len(known)-2 {
		t.Errorf("only %d of %d known calls are in the tables", checked, len(known))
	}
}
