package host

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/tool"
)

// compactAck answers a wish for a shorter conversation.
type compactAck struct {
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
}

// Outcome is the answer in the words of the record.
func (a compactAck) Outcome() string {
	if a.Accepted {
		return "accepted"
	}
	return "noop"
}

// Compact makes the conversation shorter; false and why when there is nothing
// to shorten. It is done at the next model call of the running turn, or at
// once between turns.
func (l *Live) Compact(ctx context.Context, c Command, turnID string) (accepted bool, reason string, err error) {
	out, err := command(ctx, l, c, nil, func() (compactAck, error) {
		busy := l.turn != nil && l.turn.id != ""
		last := l.lastTurn()
		switch {
		case turnID != "" && turnID != last && (!busy || turnID != l.turn.id):
			return compactAck{}, refuse(ReasonInvalidTarget, "turn %s is neither running nor the newest", oneLine(turnID, 64))
		case l.turn == nil && (last == "" || !l.loop.Compactable()):
			return compactAck{Reason: "no_compactable_history"}, nil
		}
		wish := agent.CompactionWish{ID: ident.V7(l.hub.opts.Now()), CommandID: c.ID}
		switch {
		case busy && l.turn.inbox.open():
			l.turn.inbox.wish(wish)
		case l.turn != nil:
			l.wishes = append(l.wishes, wish)
		default:
			l.after = append(l.after, l.compaction(wish))
		}
		return compactAck{Accepted: true}, nil
	})
	return out.Accepted, out.Reason, err
}

func (l *Live) lastTurn() string {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	if n := len(st.turns); n > 0 {
		return st.turns[n-1].id
	}
	return ""
}

// compaction makes a compaction between turns the running work and returns
// what starts it. The lock is held and nothing runs.
func (l *Live) compaction(w agent.CompactionWish) (start func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &running{cancel: cancel, inbox: &inbox{closed: true}, done: make(chan struct{})}
	l.turn = t
	run, settings := l.lastTurn(), l.settings
	return func() {
		go func() {
			defer cancel(nil)
			l.loop.Use(settings)
			err := l.loop.Compact(ctx, run, w)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.ended(t, err)
		}()
	}
}

// UserShell runs a person's own command line beside the agent; how it ended is
// an event.
func (l *Live) UserShell(ctx context.Context, c Command, text string) error {
	if text == "" {
		return badParams("the command line is empty")
	}
	_, err := command(ctx, l, c, nil, func() (none, error) {
		if l.gear.UserShell == nil {
			return none{}, refuse(ReasonShellDisabled, "this host runs no commands")
		}
		client := c.Client
		if err := l.fact(event.UserShellCommand{ClientID: &client, CommandID: c.ID, CommandText: text}); err != nil {
			return none{}, err
		}
		run, cancel := context.WithCancel(context.Background())
		l.shells[c.ID] = cancel
		l.beside.Add(1)
		l.after = append(l.after, func() { go l.shell(run, c.ID, text) })
		return none{}, nil
	})
	return err
}

// shell runs a person's command line to its end.
func (l *Live) shell(ctx context.Context, id, text string) {
	defer l.beside.Done()
	began := l.hub.opts.Now()
	var shown int64 // bytes; the tool reports from one goroutine at a time
	res := l.gear.UserShell(ctx, tool.Call{ID: "shell_" + id, TaskID: id, Progress: func(chunk string) {
		l.s.rec.Live(event.Event{Body: event.UserShellOutput{CommandID: id, Chunk: chunk, Offset: shown}})
		shown += int64(len(chunk))
	}}, text)
	out := shellResult(id, res, l.hub.opts.Now().Sub(began))
	if ctx.Err() != nil {
		out.TerminalState = "cancelled"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel := l.shells[id]; cancel != nil {
		cancel()
		delete(l.shells, id)
	}
	if l.fact(out) == nil {
		l.keep()
	}
	l.watchIdle()
}

// shellResult reads what the bash tool said of a command.
func shellResult(id string, res tool.Result, took time.Duration) event.UserShellResult {
	out := event.UserShellResult{CommandID: id, DurationMS: took.Milliseconds(), TerminalState: "completed", VisibleOutput: res.Text}
	var said struct {
		Output    *string `json:"output"`
		ExitCode  *int    `json:"exit_code"`
		Truncated bool    `json:"truncated"`
	}
	if json.Unmarshal([]byte(res.Text), &said) == nil && said.Output != nil {
		out.VisibleOutput, out.ExitCode, out.Truncated = *said.Output, said.ExitCode, said.Truncated
	}
	if res.Failed || out.ExitCode != nil && *out.ExitCode != 0 {
		out.TerminalState = "failed"
	}
	if res.Spill != nil {
		out.OutputRef = &event.OutputRef{
			ByteLen: res.Spill.Bytes, Digest: res.Spill.SHA, ID: ident.V4(), Kind: res.Spill.Kind, MediaType: "text/plain",
			Path: res.Spill.Name, URI: "tool-output://local/" + id + "/" + res.Spill.Name,
		}
	}
	return out
}

// Stop ends one running call of a turn, or one of a person's commands. The
// command is known as long as this host lives.
func (l *Live) Stop(ctx context.Context, c Command, taskID string) error {
	_, err := l.once(ctx, c, func() (string, error) {
		if cancel := l.shells[taskID]; cancel != nil {
			cancel()
			return "", nil
		}
		if !l.tasks.stop(taskID) {
			return "", refuse(ReasonInvalidTarget, "task %s does not run", oneLine(taskID, 64))
		}
		return "", nil
	})
	return err
}

// StopAll ends every running call, every command of a person and every command
// in the background.
func (l *Live) StopAll(ctx context.Context, c Command) error {
	_, err := l.once(ctx, c, func() (string, error) {
		l.tasks.stopAll()
		for _, cancel := range l.shells {
			cancel()
		}
		return "", nil
	})
	if err == nil && l.gear.StopBackground != nil {
		l.gear.StopBackground()
	}
	return err
}

// InBackground lists the commands that run while no call waits for them, the
// oldest first.
func (l *Live) InBackground() []tool.InBackground {
	if l.gear.InBackground == nil {
		return nil
	}
	return l.gear.InBackground()
}

// Background lets a turn go on while one of its calls does.
func (l *Live) Background(ctx context.Context, c Command, taskID string) error {
	_, err := command(ctx, l, c, nil, func() (none, error) {
		l.s.state.mu.Lock()
		t, runs := l.s.state.tasks[taskID]
		l.s.state.mu.Unlock()
		if !runs || l.gear.Background == nil || !l.gear.Background(taskID) {
			return none{}, refuse(ReasonInvalidTarget, "task %s cannot go to the background", oneLine(taskID, 64))
		}
		return none{}, l.recordRun(t.run, event.TaskBackgrounded{CallID: t.call, CommandID: c.ID, Initiator: "user", TaskID: taskID})
	})
	return err
}
