//go:build linux || darwin

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/egress"
	"github.com/openmuse/muse/internal/sandbox/talk"
)

// run is one command from its preparation to its release.
type run struct {
	session *Session
	command Command
	trial   bool // confirm the boundary and start nothing
	platform

	names  bool // protected names are held
	before []rootFound
	// unwelcome is what was in the repository that is open for commits.
	unwelcome map[string]bool

	host  *talk.Channel
	child *os.File
	order *talk.Order

	confirmed chan struct{} // closed when confirm has come to an end
	result    error         // of confirm; nil means that the command was let go
	stop      context.CancelFunc
	gate      *egress.Server
}

// prepare builds the process. On an error finish cleans up.
func (r *run) prepare(ctx context.Context) (*exec.Cmd, error) {
	s := r.session
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	names, err := s.acquire()
	if err != nil {
		return nil, err
	}
	r.names = true
	if s.git != nil {
		r.unwelcome = s.git.unwelcome()
	}
	if r.before, err = s.scan(); err != nil {
		return nil, err
	}
	cmd, err := r.build(ctx, names)
	if err != nil {
		return nil, err
	}
	r.order.Dir, r.order.Path, r.order.Args = r.command.Dir, r.command.Path, r.command.Args
	if r.host, r.child, err = talk.NewChannel(); err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{r.child}
	var stopped context.Context
	stopped, r.stop = context.WithCancel(ctx)
	r.confirmed = make(chan struct{})
	go func() {
		defer close(r.confirmed)
		if r.result = r.confirm(stopped); r.result != nil || r.trial {
			r.dismiss()
		}
	}()
	return cmd, nil
}

// errSilent says that nothing was heard from the helper.
var errSilent = errors.New("the sandbox ended before it was confirmed")

// confirm talks with the helper and lets the command go when everything is as
// it should be. The helper's word is not enough: who speaks, in which
// namespaces, and with which rights, is asked of the kernel.
func (r *run) confirm(ctx context.Context) error {
	if err := r.host.SetDeadline(time.Now().Add(r.session.limit)); err != nil {
		return fmt.Errorf("limit the wait for the helper: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		_ = r.host.SetDeadline(time.Unix(1, 0)) // wakes the reader; the socket may be closed by now
	})()
	if err := r.host.Send(r.order.Encode()); err != nil {
		return r.silent(ctx, err)
	}
	m, err := r.host.Receive()
	if err != nil {
		return r.silent(ctx, err)
	}
	fds, err := m.Rights()
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd) // a listener that nothing was read from
		}
	}()
	if err != nil {
		return err
	}
	rep, err := talk.DecodeReport(m.Body)
	if err != nil {
		return err
	}
	if rep.Failure != "" {
		return errors.New(rep.Failure)
	}
	p, err := r.vouch(m, fds)
	if err != nil || r.trial {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.host.Send(p.Encode()); err != nil {
		return r.silent(ctx, err)
	}
	return nil
}

// dismiss ends the helper without a command. It may be gone already, so
// nothing here can fail in a way that matters.
func (r *run) dismiss() {
	_ = r.host.SetDeadline(time.Now().Add(lastWords))
	_ = r.host.Send((&talk.Permit{}).Encode())
	_ = r.host.Close()
}

// silent explains a dialogue that broke off.
func (r *run) silent(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return errSilent
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the sandbox was not confirmed within %s", r.session.limit)
	case errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errSilent
	}
	return fmt.Errorf("%w: %w", errSilent, err)
}

// serve puts the gate behind a listener.
func (r *run) serve(l net.Listener) {
	gate := r.session.spec.Gate
	if gate == nil {
		gate = egress.Closed()
	}
	r.gate = gate.Serve(l, r.command.Origin)
}

// finish ends a run: nothing of it is left when it returns. The error
// satisfies ErrUnavailable when the command was never let go.
func (r *run) finish() error {
	defer r.session.leave(r)
	var failed error
	if r.host != nil {
		_ = r.child.Close() // the process had its own copy
	}
	if r.confirmed != nil {
		r.hearOut()
		failed = r.result
	}
	if r.host != nil {
		_ = r.host.Close() // nothing left to say
	}
	if r.gate != nil {
		r.gate.Close()
	}
	if failed != nil {
		failed = unavailable(failed)
	}
	if r.before != nil && !r.trial {
		failed = also(failed, r.session.judge(r.before))
		failed = also(failed, r.session.judgeGit(r.unwelcome))
	}
	if r.names {
		failed = also(failed, r.session.releaseNames())
	}
	return failed
}

// lastWords is how long a report may still be on its way when its sender has
// ended. It is there at once, unless somebody else holds the socket.
const lastWords = time.Second

// hearOut waits for the end of the dialogue with a helper that has ended.
func (r *run) hearOut() {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-r.confirmed:
	case <-timer.C:
	}
	r.stop()
	<-r.confirmed
}

// drop is finish for a process that could not be started: that is the error
// to tell.
func (r *run) drop() error {
	if err := r.finish(); !errors.Is(err, ErrUnavailable) {
		return err
	}
	return nil
}
