package cli_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/mockmodel"
	"github.com/openmuse/muse/internal/msp"
)

// A dialogue is what a client and a host said to each other, one line each.
type spoken struct {
	Dir string `json:"dir"` // "client" or "server"
	Raw string `json:"raw"`
}

func readDialogue(t *testing.T, name string) []spoken {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []spoken
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, msp.FrameCap)
	for lines.Scan() {
		var s spoken
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// frame is a line as far as a replay looks at it.
type frame struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
	Result map[string]any `json:"result"`
	Error  map[string]any `json:"error"`
}

func readFrame(t *testing.T, line []byte) frame {
	t.Helper()
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		t.Fatalf("unreadable frame %s: %v", line, err)
	}
	return f
}

// name is what a frame is: two frames with the same name stand for each other.
func (f frame) name() string {
	switch {
	case f.Method == "":
		return "reply to " + string(f.ID)
	case f.ID != nil:
		return "request " + f.Method
	}
	if item, ok := f.Params["item"].(map[string]any); ok {
		return fmt.Sprintf("%s of %v", f.Method, item["kind"])
	}
	return f.Method
}

// extra reports whether a host may say this where the recorded one did not:
// states and counts beside the dialogue, and the parts of a message that the
// recording left out.
func (f frame) extra() bool {
	switch f.Method {
	case msp.NoteSessionStatusChanged, msp.NoteSessionTokenUsage, msp.NoteSessionContextUsage, msp.NoteSessionBranchChanged,
		msp.NoteTurnRetryScheduled, msp.NoteItemUpdated, msp.NoteItemDelta, msp.NoteSessionClosed:
		return f.ID == nil
	}
	item, ok := f.Params["item"].(map[string]any)
	return ok && slices.Contains([]any{"agentMessage", "userMessage", "reasoning", "toolCall"}, item["kind"])
}

// replay walks through a recorded dialogue with a live host. Ids, cursors,
// times and paths of the recording stand for those of the host.
type replay struct {
	*live
	model *model
	lines []spoken
	scene scene

	bound map[string]string         // recorded text → the host's
	ids   map[string]jsontext.Value // recorded id of a server request → the host's
	diffs []string
}

// scene is what a dialogue needs around it.
type scene struct {
	// words are the recorded prompts and answers and what is said here instead.
	words map[string]string
	reply func(*mockmodel.Call) mockmodel.Reply
	// before makes what a recording takes for granted, behind the handshake.
	before func(*replay)
	// holds are prompts that the model answers when the reply with this id came.
	holds        []string
	releaseAfter string
	// differs says why the host answers a line in another way than recorded, by
	// line; the frame is still of the same name.
	differs map[int]string
	// absent says why the host does not say a line at all, by line.
	absent map[int]string
	// failFirst are the model calls that fail at once, failLater those that fail
	// behind the first one that did not.
	failFirst, failLater int
	// otherwise replays what this host does instead of the whole dialogue.
	otherwise func(t *testing.T)
	args      []string
	loose     bool // its order is not fixed: it is no dialogue of our own
}

func (r *replay) run() {
	r.t.Helper()
	for i := 0; i < len(r.lines); i++ {
		if i == 3 && r.scene.before != nil {
			r.scene.before(r)
		}
		line := r.lines[i]
		want := readFrame(r.t, []byte(line.Raw))
		if line.Dir == "client" {
			r.say(want, line.Raw)
			continue
		}
		if why, ok := r.scene.absent[i]; ok {
			r.t.Logf("line %d is not said: %s", i, why)
			continue
		}
		if want.Method == msp.NoteItemDelta {
			// How a text is cut into fragments is nobody's promise.
			for i+1 < len(r.lines) && strings.Contains(r.lines[i+1].Raw, `"method":"item/delta"`) {
				i++
			}
		}
		r.hear(i, want)
		if want.Method == "" && string(want.ID) == r.scene.releaseAfter {
			r.model.releaseAll()
		}
	}
	if len(r.diffs) > 0 {
		r.t.Errorf("the host differs from the recording:\n%s", strings.Join(r.diffs, "\n"))
	}
}

// say sends a recorded line of the client with the host's ids.
func (r *replay) say(want frame, raw string) {
	r.t.Helper()
	var tree map[string]any
	if err := json.Unmarshal([]byte(raw), &tree); err != nil {
		r.t.Fatal(err)
	}
	if want.Method == "" {
		tree["id"] = r.ids[string(want.ID)]
	}
	line, err := json.Marshal(r.put(tree), json.Deterministic(true))
	if err != nil {
		r.t.Fatal(err)
	}
	r.send(line)
}

// put replaces what is recorded by what it stands for.
func (r *replay) put(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			v[k] = r.put(m)
		}
		return v
	case []any:
		for i, m := range v {
			v[i] = r.put(m)
		}
		return v
	case string:
		if live, ok := r.bound[v]; ok {
			return live
		}
	}
	return v
}

// hear waits for the host's frame that a recorded one stands for.
func (r *replay) hear(i int, want frame) {
	r.t.Helper()
	for {
		got := r.take(fmt.Sprintf("line %d, %s", i, want.name()))
		if got.name() != want.name() {
			if !got.extra() {
				r.t.Fatalf("line %d: the host says %s, recorded is %s\n%s\n%s", i, got.name(), want.name(), r.lines[i].Raw, r.tail())
			}
			continue
		}
		if want.ID != nil && want.Method != "" {
			r.ids[string(want.ID)] = got.ID
		}
		if why, ok := r.scene.differs[i]; ok {
			r.t.Logf("line %d differs: %s", i, why)
			r.learn(want, got)
			return
		}
		for _, part := range []struct {
			name      string
			want, got map[string]any
		}{{"params", want.Params, got.Params}, {"result", want.Result, got.Result}, {"error", want.Error, got.Error}} {
			if (part.want == nil) != (part.got == nil) {
				r.diffs = append(r.diffs, fmt.Sprintf("line %d %s: %s is %v, recorded %v", i, want.name(), part.name, part.got, part.want))
				continue
			}
			r.compare(fmt.Sprintf("line %d %s: %s", i, want.name(), part.name), part.name, part.want, part.got)
		}
		return
	}
}

// learn takes over the ids of a frame that is not compared.
func (r *replay) learn(want, got frame) {
	diffs := r.diffs
	r.compare("", "", want.Params, got.Params)
	r.compare("", "", want.Result, got.Result)
	r.diffs = diffs
}

// free are members whose values are the host's own: times, counts, paths,
// wording. Their types are compared, and whether they are there.
func free(key string) bool {
	switch key {
	case "museHome", "userAgent", "name", "version", "fingerprint", "path", "createdAt", "updatedAt", "recordedAt", "decidedAt", "lastActivityAt",
		"durationMs", "timeToFirstTokenMs", "inputTokens", "outputTokens", "cachedTokens", "reasoningTokens", "sequence",
		"kind of stream", "turnCount", "message", "strategyId", "summarizedThrough", "tokensBefore", "tokensAfter", "retryDelayMs",
		"visibleOutput", "failureReason", "reason", "rawArgs", "args", "callId", "toolCallId", "label", "rulePreview", "revision",
		"contextLimit", "outputLimit", "releaseDate", "displayLabel", "description", "source of catalogue", "source of mode", "autoResolutionMs", "delta",
		"promptTokens", "totalTokens", "lastCommandId", "cost", "providerId", "modelId", "maxAttempts":
		return true
	}
	return false
}

// optional are recorded members that a host may leave out where it has nothing
// to say, beside what the schema makes optional by event.
func optional(key string) bool {
	switch key {
	case "timeToFirstTokenMs", "usage", "truncated", "rulePreview", "durationMs", "approvalId of a started item":
		return true
	}
	return false
}

var opaque = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(v:.*|item-\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)
})

func (r *replay) compare(at, key string, want, got any) {
	differ := func() {
		r.diffs = append(r.diffs, fmt.Sprintf("%s is %v, recorded %v", at, got, want))
	}
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if ok && key == "sourceRange" {
			return // records and streams are the host's own
		}
		if !ok {
			if want != nil && !free(key) {
				differ()
			}
			return
		}
		for _, k := range slices.Sorted(maps.Keys(want)) {
			inner := k
			if key == "stream" && k == "kind" {
				inner = "kind of stream"
			}
			if _, models := want["models"]; models && k == "source" {
				inner = "source of catalogue"
			}
			if _, mode := want["lastCommandId"]; mode && k == "source" {
				inner = "source of mode"
			}
			g, there := got[k]
			if !there {
				if k == "approvalId" && want["status"] == "inProgress" {
					inner = "approvalId of a started item" // the approval opens later, and the item is updated
				}
				if !optional(inner) {
					r.diffs = append(r.diffs, fmt.Sprintf("%s lacks %s, recorded %v", at, k, want[k]))
				}
				continue
			}
			r.compare(at+"."+k, inner, want[k], g)
		}
	case []any:
		got, ok := got.([]any)
		switch {
		case !ok:
			differ()
		case key == "models":
			r.compareModels(at, want, got)
		case key == "availableChoices" || key == "stageEvidence":
			for _, w := range want { // each recorded choice has a counterpart by id
				r.compareChoice(at, w, got)
			}
		case key == "events":
			r.compareEvents(at, want, got)
		case len(want) != len(got):
			differ()
		default:
			for i := range want {
				r.compare(fmt.Sprintf("%s[%d]", at, i), key, want[i], got[i])
			}
		}
	case string:
		text, ok := got.(string)
		switch {
		case free(key):
			if !ok && got != nil {
				differ()
			}
		case !ok:
			differ()
		case r.bound[want] != "":
			if r.bound[want] != text {
				differ()
			}
		case opaque().MatchString(want):
			r.bound[want] = text
		case want != text:
			differ()
		}
	default:
		if free(key) || fmt.Sprint(want) == fmt.Sprint(got) {
			return
		}
		differ()
	}
}

// compareModels compares the first rows: which models there are is no part of
// a dialogue.
func (r *replay) compareModels(at string, want, got []any) {
	if len(got) == 0 {
		r.diffs = append(r.diffs, at+" is empty")
		return
	}
	active := func(rows []any) int {
		n := 0
		for _, row := range rows {
			if m, ok := row.(map[string]any); ok && m["isActive"] == true {
				n++
			}
		}
		return n
	}
	if active(want) != active(got) {
		r.diffs = append(r.diffs, fmt.Sprintf("%s has %d active rows, recorded %d", at, active(got), active(want)))
	}
	w, g := want[0].(map[string]any), got[0].(map[string]any)
	for k := range w {
		if _, ok := g[k]; !ok {
			r.diffs = append(r.diffs, at+" lacks "+k)
		}
	}
}

// compareEvents finds each recorded event of a page, in order. A page of this
// host may hold more: the recorded session had no beginning.
func (r *replay) compareEvents(at string, want, got []any) {
	next := 0
	for i, w := range want {
		w := w.(map[string]any)
		for ; ; next++ {
			if next == len(got) {
				r.diffs = append(r.diffs, fmt.Sprintf("%s lacks event %d, recorded %v", at, i, w))
				return
			}
			g := got[next].(map[string]any)
			if (frame{Method: w["method"].(string), Params: w["params"].(map[string]any)}).name() ==
				(frame{Method: g["method"].(string), Params: g["params"].(map[string]any)}).name() {
				r.compare(fmt.Sprintf("%s[%d]", at, i), "", w, g)
				next++
				break
			}
		}
	}
}

func (r *replay) compareChoice(at string, want any, got []any) {
	w := want.(map[string]any)
	for _, g := range got {
		if g, ok := g.(map[string]any); ok && g["choiceId"] == w["choiceId"] {
			r.compare(at+"."+fmt.Sprint(w["choiceId"]), "", want, g)
			return
		}
	}
	r.diffs = append(r.diffs, fmt.Sprintf("%s lacks %v", at, want))
}
