package talk

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/openmuse/muse/internal/sandbox/layout"
)

// Order is what the host tells the helper. It travels over a socket that only
// the two hold; nothing of it is on a command line.
type Order struct {
	Launcher string
	Plan     layout.Plan
	// UID and GID are who the agent is on the host (Linux).
	UID, GID uint32
	// Namespaces are the identities of the host's namespaces, in the order of
	// proc.NamespaceNames; 0 for one that is shared on purpose.
	Namespaces  []uint64
	Listen      bool // hand out a listening socket on ProxyPort
	UnixSockets bool
	Landlock    []string // paths that may be written, for the second layer
	Refused     []string // paths that a write must fail on (macOS)
	Dir, Path   string
	Args        []string
}

// Report is what the helper answers.
type Report struct {
	Failure  string // why the boundary does not hold; "" when it does
	Landlock int    // interface version in force, 0 for none
}

// Permit is the host's last word.
type Permit struct {
	// Start lets the command go. Without it the helper ends at once: the host
	// found fault with the boundary, or only wanted to see it.
	Start bool
	// NewSession makes the command leave its session: the terminal, if there
	// is one, is the user's.
	NewSession bool
}

// ErrMessage says that a message between host and helper is not well formed.
var ErrMessage = errors.New("a message between the agent and the sandbox helper cannot be read")

// writer and reader are the coding of the messages: strings and lists with
// their lengths before them. It is private to one binary, so there are no
// versions.
type writer struct{ buf []byte }

func (w *writer) number(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }

func (w *writer) flag(b bool) {
	if b {
		w.number(1)
	} else {
		w.number(0)
	}
}

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *writer) texts(list []string) {
	w.number(uint64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

type reader struct {
	buf []byte
	bad bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.buf)
	if size <= 0 {
		r.bad, r.buf = true, nil
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

// id is a user's or a group's number.
func (r *reader) id() uint32 {
	n := r.number()
	if n > math.MaxUint32 {
		r.bad, r.buf = true, nil
		return 0
	}
	return uint32(n)
}

func (r *reader) flag() bool { return r.number() == 1 }

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.buf)) {
		r.bad, r.buf = true, nil
		return ""
	}
	s := string(r.buf[:n])
	r.buf = r.buf[n:]
	return s
}

// count is the length of a list; every element takes at least a byte.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.buf)) {
		r.bad, r.buf = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) texts() []string {
	list := make([]string, r.count())
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *reader) err() error {
	if r.bad || len(r.buf) != 0 {
		return ErrMessage
	}
	return nil
}

// Encode is the message.
func (o *Order) Encode() []byte {
	w := &writer{buf: make([]byte, 0, 4096)}
	w.text(o.Launcher)
	w.number(uint64(o.UID))
	w.number(uint64(o.GID))
	w.number(uint64(len(o.Plan.Mounts)))
	for _, m := range o.Plan.Mounts {
		w.number(uint64(m.Kind))
		w.text(m.Source)
		w.text(m.Target)
	}
	w.texts(o.Plan.Writable)
	w.texts(o.Plan.Protected)
	w.number(uint64(len(o.Plan.Identities)))
	for _, id := range o.Plan.Identities {
		w.text(id.Path)
		w.number(id.Dev)
		w.number(id.Ino)
	}
	w.texts(o.Plan.Hidden)
	w.number(uint64(len(o.Namespaces)))
	for _, n := range o.Namespaces {
		w.number(n)
	}
	w.flag(o.Listen)
	w.flag(o.UnixSockets)
	w.texts(o.Landlock)
	w.texts(o.Refused)
	w.text(o.Dir)
	w.text(o.Path)
	w.texts(o.Args)
	return w.buf
}

// DecodeOrder reads what Encode wrote.
func DecodeOrder(buf []byte) (*Order, error) {
	r := &reader{buf: buf}
	o := &Order{Launcher: r.text(), UID: r.id(), GID: r.id()}
	o.Plan.Mounts = make([]layout.Mount, r.count())
	for i := range o.Plan.Mounts {
		o.Plan.Mounts[i] = layout.Mount{Kind: layout.Kind(r.number()), Source: r.text(), Target: r.text()}
	}
	o.Plan.Writable = r.texts()
	o.Plan.Protected = r.texts()
	o.Plan.Identities = make([]layout.Identity, r.count())
	for i := range o.Plan.Identities {
		o.Plan.Identities[i] = layout.Identity{Path: r.text(), Dev: r.number(), Ino: r.number()}
	}
	o.Plan.Hidden = r.texts()
	o.Namespaces = make([]uint64, r.count())
	for i := range o.Namespaces {
		o.Namespaces[i] = r.number()
	}
	o.Listen = r.flag()
	o.UnixSockets = r.flag()
	o.Landlock = r.texts()
	o.Refused = r.texts()
	o.Dir = r.text()
	o.Path = r.text()
	o.Args = r.texts()
	return o, r.err()
}

// Encode is the message.
func (p *Report) Encode() []byte {
	w := &writer{}
	w.text(p.Failure)
	w.number(uint64(p.Landlock))
	return w.buf
}

// DecodeReport reads what Encode wrote.
func DecodeReport(buf []byte) (Report, error) {
	r := &reader{buf: buf}
	p := Report{Failure: r.text(), Landlock: int(r.number())}
	return p, r.err()
}

// Encode is the message.
func (p *Permit) Encode() []byte {
	w := &writer{}
	w.flag(p.Start)
	w.flag(p.NewSession)
	return w.buf
}

// DecodePermit reads what Encode wrote.
func DecodePermit(buf []byte) (Permit, error) {
	r := &reader{buf: buf}
	p := Permit{Start: r.flag(), NewSession: r.flag()}
	return p, r.err()
}
