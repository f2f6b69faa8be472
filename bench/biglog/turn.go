package biglog

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/record"
)

// turn writes one prompt and what came of it.
func (w *writer) turn() error {
	w.run, w.position = ident.V4(), 0
	w.stats.Turns++
	prompt := w.text(w.size(80, 800))
	w.prompts += int64(len(prompt))
	blocks := []event.ContentBlock{{Kind: "text", Text: prompt}}
	err := w.add("",
		event.IntentAccepted{
			Bindings: []string{}, DeliveryPolicy: "session_current", IntentID: w.run,
			ModelMessages: []event.IntentMessage{{Content: blocks}}, RefillBlocks: blocks,
			SemanticKind: event.Kinded{Kind: "chat"}, SourceSessionID: w.Session, Surface: "main", WakePolicy: "start_once",
		},
		event.IntentMaterialized{IntentID: w.run, Outcome: event.IntentOutcome{Kind: "top_level_turn_started", RunID: w.run}},
		event.ModelConfigured{
			CommandID: w.run, DisplayLabel: w.Model, ModelID: w.Model, ProviderID: w.Provider,
			RunStream: event.RunRef(w.run), Source: "replay",
		},
		event.RunStarted{Prompt: prompt},
		event.RequestConfigured{
			BaseInstructions: w.text(3000), BaseSource: "built_in", Context: []event.ContextMessage{}, Reminders: []string{},
			Toolset: event.Toolset{ActiveTools: []string{"bash", "read_file", "search", "edit_file"}, Mode: "explicit", Source: "run"},
		},
	)
	for i := 0; err == nil && i < turnSteps && w.journal.Size() < w.Size; i++ {
		if err = w.step(); err == nil {
			err = w.commit()
		}
	}
	if err != nil {
		return err
	}
	answer := w.text(w.size(200, 3000))
	if err := w.model(answer, ""); err != nil {
		return err
	}
	usage := event.RunUsage{ModelCalls: turnSteps + 1, Steps: turnSteps + 1, ToolCalls: turnSteps}
	return w.add("", usage, event.RunTerminal{Terminal: "completed", Text: answer, DurationMS: 90_000})
}

// model writes one model call with its reasoning and its text.
func (w *writer) model(text, phase string) error {
	task, response := ident.V4(), "resp_"+ident.V4()
	kind, key := "model."+w.Provider+".response", "model:"+w.run+":"+task
	details, err := w.details(response)
	if err != nil {
		return err
	}
	err = w.add(task,
		event.TaskLinked{ExecutionMode: "foreground", TaskID: task, TaskStream: event.TaskRef(task)},
		event.TaskProposed{TaskID: task, TaskKind: kind},
		event.TaskAccepted{TaskID: task},
		event.TaskScheduled{TaskID: task, IdempotencyKey: key},
		event.TaskIntent{TaskID: task, IdempotencyKey: key, Operation: kind, PolicyDecision: "not_applicable"},
		event.TaskStarted{TaskID: task},
		event.TaskStatus{TaskID: task, Message: "opening " + w.Provider + " model stream attempt 1/10", Details: details},
		event.TaskStatus{TaskID: task, Message: "completed " + w.Provider + " model stream attempt 1/10", Details: details},
		event.ResponseCreated{ResponseID: response},
	)
	if err != nil {
		return err
	}
	if w.chance(0.7) {
		summary, item := w.text(w.size(100, 900)), "rs_"+ident.V4()
		sealed := w.sealed(w.size(600, 4000))
		message := ident.V4()
		w.said += int64(len(sealed)) / 2
		err = w.add("",
			event.SummaryParagraph{MessageID: message, Text: summary},
			event.SummaryCommitted{MessageID: message, ItemID: item, ResponseID: response, Text: summary},
			event.ReasoningCommitted{
				Encrypted: sealed, MessageID: ident.V4(), ModelID: w.Model, ProviderID: w.Provider, ItemID: item, ResponseID: response,
			},
		)
		if err != nil {
			return err
		}
	}
	err = w.add(task,
		event.ModelCompleted{DurationMS: 2100, Finish: "tool_calls", Model: w.Model, Usage: event.Usage{InputTokens: w.said / 4, OutputTokens: 300}},
		event.TaskCompleted{TaskID: task},
	)
	if err != nil || text == "" {
		return err
	}
	w.said += int64(len(text))
	return w.add("", event.AssistantMessage{MessageID: ident.V4(), Phase: phase, ItemID: "msg_" + ident.V4(), ResponseID: response, Text: text})
}

func (w *writer) details(response string) (jsontext.Value, error) {
	v, err := json.Marshal(map[string]any{
		"facets": []any{
			map[string]any{"attempt": 1, "kind": "external_attempt", "max_attempts": 10, "operation": "model.response", "system": w.Provider},
			map[string]any{"kind": "producer", "detail": map[string]any{
				"kind": "provider", "provider": w.Provider, "model": w.Model, "request_id": ident.V4(), "response_id": response,
			}},
		},
		"phase": "stream_succeeded",
	}, json.Deterministic(true))
	return v, err
}

// step writes one model call, the tools it asked for and what they returned.
func (w *writer) step() error {
	w.stats.Steps++
	before := w.said
	commentary := ""
	if w.chance(0.5) {
		commentary = w.text(w.size(60, 600))
	}
	if err := w.model(commentary, "commentary"); err != nil {
		return err
	}
	message := ident.V4()
	calls := event.ToolCalls{MessageID: message, ResponseID: "resp_" + ident.V4()}
	var texts []string
	for range 1 + w.rand.IntN(5)/4 { // now and then two at once
		call, text, err := w.call()
		if err != nil {
			return err
		}
		calls.Calls, texts = append(calls.Calls, call), append(texts, text)
		w.said += int64(len(call.Args) + len(text))
	}
	if err := w.add("", calls); err != nil {
		return err
	}
	results := event.ToolResults{BatchID: message}
	for i, call := range calls.Calls {
		if err := w.tool(i, call, texts[i]); err != nil {
			return err
		}
		results.Results = append(results.Results, event.ToolResult{CallID: call.CallID, Index: i, Text: texts[i]})
	}
	if err := w.add("", results); err != nil {
		return err
	}
	w.spans = append(w.spans, span{sequence: w.last, bytes: w.said - before})
	if w.prompts+w.said > roomBytes {
		return w.compact()
	}
	return nil
}

// call is a call and its result: commands with short output, files that are
// read, searches, edits.
func (w *writer) call() (event.ToolCall, string, error) {
	c := event.ToolCall{CallID: "call_" + strings.ReplaceAll(ident.V4(), "-", ""), ID: "fc_" + ident.V4()}
	var args map[string]any
	var text string
	switch p := w.rand.Float64(); {
	case p < 0.55:
		c.Name, args, text = "bash", map[string]any{"command": "go test ./... 2>&1 | tail -n 40"}, w.text(w.size(40, 12_000))
	case p < 0.8:
		c.Name, args, text = "read_file", map[string]any{"path": "internal/server/handler.go", "offset": 1}, w.text(w.size(800, 30_000))
	case p < 0.92:
		c.Name, args, text = "search", map[string]any{"pattern": "ErrClosed", "path": "internal"}, w.text(w.size(200, 8_000))
	default:
		c.Name, args, text = "edit_file", map[string]any{"path": "main.go", "old": w.text(300), "new": w.text(400)}, "edited main.go"
	}
	raw, err := json.Marshal(args, json.Deterministic(true))
	c.Args = string(raw)
	return c, text, err
}

// tool writes the life of one call.
func (w *writer) tool(index int, c event.ToolCall, text string) error {
	task, key := ident.V4(), "tool:"+c.CallID
	ref := event.TaskRef(task)
	err := w.add(task,
		event.TaskLinked{ExecutionMode: "foreground", TaskID: task, TaskStream: ref},
		event.TaskProposed{TaskID: task, TaskKind: "tool." + c.Name},
		event.TaskAccepted{TaskID: task},
		event.TaskScheduled{TaskID: task, IdempotencyKey: key},
		event.TaskIntent{TaskID: task, IdempotencyKey: key, Operation: "tool:" + c.Name, PolicyDecision: "allow:policy"},
		event.EffectStarted{
			CallID: c.CallID, EffectID: task, Kind: "started", ModelCallIndex: index,
			ParallelProfile: event.Kinded{Kind: "ineligible"}, TaskID: task, TaskStream: ref, ToolName: c.Name,
		},
		event.TaskStarted{TaskID: task, SpanID: ident.Span()},
	)
	if err != nil {
		return err
	}
	if c.Name == "bash" {
		for range len(text) / 4096 {
			if err := w.journal.AppendMarker(&record.Marker{}); err != nil {
				return err
			}
		}
	}
	return w.add(task,
		event.TaskOutput{TaskID: task, Chunk: text, Final: true},
		event.TaskCompleted{TaskID: task},
		event.EffectTerminal{
			CallID: c.CallID, EffectID: task, Kind: "terminal", ModelCallIndex: index,
			Outcome: event.EffectOutcome{Kind: "completed", TaskCompletion: event.TaskCompletion{Kind: "terminal", Terminal: event.Kinded{Kind: "completed"}}},
			TaskID:  task, TaskStream: ref,
		},
	)
}

// compact replaces all but the newest steps by a summary.
func (w *writer) compact() error {
	w.stats.Compactions++
	kept, from := int64(0), len(w.spans)-1
	for from > 1 && kept < keepBytes {
		kept += w.spans[from].bytes
		from--
	}
	through := w.spans[from].sequence
	n := w.stats.Compactions
	replacement := event.Replacement{Kind: "summary_text", Text: w.text(6000)}
	budget := event.PromptBudget{Source: "heuristic_estimate", Tokens: w.said / 4}
	after := event.PromptBudget{Source: "heuristic_estimate", Tokens: kept / 4, TargetMet: true}
	const strategy, trigger, timing = "summary-preserved-suffix/v1", "soft_threshold_async", "mid_turn"
	err := w.add("",
		event.CompactionCandidate{
			BudgetBefore: budget, BudgetAfter: after, CandidateID: fmt.Sprintf("candidate-%d", n), Diagnostics: []event.Diagnostic{},
			Preserved: event.SegmentHint{Head: through + 1, Tail: w.last}, Replacement: replacement,
			StartedAt: event.Cursor{Sequence: w.last}, Status: "succeeded",
			Strategy: event.CompactionStrategy{Fingerprint: "soft=0.8000,hard=0.9000", Family: "summary", ID: strategy},
			Through:  event.Cursor{Sequence: through}, Timing: timing, Trigger: trigger,
		},
		event.CompactionInstalled{
			BudgetAfter: after, BudgetBefore: budget, CandidateID: fmt.Sprintf("candidate-%d", n), InstallID: fmt.Sprintf("install-%d", n),
			Preserved: event.PreservedSegment{Head: through + 1, Tail: w.last}, Cache: event.CacheBoundary{Status: "reset"},
			Replacement: replacement, StrategyID: strategy, Through: event.Cursor{Sequence: through}, Timing: timing, Trigger: trigger,
		},
	)
	w.said, w.spans = kept, w.spans[from+1:]
	return err
}
