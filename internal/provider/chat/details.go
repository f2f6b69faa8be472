package chat

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// detail is one block of reasoning_details, the form in which OpenRouter passes
// on reasoning that is signed or sealed. It comes in pieces and goes back whole.
type detail struct {
	Type      string         `json:"type"`
	ID        jsontext.Value `json:"id,omitzero"`
	Format    jsontext.Value `json:"format,omitzero"`
	Index     jsontext.Value `json:"index,omitzero"`
	Summary   string         `json:"summary,omitzero"`
	Text      string         `json:"text,omitzero"`
	Signature string         `json:"signature,omitzero"`
	Data      string         `json:"data,omitzero"`
}

// merge adds pieces to blocks: a piece goes on with the last block when type
// and index are the same.
func merge(blocks, pieces []detail) []detail {
	for _, p := range pieces {
		if len(blocks) > 0 {
			last := &blocks[len(blocks)-1]
			if last.Type == p.Type && string(last.Index) == string(p.Index) && p.Data == "" {
				last.Summary += p.Summary
				last.Text += p.Text
				if p.Signature != "" {
					last.Signature = p.Signature
				}
				if last.ID == nil {
					last.ID = p.ID
				}
				continue
			}
		}
		blocks = append(blocks, p)
	}
	return blocks
}

// encodeDetails is the blocks as JSON, "" without any.
func encodeDetails(blocks []detail) string {
	if len(blocks) == 0 {
		return ""
	}
	b, err := json.Marshal(blocks)
	if err != nil {
		return "" // raw members were valid when they came
	}
	return string(b)
}
