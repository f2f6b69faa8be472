package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/tui/compose"
	"github.com/openmuse/muse/internal/tui/screen"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/tui/text"
)

// frameEvery is the shortest time between two frames that no key asked for.
const frameEvery = 16 * time.Millisecond

// ui is the state of the UI. Only its loop touches it.
type ui struct {
	Options
	term   Terminal
	screen *screen.Screen
	ctx    context.Context // of the UI: ends with it
	stop   context.CancelFunc
	work   sync.WaitGroup

	results    chan func()
	lastPrompt chan struct{} // closed when the prompt sent last was answered

	// The session.
	session Session
	feed    chan fed
	leave   context.CancelFunc // stops the watching of the session
	view    *conversation
	opening bool

	// What is to be drawn.
	print []text.Line
	dirty bool
	drawn time.Time
	wake  <-chan time.Time // a timer that is armed
	wakes time.Time        // when it fires

	// What a person does.
	draft      compose.Buffer
	history    *history
	typed      time.Time // when a key was pressed last
	drawer     drawer
	pick       *picker
	ask        *approvalDialog
	question   *questionDialog
	confirm    *confirmation
	entry      *entry
	hint       string // one line below the prompt, until the next key
	leaving    bool   // ctrl+c was pressed: the next one leaves
	leavingNow bool   // the key under way is that next one
	escaped    bool   // the key before cancelled nothing: the same again goes back
	escapedNow bool   // the key under way does so
	unfocused  bool
	asked      string // in plain mode: the question that was written out
	access     string // in plain mode: what was said of what the agent may do
	running    bool   // in plain mode: it was said that a turn runs
	sent       map[string]outgoing
	grants     map[string][]string // answers that hold for the session, by session
	pictures   []attached          // of the draft
	// pictureCount numbers pictures, so that no two of a session are named alike.
	pictureCount int
	reading      bool      // the clipboard
	kept         string    // the draft as it was kept
	keptAt       time.Time // and when
	keeping      bool      // it is being kept
	files        fileList
	opened       int // how far back details were shown

	done bool
	err  error
}

// Run shows the UI until the person leaves it. The error is why it could not
// go on.
func Run(ctx context.Context, t Terminal, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w, h := t.Size()
	u := &ui{
		Options: o, term: t, screen: screen.New(t, o.Theme, w, h), ctx: ctx, stop: stop,
		results: make(chan func(), 16), sent: map[string]outgoing{},
	}
	u.history = newHistory(u)
	u.view = newConversation(u, "")
	u.begin()
	err := u.loop()
	if u.leave != nil {
		u.leave()
	}
	u.keepView()
	stop()
	u.work.Wait()
	err = errors.Join(err, u.lastDraft())
	if !u.Plain {
		err = errors.Join(err, u.screen.Leave())
	}
	return errors.Join(err, u.farewell())
}

// farewell says how to go on with the session.
func (u *ui) farewell() error {
	if u.session == nil || u.view.turns == 0 {
		return nil
	}
	name := u.session.Facts().SessionID
	if n := u.view.fold.State().Name; n != "" {
		name = n
	}
	if u.session.Facts().Path == "" {
		return nil
	}
	_, err := fmt.Fprintf(u.term, "\r\nGo on with: muse resume %s\r\n", text.Clean(name))
	return err
}

// begin opens the session.
func (u *ui) begin() {
	u.banner()
	for _, f := range u.Faults {
		u.say(text.Warn, f)
	}
	u.dirty = true
	u.remarks()
	u.oldDraft()
	if !u.askTrust() {
		u.ready()
	}
}

// first opens the session that the UI begins with.
func (u *ui) first() {
	if u.PickFirst {
		u.resume("")
		return
	}
	if u.Resume != "" {
		u.open("session/resume", map[string]any{"sessionId": u.Resume}, func(ctx context.Context, c host.Command) (Session, error) {
			return u.Host.Resume(ctx, c, u.Resume)
		})
		return
	}
	u.start(u.SessionID)
}

func (u *ui) start(id string) {
	params := map[string]any{"workspaceRoot": u.Workspace}
	if id != "" {
		params["sessionId"] = id
	}
	u.open("session/start", params, func(ctx context.Context, c host.Command) (Session, error) {
		return u.Host.Start(ctx, c, host.StartRequest{SessionID: id, Workspace: u.Workspace})
	})
}

// loop is the UI.
func (u *ui) loop() error {
	for !u.done {
		if err := u.frame(); err != nil {
			return err
		}
		u.keepDraft()
		select {
		case e := <-u.term.Events():
			u.input(e)
			u.moreInput()
			u.drawn = time.Time{} // what a key did is shown at once
		case f := <-u.feed:
			u.take(f)
			u.moreFeed()
		case f := <-u.results:
			f()
			u.dirty = true
		case <-u.Remarks:
			u.remarks()
		case <-u.term.Resized():
			u.screen.Resize(u.term.Size())
			u.dirty = true
		case <-u.wake:
			u.wake, u.dirty = nil, true
			u.tick()
		case err := <-u.term.Ended():
			if err == nil || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-u.ctx.Done():
			return nil
		}
	}
	return u.err
}

// moreInput takes what was typed meanwhile, so that a burst is one frame.
func (u *ui) moreInput() {
	for range 256 {
		select {
		case e := <-u.term.Events():
			u.input(e)
		default:
			return
		}
	}
}

func (u *ui) moreFeed() {
	for range 512 {
		select {
		case f := <-u.feed:
			u.take(f)
		default:
			return
		}
	}
}

// frame draws what has changed, not more often than a screen shows it.
func (u *ui) frame() error {
	if !u.dirty {
		return nil
	}
	if u.Plain {
		return u.plainFrame()
	}
	now := u.Now()
	if wait := frameEvery - now.Sub(u.drawn); wait > 0 && !u.drawn.IsZero() && !u.done {
		u.wakeAt(now.Add(wait))
		return nil
	}
	// A frame for another size than the terminal's would wrap there, and the
	// live area could not be found again.
	u.screen.Resize(u.term.Size())
	w, _ := u.screen.Size()
	print := text.WrapAll(u.print, w, nil)
	if err := u.screen.Frame(print, u.live()); err != nil {
		return err
	}
	u.print, u.dirty, u.drawn = nil, false, now
	return nil
}

// wakeAt makes the loop go round at a time. Of several times the first counts:
// whoever still waits then asks again when it is drawn.
func (u *ui) wakeAt(at time.Time) {
	if u.wake != nil && !u.wakes.After(at) && u.wakes.After(u.Now()) {
		return
	}
	u.wakes = at
	u.wake = u.After(max(at.Sub(u.Now()), time.Millisecond))
}

// remarks prints what there is to tell from elsewhere.
func (u *ui) remarks() {
	if u.TakeRemarks == nil {
		return
	}
	for _, l := range u.TakeRemarks() {
		u.say(text.Warn, l)
	}
}

// askTrust asks whether the files of the workspace may take part; false when
// there is nothing to ask.
func (u *ui) askTrust() bool {
	if u.Trust == nil {
		return false
	}
	q, err := u.Trust()
	if err != nil {
		u.say(text.Warn, err.Error())
		return false
	}
	if q == nil {
		return false
	}
	lines := []text.Line{text.Of(text.Warn|text.Bold, "Do you trust this workspace? "+u.tilde(u.Workspace))}
	if len(q.Changed) > 0 {
		lines = append(lines, text.Of(text.Warn, "  You trusted it before, and these files have changed since: "+strings.Join(q.Changed, ", ")))
	}
	lines = append(lines, text.Of(text.Plain, "  Trust lets programs start here, and lets these files tell the agent what to do:"))
	for _, f := range q.Files {
		lines = append(lines, text.Of(text.Plain, "    "+f))
	}
	if len(q.Files) == 0 {
		lines = append(lines, text.Of(text.Muted, "    none yet; you are asked again when there are some"))
	}
	lines = append(lines, text.Of(text.Muted, "  Without it muse asks before every program, and loads none of them."))
	decide := func(yes bool) {
		beside(u, func(ctx context.Context) (struct{}, error) { return struct{}{}, q.Decide(ctx, yes) }, func(_ struct{}, err error) {
			u.Trusted = u.Trusted || yes && err == nil
			if err != nil {
				u.say(text.Bad, "✗ the workspace is not trusted: "+err.Error())
			}
			u.ready()
		})
	}
	u.confirm = &confirmation{lines: lines, yes: func() { decide(true) }, no: func() { decide(false) }}
	return true
}

// tick is called when a timer fired: what depends on time is looked at.
func (u *ui) tick() {}

// out puts lines into the scrollback.
func (u *ui) out(lines ...text.Line) {
	u.print = append(u.print, lines...)
	u.dirty = true
}

// say prints a remark of the UI itself.
func (u *ui) say(style text.Style, s string) {
	w, _ := u.screen.Size()
	for _, l := range text.Lines(style, s) {
		u.out(text.Wrap(append(text.Line{{Text: "  "}}, l...), w, text.Of(0, "  "))...)
	}
}

// fault tells of a command that did not work.
func (u *ui) fault(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	u.say(text.Bad, "✗ "+err.Error())
}

// fed is an event of the session that is watched.
type fed struct {
	view *conversation
	rec  event.Recorded
	err  error // the watching ended
}

var _ Terminal = (*term.TTY)(nil)
