package registry

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/openmuse/muse/internal/ident"
)

// childRoot makes the test binary a process that announces a session and ends
// when its input does.
const childRoot = "OPENMUSE_TEST_REGISTRY_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(childRoot); root != "" {
		a, err := New(root, nil).Announce(context.Background(), Entry{SessionID: os.Getenv(childRoot + "_ID"), Program: "child"}, answer)
		fmt.Println(err == nil, err)
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		if err == nil {
			err = a.Close()
		}
		fmt.Println(err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// answer tells what it was asked.
func answer(_ context.Context, method string, params jsontext.Value) (any, error) {
	if method == "fail" {
		return nil, errors.New("it fails")
	}
	if method == "much" {
		return strings.Repeat("x", maxMessage), nil
	}
	return map[string]any{"method": method, "params": params}, nil
}

// place is a data root whose name is short enough for sockets.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func announce(t *testing.T, r *Registry, e Entry) *Announcement {
	t.Helper()
	a, err := r.Announce(t.Context(), e, answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func list(t *testing.T, r *Registry) []Entry {
	t.Helper()
	l, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOpenSessionsFindEachOther(t *testing.T) {
	r := New(place(t), nil)
	if l := list(t, r); len(l) != 0 {
		t.Fatalf("at first %+v", l)
	}
	start := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	one := announce(t, r, Entry{SessionID: ident.V4(), Program: "muse serve", Workspace: "/srv/one", Started: start})
	two := announce(t, r, Entry{SessionID: ident.V4(), Program: "muse exec", Started: start.Add(time.Hour)})
	l := list(t, r)
	if len(l) != 2 || l[0] != two.Entry() || l[1] != one.Entry() || l[1].PID != os.Getpid() || l[1].Workspace != "/srv/one" {
		t.Fatalf("listed %+v", l)
	}
	if err := one.Rename("quiet-lyra"); err != nil {
		t.Fatal(err)
	}
	if l := list(t, r); l[1].Name != "quiet-lyra" {
		t.Fatalf("renamed: %+v", l)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if l := list(t, r); len(l) != 1 {
		t.Fatalf("closed: %+v", l)
	}
	if runtime.GOOS != "windows" {
		for path, mode := range map[string]fs.FileMode{r.dir: 0o700, r.sessions(): 0o700, r.entryPath(one.Entry().SessionID): 0o600, one.Entry().Endpoint: 0o600} {
			if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
}

func TestOneEntryASession(t *testing.T) {
	r := New(place(t), nil)
	a := announce(t, r, Entry{SessionID: ident.V4()})
	if _, err := r.Announce(t.Context(), a.Entry(), answer); err == nil {
		t.Fatal("announced twice")
	}
	if l := list(t, r); len(l) != 1 {
		t.Fatalf("listed %+v", l)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	announce(t, r, a.Entry())
	if _, err := r.Announce(t.Context(), Entry{SessionID: "../x"}, nil); err == nil {
		t.Error("announced something else")
	}
}

func TestAsk(t *testing.T) {
	if !sockets {
		t.Skip("no sockets here")
	}
	r := New(place(t), nil)
	e := announce(t, r, Entry{SessionID: ident.V4()}).Entry()
	var got struct {
		Method string         `json:"method"`
		Params map[string]int `json:"params"`
	}
	if err := Ask(t.Context(), e, "describe", map[string]int{"a": 1}, &got); err != nil || got.Method != "describe" || got.Params["a"] != 1 {
		t.Fatalf("answered %+v, %v", got, err)
	}
	var remote *RemoteError
	for _, method := range []string{"fail", "much"} {
		if err := Ask(t.Context(), e, method, nil, &got); !errors.As(err, &remote) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := Ask(t.Context(), e, "x", strings.Repeat("x", maxMessage), &got); err == nil {
		t.Error("a request of any length")
	}
	if err := Ask(t.Context(), Entry{SessionID: "x"}, "x", nil, &got); !errors.Is(err, ErrNoEndpoint) {
		t.Errorf("without an endpoint: %v", err)
	}
	// Noise, silence and a peer that breaks off harm nobody.
	for _, noise := range []string{"", "\n", "{", "[]\n", strings.Repeat("x", 2*maxMessage)} {
		c, err := net.Dial("unix", e.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte(noise))
		c.Close()
	}
	if err := Ask(t.Context(), e, "again", nil, &got); err != nil {
		t.Fatal(err)
	}
}

func TestManyAsk(t *testing.T) {
	if !sockets {
		t.Skip("no sockets here")
	}
	r := New(place(t), nil)
	e := announce(t, r, Entry{SessionID: ident.V4()}).Entry()
	var wg sync.WaitGroup
	for range maxExchanges {
		wg.Go(func() {
			var got map[string]any
			if err := Ask(context.Background(), e, "x", nil, &got); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestCloseEndsExchanges: a peer that says nothing does not hold up the end.
func TestCloseEndsExchanges(t *testing.T) {
	if !sockets {
		t.Skip("no sockets here")
	}
	r := New(place(t), nil)
	a, err := r.Announce(t.Context(), Entry{SessionID: ident.V4()}, answer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", a.Entry().Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(a.Entry().Endpoint); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// TestKilled: what a killed process leaves is not listed, and removed.
func TestKilled(t *testing.T) {
	root := place(t)
	r := New(root, nil)
	id := ident.V4()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childRoot+"="+root, childRoot+"_ID="+id)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "true") {
		t.Fatalf("child says %q, %v", line, err)
	}
	l := list(t, r)
	if len(l) != 1 || l[0].SessionID != id || l[0].PID != cmd.Process.Pid {
		t.Fatalf("listed %+v", l)
	}
	if sockets {
		var got map[string]any
		if err := Ask(t.Context(), l[0], "x", nil, &got); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if l := list(t, r); len(l) != 0 {
		t.Fatalf("after the kill %+v", l)
	}
	left, err := filepath.Glob(filepath.Join(r.dir, "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	if socks, err := filepath.Glob(filepath.Join(r.dir, "*.sock")); err != nil || len(socks) != 0 {
		t.Errorf("left: %q, %v", socks, err)
	}
}

func TestRefusesOpenDirectories(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	root := place(t)
	if err := os.MkdirAll(filepath.Join(root, "runtime", "muse"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "runtime", "muse"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := New(root, nil).Announce(t.Context(), Entry{SessionID: ident.V4()}, nil); err == nil {
		t.Error("others could take part")
	}
}

// TestDeepRoots: where the name of a socket would be too long it lies
// elsewhere, or the session cannot be asked.
func TestDeepRoots(t *testing.T) {
	if !sockets {
		t.Skip("no sockets here")
	}
	deep := filepath.Join(place(t), strings.Repeat("d", 120))
	short := place(t)
	r := New(deep, func(string) string { return short })
	e := announce(t, r, Entry{SessionID: ident.V4()}).Entry()
	var got map[string]any
	if !strings.HasPrefix(e.Endpoint, short) {
		t.Errorf("endpoint %s", e.Endpoint)
	}
	if err := Ask(t.Context(), e, "x", nil, &got); err != nil {
		t.Error(err)
	}
	r.socketDirs = []string{deep}
	if e := announce(t, r, Entry{SessionID: ident.V4()}).Entry(); e.Endpoint != "" {
		t.Errorf("endpoint %s", e.Endpoint)
	}
	if l := list(t, r); len(l) != 2 {
		t.Errorf("listed %+v", l)
	}
}

// TestOddEntries: what is no entry is not listed.
func TestOddEntries(t *testing.T) {
	r := New(place(t), nil)
	a := announce(t, r, Entry{SessionID: ident.V4()})
	for name, content := range map[string]string{
		"x.json":             "{}",
		ident.V4() + ".json": `{"session_id":"../../x","endpoint":"/etc/passwd"}`,
		".entry-1":           "{",
	} {
		if err := os.WriteFile(filepath.Join(r.sessions(), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if l := list(t, r); len(l) != 1 || l[0] != a.Entry() {
		t.Errorf("listed %+v", l)
	}
}
