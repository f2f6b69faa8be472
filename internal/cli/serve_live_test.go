package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/cli"
	"github.com/openmuse/muse/internal/mockmodel"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// live is a host in this process with a model that a test plays.
type live struct {
	t     *testing.T
	m     *machine
	args  []string
	in    io.WriteCloser
	judge *msptest.Judge
	said  []spoken // everything, in order

	mu     sync.Mutex
	came   *sync.Cond
	frames [][]byte
	ended  bool
	next   int // the frame that is looked at next
	asked  int // ids of requests beside the dialogue
	code   chan int
	stderr lockedText
}

// lockedText is a buffer for two goroutines.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// launch starts a host over the machine's data.
func (m *machine) launch(args ...string) *live {
	m.t.Helper()
	judge, err := msptest.NewJudge()
	if err != nil {
		m.t.Fatal(err)
	}
	l := &live{t: m.t, m: m, args: args, judge: judge, code: make(chan int, 1)}
	l.came = sync.NewCond(&l.mu)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	l.in = inW
	var environ []string
	for k, v := range m.vars {
		environ = append(environ, k+"="+v)
	}
	go func() {
		code := cli.Main(context.Background(), append([]string{"serve"}, args...), cli.Env{
			Stdin: inR, Stdout: outW, Stderr: &l.stderr,
			Getenv:  func(name string) string { return m.vars[name] },
			Environ: func() []string { return environ },
			Getwd:   func() (string, error) { return m.workspace, nil }, Now: time.Now,
		})
		outW.Close()
		l.code <- code
	}()
	go l.read(outR)
	return l
}

func (l *live) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, msp.FrameCap+1)
	for lines.Scan() {
		line := slices.Clone(lines.Bytes())
		l.mu.Lock()
		for _, err := range l.judge.Host(line) {
			l.t.Errorf("the host broke the protocol: %v", err)
		}
		l.frames = append(l.frames, line)
		l.said = append(l.said, spoken{"server", string(line)})
		l.came.Broadcast()
		l.mu.Unlock()
	}
	l.mu.Lock()
	l.ended = true
	l.came.Broadcast()
	l.mu.Unlock()
}

func (l *live) send(line []byte) {
	l.t.Helper()
	l.mu.Lock()
	l.judge.Client(line)
	l.said = append(l.said, spoken{"client", string(line)})
	l.mu.Unlock()
	if _, err := l.in.Write(append(slices.Clone(line), '\n')); err != nil {
		l.t.Fatalf("write to the host: %v", err)
	}
}

// take waits for the next frame.
func (l *live) take(what string) frame {
	l.t.Helper()
	timer := time.AfterFunc(60*time.Second, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = true
		l.came.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	for l.next >= len(l.frames) && !l.ended {
		l.came.Wait()
	}
	if l.next >= len(l.frames) {
		l.mu.Unlock()
		l.t.Fatalf("the host says nothing more, wanted %s\nstderr: %s\nsaid:\n%s", what, &l.stderr, l.tail())
	}
	line := l.frames[l.next]
	l.next++
	l.mu.Unlock()
	return readFrame(l.t, line)
}

func (l *live) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, s := range l.said[max(0, len(l.said)-12):] {
		fmt.Fprintf(&b, "%s %.600s\n", s.Dir, s.Raw)
	}
	return b.String()
}

// heard is what was said up to the frame that was looked at last.
func (l *live) heard() []spoken {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for i, s := range l.said {
		if s.Dir == "server" {
			if n++; n == l.next {
				return slices.Clone(l.said[:i+1])
			}
		}
	}
	return slices.Clone(l.said)
}

// await skips frames until one fits.
func (l *live) await(what string, fits func(frame) bool) frame {
	l.t.Helper()
	for {
		if f := l.take(what); fits(f) {
			return f
		}
	}
}

func (l *live) awaitNote(method string) frame {
	l.t.Helper()
	return l.await(method, func(f frame) bool { return f.Method == method && f.ID == nil })
}

// call makes a request beside the dialogue and waits for its result.
func (l *live) call(method string, params any) map[string]any {
	l.t.Helper()
	l.asked++
	id := msp.StringID(fmt.Sprintf("beside-%d", l.asked))
	line, err := msp.EncodeRequest(id, method, params)
	if err != nil {
		l.t.Fatal(err)
	}
	l.send(line[:len(line)-1])
	f := l.await("the reply to "+method, func(f frame) bool { return f.Method == "" && string(f.ID) == id.String() })
	if f.Error != nil {
		l.t.Fatalf("%s: %v", method, f.Error)
	}
	return f.Result
}

func (l *live) hello() {
	l.t.Helper()
	l.call(msp.MethodInitialize, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "test", Version: "0"}})
	l.send([]byte(`{"jsonrpc":"2.0","method":"initialized"}`))
}

// close ends the host in order.
func (l *live) close() {
	l.t.Helper()
	if err := l.in.Close(); err != nil {
		l.t.Fatal(err)
	}
	select {
	case code := <-l.code:
		if code != 0 {
			l.t.Errorf("the host ended with %d: %s", code, &l.stderr)
		}
	case <-time.After(60 * time.Second):
		l.t.Fatalf("the host does not end: %s", &l.stderr)
	}
}

// model is the model service that a test plays. A prompt that is held is not
// answered until it is released.
type model struct {
	url string

	mu       sync.Mutex
	released *sync.Cond
	held     map[string]bool
	failures int // 503 answers to give before anything else
}

func newModel(t *testing.T, reply func(*mockmodel.Call) mockmodel.Reply) *model {
	t.Helper()
	m := &model{held: map[string]bool{}}
	m.released = sync.NewCond(&m.mu)
	s := serve(t, mockmodel.Options{Reply: func(c *mockmodel.Call) mockmodel.Reply {
		m.mu.Lock()
		for m.held[c.Prompt] {
			m.released.Wait()
		}
		m.mu.Unlock()
		return reply(c)
	}})
	target, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		fail := r.Method == http.MethodPost && m.failures > 0
		if fail {
			m.failures--
		}
		m.mu.Unlock()
		if fail {
			http.Error(w, `{"error":{"message":"service_unavailable"}}`, http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	m.url = front.URL
	t.Cleanup(func() {
		m.releaseAll()
		front.CloseClientConnections()
		front.Close()
	})
	return m
}

func (m *model) hold(prompts ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range prompts {
		m.held[p] = true
	}
}

func (m *model) releaseAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = map[string]bool{}
	m.released.Broadcast()
}

func (m *model) fail(times int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = times
}

// newServeMachine is a machine whose settings name a played model.
func newServeMachine(t *testing.T, url string) *machine {
	t.Helper()
	m := newMachine(t, fmt.Sprintf(`{"schema_version":1,"endpoint_transport":{"base_url":%q,"auth":"bearer"},`+
		`"provider_retry":{"max_attempts":3,"base_delay_ms":1}}`, url))
	m.vars["META_API_KEY"] = "key"
	root, err := filepath.EvalSymlinks(m.workspace)
	if err != nil {
		t.Fatal(err)
	}
	m.workspace = root
	return m
}
