package tui

import (
	"context"
	"errors"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/tui/text"
)

// open opens a session and shows it in the place of the present one.
func (u *ui) open(method string, params map[string]any, open func(context.Context, host.Command) (Session, error)) {
	c, err := u.identity(method, func(id string) any {
		params["commandId"] = id
		return params
	})
	if err != nil {
		u.fault(err)
		return
	}
	u.opening = true
	beside(u, func(ctx context.Context) (Session, error) { return open(ctx, c) }, func(s Session, err error) {
		u.opening = false
		if err != nil {
			u.refusedOpening(err)
			return
		}
		u.enter(s)
	})
}

// refusedOpening tells why there is no session. Without one the UI can do
// nothing: then it ends with the error.
func (u *ui) refusedOpening(err error) {
	if u.session != nil {
		u.fault(err)
		return
	}
	u.done, u.err = true, err
}

// enter shows a session that was opened.
func (u *ui) enter(s Session) {
	if u.leave != nil {
		u.leave()
	}
	again := u.session != nil
	u.session = s
	facts := s.Facts()
	u.view = newConversation(u, facts.SessionID)
	u.view.until = s.Head()
	u.closeDialogs()
	u.opened = 0
	if again {
		name := facts.Name
		if name == "" {
			name = facts.SessionID
		}
		u.out(nil, text.Of(text.Muted, "── session "+name+" ──"))
	}
	for _, n := range s.Notes() {
		u.say(text.Warn, n)
	}
	ctx, cancel := context.WithCancel(u.ctx)
	u.leave = cancel
	feed := make(chan fed, 256)
	u.feed = feed
	view := u.view
	u.work.Go(func() {
		err := s.Watch(ctx, 0, func(r event.Recorded) error {
			select {
			case feed <- fed{view: view, rec: r}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if ctx.Err() != nil {
			return
		}
		select {
		case feed <- fed{view: view, err: err}:
		case <-ctx.Done():
		}
	})
	if id := u.UseModel; id != "" {
		u.UseModel = ""
		u.setModelOf(u.UseProvider, id)
	}
	if u.Prompt != "" {
		prompt := u.Prompt
		u.Prompt = ""
		u.submit(prompt, host.Queue)
	}
}

// ended tells that the session cannot be followed any more.
func (u *ui) ended(err error) {
	if err == nil || errors.Is(err, host.ErrClosed) {
		u.say(text.Warn, "the session was closed")
		return
	}
	u.say(text.Bad, "✗ the session cannot be followed any more: "+err.Error())
}

func (u *ui) closeDialogs() {
	u.ask, u.question, u.pick, u.confirm = nil, nil, nil, nil
	u.drawer = drawer{}
}
