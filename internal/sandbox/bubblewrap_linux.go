package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/helper"
	"github.com/openmuse/muse/internal/sandbox/layout"
)

// errNoBubblewrap says that the program is not there, or not to be trusted.
var errNoBubblewrap = errors.New("bubblewrap not found: install the package \"bubblewrap\"")

// findBubblewrap returns the first bubblewrap that only the system's owner can
// have put there. A program in a directory that commands may write, or that
// belongs to somebody else, counts as missing.
func findBubblewrap(path string, roots []string) (string, error) {
	dirs := append([]string{"/usr/bin", "/bin", "/usr/local/bin"}, filepath.SplitList(path)...)
	refused := ""
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		file, err := filepath.EvalSymlinks(filepath.Join(dir, "bwrap"))
		if err != nil {
			continue
		}
		if why := distrust(file, roots); why != "" {
			refused = fmt.Sprintf("%s is not used: %s", file, why)
			continue
		}
		return file, nil
	}
	if refused != "" {
		return "", fmt.Errorf("%w (%s)", errNoBubblewrap, refused)
	}
	return "", errNoBubblewrap
}

// distrust says why a program may not be used to build the boundary.
func distrust(file string, roots []string) string {
	for _, root := range roots {
		if inside(file, root) {
			return "commands can write it"
		}
	}
	for at := file; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return "it cannot be looked at"
		}
		switch {
		case st.Uid != 0:
			return at + " does not belong to root"
		case st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0:
			return at + " can be written by others"
		}
		if at == "/" {
			return ""
		}
		if at == file && st.Mode&0o111 == 0 {
			return "it is not executable"
		}
	}
}

// bubblewrap makes the boundary with the program of that name.
type bubblewrap struct{ program string }

func (bubblewrap) name() LauncherName { return Bubblewrap }

// prepare builds the process. The helper is shown at a path of its own, since
// the place it is installed in may be out of sight inside.
func (b bubblewrap) prepare(_ context.Context, s *Session, plan *layout.Plan, env []string) (*exec.Cmd, error) {
	args := []string{
		b.program,
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--die-with-parent",
	}
	if s.spec.Network != Enabled {
		args = append(args, "--unshare-net")
	}
	full := *plan
	full.Mounts = append([]layout.Mount{}, plan.Mounts...)
	shown := helperPath
	at := layout.Mount{Kind: layout.ReadOnly, Source: s.helper, Target: helperPath}
	if last := len(full.Mounts) - 1; last >= 0 && full.Mounts[last].Kind == layout.Seal && full.Mounts[last].Target == runDir {
		full.Mounts = append(full.Mounts[:last], at, full.Mounts[last])
	} else {
		shown = s.helper // without /run there is no private place for it
	}
	args = append(args, full.Bubblewrap()...)
	args = append(args, "--chdir", "/", "--", shown, helper.Verb)
	return &exec.Cmd{Path: b.program, Args: args, Env: env, Dir: "/"}, nil
}

// explainBubblewrap adds what usually helps to the line that bubblewrap
// printed.
func explainBubblewrap(line string) string {
	switch {
	case strings.Contains(line, "No permissions to create new namespace"),
		strings.Contains(line, "Creating new namespace failed"),
		strings.Contains(line, "setting up uid map"):
		return line + " (" + namespaceRemedy() + ")"
	case strings.Contains(line, "Can't mount proc"):
		return line + " (the surrounding container hides parts of /proc: run it with an unmasked /proc, or run the agent outside of it)"
	}
	return line
}

// namespaceRemedy says what to do so that user namespaces can be made.
func namespaceRemedy() string {
	if why := namespaceHindrance(); why != "" {
		return why
	}
	return "user namespaces are not allowed here: a container needs a seccomp profile that allows them"
}

// namespaceHindrance is the setting that keeps this system from making user
// namespaces, as "cause: cure"; "" when no setting does.
func namespaceHindrance() string {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			return "" // the setting does not exist here
		}
		return strings.TrimSpace(string(text))
	}
	switch {
	case read("/proc/sys/user/max_user_namespaces") == "0":
		return "user namespaces are switched off: set user.max_user_namespaces above 0"
	case read("/proc/sys/kernel/unprivileged_userns_clone") == "0" && os.Geteuid() != 0:
		return "user namespaces are switched off: set kernel.unprivileged_userns_clone to 1"
	case read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && os.Geteuid() != 0:
		return "AppArmor restricts user namespaces: install bubblewrap with its AppArmor profile, or set kernel.apparmor_restrict_unprivileged_userns to 0"
	}
	return ""
}
