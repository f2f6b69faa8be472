package echo

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/provider"
)

func user(text string) provider.Item {
	return provider.Item{User: &provider.UserMessage{Text: text}}
}

func TestAnswersTheNewestPrompt(t *testing.T) {
	req := &provider.Request{Model: "m", Items: []provider.Item{
		user("first"),
		{Assistant: &provider.AssistantMessage{Text: "echo: first"}},
		user("print hello"),
	}}
	var deltas, text string
	var done *provider.Completed
	err := New(Options{}).Stream(t.Context(), req, func(p provider.Part) error {
		deltas += p.TextDelta
		if p.Text != nil {
			text = p.Text.Text
		}
		if p.Completed != nil {
			done = p.Completed
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "echo: print hello"; deltas != want || text != want {
		t.Errorf("deltas %q, text %q, want %q", deltas, text, want)
	}
	if done == nil || done.Finish != provider.FinishStop {
		t.Errorf("completed = %+v", done)
	}
}

func TestRefusals(t *testing.T) {
	picture := provider.Item{User: &provider.UserMessage{Images: []provider.Image{{MediaType: "image/png"}}}}
	for name, req := range map[string]*provider.Request{
		"effort": {Items: []provider.Item{user("x")}, Effort: provider.EffortLow},
		"images": {Items: []provider.Item{picture}},
	} {
		t.Run(name, func(t *testing.T) {
			err := New(Options{}).Stream(t.Context(), req, func(provider.Part) error {
				t.Error("a part was sent")
				return nil
			})
			var failure *provider.Error
			if !errors.As(err, &failure) || failure.Class != provider.InvalidRequest {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestDelayEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := New(Options{Delay: time.Hour}).Stream(ctx, &provider.Request{Items: []provider.Item{user("x")}},
		func(provider.Part) error { return nil })
	var failure *provider.Error
	if !errors.As(err, &failure) || failure.Class != provider.Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestEmitErrorIsReturnedAsItIs(t *testing.T) {
	stop := errors.New("stop")
	err := New(Options{}).Stream(t.Context(), &provider.Request{Items: []provider.Item{user("x")}},
		func(provider.Part) error { return stop })
	if err != stop { // identity is the contract
		t.Errorf("error = %v", err)
	}
}
