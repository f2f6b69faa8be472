package host

import (
	"context"
	"sync"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
)

// inbox is what reaches one turn from outside.
type inbox struct {
	mu       sync.Mutex
	words    []event.Notice
	closed   bool
	settings *agent.Settings
	wishes   []agent.CompactionWish
}

// put adds words; false when the turn takes none any more.
func (b *inbox) put(n event.Notice) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.words = append(b.words, n)
	return true
}

func (b *inbox) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed
}

func (b *inbox) use(s agent.Settings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settings = &s
}

func (b *inbox) wish(w agent.CompactionWish) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wishes = append(b.wishes, w)
}

// rest are the wishes that the turn did not get to.
func (b *inbox) rest() []agent.CompactionWish {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.wishes
	b.wishes, b.closed = nil, true
	return w
}

// inboxes is the inbox of whichever turn runs; it implements agent.Inbox. Its
// methods are called on the turn's goroutine.
type inboxes struct{ live *Live }

func (i inboxes) inbox() *inbox {
	i.live.mu.Lock()
	defer i.live.mu.Unlock()
	if i.live.turn == nil {
		return &inbox{closed: true}
	}
	return i.live.turn.inbox
}

// Words implements agent.Inbox.
func (i inboxes) Words(last bool) []event.Notice {
	b := i.inbox()
	b.mu.Lock()
	defer b.mu.Unlock()
	words := b.words
	b.words = nil
	if last && len(words) == 0 {
		b.closed = true
	}
	return words
}

// Settings implements agent.Inbox.
func (i inboxes) Settings() (agent.Settings, bool) {
	b := i.inbox()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.settings == nil {
		return agent.Settings{}, false
	}
	s := *b.settings
	b.settings = nil
	return s, true
}

// Compaction implements agent.Inbox.
func (i inboxes) Compaction() (agent.CompactionWish, bool) {
	b := i.inbox()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wishes) == 0 {
		return agent.CompactionWish{}, false
	}
	w := b.wishes[0]
	b.wishes = b.wishes[1:]
	return w, true
}

// tasks are the calls that run, so that one can be stopped by itself.
type tasks struct {
	mu      sync.Mutex
	running map[string]context.CancelCauseFunc
}

// begin implements agent.Config.Tasks.
func (t *tasks) begin(ctx context.Context, task string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[task] = cancel
	return ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, task)
		cancel(nil)
	}
}

// stop ends a call; false when it does not run.
func (t *tasks) stop(task string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	cancel, ok := t.running[task]
	if ok {
		cancel(errTaskStopped)
	}
	return ok
}

func (t *tasks) stopAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cancel := range t.running {
		cancel(errTaskStopped)
	}
}

var errTaskStopped = &agent.Stopped{Reason: "stopped by the person"}
