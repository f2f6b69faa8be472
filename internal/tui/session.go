package tui

import (
	"context"
	"errors"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/text"
	"github.com/openmuse/muse/internal/view/session"
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
		u.leave = nil
	}
	again := u.session != nil
	facts := s.Facts()
	u.keepView()
	u.session = s
	u.view = newConversation(u, facts.SessionID)
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
	u.load(s)
	if id := u.UseModel; id != "" {
		u.UseModel = ""
		u.setModelOf(u.UseProvider, id)
	}
	if u.Prompt != "" {
		out := outgoing{words: u.Prompt, pictures: u.firstPictures()}
		u.Prompt, u.Images, u.hint = "", nil, ""
		u.submit(out, host.Queue)
	} else {
		u.waitingPictures()
	}
}

// loaded is a session as its log tells it.
type loaded struct {
	view  *session.View
	aside *aside
	items []msp.Item
}

// errReached ends a reading of events at the place it was meant for.
var errReached = errors.New("reached")

// load reads what happened in a session beside the loop, then shows the end of
// it and follows the session. The end of a long log is shown ahead of that.
func (u *ui) load(s Session) {
	head := s.Head()
	placeholder := u.view
	var already []msp.Item
	if head-u.Views.Reach(s.Facts().SessionID) >= peekFrom {
		beside(u, func(ctx context.Context) (loaded, error) { return u.peek(ctx, s, head) }, func(l loaded, err error) {
			if err != nil || l.view == nil || u.view != placeholder {
				return // the whole is there, or is waited for
			}
			tail := conversationOf(u, l.view, l.aside)
			tail.last = placeholder.last
			already = tail.showPast(l.items, nil)
			placeholder.last = tail.last
		})
	}
	beside(u, func(ctx context.Context) (loaded, error) { return u.read(ctx, s, head) }, func(l loaded, err error) {
		if u.view != placeholder {
			return // another session was opened meanwhile
		}
		if err != nil {
			u.ended(err)
			return
		}
		last := u.view.last
		u.view = conversationOf(u, l.view, l.aside)
		u.view.last = last
		u.view.showPast(l.items, already)
		u.follow()
		u.watch(s)
	})
}

// pastOf replays the kept events of a session up to its head.
func pastOf(ctx context.Context, s Session, head int64) session.LogFrom {
	return func(from int64, yield func(event.Recorded) error) error {
		if from >= head {
			return nil
		}
		err := s.Watch(ctx, from, func(r event.Recorded) error {
			if r.Sequence == 0 {
				return nil // shown while it happened: its fate is still to come
			}
			if err := yield(r); err != nil {
				return err
			}
			if r.Sequence >= head {
				return errReached
			}
			return nil
		})
		if errors.Is(err, errReached) {
			return nil
		}
		return err
	}
}

// From so many records on that have to be folded the end is shown first; it is
// looked for among the last few, and among more when they are not enough.
const (
	peekFrom  = 16_384
	peekFirst = 2_048
)

// peek reads the end of a long log; there is no view in what it returns when
// that says too little.
func (u *ui) peek(ctx context.Context, s Session, head int64) (loaded, error) {
	id, log := s.Facts().SessionID, pastOf(ctx, s, head)
	for n := int64(peekFirst); n < peekFrom; n *= 2 {
		l := loaded{aside: newAside()}
		beside := func(from int64, yield func(event.Recorded) error) error {
			return log(from, func(r event.Recorded) error {
				l.aside.beside(r)
				return yield(r)
			})
		}
		view, ok, err := session.ReadTail(id, beside, head-n, session.DefaultLimits())
		if err != nil {
			return loaded{}, err
		}
		if !ok {
			continue
		}
		l.view = view
		if l.items, _, err = view.Recent(readItems); err != nil || len(l.items) > lastShown+10 {
			return l, err
		}
	}
	return loaded{}, nil
}

// readItems is how many of the newest items are read: those that are shown, and
// calls that can be opened.
const readItems = 80

func (u *ui) read(ctx context.Context, s Session, head int64) (loaded, error) {
	var l loaded
	log := pastOf(ctx, s, head)
	facts := s.Facts()
	var err error
	if l.view, err = u.Views.Read(facts.SessionID, facts.Path, log, session.DefaultLimits()); err != nil {
		return l, err
	}
	if u.worthKeeping(l.view, facts.Path) {
		// The next opening has it even when this process is killed. A failure
		// is told when the session is left.
		_ = u.Views.Keep(l.view, facts.Path)
	}
	var from int64
	if l.items, from, err = l.view.Recent(readItems, msp.ItemKindUserMessage); err != nil {
		return l, err
	}
	// What the view leaves out is read for what is shown, and for more only
	// when the permissions in force were said before that.
	for _, from := range []int64{from - 1, 0} {
		l.aside = newAside()
		err = log(from, func(r event.Recorded) error {
			l.aside.beside(r)
			return nil
		})
		if err != nil || l.aside.profile != nil || from <= 0 {
			break
		}
	}
	return l, err
}

// watch follows the session from where it was read to.
func (u *ui) watch(s Session) {
	ctx, cancel := context.WithCancel(u.ctx)
	u.leave = cancel
	feed := make(chan fed, 256)
	u.feed = feed
	view := u.view
	from := view.fold.Sequence()
	u.work.Go(func() {
		kept := from
		err := s.Watch(ctx, from, func(r event.Recorded) error {
			select {
			case feed <- fed{view: view, rec: r}:
			case <-ctx.Done():
				return ctx.Err()
			}
			if r.Sequence < kept+keepEvery {
				return nil
			}
			kept = r.Sequence
			select {
			case u.results <- func() {
				if u.view == view {
					u.keepView()
				}
			}:
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
}

// keptFrom is how many records a view has to be ahead of its cache to be worth
// keeping.
const keptFrom = 500

// keepEvery is after how many records the view is kept while the session is
// shown: the process may be killed at any time.
const keepEvery = 4096

func (u *ui) worthKeeping(v *session.View, path string) bool {
	return path != "" && v.Fold().Sequence()-v.Saved() >= keptFrom
}

// keepView keeps the view of the session that is left, so that it is quick to
// open the next time. It can be made again from the log at any time.
func (u *ui) keepView() {
	if u.session == nil {
		return
	}
	path := u.session.Facts().Path
	if !u.worthKeeping(u.view.view, path) {
		return
	}
	if err := u.Views.Keep(u.view.view, path); err != nil {
		u.say(text.Warn, err.Error())
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
	u.ask, u.question, u.pick, u.confirm, u.entry = nil, nil, nil, nil, nil
	u.drawer = drawer{}
}
