package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Two sandboxes on one workspace: the first one's end must not open the names
// that the second one keeps (issue: "two sandboxes on one workspace at once").
func TestTwoSessions(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		first, second := open(t, spec), open(t, spec)
		in, enough, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		ready, say, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer ready.Close()
		cmd, release, err := second.Command(t.Context(), Command{Path: "/bin/sh", Args: []string{"sh", "-c",
			"echo ready; read x; mkdir -p .muse/hooks; echo x > .muse/hooks/a; rmdir .muse; mkdir .muse/x; ls -A .muse"}})
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin, cmd.Stdout = in, say
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		say.Close()
		out := bufio.NewReader(ready)
		if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		if r := shell(t, first, "mkdir -p .muse/hooks"); r.code == 0 {
			t.Errorf("the first one made .muse: %+v", r)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := enough.WriteString("go\n"); err != nil {
			t.Fatal(err)
		}
		enough.Close()
		if line, _ := out.ReadString('\n'); line != "" { // the listing must be empty
			t.Errorf("the second one has made %q in .muse", line)
		}
		_ = cmd.Wait() // the last command's exit code says nothing
		if err := errors.Join(release(), second.Close()); err != nil {
			t.Fatal(err)
		}
		for _, n := range DefaultProtected() {
			if _, err := os.Lstat(filepath.Join(h.ws, n)); err == nil {
				t.Errorf("%s is left", n)
			}
		}
	})
}

// The agent is killed: nothing it started survives, and what it reserved is
// taken away by the next session.
func TestParentKilled(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		mark := fmt.Sprintf("9%d", os.Getpid())
		cmd := exec.Command(self, "host", "plain", string(l), h.dir)
		cmd.Env = append(os.Environ(), "MUSE_TEST_SCRIPT=setsid sleep "+mark+" & echo ready; wait; sleep 100")
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(pipe).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		await(t, "sleep "+mark, true) // otherwise the test would show nothing
		if _, err := os.Lstat(filepath.Join(h.ws, ".muse")); err != nil {
			t.Errorf("nothing is reserved: %v", err)
		}
		if err := cmd.Process.Signal(unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed, as asked
		await(t, "sleep "+mark, false)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		if r := shell(t, s, "mkdir .muse/x"); r.code == 0 {
			t.Errorf("a left placeholder does not protect: %+v", r)
		}
		runs, err := os.ReadDir(filepath.Join(workspaceDir(s.spec.StateDir, h.ws), "run"))
		if err != nil || len(runs) != 1 {
			t.Errorf("directories of dead sessions are left: %v, %v", runs, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, n := range DefaultProtected() {
			if _, err := os.Lstat(filepath.Join(h.ws, n)); err == nil {
				t.Errorf("%s is left", n)
			}
		}
	})
}

func TestParallelCommands(t *testing.T) {
	h := newHouse(t)
	s := open(t, h.spec())
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			r := shell(t, s, fmt.Sprintf("mkdir .git/x; mkdir .muse/x; echo %d > out-%d; cat out-%d", i, i, i))
			if r.out != fmt.Sprintf("%d\n", i) {
				t.Errorf("command %d: %+v", i, r)
			}
		})
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(h.ws, ".muse")); err == nil {
		t.Error(".muse is left")
	}
}

func TestClosedSession(t *testing.T) {
	h := newHouse(t)
	s := open(t, h.spec())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Command(t.Context(), Command{Path: "/bin/true", Args: []string{"true"}}); !errors.Is(err, ErrUnavailable) || !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// A process that was never started is released like any other.
func TestNeverStarted(t *testing.T) {
	h := newHouse(t)
	s := open(t, h.spec())
	_, release, err := s.Command(t.Context(), Command{Path: "/bin/true", Args: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if r := shell(t, s, "echo still works"); r.out != "still works\n" {
		t.Errorf("got %+v", r)
	}
}

// Repositories below the root that exist are read-only, wherever their
// directories are moved.
func TestNestedRepositories(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		for _, dir := range []string{"vendor/lib/.git", "testdata/r.git"} {
			for _, f := range []string{"HEAD", "config", "objects/x", "refs/x", "hooks/x"} {
				write(t, filepath.Join(h.ws, dir, f), "before")
			}
		}
		write(t, filepath.Join(h.ws, "sub", ".git"), "gitdir: ../.git/modules/sub\n")
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		for name, script := range map[string]string{
			"hook":              "echo x > vendor/lib/.git/hooks/pre-commit",
			"configuration":     "echo x > vendor/lib/.git/config",
			"rename parent":     "mv vendor other",
			"rename and copy":   "mv vendor old && mkdir vendor && cp -r old/lib vendor/lib && echo x > vendor/lib/.git/config",
			"rename middle":     "mv vendor/lib vendor/other",
			"remove":            "rm -rf vendor; test ! -e vendor",
			"pointer":           "echo x > sub/.git",
			"pointer by rename": "echo x > n; mv -f n sub/.git",
			"bare":              "echo x > testdata/r.git/config",
			"bare parent":       "mv testdata other",
		} {
			if r := shell(t, s, script); r.code == 0 {
				t.Errorf("%s: succeeded: %+v", name, r)
			}
		}
		if r := shell(t, s, "echo x > vendor/lib/file && echo x > vendor/file && mv vendor/file vendor/lib/ && cat vendor/lib/file"); r.code != 0 || r.out != "x\n" {
			t.Errorf("ordinary work beside them: %+v", r)
		}
	})
}

// A repository that a command makes is found when it ends. One that could run
// a program is made invisible to git; a plain one is left to be used.
func TestNewRepositories(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		mk := func(dir, config string) string {
			return fmt.Sprintf("mkdir -p %[1]s/objects %[1]s/refs && echo 'ref: refs/heads/main' > %[1]s/HEAD && printf '%[2]s' > %[1]s/config; ", dir, config)
		}
		const evil, good = `[core]\n\tfsmonitor = touch x\n`, `[core]\n\tbare = false\n`
		shell(t, s, mk("a/.git", evil)+mk("b/deep/bare", evil)+mk("good/.git", good)+mk(".", evil)+
			"mkdir out link; echo 'gitdir: /tmp/elsewhere' > out/.git; ln -s ../good/.git link/.git; mkdir shy; mkdir -p shy/.git; "+mk("shy/.git", evil)+"chmod 311 shy/.git; chmod 111 shy")
		want := []string{
			"repository-found good/.git", "repository-held " + h.ws, "repository-held a/.git", "repository-held b/deep/bare",
			"repository-held link/.git", "repository-held out/.git", "repository-held shy/.git",
		}
		got := slices.DeleteFunc(h.kinds(), func(k string) bool { return strings.HasPrefix(k, "launcher") })
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		for _, gone := range []string{"HEAD", "a/.git/HEAD", "b/deep/bare/HEAD", "out/.git", "link/.git", "shy/.git/HEAD"} {
			if _, err := os.Lstat(filepath.Join(h.ws, gone)); err == nil {
				t.Errorf("%s is still there", gone)
			}
		}
		if _, err := os.Lstat(filepath.Join(h.ws, "good/.git/HEAD")); err != nil {
			t.Errorf("the plain one: %v", err)
		}
		// From now on it is one that exists.
		if r := shell(t, s, "echo x >> good/.git/config"); r.code == 0 {
			t.Errorf("the plain one can be changed later: %+v", r)
		}
	})
}

// A mask below the workspace stays where it is: its directory cannot be moved
// so that the next command finds the secret under another name.
func TestMaskInWorkspace(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		secret := filepath.Join(h.ws, "conf", "deep", "secret")
		write(t, secret, "hidden-secret")
		spec := h.spec()
		spec.Launcher = l
		spec.Masks = append(spec.Masks, secret)
		s := open(t, spec)
		shell(t, s, "mv conf other; mv conf/deep other; mv conf/deep/secret other; ln conf/deep/secret other; cp conf/deep/secret other")
		if r := shell(t, s, "grep -r hidden ."); r.code == 0 {
			t.Errorf("the secret was found: %+v", r)
		}
		if text, err := os.ReadFile(secret); err != nil || string(text) != "hidden-secret" {
			t.Errorf("the secret itself: %q, %v", text, err)
		}
	})
}

// What is visible below a mask can be read and nothing else.
func TestVisibleBelowMask(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		data := filepath.Join(h.home, ".local", "share", "muse")
		write(t, filepath.Join(data, "sessions", "1", "tool-outputs", "out"), "spilled")
		write(t, filepath.Join(data, "sessions", "1", "session.jsonl"), "hidden-log")
		spec := h.spec()
		spec.Launcher = l
		spec.StateDir = filepath.Join(data, "sandbox")
		spec.Masks = append(spec.Masks, data)
		spec.Visible = []string{filepath.Join(data, "sessions", "1", "tool-outputs")}
		s := open(t, spec)
		if r := shell(t, s, "cat "+data+"/sessions/1/tool-outputs/out"); r.out != "spilled" {
			t.Errorf("got %+v", r)
		}
		for _, script := range []string{
			"echo x > " + data + "/sessions/1/tool-outputs/new", "cat " + data + "/sessions/1/session.jsonl", "ls " + data + "/sandbox",
			"echo x > " + data + "/new", "mkdir " + data + "/sessions/2",
		} {
			if r := shell(t, s, script); r.code == 0 {
				t.Errorf("%s: succeeded: %+v", script, r)
			}
		}
	})
}

// Several writable roots, one inside another, each with its protected names.
func TestRoots(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		inner, other := filepath.Join(h.ws, "inner"), filepath.Join(h.dir, "other")
		for _, d := range []string{inner, other} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		spec := h.spec()
		spec.Launcher, spec.Roots = l, []string{inner, other}
		s := open(t, spec)
		if r := shell(t, s, "echo x > a && echo x > inner/a && echo x > "+other+"/a && echo done"); r.out != "done\n" {
			t.Errorf("got %+v", r)
		}
		for _, script := range []string{"mkdir .muse/x", "mkdir inner/.git/x", "mkdir " + other + "/.agents/x", "mv inner outer"} {
			if r := shell(t, s, script); r.code == 0 {
				t.Errorf("%s: succeeded: %+v", script, r)
			}
		}
	})
}

// A workspace in /tmp is in sight although /tmp is private, and so is the
// repository around it.
func TestWorkspaceInTmp(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		dir := t.TempDir()
		ws := filepath.Join(dir, "repo", "ws")
		write(t, filepath.Join(dir, "repo", ".git", "HEAD"), "ref: x\n")
		write(t, filepath.Join(dir, "repo", "file"), "around")
		write(t, filepath.Join(dir, "stranger"), "hidden")
		if err := os.Mkdir(ws, 0o755); err != nil {
			t.Fatal(err)
		}
		s := open(t, Spec{Workspace: ws, StateDir: t.TempDir(), Launcher: l})
		if r := shell(t, s, "echo x > a && cat ../file"); r.out != "around" {
			t.Errorf("got %+v", r)
		}
		for _, script := range []string{"cat ../../stranger", "echo x > ../new", "echo x > ../.git/config"} {
			if r := shell(t, s, script); r.code == 0 {
				t.Errorf("%s: succeeded: %+v", script, r)
			}
		}
	})
}
