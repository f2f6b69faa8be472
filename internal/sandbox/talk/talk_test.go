package talk

import (
	"reflect"
	"testing"

	"github.com/openmuse/muse/internal/sandbox/layout"
)

func sample() *Order {
	return &Order{
		Launcher: "native",
		Plan: layout.Plan{
			Mounts:   []layout.Mount{{Kind: layout.ReadOnly, Source: "/a b", Target: "/c\n"}, {Kind: layout.Fresh, Target: "/run"}},
			Writable: []string{"/w"}, Protected: []string{"/w/.git", ""},
			Identities: []layout.Identity{{Path: "/w", Dev: 1 << 40, Ino: ^uint64(0)}}, Hidden: []string{"/h"},
		},
		Namespaces: []uint64{4026531837, 0}, Listen: true, Landlock: []string{"/dev"}, Refused: []string{"/r"},
		Dir: "/w", Path: "/bin/sh", Args: []string{"sh", "-c", "echo \x00 ü"},
	}
}

func TestOrder(t *testing.T) {
	want := sample()
	got, err := DecodeOrder(want.Encode())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// An order that is cut short anywhere, or goes on, is refused as a whole.
func TestOrderMalformed(t *testing.T) {
	whole := sample().Encode()
	for n := range whole {
		if _, err := DecodeOrder(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were read as an order", n, len(whole))
		}
	}
	if _, err := DecodeOrder(append(whole, 0)); err == nil {
		t.Error("a longer one was read")
	}
	if _, err := DecodeOrder([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}); err == nil {
		t.Error("a length beyond all bounds was read")
	}
}

func TestReportAndPermit(t *testing.T) {
	r := Report{Failure: "why", Landlock: 7}
	if got, err := DecodeReport(r.Encode()); err != nil || got != r {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, p := range []Permit{{}, {Start: true}, {Start: true, NewSession: true}, {NewSession: true}} {
		if got, err := DecodePermit(p.Encode()); err != nil || got != p {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if p, err := DecodePermit(nil); err == nil || p.Start {
		t.Errorf("nothing was read as %+v", p)
	}
}
