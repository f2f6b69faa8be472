package mockmodel

import (
	"strings"
	"testing"
	"time"
)

// TestPacedReply: a reply that is sent piece by piece is whole, and takes its
// time.
func TestPacedReply(t *testing.T) {
	const every = 2 * time.Millisecond
	text := strings.Repeat("some words here ", 10)
	s := start(t, Options{Reply: func(*Call) Reply { return Reply{Text: text, Every: every} }})
	before := time.Now()
	status, got := ask(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"go"}],"stream":true}`)
	took := time.Since(before)
	pieces := strings.Count(got, "data: ")
	if status != 200 || strings.Count(got, "some words here") != 10 || !strings.Contains(got, "[DONE]") {
		t.Errorf("%d %s", status, got)
	}
	if least := time.Duration(pieces-1) * every; took < least {
		t.Errorf("%d pieces took %s, and cannot have taken less than %s", pieces, took, least)
	}
}
