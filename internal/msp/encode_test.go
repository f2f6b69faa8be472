package msp

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestEncode(t *testing.T) {
	at := time.UnixMilli(1754590931500)
	refusal := SessionNotLoaded("s")
	tests := []struct {
		name string
		make func() ([]byte, error)
		want string
	}{
		{"request", func() ([]byte, error) {
			return EncodeRequest(IntID(1), MethodViewUnsubscribe, ViewUnsubscribeParams{SessionID: "s"})
		}, `{"jsonrpc":"2.0","id":1,"method":"view/unsubscribe","params":{"sessionId":"s"}}`},
		{"request without params", func() ([]byte, error) { return EncodeRequest(StringID("u"), MethodUsageRead, nil) },
			`{"jsonrpc":"2.0","id":"u","method":"usage/read"}`},
		{"notification of a client", func() ([]byte, error) { return EncodeNotification(NoteInitialized, nil, time.Time{}) },
			`{"jsonrpc":"2.0","method":"initialized"}`},
		{"notification of the host", func() ([]byte, error) {
			return EncodeNotification(NoteViewGap, ViewGapParams{SessionID: "s", After: "v:s:1", Next: "v:s:9"}, at)
		}, `{"jsonrpc":"2.0","method":"view/gap","params":{"sessionId":"s","after":"v:s:1","next":"v:s:9"},"emittedAtMs":1754590931500}`},
		{"result", func() ([]byte, error) {
			return EncodeResult(IntID(1), SessionListResult{})
		}, `{"jsonrpc":"2.0","id":1,"result":{"nextCursor":null,"sessions":[]}}`},
		{"empty result", func() ([]byte, error) { return EncodeResult(IntID(1), nil) }, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"error", func() ([]byte, error) { return EncodeError(IntID(1), refusal) },
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32024,"message":"session s is not loaded","data":{"kind":"sessionNotLoaded","sessionId":"s"}}}`},
		{"error without id", func() ([]byte, error) { return EncodeError(RequestId{}, ParseError("x")) },
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error: x","data":{"kind":"parseError"}}}`},
		{"line feeds are escaped", func() ([]byte, error) {
			return EncodeNotification(NoteSkillChanged, SkillChangedParams{SessionID: "a\nb\r"}, time.Time{})
		}, `{"jsonrpc":"2.0","method":"skill/changed","params":{"sessionId":"a\nb\r"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.make()
			if err != nil {
				t.Fatal(err)
			}
			// Order of members means nothing; ours is kept here to see changes.
			if string(got) != tt.want+"\n" {
				t.Errorf("got  %swant %s", got, tt.want)
			}
		})
	}
}

func TestEncodeKeepsTheCap(t *testing.T) {
	params := SkillChangedParams{SessionID: strings.Repeat("x", FrameCap)}
	if _, err := EncodeNotification(NoteSkillChanged, params, time.Time{}); !errors.Is(err, ErrFrameTooLarge) {
		t.Errorf("error %v, want %v", err, ErrFrameTooLarge)
	}
	empty, err := EncodeNotification(NoteSkillChanged, SkillChangedParams{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	params.SessionID = strings.Repeat("x", FrameCap-(len(empty)-1))
	if line, err := EncodeNotification(NoteSkillChanged, params, time.Time{}); err != nil || len(line) != FrameCap+1 {
		t.Errorf("a frame of exactly the cap: %d bytes, %v", len(line), err)
	}
}
