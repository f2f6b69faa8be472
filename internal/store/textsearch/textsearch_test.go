package textsearch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func log(events ...string) string {
	var b strings.Builder
	for i, e := range events {
		fmt.Fprintf(&b, `{"schema_version":1,"id":"x","stream":{"kind":"session","id":"s"},"sequence":%d,"recorded_at":%d,"record_type":"event","durability":"durable",`+
			`"causation_id":null,"payload_type":"runtime.session","payload_schema_version":1,"payload":{"event":%s,"kind":"run","run_id":"r"}}`+"\n", i+1, i+1, e)
	}
	return b.String()
}

func TestFind(t *testing.T) {
	text := "not json\n" + log(
		`{"kind":"started","prompt":"Fix the\n  LOGIN page"}`,
		`{"kind":"model_request_configured","base_instructions":"secret words"}`,
		`{"kind":"assistant_tool_calls_committed","tool_calls":[{"name":"bash","args":"{\"command\":\"grep -rn \\\"Übung\\\" .\"}"},{"name":"old","args":{"path":"an/object.go"}}]}`,
		`{"kind":"tool_result_batch_committed","results":[{"text":"`+strings.Repeat("ö", 200)+` needle `+strings.Repeat("ä", 200)+`"}]}`,
		`{"kind":"assistant_message_committed","text":"it says \"started\" again: login"}`,
	)
	for _, tt := range []struct {
		word, kind string
		at         int64
	}{
		{"the login", Prompt, 1}, {`grep -rn \"übung\"`, Call, 3}, {"an/object.go", Call, 3}, {"needle", Result, 4}, {"again", Answer, 5},
		{"secret", "", 0}, {"nowhere", "", 0},
	} {
		hits, err := Find(t.Context(), strings.NewReader(text), []string{tt.word})
		if err != nil || len(hits) != 1 {
			t.Fatal(hits, err)
		}
		h := hits[0]
		switch {
		case h == nil && tt.kind != "", h != nil && (h.Kind != tt.kind || h.At != tt.at):
			t.Errorf("%s: %+v", tt.word, h)
		case h != nil && (!strings.Contains(h.Text, tt.word) || len(h.Text) > len(tt.word)+3*around || !utf8.ValidString(h.Text)):
			t.Errorf("%s: shown as %q", tt.word, h.Text)
		}
	}
	hits, err := Find(t.Context(), strings.NewReader(text), []string{"again", "nowhere", "login"})
	if err != nil || hits[0] == nil || hits[1] != nil || hits[2] == nil || hits[2].At != 1 {
		t.Errorf("several: %+v, %v", hits, err)
	}
}

func TestFindEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, strings.NewReader(log(`{"kind":"started","prompt":"x"}`)), []string{"y"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
