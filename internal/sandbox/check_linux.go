package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/landlock"
	"github.com/openmuse/muse/internal/sandbox/seccomp"
)

// examineSystem looks at what the kernel offers.
func (r *CheckReport) examineSystem() {
	r.examineKernel()
	r.examineNamespaces()
	if _, err := seccomp.Program(seccomp.Arch(runtime.GOARCH), seccomp.Options{}); err != nil {
		r.add("seccomp", StatusFailed, err.Error(), "run on amd64 or arm64")
	} else if _, err := os.Stat("/proc/sys/kernel/seccomp/actions_avail"); err != nil {
		r.add("seccomp", StatusFailed, "the kernel has no system call filters", "use a kernel with CONFIG_SECCOMP_FILTER")
	} else {
		r.add("seccomp", StatusOK, "system call filters are available", "")
	}
	if v := landlock.Version(); v < 2 {
		r.add("landlock", StatusWarning, fmt.Sprintf("version %d: the second layer of the file boundary is missing", v), "use Linux 5.19 or later with landlock switched on")
	} else {
		r.add("landlock", StatusOK, fmt.Sprintf("version %d", v), "")
	}
	if os.Geteuid() == 0 {
		r.add("user", StatusWarning, "running as root: inside, files of other owners cannot be made, and mistakes outside cost more", "run as an ordinary user")
	} else {
		r.add("user", StatusOK, fmt.Sprintf("user %d", os.Geteuid()), "")
	}
}

func (r *CheckReport) examineKernel() {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		r.add("kernel", StatusWarning, err.Error(), "")
		return
	}
	r.add("kernel", StatusOK, "Linux "+unix.ByteSliceToString(u.Release[:]), "")
}

func (r *CheckReport) examineNamespaces() {
	why := namespaceHindrance()
	if why == "" {
		r.add("user-namespaces", StatusOK, "not restricted by a setting", "")
		return
	}
	cause, cure, _ := strings.Cut(why, ": ")
	r.add("user-namespaces", StatusFailed, cause, cure)
}

// examineLaunchers tries each one. The first that works, and that the
// specification accepts, is the one that would be used.
func (r *CheckReport) examineLaunchers(ctx context.Context, s *Session) {
	all := []launcher{native{}}
	program, err := findBubblewrap(os.Getenv("PATH"), s.spec.roots)
	if err == nil {
		all = append(all, bubblewrap{program})
	}
	for _, l := range all {
		name := "launcher-" + string(l.name())
		began := time.Now()
		if err := s.try(ctx, l); err != nil {
			r.add(name, StatusFailed, err.Error(), cureFor(err))
			continue
		}
		detail := fmt.Sprintf("confirmed from inside in %s", time.Since(began).Round(100*time.Microsecond))
		if b, ok := l.(bubblewrap); ok {
			detail = fmt.Sprintf("%s (%s), %s", b.program, bubblewrapVersion(ctx, b.program), detail)
		}
		r.add(name, StatusOK, detail, "")
		if r.Launcher == "" && (s.spec.Launcher == Auto || s.spec.Launcher == l.name()) {
			r.Launcher = l.name()
		}
	}
	if err != nil {
		status := StatusWarning
		if r.Launcher == "" {
			status = StatusFailed
		}
		r.add("launcher-"+string(Bubblewrap), status, err.Error(), "install the package \"bubblewrap\"; it is needed only where the native launcher does not work")
	}
}

func cureFor(err error) string {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || strings.Contains(err.Error(), "namespace") {
		return namespaceRemedy()
	}
	return "see the cause"
}

// bubblewrapVersion asks the program, which is the system's own.
func bubblewrapVersion(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Env, cmd.Dir = []string{}, "/"
	out, err := cmd.Output()
	if err != nil {
		return "version not known"
	}
	return strings.TrimSpace(string(out))
}
