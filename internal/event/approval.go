package event

import "github.com/go-json-experiment/json/jsontext"

// Approval is a question about an action, its automated review, or the
// decision (seed 000, Approval events; payload version 3). Fields is a JSON
// object: the shapes belong to package permission, which makes and reads them.
type Approval struct {
	approvalEvent
	Kind   string // "requested", "automated_review_started", …, "decision_applied"
	Fields jsontext.Value
}
