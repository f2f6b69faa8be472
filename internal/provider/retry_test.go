package provider

import (
	"testing"
	"time"
)

func TestAgain(t *testing.T) {
	p := Policy{MaxAttempts: 3}
	for _, tt := range []struct {
		class   Class
		attempt int
		want    bool
	}{
		{RateLimit, 1, true}, {Overloaded, 2, true}, {Server, 1, true}, {Network, 1, true},
		{Server, 3, false}, {Server, 4, false},
		{Quota, 1, false}, {Billing, 1, false}, {Authentication, 1, false}, {InvalidRequest, 1, false},
		{ModelNotFound, 1, false}, {ContextLength, 1, false}, {OutputLimit, 1, false}, {NotReachable, 1, false}, {Cancelled, 1, false},
	} {
		if got := p.Again(tt.attempt, &Error{Class: tt.class}); got != tt.want {
			t.Errorf("%s after attempt %d: %v", tt.class, tt.attempt, got)
		}
		if !tt.class.Known() {
			t.Errorf("%s is not known", tt.class)
		}
	}
	if Class("other").Known() {
		t.Error("an unknown class is known")
	}
}

func TestDelay(t *testing.T) {
	p := Policy{MaxAttempts: 10, Base: time.Second, Cap: 10 * time.Second, RetryAfterCap: time.Minute}
	for _, tt := range []struct {
		name    string
		attempt int
		asked   time.Duration
		random  float64
		want    time.Duration
	}{
		{"lowest", 1, 0, 0, 0},
		{"first, middle", 1, 0, 0.5, time.Second},
		{"second, middle", 2, 0, 0.5, 2 * time.Second},
		{"third, middle", 3, 0, 0.5, 4 * time.Second},
		{"cap", 6, 0, 0.5, 5 * time.Second},
		{"far", 5000, 0, 0.5, 5 * time.Second},
		{"not counted", 0, 0, 0.5, time.Second},
		{"asked", 1, 20 * time.Second, 0, 20 * time.Second},
		{"asked, with jitter", 1, 20 * time.Second, 0.5, 21 * time.Second},
		{"asked for less than the back-off", 9, time.Second, 0, time.Second},
		{"asked for too long", 1, 24 * time.Hour, 0.9, time.Minute},
	} {
		got := p.Delay(tt.attempt, &Error{Class: Server, RetryAfter: tt.asked}, func() float64 { return tt.random })
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestDefaultPolicyStaysInBounds(t *testing.T) {
	p := DefaultPolicy()
	for attempt := range 100 {
		d := p.Delay(attempt, &Error{Class: Server}, func() float64 { return 0.999999 })
		if d < 0 || d > p.Cap {
			t.Errorf("attempt %d waits %v", attempt, d)
		}
	}
}
