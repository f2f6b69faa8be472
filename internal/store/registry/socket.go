package registry

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of an exchange.
const (
	maxSocketName = 103 // bytes; the shortest bound of the systems we run on
	maxMessage    = 64 << 10
	maxExchanges  = 16 // at a time
	exchangeTime  = 10 * time.Second
)

// Handler answers a request of another session of the same user. What it
// returns is encoded as JSON; an error is sent as its text.
type Handler func(ctx context.Context, method string, params jsontext.Value) (any, error)

type request struct {
	Method string         `json:"method"`
	Params jsontext.Value `json:"params,omitzero"`
}

type reply struct {
	Result jsontext.Value `json:"result,omitzero"`
	Error  string         `json:"error,omitzero"`
}

// RemoteError is what another session said instead of an answer.
type RemoteError struct{ Message string }

func (e *RemoteError) Error() string { return e.Message }

// server answers on one socket.
type server struct {
	path   string
	l      *net.UnixListener
	handle Handler
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	slots  chan struct{}
}

// listen makes a socket and answers on it. ErrNoEndpoint says that there can
// be none.
func (r *Registry) listen(handle Handler) (*server, error) {
	if !sockets {
		return nil, ErrNoEndpoint
	}
	path, err := r.socketPath()
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for other sessions: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for other sessions: %w", err), l.Close())
	}
	s := &server{path: path, l: l, handle: handle, slots: make(chan struct{}, maxExchanges)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.work.Go(s.accept)
	return s, nil
}

// socketPath is a free name that is short enough.
func (r *Registry) socketPath() (string, error) {
	for _, dir := range append([]string{r.dir}, r.socketDirs...) {
		path := filepath.Join(dir, socketName())
		if len(path) > maxSocketName {
			continue
		}
		if err := private(dir); err != nil {
			continue // not a place of this user alone
		}
		return path, nil
	}
	return "", ErrNoEndpoint
}

const (
	socketStart = "ms-"
	socketEnd   = ".sock"
)

func socketName() string {
	var b [4]byte
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return socketStart + hex.EncodeToString(b[:]) + socketEnd
}

// ownSocket reports whether path can be a socket that a registry made.
func (r *Registry) ownSocket(path string) bool {
	name := filepath.Base(path)
	if !strings.HasPrefix(name, socketStart) || !strings.HasSuffix(name, socketEnd) {
		return false
	}
	for _, dir := range append([]string{r.dir}, r.socketDirs...) {
		if filepath.Dir(path) == dir {
			return true
		}
	}
	return false
}

// sweepSockets removes sockets in the registry that no entry names. Elsewhere
// there may be those of other data roots.
func (r *Registry) sweepSockets(used map[string]bool) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(r.dir, e.Name())
		if e.Type()&os.ModeSocket != 0 && r.ownSocket(path) && !used[path] {
			_ = remove(path)
		}
	}
}

func (s *server) close() error {
	if s == nil {
		return nil
	}
	s.cancel()
	err := s.l.Close() // removes the socket
	s.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (s *server) accept() {
	for {
		c, err := s.l.AcceptUnix()
		if err != nil {
			return // closed
		}
		select {
		case s.slots <- struct{}{}:
		default:
			c.Close() // too many at once: who asks sees it end
			continue
		}
		s.work.Go(func() {
			defer func() { <-s.slots }()
			defer c.Close()
			s.exchange(c)
		})
	}
}

// exchange answers one request. Whoever breaks it off gets nothing.
func (s *server) exchange(c *net.UnixConn) {
	if err := sameUser(c); err != nil {
		return
	}
	stop := context.AfterFunc(s.ctx, func() { c.Close() })
	defer stop()
	if c.SetDeadline(time.Now().Add(exchangeTime)) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, exchangeTime)
	defer cancel()
	var out reply
	var in request
	line, err := readLine(c)
	if err == nil {
		err = json.Unmarshal(line, &in)
	}
	if err == nil {
		var result any
		if result, err = s.handle(ctx, in.Method, in.Params); err == nil {
			out.Result, err = json.Marshal(result)
		}
	}
	if err != nil {
		out = reply{Error: err.Error()}
	}
	// There is nobody to tell of a reply that does not arrive.
	_ = writeLine(c, out)
}

// Ask sends a request to an open session and decodes the answer into result.
// What the other side says instead is a [*RemoteError].
func Ask(ctx context.Context, e Entry, method string, params, result any) error {
	fail := func(err error) error { return fmt.Errorf("ask session %s: %w", e.SessionID, err) }
	if e.Endpoint == "" {
		return fail(ErrNoEndpoint)
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", e.Endpoint)
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	if c, ok := conn.(*net.UnixConn); ok {
		if err := sameUser(c); err != nil {
			return fail(err)
		}
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	raw, err := json.Marshal(params)
	if err != nil {
		return fail(err)
	}
	if err := writeLine(conn, request{Method: method, Params: raw}); err != nil {
		return fail(errors.Join(ctx.Err(), err))
	}
	line, err := readLine(conn)
	if err != nil {
		return fail(errors.Join(ctx.Err(), err))
	}
	var in reply
	if err := json.Unmarshal(line, &in); err != nil {
		return fail(err)
	}
	if in.Error != "" {
		return fail(&RemoteError{in.Error})
	}
	if err := json.Unmarshal(in.Result, result); err != nil {
		return fail(err)
	}
	return nil
}

func readLine(r io.Reader) ([]byte, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxMessage+1)).ReadBytes('\n')
	if len(line) > maxMessage {
		return nil, fmt.Errorf("message is longer than %d bytes", maxMessage)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return line, err
}

func writeLine(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(data) >= maxMessage {
		if _, isReply := v.(reply); !isReply {
			return fmt.Errorf("message is longer than %d bytes", maxMessage)
		}
		if data, err = json.Marshal(reply{Error: "the answer is too long"}); err != nil {
			return err
		}
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
