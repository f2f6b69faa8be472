package host

import (
	"context"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
)

// Statuses of a goal.
const (
	goalActive = "active"
	goalPaused = "paused"
)

type goalAck struct {
	TurnID string `json:"turn_id,omitempty"`
}

// Goal carries out "set", "edit", "clear", "pause" or "resume" and names the
// turn it woke or joined, "" for none.
func (l *Live) Goal(ctx context.Context, c Command, verb, objective string) (turnID string, err error) {
	objective = strings.TrimSpace(objective)
	if (verb == "set" || verb == "edit") && objective == "" {
		return "", badParams("the objective is empty")
	}
	out, err := command(ctx, l, c, nil, func() (goalAck, error) {
		l.s.state.mu.Lock()
		present := l.s.state.goal
		l.s.state.mu.Unlock()
		if verb != "set" && present == nil {
			return goalAck{}, refuse(ReasonMissingGoal, "the session has no goal")
		}
		var goal *event.Goal
		switch verb {
		case "set":
			goal = &event.Goal{Objective: objective, Status: goalActive}
		case "clear":
		default:
			changed := *present
			goal = &changed
			switch verb {
			case "edit":
				goal.Objective = objective
			case "pause":
				goal.Status = goalPaused
			case "resume":
				goal.Status = goalActive
			default:
				return goalAck{}, badParams("there is no goal verb %q", oneLine(verb, 40))
			}
		}
		if err := l.fact(event.GoalChanged{Action: verb, CommandID: c.ID, Goal: goal}); err != nil {
			return goalAck{}, err
		}
		if goal == nil || goal.Status != goalActive || verb == "pause" {
			return goalAck{}, nil
		}
		return l.wake(c, goal)
	})
	return out.TurnID, err
}

// wake starts a turn that works towards the goal, or tells the running one.
func (l *Live) wake(c Command, goal *event.Goal) (goalAck, error) {
	told := event.Notice{
		Disposition: "delivered", Source: event.NoticeSource{Source: "goal"}, Summary: "the goal of the session",
		Body: "The person set the goal of this session: " + goal.Objective + "\nGo on with what you are doing where it serves the goal; then work towards it.",
	}
	if l.turn != nil && l.turn.id != "" && l.turn.inbox.put(told) {
		return goalAck{TurnID: l.turn.id}, nil
	}
	run := ident.V7(l.hub.opts.Now())
	ack, err := l.admit(Input{
		Run: run, Command: c.ID, Display: goal.Objective,
		Text: "Work towards this goal until it is reached or you cannot go on: " + goal.Objective,
	}, "goal")
	return goalAck{TurnID: ack.TurnID}, err
}

// pauseGoal pauses a goal that is worked towards: who stops the work does not
// want it taken up again by itself. The lock is held.
func (l *Live) pauseGoal() error {
	l.s.state.mu.Lock()
	present := l.s.state.goal
	l.s.state.mu.Unlock()
	if present == nil || present.Status != goalActive {
		return nil
	}
	paused := *present
	paused.Status = goalPaused
	return l.fact(event.GoalChanged{Action: "pause", Goal: &paused})
}
