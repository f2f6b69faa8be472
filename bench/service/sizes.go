package service

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/mockmodel"
)

// Sizes are the bytes of a request's body and of its constant parts as they
// stand in it.
type Sizes struct {
	Body         int `json:"body"`
	Tools        int `json:"tools"`
	ToolCount    int `json:"tool_count"`
	Instructions int `json:"instructions"` // of the system and the developer
}

// Measure takes a request apart.
func Measure(r mockmodel.Request) (Sizes, error) {
	s := Sizes{Body: len(r.Body)}
	var req struct {
		Tools        jsontext.Value `json:"tools"`
		Instructions jsontext.Value `json:"instructions"`      // Responses
		System       jsontext.Value `json:"system"`            // Messages
		Google       jsontext.Value `json:"systemInstruction"` // generateContent
		Input        jsontext.Value `json:"input"`             // Responses
		Messages     jsontext.Value `json:"messages"`          // Chat Completions, Messages
	}
	if err := json.Unmarshal(r.Body, &req); err != nil {
		return s, fmt.Errorf("read the first request: %w", err)
	}
	s.Tools = len(req.Tools)
	var tools []struct {
		Functions []jsontext.Value `json:"functionDeclarations"`
	}
	if req.Tools != nil {
		if err := json.Unmarshal(req.Tools, &tools); err != nil {
			return s, fmt.Errorf("read the tools of the first request: %w", err)
		}
	}
	for _, t := range tools {
		s.ToolCount += max(1, len(t.Functions))
	}
	s.Instructions = len(req.Instructions) + len(req.System) + len(req.Google)
	for _, list := range []jsontext.Value{req.Input, req.Messages} {
		if list.Kind() != '[' {
			continue
		}
		var items []jsontext.Value
		if err := json.Unmarshal(list, &items); err != nil {
			return s, fmt.Errorf("read the messages of the first request: %w", err)
		}
		for _, item := range items {
			var m struct {
				Role string `json:"role"`
			}
			if json.Unmarshal(item, &m) == nil && (m.Role == "system" || m.Role == "developer") {
				s.Instructions += len(item)
			}
		}
	}
	return s, nil
}
