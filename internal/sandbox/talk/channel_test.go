//go:build linux || darwin

package talk

import (
	"bytes"
	"os"
	"testing"
)

// A long message and a descriptor beside a short one get through whole.
func TestChannel(t *testing.T) {
	host, child, err := NewChannel()
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	defer child.Close()
	long := bytes.Repeat([]byte("0123456789"), 100_000)
	sent := make(chan error, 1)
	go func() { sent <- host.Send(long) }()
	m, err := ReceiveFrom(int(child.Fd()))
	if err != nil || !bytes.Equal(m.Body, long) {
		t.Errorf("%d bytes, %v", len(m.Body), err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := SendTo(int(child.Fd()), []byte("with a pipe"), int(r.Fd())); err != nil {
		t.Fatal(err)
	}
	m, err = host.Receive()
	if err != nil || string(m.Body) != "with a pipe" {
		t.Fatalf("%q, %v", m.Body, err)
	}
	fds, err := m.Rights()
	if err != nil || len(fds) != 1 {
		t.Fatalf("descriptors %v, %v", fds, err)
	}
	got := os.NewFile(uintptr(fds[0]), "pipe")
	defer got.Close()
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err := got.Read(b[:]); err != nil || b[0] != 'x' {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestChannelEnds(t *testing.T) {
	host, child, err := NewChannel()
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	child.Close()
	if m, err := host.Receive(); err == nil {
		t.Errorf("got %+v", m)
	}
}
