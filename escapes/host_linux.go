package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// host is what lies around the workspace: files and servers that must not be
// touched.
type host struct {
	base   string
	facts  facts
	closer []io.Closer
	victim *exec.Cmd
}

func newHost(base string) (*host, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	id := fmt.Sprint(binary.LittleEndian.Uint32(random[:])) // digits: it is also a number of seconds
	h := &host{base: base, facts: facts{
		Workspace: filepath.Join(base, "w", "ws"), Outside: filepath.Join(base, "outside"), Home: filepath.Join(base, "home"),
		Secret: filepath.Join(base, "secret", "token"), SecretDir: filepath.Join(base, "secretdir"),
		Mark: "mark" + id, ID: id, TmpFile: filepath.Join(os.TempDir(), "muse-escape-host-"+id),
		Stream: filepath.Join(base, "srv", "s"), Datagram: filepath.Join(base, "srv", "d"), Abstract: "muse-escape-" + id,
	}}
	if err := h.files(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if err := h.servers(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// files makes what must stay as it is. The home directory holds what a user
// has, marked.
func (h *host) files() error {
	f := h.facts
	for path, text := range map[string]string{
		filepath.Join(f.Outside, "file"):                        "data\n",
		f.Secret:                                                f.Mark + "\n",
		filepath.Join(f.SecretDir, "entry"):                     f.Mark + "\n",
		filepath.Join(f.Home, ".config/muse/auth.json"):         `{"access_token":"` + f.Mark + `"}`,
		filepath.Join(f.Home, ".config/muse/trust.json"):        "{}\n",
		filepath.Join(f.Home, ".local/share/muse/sessions/s/l"): f.Mark + "\n",
		filepath.Join(f.Home, ".ssh/id_ed25519"):                f.Mark + "\n",
		filepath.Join(f.Home, ".bash_history"):                  f.Mark + "\n",
		filepath.Join(f.Home, "elsewhere/aws/credentials"):      f.Mark + "\n",
		filepath.Join(f.Home, ".cache/thing"):                   "x\n",
		filepath.Join(h.base, "srv", "none"):                    "",
		f.TmpFile:                                               "x\n",
		filepath.Join("/dev/shm", "muse-escape-shm-"+f.ID):      "x\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.Symlink("elsewhere/aws", filepath.Join(f.Home, ".aws"))
}

func (h *host) servers() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h.closer = append(h.closer, l)
	h.facts.Port = l.Addr().(*net.TCPAddr).Port
	go func() {
		// Ends with the listener.
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "HOST-SERVER\n") }))
	}()
	u, err := net.ListenPacket("udp", fmt.Sprintf("127.0.0.1:%d", h.facts.Port))
	if err != nil {
		return err
	}
	h.closer = append(h.closer, u)
	go func() {
		b := make([]byte, 64)
		for {
			_, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo([]byte("ok"), from) // who asked may be gone
		}
	}()
	for _, addr := range []string{h.facts.Stream, "@" + h.facts.Abstract} {
		s, err := net.Listen("unix", addr)
		if err != nil {
			return err
		}
		h.closer = append(h.closer, s)
		go func() {
			for {
				c, err := s.Accept()
				if err != nil {
					return
				}
				_ = c.Close() // that it was accepted is all
			}
		}()
	}
	d, err := net.ListenPacket("unixgram", h.facts.Datagram)
	if err != nil {
		return err
	}
	h.closer = append(h.closer, d)
	h.victim = exec.Command("/bin/sleep", "100000")
	h.victim.Env = []string{"SECRET=" + h.facts.Mark + "-victim"}
	if err := h.victim.Start(); err != nil {
		return err
	}
	h.facts.PID = h.victim.Process.Pid
	return nil
}

// Close takes everything away.
func (h *host) Close() error {
	var err error
	for _, c := range h.closer {
		err = errors.Join(err, c.Close())
	}
	if h.victim != nil && h.victim.Process != nil {
		_ = h.victim.Process.Kill() // an attempt may have done it
		_ = h.victim.Wait()
	}
	_ = os.Remove(h.facts.TmpFile) // as above
	_ = os.Remove(filepath.Join("/dev/shm", "muse-escape-shm-"+h.facts.ID))
	return errors.Join(err, removeAll(h.base))
}

func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // removal says what remains
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// workspace makes a fresh one of a kind, with this program in it.
func (h *host) workspace(kind string) error {
	ws := h.facts.Workspace
	if err := removeAll(filepath.Dir(ws)); err != nil {
		return err
	}
	if err := os.MkdirAll(ws, 0o755); err != nil {
		return err
	}
	var err error
	switch kind {
	case "git":
		err = h.git(ws, "init", "-q")
	case "nested":
		lib := filepath.Join(ws, "vendor", "lib")
		err = errors.Join(h.git(ws, "init", "-q"), os.MkdirAll(lib, 0o755), h.git(lib, "init", "-q"))
	case "worktree":
		main := filepath.Join(filepath.Dir(ws), "main")
		err = errors.Join(os.Remove(ws), os.Mkdir(main, 0o755), h.git(main, "init", "-q"),
			h.git(main, "commit", "-q", "--allow-empty", "-m", "x"), h.git(main, "worktree", "add", "-q", ws))
	}
	if err != nil {
		return err
	}
	if err := os.Link(h.facts.Stream, filepath.Join(ws, "s.sock")); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(ws, ".probes"), 0o755); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	text, err := json.Marshal(h.facts)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(ws, ".probes", "attempt"), self, 0o755), os.WriteFile(filepath.Join(ws, factsFile), text, 0o644))
}

func (h *host) git(dir string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.facts.Home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.example"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// state is everything that must not change, as one string.
func (h *host) state() (string, error) {
	var b strings.Builder
	f := h.facts
	for _, dir := range []string{
		f.Outside, f.Home, filepath.Dir(f.Secret), f.SecretDir, filepath.Join(f.Workspace, ".git"), filepath.Join(f.Workspace, "vendor/lib/.git"),
		filepath.Join(filepath.Dir(f.Workspace), "main"),
	} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			// The sandbox's own state and caches are not the user's.
			if strings.HasPrefix(path, filepath.Join(f.Home, ".local/share/muse/sandbox")) {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s %v %d", path, info.Mode(), info.Size())
			if d.Type().IsRegular() {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, " %x %d", sha256.Sum256(text), info.ModTime().UnixNano())
			}
			b.WriteString("\n")
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
