package layout

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Apply makes the calling process see the plan and nothing else. The process
// must be the first one of fresh user, mount and process namespaces and hold
// CAP_SYS_ADMIN there.
//
// Every source is opened before anything moves, so that no mount can hide or
// redirect another one's source, and no path is resolved through a link.
func (p *Plan) Apply() error {
	if err := p.Check(); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts from the host's: %w", err)
	}
	a := &applier{plan: p, made: make([]int, len(p.Mounts))}
	for i := range a.made {
		a.made[i] = -1
	}
	defer a.close()
	if err := a.collect(); err != nil {
		return err
	}
	if err := a.enter(); err != nil {
		return err
	}
	return a.attach()
}

type applier struct {
	plan *Plan
	base int      // detached copy of the host's tree
	made []int    // detached mount of each step, -1 for none
	devs []device // for the Devices steps
}

type device struct {
	name string
	fd   int
}

func (a *applier) close() {
	for _, fd := range a.made {
		if fd >= 0 {
			_ = unix.Close(fd) // attached or given up: nothing to lose
		}
	}
	for _, d := range a.devs {
		_ = unix.Close(d.fd) // as above
	}
	if a.base > 0 {
		_ = unix.Close(a.base) // as above
	}
}

// Attributes that every mount of the sandbox has.
const common = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

func (a *applier) collect() (err error) {
	if a.base, err = clone("/", common|unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	for i, m := range a.plan.Mounts {
		switch m.Kind {
		case ReadOnly:
			a.made[i], err = clone(m.Source, common|unix.MOUNT_ATTR_RDONLY)
		case Writable:
			a.made[i], err = clone(m.Source, common)
		case Fresh:
			a.made[i], err = create("tmpfs", common, "mode", "0755")
		case Processes:
			a.made[i], err = create("proc", common|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
		case Devices:
			err = a.collectDevices(i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deviceNames are the devices that hold no state of the machine.
func deviceNames() []string { return []string{"null", "zero", "full", "random", "urandom", "tty"} }

func (a *applier) collectDevices(i int) (err error) {
	if a.made[i], err = create("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "mode", "0755"); err != nil {
		return err
	}
	for _, name := range deviceNames() {
		fd, err := clone("/dev/"+name, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		a.devs = append(a.devs, device{name, fd})
	}
	return nil
}

// clone is a detached copy of what is at path, with everything mounted below.
func clone(path string, attrs uint64) (int, error) {
	at, err := open(path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	fd, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("copy the mount of %s: %w", path, err)
	}
	set := unix.MountAttr{Attr_set: attrs, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &set); err != nil {
		_ = unix.Close(fd) // the first error is the one to tell
		return -1, fmt.Errorf("set the attributes of the mount of %s: %w", path, err)
	}
	return fd, nil
}

// create makes a detached file system of its own.
func create(kind string, attrs int, options ...string) (int, error) {
	ctx, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("make a %s: %w", kind, err)
	}
	defer unix.Close(ctx)
	for i := 0; i+1 < len(options); i += 2 {
		if err := unix.FsconfigSetString(ctx, options[i], options[i+1]); err != nil {
			return -1, fmt.Errorf("make a %s with %s=%s: %w", kind, options[i], options[i+1], err)
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return -1, fmt.Errorf("make a %s: %w", kind, err)
	}
	fd, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return -1, fmt.Errorf("make a %s: %w", kind, err)
	}
	return fd, nil
}

// open holds path itself, reached without any link.
func open(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, fmt.Errorf("open %s for mounting: %w", path, err)
	}
	return fd, nil
}

// enter makes the copy of the host's tree the root and lets go of the host's.
func (a *applier) enter() error {
	// Any directory serves to hang the new root on; it is there for a moment.
	if err := moveTo(a.base, "/proc"); err != nil {
		return err
	}
	if err := unix.Fchdir(a.base); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the host's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	return nil
}

func moveTo(fd int, target string) error {
	at, err := open(target)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount on %s: %w", target, err)
	}
	return nil
}

func (a *applier) attach() error {
	for i, m := range a.plan.Mounts {
		if m.Kind == Seal {
			if err := seal(m.Target); err != nil {
				return err
			}
			continue
		}
		if err := makeTarget(a.made[i], m.Target); err != nil {
			return err
		}
		if err := moveTo(a.made[i], m.Target); err != nil {
			return err
		}
		if m.Kind == Devices {
			if err := a.fillDevices(m.Target); err != nil {
				return err
			}
		}
	}
	return nil
}

func seal(target string) error {
	at, err := open(target)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	set := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(at, "", unix.AT_EMPTY_PATH, &set); err != nil {
		return fmt.Errorf("make %s read-only: %w", target, err)
	}
	return nil
}

// makeTarget makes what a mount is put on, below a Fresh or Writable mount.
func makeTarget(fd int, target string) error {
	var st unix.Stat_t
	err := unix.Lstat(target, &st)
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("look at the mount point %s: %w", target, err)
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("look at what goes on %s: %w", target, err)
	}
	if err := makeDirs(filepath.Dir(target)); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return makeDirs(target)
	}
	return makeFile(target)
}

func makeDirs(path string) error {
	at := "/"
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		at = filepath.Join(at, name)
		if err := unix.Mkdir(at, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			var st unix.Stat_t
			if unix.Lstat(at, &st) == nil {
				continue // there already, on a read-only mount
			}
			return fmt.Errorf("make the mount point %s: %w", at, err)
		}
	}
	return nil
}

func makeFile(path string) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o444)
	if err != nil {
		return fmt.Errorf("make the mount point %s: %w", path, err)
	}
	return unix.Close(fd)
}

func (a *applier) fillDevices(dir string) error {
	for _, d := range a.devs {
		path := filepath.Join(dir, d.name)
		if err := makeFile(path); err != nil {
			return err
		}
		if err := moveTo(d.fd, path); err != nil {
			return err
		}
	}
	links := [][2]string{
		{"/proc/self/fd", "fd"}, {"/proc/self/fd/0", "stdin"}, {"/proc/self/fd/1", "stdout"},
		{"/proc/self/fd/2", "stderr"}, {"pts/ptmx", "ptmx"},
	}
	for _, l := range links {
		if err := unix.Symlink(l[0], filepath.Join(dir, l[1])); err != nil {
			return fmt.Errorf("make /dev/%s: %w", l[1], err)
		}
	}
	for _, name := range []string{"pts", "shm"} {
		if err := unix.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	if err := unix.Chmod(filepath.Join(dir, "shm"), 0o1777); err != nil {
		return fmt.Errorf("open up /dev/shm: %w", err)
	}
	pts, err := create("devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "ptmxmode", "0666", "mode", "0620")
	if err != nil {
		return err
	}
	defer unix.Close(pts)
	return moveTo(pts, filepath.Join(dir, "pts"))
}
