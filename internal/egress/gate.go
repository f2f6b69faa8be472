package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Origin says whose connections they are.
type Origin struct {
	CallID string // the tool call that started the command
	Tool   string // "bash", ...
}

// Request is one connection to decide about.
type Request struct {
	Key
	URL    string // of a plain HTTP request, without its query
	Origin Origin
}

// Answer is what somebody says about a held connection.
type Answer struct {
	Allow bool
	// Session makes the answer hold for every later command of the gate;
	// otherwise it holds for the command that asked.
	Session bool
	// Reason is told to the client of a refused connection.
	Reason string
}

// Event is something that became of a connection.
type Event struct {
	Kind    string // "held", "allowed", "denied"
	Request Request
	Reason  string // why it was denied
}

// Options of New.
type Options struct {
	// Allow and Deny are known beforehand; Deny wins over everything.
	Allow, Deny []Rule
	// Ask decides about a key that is in neither list. It is called once for
	// a key however many connections wait, and must return when ctx ends. Nil
	// means that nobody can answer.
	Ask func(ctx context.Context, r Request) Answer
	// HoldLimit is how long a connection waits for an answer; 0 is 120 s.
	HoldLimit time.Duration
	// Observe sees every decision; it must not block. May be nil.
	Observe func(Event)
	// Parent is an HTTP proxy that the host itself has to use ("http://" only),
	// nil for a direct way out. Names are then resolved by it.
	Parent *url.URL
	// Resolve and Dial replace the system's, for tests.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, addr string) (net.Conn, error)
}

// holdLimit is how long somebody may think (THREATS.md 5).
const holdLimit = 120 * time.Second

// Gate decides about connections for one agent session. It is safe for
// concurrent use.
type Gate struct {
	opt Options

	mu      sync.Mutex
	allowed map[Key]bool
	denied  map[Key]bool
	asking  map[Key]*question
}

// New makes a gate.
func New(o Options) *Gate {
	if o.HoldLimit == 0 {
		o.HoldLimit = holdLimit
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Dial == nil {
		dialer := &net.Dialer{Timeout: dialLimit}
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", addr)
		}
	}
	return &Gate{opt: o, allowed: map[Key]bool{}, denied: map[Key]bool{}, asking: map[Key]*question{}}
}

// Closed is a gate that lets nothing through.
func Closed() *Gate { return New(Options{}) }

// Allow lets k through from now on. A key that is denied stays denied.
func (g *Gate) Allow(k Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed[k] = true
}

// RefusedError says that a connection may not be made.
type RefusedError struct {
	Key    Key
	Reason string
	// Unanswered is set when nobody decided: asking again later may help.
	Unanswered bool
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Key, e.Reason) }

// question is one key that somebody is being asked about.
type question struct {
	done    chan struct{}
	answer  Answer
	decided bool // somebody answered; otherwise time or all waiters ran out
	asker   *grants
	waiters int
	cancel  context.CancelFunc
}

// grants are the answers that hold for one command.
type grants struct {
	allowed, denied map[Key]bool // guarded by Gate.mu
}

func newGrants() *grants { return &grants{allowed: map[Key]bool{}, denied: map[Key]bool{}} }

// standing is what is known about a key without asking.
type standing int

const (
	unknown standing = iota
	yes
	no
)

func (g *Gate) standing(k Key, own *grants) standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	match := func(r Rule) bool { return r.Match(k) }
	switch {
	case slices.ContainsFunc(g.opt.Deny, match), g.denied[k], own.denied[k]:
		return no
	case slices.ContainsFunc(g.opt.Allow, match), g.allowed[k], own.allowed[k]:
		return yes
	}
	return unknown
}

// Admit returns nil when the connection may be made, and otherwise a
// *RefusedError, after asking if need be. It is for tools that make
// connections themselves; commands come through Serve.
func (g *Gate) Admit(ctx context.Context, r Request) error { return g.admit(ctx, r, newGrants()) }

func (g *Gate) admit(ctx context.Context, r Request, own *grants) error {
	if addr, err := netip.ParseAddr(r.Host); err == nil {
		if err := checkLiteral(addr); err != nil {
			return g.refuse(r, err.Error(), false)
		}
	}
	for {
		switch g.standing(r.Key, own) {
		case yes:
			g.observe(Event{Kind: "allowed", Request: r})
			return nil
		case no:
			return g.refuse(r, "it was denied", false)
		}
		if g.opt.Ask == nil {
			g.observe(Event{Kind: "held", Request: r})
			return g.refuse(r, "it was not approved, and nobody can answer here", true)
		}
		q := g.ask(r, own)
		select {
		case <-q.done:
		case <-ctx.Done():
			g.giveUp(q)
			return g.refuse(r, "the command ended before there was an answer", true)
		}
		switch {
		case !q.decided:
			return g.refuse(r, "there was no answer in time", true)
		case !q.answer.Allow:
			return g.refuse(r, orElse(q.answer.Reason, "it was denied"), false)
		case q.asker == own || q.answer.Session:
			g.observe(Event{Kind: "allowed", Request: r})
			return nil
		}
		// The answer was for another command only: ask for this one.
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (g *Gate) refuse(r Request, reason string, unanswered bool) error {
	g.observe(Event{Kind: "denied", Request: r, Reason: reason})
	return &RefusedError{Key: r.Key, Reason: reason, Unanswered: unanswered}
}

func (g *Gate) observe(e Event) {
	if g.opt.Observe != nil {
		g.opt.Observe(e)
	}
}

// ask joins the question about a key, or starts it.
func (g *Gate) ask(r Request, own *grants) *question {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.asking[r.Key]; q != nil {
		q.waiters++
		return q
	}
	// The question outlives the connection that raised it as long as others
	// wait for the same answer.
	ctx, cancel := context.WithTimeout(context.Background(), g.opt.HoldLimit)
	q := &question{done: make(chan struct{}), asker: own, waiters: 1, cancel: cancel}
	g.asking[r.Key] = q
	go g.settle(ctx, q, r)
	return q
}

func (g *Gate) settle(ctx context.Context, q *question, r Request) {
	g.observe(Event{Kind: "held", Request: r})
	answer := g.opt.Ask(ctx, r)
	g.mu.Lock()
	defer g.mu.Unlock()
	q.decided = ctx.Err() == nil
	q.cancel()
	q.answer = answer
	delete(g.asking, r.Key)
	if q.decided {
		g.remember(r.Key, answer, q.asker)
	}
	close(q.done)
}

func (g *Gate) remember(k Key, a Answer, own *grants) {
	switch {
	case a.Allow && a.Session:
		g.allowed[k] = true
	case a.Allow:
		own.allowed[k] = true
	case a.Session:
		g.denied[k] = true
	default:
		own.denied[k] = true
	}
}

// giveUp leaves a question; the last one to leave ends it.
func (g *Gate) giveUp(q *question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.waiters--; q.waiters == 0 {
		q.cancel()
	}
}

// errAddresses says that a name leads to no address that may be used.
var errAddresses = errors.New("the name has no address")

// dialLimit bounds one connection attempt.
const dialLimit = 30 * time.Second

// connect makes the connection that was admitted. A name is resolved here,
// once, and only the addresses that it gave are used.
func (g *Gate) connect(ctx context.Context, k Key) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	if g.opt.Parent != nil {
		return g.connectThroughParent(ctx, k)
	}
	addrs, err := g.addresses(ctx, k.Host)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, a := range addrs {
		c, err := g.opt.Dial(ctx, netip.AddrPortFrom(a, k.Port).String())
		if err == nil {
			return c, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func (g *Gate) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil // approved as it stands
	}
	found, err := g.opt.Resolve(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("resolve %s: %w", host, errAddresses)
	}
	addrs := make([]netip.Addr, len(found)) // the resolver may hand its own list to several callers
	for i, a := range found {
		addrs[i] = a.Unmap().WithZone("")
		if err := checkResolved(addrs[i]); err != nil {
			return nil, &addressError{host, err}
		}
	}
	return addrs, nil
}

// addressError says that an approved name leads somewhere it must not.
type addressError struct {
	host string
	err  error
}

func (e *addressError) Error() string { return fmt.Sprintf("%s leads to %v", e.host, e.err) }
func (e *addressError) Unwrap() error { return e.err }
