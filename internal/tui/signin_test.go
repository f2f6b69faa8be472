package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// signInBench is a UI without a model and without a session.
func signInBench(t *testing.T, s *SignIn) (b *bench, done *int) {
	t.Helper()
	b = newBench(t, 80, 24)
	done = new(int)
	b.u.SignIn = s
	b.u.signIn(func() { *done++ })
	b.draw()
	return b, done
}

// TestSecretEntry: a key that is typed or pasted is not shown, not kept in the
// history, and reaches the one who keeps it as it is.
func TestSecretEntry(t *testing.T) {
	var got []string
	fail := true
	b, done := signInBench(t, &SignIn{
		Missing: "no key for one", Services: []Service{{ID: "one", Label: "One", Model: "m-1"}, {ID: "two", Label: "Two"}},
		Key: func(_ context.Context, service, key, model string) (Chosen, error) {
			got = append(got, service+" "+key+" "+model)
			if fail {
				fail = false
				return Chosen{}, errors.New("the key has a blank")
			}
			return Chosen{Provider: service, Model: model, Select: true}, nil
		},
	})
	b.u.session = nil
	b.shows("There is no model yet: no key for one.")
	b.shows("One  with a key, model m-1")
	b.types("two\r")
	b.shows("Key for Two")
	b.types("sk-")
	b.paste("Secret\n")
	b.types("9\x1b[A\r") // an arrow brings no prompt of before
	b.shows("Model of Two")
	b.types("m-2\r")
	b.answered()
	b.shows("✗ the key has a blank")
	b.shows("Key for Two")
	b.types("sk-Secret9\r")
	b.types("m-2\r")
	b.answered()
	if *done != 1 || len(got) != 2 || got[1] != "two sk-Secret9 m-2" || got[0] != got[1] {
		t.Errorf("done %d, kept %q", *done, got)
	}
	if b.u.UseModel != "m-2" || b.u.UseProvider != "two" {
		t.Errorf("the session begins with %s/%s", b.u.UseProvider, b.u.UseModel)
	}
	if strings.Contains(b.vt.Text(), "Secret") || len(b.u.history.all) > 0 || !b.u.draft.Empty() {
		t.Errorf("the key got away: %v\n%s", b.u.history.all, b.vt.Text())
	}
}

// TestSignInGoesBack: esc leads back step by step, and in the end to looking
// around.
func TestSignInGoesBack(t *testing.T) {
	b, done := signInBench(t, &SignIn{
		Missing: "no key", Services: []Service{{ID: "one", Label: "One"}},
		Served: func(_ context.Context, a string) (string, []string, error) { return a, []string{"x", "y"}, nil },
	})
	b.types("server\r\r")
	b.answered()
	b.shows("Model of http://127.0.0.1:11434/v1")
	b.types("\x1b")
	b.shows("Address of the server")
	b.types("\x1b")
	b.shows("look around without a model")
	b.types("\r") // the first row: a key
	b.shows("Key for One")
	b.types("\x1b")
	if *done != 0 {
		t.Fatal("it went on without a choice")
	}
	b.types("\x1b")
	if *done != 1 || b.u.pick != nil || b.u.entry != nil {
		t.Errorf("done %d", *done)
	}
}

// TestOfferedAddress: an address that is typed or pasted takes the place of the
// one that is offered; one that fails is there to be mended, and tab takes the
// offer into the line.
func TestOfferedAddress(t *testing.T) {
	var asked []string
	b, _ := signInBench(t, &SignIn{
		Missing: "no key", Services: []Service{{ID: "one", Label: "One"}},
		Served: func(_ context.Context, a string) (string, []string, error) {
			asked = append(asked, a)
			return "", nil, errors.New("no server answers")
		},
	})
	b.types("server\r")
	b.shows("›  http://127.0.0.1:11434/v1")
	b.paste("http://127.0.0.1:1/v1\n")
	b.types("\r")
	b.answered()
	b.shows("› http://127.0.0.1:1/v1")
	b.types("x\r") // behind what failed
	b.answered()
	b.types("\x15\t2\r") // emptied, the offer taken and written on
	b.answered()
	b.types("\x15\r")
	b.answered()
	want := "http://127.0.0.1:1/v1, http://127.0.0.1:1/v1x, http://127.0.0.1:11434/v12, http://127.0.0.1:11434/v1"
	if got := strings.Join(asked, ", "); got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
}

// TestModelOfAnotherProvider: the list names the provider, and both the list
// and words choose it with its model.
func TestModelOfAnotherProvider(t *testing.T) {
	b := newBench(t, 80, 24)
	s := &choosing{fakeSession: b.s}
	b.u.session = s
	b.u.Models = func(context.Context) ([]Model, error) {
		return []Model{{ID: "m-1", Label: "M1", Provider: "one"}, {ID: "org/m-2", Label: "org/m-2", Provider: "two"}}, nil
	}
	b.types("/model\r")
	b.answered()
	b.shows("org/m-2  two")
	b.types("two\r")
	b.answered()
	for _, words := range []string{"two/org/m-2", "org/m-2", "m-9"} {
		b.types("/model " + words + "\r")
		b.answered()
		b.answered()
	}
	if got, want := strings.Join(s.chosen, ", "), "two org/m-2, two org/m-2,  org/m-2,  m-9"; got != want {
		t.Errorf("chose %q, want %q", got, want)
	}
}
