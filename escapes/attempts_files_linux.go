package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	writes    = "write only workspace and temp"
	protected = ".git .muse .agents read-only, present or not"
)

func fileAttempts() []attempt {
	return []attempt{
		{name: "files-new", promise: writes, ws: "git", works: true, try: script(`echo x > @OUT@/new`), check: absent("new")},
		{name: "files-append", promise: writes, ws: "git", works: true, try: script(`echo x >> @OUT@/file`)},
		{name: "files-truncate", promise: writes, ws: "git", works: true, try: script(`: > @OUT@/file`)},
		{name: "files-dots", promise: writes, ws: "git", works: true, try: script(`echo x > ../../outside/new`), check: absent("new")},
		{name: "files-remove", promise: writes, ws: "git", works: true, try: script(`rm -f @OUT@/file`)},
		{name: "files-chmod", promise: writes, ws: "git", works: true, try: script(`chmod 600 @OUT@/file`)},
		{name: "files-times", promise: writes, ws: "git", works: true, try: script(`touch -d 2001-01-01 @OUT@/file`)},
		{name: "files-xattr", promise: writes, ws: "git", try: func(f facts) error {
			return unix.Setxattr(filepath.Join(f.Outside, "file"), "user.probe", []byte("x"), 0)
		}},
		{name: "files-rename-in", promise: writes, ws: "git", works: true, try: script(`mv @OUT@/file here`)},
		{name: "files-rename-out", promise: writes, ws: "git", works: true, try: script(`echo x > n && mv n @OUT@/new`), check: absent("new")},
		{name: "files-mkdir", promise: writes, ws: "git", works: true, try: script(`mkdir @OUT@/dir`), check: absent("dir")},
		{name: "files-link", promise: writes, ws: "git", works: true, try: script(`ln -s @OUT@ l && echo x > l/new`), check: absent("new")},
		{name: "files-hard-link", promise: writes, ws: "git", works: true, try: script(`ln @OUT@/file hl && echo x >> hl`)},
		{name: "files-proc-root", promise: writes, ws: "git", works: true, try: script(`echo x > /proc/self/root@OUT@/new`), check: absent("new")},
		{name: "files-proc-cwd", promise: writes, ws: "git", works: true, try: script(`cd @OUT@ && echo x > /proc/self/cwd/new`), check: absent("new")},
		{name: "files-reopen", promise: writes, ws: "git", works: true, try: script(`exec 9< @OUT@/file && echo x > /proc/self/fd/9`)},
		{name: "files-init-root", promise: writes, ws: "git", try: func(f facts) error {
			for _, pid := range []string{"1", "2", fmt.Sprint(os.Getppid())} {
				if os.WriteFile("/proc/"+pid+"/root"+f.Outside+"/new", nil, 0o644) == nil {
					return nil
				}
			}
			return errRefused
		}, check: absent("new")},
		{name: "files-mmap", promise: writes, ws: "git", works: true, try: func(f facts) error {
			file, err := os.OpenFile(filepath.Join(f.Outside, "file"), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer file.Close()
			_, err = unix.Mmap(int(file.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return err
		}},
		{name: "files-stdin-reopen", promise: writes, ws: "git", try: func(facts) error {
			// The runner's own input is a file of the host's.
			file, err := os.OpenFile("/proc/self/fd/0", os.O_WRONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				return err
			}
			defer file.Close()
			if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
				return errRefused
			}
			return nil
		}},
		{name: "files-race", promise: writes, ws: "git", try: raceLink, check: absent("raced")},
		{name: "tmp-leak", promise: writes, ws: "git", try: func(f facts) error {
			for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
				if err := os.WriteFile(filepath.Join(dir, "muse-escape-"+f.ID), nil, 0o600); err != nil {
					return err
				}
			}
			return errors.New("written; the host is looked at from outside")
		}, check: func(f facts) error {
			for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
				path := filepath.Join(dir, "muse-escape-"+f.ID)
				if os.Remove(path) == nil {
					return fmt.Errorf("%s was made", path)
				}
			}
			return nil
		}},
		{name: "tmp-read", promise: writes, ws: "git", works: true, try: script(`test -e @TMPFILE@`)},
		{name: "home-write", promise: writes, ws: "git", works: true, try: script(`echo x > @USERHOME@/new`), check: func(f facts) error { return absent(f.Home + "/new")(f) }},
		{name: "cache-write", promise: writes, ws: "git", try: func(f facts) error {
			if err := os.WriteFile(filepath.Join(f.Home, ".cache", "poison"), nil, 0o600); err != nil {
				return err
			}
			return errors.New("written; the host is looked at from outside")
		}, check: func(f facts) error { return absent(f.Home + "/.cache/poison")(f) }},
	}
}

// raceLink swaps a directory for a link while writing through it.
func raceLink(f facts) error {
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Each step fails now and then; the race is the point.
			_ = os.Mkdir("d", 0o755)
			_ = os.RemoveAll("d")
			_ = os.Symlink(f.Outside, "d")
			_ = os.Remove("d")
		}
	}()
	for range 3000 {
		_ = os.WriteFile("d/raced", nil, 0o644) // as above
	}
	close(stop)
	<-done
	if _, err := os.Lstat(filepath.Join(f.Outside, "raced")); err == nil {
		return nil
	}
	return errors.New("never won")
}

// protectedAttempts write to every protected name, present or not.
func protectedAttempts() []attempt {
	var all []attempt
	ways := []struct{ name, script string }{
		{"write", `echo x > N/config`},
		{"mkdir", `mkdir -p N/made`},
		{"remove", `rm -rf N; test ! -e N`},
		{"replace", `rmdir N 2>/dev/null; mkdir -p N/x`},
		{"file", `rmdir N 2>/dev/null; echo "gitdir: e" > N`},
		{"link", `mkdir m; ln -sT m N`},
		{"link-inside", `ln -s /tmp N/x`},
		{"rename", `mv N other && mkdir N`},
		{"rename-over", `mkdir o && mv -T o N`},
		{"alias", `mkdir s; ln -s ../N s/g; mkdir -p N; echo x > s/g/probe`},
		{"chmod", `mkdir -p N; chmod 777 N && echo x > N/probe`},
		{"umount", `mkdir -p N; umount -l N && echo x > N/probe`},
	}
	for _, name := range []string{".git", ".muse", ".agents"} {
		for _, way := range ways {
			for _, ws := range []string{"empty", "git"} {
				if ws == "git" && name != ".git" {
					continue
				}
				all = append(all, attempt{
					name: "own" + name + "-" + way.name + map[string]string{"empty": "-absent", "git": ""}[ws], promise: protected, ws: ws,
					try: script(strings.ReplaceAll(way.script, "N", name)),
					check: func(f facts) error {
						if ws == "git" {
							return nil // its state is compared
						}
						return absent(filepath.Join(f.Workspace, name))(f)
					},
				})
			}
		}
	}
	exchange := func(f facts) error {
		if err := os.Mkdir("x", 0o755); err != nil {
			return err
		}
		return unix.Renameat2(unix.AT_FDCWD, ".git", unix.AT_FDCWD, "x", unix.RENAME_EXCHANGE)
	}
	return append(all,
		attempt{name: "own.git-exchange", promise: protected, ws: "git", works: true, try: exchange},
		attempt{name: "own.git-config", promise: protected, ws: "git", works: true, try: script(`git config core.fsmonitor "touch x"`)},
		attempt{name: "own.git-init-absent", promise: protected, ws: "empty", works: true, try: script(`git init -q .`)},
		attempt{name: "own.git-hard-link", promise: protected, ws: "git", works: true, try: script(`ln .git/config c && echo x >> c`)},
		attempt{name: "own.git-worktree-file", promise: protected, ws: "worktree", works: true, try: script(`echo "gitdir: /tmp/e" > .git`)},
		attempt{name: "own.git-worktree-swap", promise: protected, ws: "worktree", works: true, try: script(`echo "gitdir: /tmp/e" > n && mv -f n .git`)},
		attempt{name: "own.git-shared-dir", promise: protected, ws: "worktree", works: true, try: script(`echo x > "$(sed 's/gitdir: //' .git)/../../hooks/pre-commit"`)},
		attempt{name: "own-case", promise: protected, ws: "empty", try: script(`mkdir .MUSE; test .MUSE -ef .muse`)},
	)
}
