package event

import "github.com/go-json-experiment/json/jsontext"

// TaskProposed opens a task: "model.<provider>.response" or "tool.<name>".
type TaskProposed struct {
	taskEvent
	TaskID   string `json:"task_id"`
	TaskKind string `json:"task_kind"`
}

// TaskAccepted follows the proposal.
type TaskAccepted struct {
	taskEvent
	TaskID string `json:"task_id"`
}

// TaskScheduled binds the task to its idempotency key: "tool:<call id>" or
// "model:<run>:<task>".
type TaskScheduled struct {
	taskEvent
	IdempotencyKey string `json:"idempotency_key"`
	TaskID         string `json:"task_id"`
}

// TaskIntent announces an act before it happens: it is durable before a tool
// with effects runs.
type TaskIntent struct {
	taskEvent
	CancellationHandle *string `json:"cancellation_handle"`
	IdempotencyKey     string  `json:"idempotency_key"`
	Operation          string  `json:"operation"`
	ParentTaskID       *string `json:"parent_task_id"`
	PolicyDecision     string  `json:"policy_decision"`
	TaskID             string  `json:"task_id"`
}

// TaskStarted says that the work began; SpanID only for tools.
type TaskStarted struct {
	taskEvent
	SpanID string `json:"span_id,omitempty"`
	TaskID string `json:"task_id"`
}

// TaskStatus is progress of a model task. Details is an object whose shape is
// STREAM.md (a), Model status.details.
type TaskStatus struct {
	taskEvent
	Details jsontext.Value `json:"details"`
	Message string         `json:"message"`
	TaskID  string         `json:"task_id"`
}

// TaskOutput is the final output of a tool task.
type TaskOutput struct {
	taskEvent
	Chunk string `json:"chunk"`
	Final bool   `json:"final_result,omitempty"`
	// Images are kept with the output so that a result survives a process that
	// ends before its batch is committed.
	Images []ContentBlock `json:"images,omitempty"`
	TaskID string         `json:"task_id"`
}

// TaskOutputRef names the file that holds a result too long for the model.
type TaskOutputRef struct {
	taskEvent
	Availability string    `json:"availability"` // "available"
	Ref          OutputRef `json:"output_ref"`
	TaskID       string    `json:"task_id"`
}

// OutputRef is one spilled file; Path is relative to the session directory.
type OutputRef struct {
	ByteLen   int64  `json:"byte_len"`
	Digest    string `json:"digest"`
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	MediaType string `json:"media_type"`
	Path      string `json:"path"`
	URI       string `json:"uri"` // "tool-output://local/<task id>/<file>"
}

// TaskCompleted ends a task that did its work.
type TaskCompleted struct {
	taskEvent
	TaskID string `json:"task_id"`
}

// TaskFailed ends a task that did not.
type TaskFailed struct {
	taskEvent
	Reason string `json:"reason"`
	TaskID string `json:"task_id"`
}

// TaskCancelled ends a task that was stopped.
type TaskCancelled struct {
	taskEvent
	Reason string `json:"reason"`
	TaskID string `json:"task_id"`
}
