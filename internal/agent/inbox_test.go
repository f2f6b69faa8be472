package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/tool"
)

// box is an inbox with what was put into it.
type box struct {
	words    [][]event.Notice // by call
	last     []bool
	settings *Settings
	wish     *CompactionWish
}

func (b *box) Words(last bool) []event.Notice {
	b.last = append(b.last, last)
	if len(b.words) == 0 {
		return nil
	}
	w := b.words[0]
	b.words = b.words[1:]
	return w
}

func (b *box) Settings() (s Settings, ok bool) {
	if b.settings == nil {
		return s, false
	}
	s, b.settings = *b.settings, nil
	return s, true
}

func (b *box) Compaction() (w CompactionWish, ok bool) {
	if b.wish == nil {
		return w, false
	}
	w, b.wish = *b.wish, nil
	return w, true
}

func words(texts ...string) (out []event.Notice) {
	for _, text := range texts {
		out = append(out, event.Notice{
			Body: text, Disposition: "delivered", Source: event.NoticeSource{Source: event.UserSteer}, Payload: &event.NoticePayload{Prompt: text},
		})
	}
	return out
}

// TestWordsKeepATurnGoing: what comes in before a model call is part of it, and
// what comes in before the end is answered.
func TestWordsKeepATurnGoing(t *testing.T) {
	m := &memory{}
	b := &box{words: [][]event.Notice{words("a", "b"), words("c")}}
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"text":"one"},{"text":"two"}]}`), m, toolbox{}, func(c *Config) { c.Inbox = b })
	out := turnOnce(t, l, "go")
	if out.Text != "two" {
		t.Errorf("got %+v", out)
	}
	var order []string
	for _, r := range m.kept {
		switch e := r.Body.(type) {
		case event.Notice:
			order = append(order, e.Body)
		case event.AssistantMessage:
			order = append(order, e.Text)
		case event.RunTerminal:
			order = append(order, e.Terminal)
		}
	}
	if got := strings.Join(order, " "); got != "a b one c two completed" {
		t.Errorf("order %s", got)
	}
	if !b.last[len(b.last)-1] {
		t.Errorf("the turn ended without asking for the last words: %v", b.last)
	}
}

// TestWordsOutliveAnInterruptedTurn: they are recorded before its end.
func TestWordsOutliveAnInterruptedTurn(t *testing.T) {
	m := &memory{}
	ctx, cancel := context.WithCancelCause(t.Context())
	b := &box{}
	stop := echoTool("stop", false, false)
	stop.run = func(context.Context, tool.Call) tool.Result {
		b.words = [][]event.Notice{words("late")}
		cancel(&Stopped{Reason: "enough"})
		return tool.Fail("cancelled")
	}
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"tool_calls":[{"name":"stop","args":{}}]}]}`), m, toolbox{"stop": stop}, func(c *Config) { c.Inbox = b })
	out, err := l.Turn(ctx, Prompt{Run: "r", Text: "go"})
	if err != nil || out.Terminal != "cancelled" || out.Reason != "enough" {
		t.Fatalf("got %+v, %v", out, err)
	}
	if !strings.HasSuffix(m.names(), "Notice RunUsage RunTerminal") {
		t.Errorf("events end %s", m.names())
	}
	end := m.kept[len(m.kept)-1].Body.(event.RunTerminal)
	if end.Reason == nil || *end.Reason != "enough" {
		t.Errorf("got %+v", end)
	}
}

func TestSettingsHoldFromTheNextCall(t *testing.T) {
	m := &memory{}
	b := &box{}
	change := echoTool("change", false, false)
	other := played(t, `{"schema_version":1,"replies":[{"text":"never"},{"text":"from the other"}]}`)
	change.run = func(context.Context, tool.Call) tool.Result {
		b.settings = &Settings{Provider: other, Model: Model{ID: "other-model"}, Effort: "high"}
		return tool.Result{Text: "ok"}
	}
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"tool_calls":[{"name":"change","args":{}}]},{"text":"from the first"}]}`), m,
		toolbox{"change": change}, func(c *Config) { c.Inbox = b })
	if out := turnOnce(t, l, "go"); out.Text != "from the other" {
		t.Errorf("got %+v", out)
	}
	if l.Model.ID != "other-model" || l.Effort != "high" {
		t.Errorf("the loop has %s, %s", l.Model.ID, l.Effort)
	}
}

func TestAWishForAShorterConversation(t *testing.T) {
	m := &memory{}
	b := &box{}
	l := testLoop(played(t, `{"schema_version":1,"summary":"in short","replies":[{"text":"one"},{"text":"two"}]}`), m, toolbox{}, func(c *Config) { c.Inbox = b })
	if l.Compactable() {
		t.Error("an empty conversation can be made shorter")
	}
	settled := func() (out []event.CompactionSettled) {
		for _, r := range m.kept {
			if s, ok := r.Body.(event.CompactionSettled); ok {
				out = append(out, s)
			}
		}
		return out
	}
	if err := l.Compact(t.Context(), "r", CompactionWish{ID: "c0"}); err != nil {
		t.Fatal(err)
	}
	if s := settled(); len(s) != 1 || s[0].Outcome != "noop" {
		t.Errorf("got %+v", s)
	}
	turnOnce(t, l, strings.Repeat("long ", 1000))
	if err := l.Compact(t.Context(), "r", CompactionWish{ID: "c1", CommandID: "k"}); err != nil {
		t.Fatal(err)
	}
	if s := settled(); len(s) != 2 || s[1].Outcome != "compacted" || s[1].InstallID == "" {
		t.Errorf("got %+v", s)
	}
	b.wish = &CompactionWish{ID: "c2"}
	turnOnce(t, l, "again")
	if s := settled(); len(s) != 3 || s[2].CompactionID != "c2" {
		t.Errorf("got %+v", s)
	}
}

// TestOneCallHasItsOwnEnd: a call that is stopped is cancelled, and the turn
// goes on.
func TestOneCallHasItsOwnEnd(t *testing.T) {
	m := &memory{}
	wait := echoTool("wait", false, false)
	wait.run = func(ctx context.Context, _ tool.Call) tool.Result {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
		return tool.Fail("stopped")
	}
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"tool_calls":[{"name":"wait","args":{}}]},{"text":"went on"}]}`), m, toolbox{"wait": wait}, func(c *Config) {
		c.Tasks = func(ctx context.Context, _ string) (context.Context, func()) {
			own, cancel := context.WithCancel(ctx)
			cancel()
			return own, func() {}
		}
	})
	if out := turnOnce(t, l, "go"); out.Text != "went on" {
		t.Errorf("got %+v", out)
	}
	if !strings.Contains(m.names(), "TaskCancelled") {
		t.Errorf("events %s", m.names())
	}
}
