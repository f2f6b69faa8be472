package provider

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/ident"
)

// CallIDs gives each call of one reply an id that is unique within the
// session. Services with ids of their own keep them; some servers send none,
// or count from 0 in every reply.
type CallIDs struct {
	used map[string]bool
	now  func() time.Time
}

// NewCallIDs knows the ids of the conversation so far.
func NewCallIDs(items []Item, now func() time.Time) *CallIDs {
	used := map[string]bool{}
	for i := range items {
		if c := items[i].ToolCall; c != nil {
			used[c.CallID] = true
		}
	}
	return &CallIDs{used: used, now: now}
}

// Take is id, or a new one when id is empty or taken.
func (c *CallIDs) Take(id string) string {
	if id == "" || c.used[id] {
		id = ident.Call(c.now())
	}
	c.used[id] = true
	return id
}

// ToolName is the name of the tool a model meant: the name as it is when it is
// offered, else what is left of it without a namespace ("muse.read_file",
// "muse__read_file", "functions.read_file") when that is offered. Other names
// stay as they are: the loop answers them.
func ToolName(tools []Tool, name string) string {
	if offered(tools, name) {
		return name
	}
	for _, prefix := range []string{"muse.", "muse__", "muse:", "muse/", "functions.", "functions__", "functions:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && offered(tools, rest) {
			return rest
		}
	}
	return name
}

func offered(tools []Tool, name string) bool {
	for i := range tools {
		if tools[i].Name == name {
			return true
		}
	}
	return false
}

// CleanArgs is the argument text of a received call. A model that has nothing
// to say sends an empty text, which stands for an empty object.
func CleanArgs(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	return text
}

// ObjectArgs is the argument text of a call as an object, for services that
// refuse a conversation with any other arguments in it. Text that is none is
// shown to the model as the value of raw_arguments.
func ObjectArgs(text string) jsontext.Value {
	value := jsontext.Value(CleanArgs(text))
	if value.Kind() == '{' && value.IsValid() {
		return value
	}
	wrapped, err := json.Marshal(map[string]string{"raw_arguments": strings.ToValidUTF8(text, "\uFFFD")})
	if err != nil {
		return jsontext.Value("{}") // a map of strings always encodes
	}
	return wrapped
}

// Answered reports whether the reasoning item at index i of a conversation is
// followed, within its reply, by the answer or call it led to. A reply that was
// cut leaves reasoning that led nowhere, which services refuse.
func Answered(items []Item, i int) bool {
	for _, it := range items[i+1:] {
		switch {
		case it.Assistant != nil, it.ToolCall != nil:
			return true
		case it.Reasoning == nil:
			return false
		}
	}
	return false
}

// WithoutImages is a text that names the pictures in place of which it stands,
// for models that take none.
func WithoutImages(text string, images []Image) string {
	var b strings.Builder
	b.WriteString(text)
	for _, im := range images {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[" + im.MediaType + " left out: this model takes no pictures]")
	}
	return b.String()
}
