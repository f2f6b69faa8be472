package wires

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/mockmodel"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// BenchmarkStep is one model call of a session of 100 steps over a real
// connection: the request with all its history and a reply of one tool call.
func BenchmarkStep(b *testing.B) {
	for _, wire := range online {
		b.Run(wire, func(b *testing.B) {
			server, p := benchServer(b, wire, mockmodel.Options{Steps: 1 << 30})
			defer server()
			items := []provider.Item{user("Run the steps")}
			for i := range 100 {
				id := fmt.Sprintf("call_%d", i)
				items = append(items,
					provider.Item{ToolCall: &provider.ToolCall{CallID: id, Name: "bash", Args: `{"command":"echo step","description":"run a step"}`}},
					provider.Item{ToolResult: &provider.ToolResult{CallID: id, Text: strings.Repeat("output ", 60)}})
			}
			req := request(items...)
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Stream(b.Context(), req, func(provider.Part) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDeltas is a long answer: what an event costs.
func BenchmarkDeltas(b *testing.B) {
	text := strings.Repeat("some words of an answer ", 2000)
	for _, wire := range online {
		b.Run(wire, func(b *testing.B) {
			server, p := benchServer(b, wire, mockmodel.Options{Answer: text})
			defer server()
			req := request(user("go"))
			req.Tools = nil
			events := 0
			b.ReportAllocs()
			for b.Loop() {
				events = 0
				err := p.Stream(b.Context(), req, func(part provider.Part) error {
					if part.TextDelta != "" {
						events++
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
		})
	}
}

func benchServer(b *testing.B, wire string, o mockmodel.Options) (stop func(), p provider.Provider) {
	b.Helper()
	server, err := mockmodel.New(o)
	if err != nil {
		b.Fatal(err)
	}
	opened, err := Open(Options{Wire: wire, Transport: transport.Options{BaseURL: server.URL() + "/v1"}})
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		opened.Close()
		if err := server.Close(); err != nil {
			b.Error(err)
		}
	}, opened.Provider
}
