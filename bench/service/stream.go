package service

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openmuse/muse/internal/mockmodel"
)

// StreamMark is how the words of a streamed answer begin.
const StreamMark = "Word"

// StartStream starts a service that answers every prompt with so many pieces of
// text, one each time that every has passed.
func StartStream(wire string, pieces int, every time.Duration) (Service, error) {
	if wire == Google {
		return nil, fmt.Errorf("the %s wire has no paced answers", wire)
	}
	var text strings.Builder
	for n := range pieces {
		// The mock service cuts a piece of three words.
		fmt.Fprintf(&text, "%s%05d stands here. ", StreamMark, n)
		if n%8 == 7 {
			text.WriteString("\n\n")
		}
	}
	return mockmodel.New(mockmodel.Options{Reply: func(call *mockmodel.Call) mockmodel.Reply {
		usage := mockmodel.Usage{Input: 1000, Output: 20}
		if len(call.Tools) == 0 { // a title of the session, or something like it
			return mockmodel.Reply{Text: "A title", Usage: usage}
		}
		return mockmodel.Reply{Text: text.String(), Usage: usage, Every: every}
	}})
}

// batch is how many calls one reply makes in a long session.
const batch = 50

// StartLong starts a service that makes so many calls of a tool, many a reply,
// then answers. The same calls go on after a compaction.
func StartLong(calls int, tool, args string) (Service, error) {
	var made atomic.Int64
	return mockmodel.New(mockmodel.Options{Reply: func(call *mockmodel.Call) mockmodel.Reply {
		r := mockmodel.Reply{Text: Answer, Usage: mockmodel.Usage{Input: 1000, Output: 20}}
		left := calls - int(made.Load())
		if len(call.Tools) == 0 || left <= 0 {
			return r
		}
		r.Text = ""
		for range min(batch, left) {
			made.Add(1)
			r.Calls = append(r.Calls, mockmodel.ToolCall{Name: tool, Args: args})
		}
		return r
	}})
}
