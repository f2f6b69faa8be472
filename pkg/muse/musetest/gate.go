package musetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
)

// Gate is where stand-ins wait until the test lets them go on. It listens on
// the loopback interface; closing it releases everybody, so nothing outlives
// the test.
type Gate struct {
	listener net.Listener
	mu       sync.Mutex
	arrived  map[string]chan net.Conn
	conns    []net.Conn
}

// NewGate opens a gate that is closed when the test ends.
func NewGate(t testing.TB) *Gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("open gate: %v", err)
	}
	g := &Gate{listener: l, arrived: map[string]chan net.Conn{}}
	go g.accept()
	t.Cleanup(g.Close)
	return g
}

// Addr is what Plan.Gate takes.
func (g *Gate) Addr() string { return g.listener.Addr().String() }

// Close releases everybody who waits or will wait.
func (g *Gate) Close() {
	_ = g.listener.Close() // a second close is harmless
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		_ = c.Close() // the peer sees its end either way
	}
}

func (g *Gate) accept() {
	for {
		c, err := g.listener.Accept()
		if err != nil {
			return // closed
		}
		g.mu.Lock()
		g.conns = append(g.conns, c)
		g.mu.Unlock()
		go func() {
			name, err := bufio.NewReader(c).ReadString('\n')
			if err == nil {
				g.at(strings.TrimSpace(name)) <- c
			}
		}()
	}
}

func (g *Gate) at(name string) chan net.Conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.arrived[name] == nil {
		g.arrived[name] = make(chan net.Conn, 64)
	}
	return g.arrived[name]
}

// Arrived waits for a stand-in at the named gate and returns what lets it go.
func (g *Gate) Arrived(name string) (release func()) {
	c := <-g.at(name)
	return func() { fmt.Fprintln(c, "go") }
}

// gate waits when the call has a gate of this name.
func (c Call) gate(plan Plan, name string) {
	for _, g := range c.Gates {
		if g == name {
			Wait(plan.Gate, name)
		}
	}
}

// Wait arrives at the named place of a gate and stays until it is let go, or
// the gate is closed.
func Wait(addr, name string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return // the gate is gone: nobody is to wait
	}
	defer conn.Close()
	fmt.Fprintln(conn, name)
	_, _ = bufio.NewReader(conn).ReadString('\n') // an end releases as well
}

// hold is the grandchild: it keeps its descriptors until the gate closes.
func hold() int {
	var plan Plan
	data, err := os.ReadFile(os.Getenv(planVariable))
	if err == nil && json.Unmarshal(data, &plan) == nil {
		Wait(plan.Gate, "hold")
	}
	return 0
}
