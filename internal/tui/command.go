package tui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
)

// clientName is who the host is told the commands come from.
const clientName = "muse-tui"

// identity is the identity of a command of the session protocol with these
// params: the same that a connection of `muse serve` gives it (MSP.md 5).
func (u *ui) identity(method string, params func(id string) any) (host.Command, error) {
	id := ident.V7(u.Now())
	raw, err := json.Marshal(params(id), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return host.Command{}, fmt.Errorf("%s: %w", method, err)
	}
	canonical := jsontext.Value(raw)
	if err := canonical.Canonicalize(jsontext.AllowInvalidUTF8(true)); err != nil {
		return host.Command{}, fmt.Errorf("%s: %w", method, err)
	}
	h := sha256.New()
	h.Write([]byte(method))
	h.Write([]byte{0})
	h.Write(canonical)
	return host.Command{ID: id, Method: method, Digest: hex.EncodeToString(h.Sum(nil)), Client: clientName}, nil
}

// send carries out a command beside the loop, those of one session in order.
// then is called on the loop with the command's error; nil shows it.
func (u *ui) send(method string, params func(id string) any, run func(context.Context, Session, host.Command) error, then func(error)) {
	u.sendOn(u.session, method, params, run, then)
}

func (u *ui) sendOn(s Session, method string, params func(id string) any, run func(context.Context, Session, host.Command) error, then func(error)) {
	if then == nil {
		then = func(err error) {
			if err != nil {
				u.fault(err)
			}
		}
	}
	if s == nil {
		then(errors.New("no session is open yet"))
		return
	}
	c, err := u.identity(method, params)
	if err != nil {
		then(err)
		return
	}
	ready := u.turnOf(method)
	done := make(chan struct{})
	if method == "turn/start" || method == "turn/steer" {
		u.lastPrompt = done
	}
	u.work.Go(func() {
		defer close(done)
		if ready != nil {
			<-ready
		}
		err := run(u.ctx, s, c)
		u.post(func() { then(err) })
	})
}

// turnOf is what a command has to wait for: prompts go in the order in which
// they were typed.
func (u *ui) turnOf(method string) <-chan struct{} {
	if method == "turn/start" || method == "turn/steer" {
		return u.lastPrompt
	}
	return nil
}

// post runs f on the loop.
func (u *ui) post(f func()) {
	select {
	case u.results <- f:
	case <-u.ctx.Done():
	}
}

// beside runs work beside the loop and then on it.
func beside[T any](u *ui, work func(context.Context) (T, error), then func(T, error)) {
	u.work.Go(func() {
		out, err := work(u.ctx)
		u.post(func() { then(out, err) })
	})
}
