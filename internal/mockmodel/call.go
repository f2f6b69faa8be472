package mockmodel

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Call is a model request as the server understands it.
type Call struct {
	Wire      string
	Number    int64 // counts model requests of the process, from 1
	RequestID string
	Model     string
	Bytes     int // of the body
	Stream    bool
	Tools     []Tool
	// Results counts the tool results behind the newest user message; Users
	// the user messages.
	Results, Users int
	// Prompt is the text of the newest user message.
	Prompt string
	// Thinking says that reasoning was asked for.
	Thinking bool
}

// Tool is one tool of the client's list.
type Tool struct {
	Name      string
	Namespace string // of Responses, "" without one
	Schema    jsontext.Value
}

// Reply is what the server answers.
type Reply struct {
	Reasoning string // also gives opaque reasoning
	Redacted  bool   // Messages: redacted thinking instead
	Text      string
	Calls     []ToolCall
	Usage     Usage
	Finish    string // "length" or "content_filter"; "" otherwise
	// Every is the time from one event of the stream to the next; 0 sends them
	// all at once.
	Every time.Duration
}

// ToolCall is a call the server makes; the id is made up when empty.
type ToolCall struct {
	ID, Name string
	Args     string
}

// Usage counts tokens; Input includes Cached, Output includes Reasoning.
type Usage struct {
	Input, Output, Reasoning, Cached, Written int64
}

var numbers atomic.Int64

func parse(wire string, body []byte) (*Call, error) {
	var err error
	c := &Call{Wire: wire, Bytes: len(body), Number: numbers.Add(1)}
	c.RequestID = fmt.Sprintf("req_%d", c.Number)
	switch wire {
	case Responses:
		err = c.responses(body)
	case Chat:
		err = c.chat(body)
	case Messages:
		err = c.messages(body)
	}
	if err != nil {
		return nil, fmt.Errorf("unreadable %s request: %w", wire, err)
	}
	return c, nil
}

// content is a message's content: a text or a list of parts.
type content struct {
	text    string
	results int
}

func readContent(v jsontext.Value) (content, error) {
	var c content
	switch v.Kind() {
	case '"':
		return c, json.Unmarshal(v, &c.text)
	case '[':
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(v, &parts); err != nil {
			return c, err
		}
		for _, p := range parts {
			if p.Type == "tool_result" {
				c.results++
			}
			c.text += p.Text
		}
	}
	return c, nil
}

// user notes a user message. Text in a tag is a client's own notice, sent as a
// user message on wires that know no other role: it begins no new turn.
func (c *Call) user(text string) {
	if c.Users > 0 && strings.HasPrefix(text, "<") {
		return
	}
	c.Users++
	c.Results = 0
	c.Prompt = text
}

func (c *Call) responses(body []byte) error {
	var req struct {
		Model     string         `json:"model"`
		Stream    bool           `json:"stream"`
		Reasoning jsontext.Value `json:"reasoning"`
		Input     []struct {
			Type    string         `json:"type"`
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
		} `json:"input"`
		Tools []responsesTool `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	c.Model, c.Stream, c.Thinking = req.Model, req.Stream, req.Reasoning != nil
	for _, in := range req.Input {
		switch {
		case in.Type == "function_call_output":
			c.Results++
		case in.Role == "user":
			text, err := readContent(in.Content)
			if err != nil {
				return err
			}
			c.user(text.text)
		}
	}
	for _, t := range req.Tools {
		if t.Type != "namespace" {
			c.Tools = append(c.Tools, Tool{Name: t.Name, Schema: t.Parameters})
			continue
		}
		for _, inner := range t.Tools {
			c.Tools = append(c.Tools, Tool{Name: inner.Name, Namespace: t.Name, Schema: inner.Parameters})
		}
	}
	return nil
}

type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters jsontext.Value  `json:"parameters"`
	Tools      []responsesTool `json:"tools"`
}

func (c *Call) chat(body []byte) error {
	var req struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Effort   string `json:"reasoning_effort"`
		Messages []struct {
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string         `json:"name"`
				Parameters jsontext.Value `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	c.Model, c.Stream, c.Thinking = req.Model, req.Stream, req.Effort != ""
	for _, m := range req.Messages {
		switch m.Role {
		case "tool":
			c.Results++
		case "user":
			text, err := readContent(m.Content)
			if err != nil {
				return err
			}
			c.user(text.text)
		}
	}
	for _, t := range req.Tools {
		c.Tools = append(c.Tools, Tool{Name: t.Function.Name, Schema: t.Function.Parameters})
	}
	return nil
}

func (c *Call) messages(body []byte) error {
	var req struct {
		Model    string         `json:"model"`
		Stream   bool           `json:"stream"`
		Thinking jsontext.Value `json:"thinking"`
		Messages []struct {
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string         `json:"name"`
			Schema jsontext.Value `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	c.Model, c.Stream, c.Thinking = req.Model, req.Stream, req.Thinking != nil
	for _, m := range req.Messages {
		if m.Role != "user" {
			continue
		}
		body, err := readContent(m.Content)
		if err != nil {
			return err
		}
		if body.results > 0 {
			c.Results += body.results
			continue
		}
		c.user(body.text)
	}
	for _, t := range req.Tools {
		c.Tools = append(c.Tools, Tool{Name: t.Name, Schema: t.Schema})
	}
	return nil
}

// shellNames are the names of shell tools in the clients that exist, the most
// telling first.
var shellNames = []string{
	"bash", "shell", "exec_command", "run_shell_command", "run_terminal_command",
	"execute_command", "local_shell", "run_commands", "terminal", "Bash",
}

// Shell is the client's shell tool and the arguments that make it run command.
func (c *Call) Shell(command string) (name, args string, ok bool) {
	for _, known := range shellNames {
		for _, t := range c.Tools {
			if t.Name == known {
				if args, ok := t.arguments(command); ok {
					return t.Name, args, true
				}
			}
		}
	}
	for _, t := range c.Tools { // a tool under a name nobody foresaw
		if args, ok := t.arguments(command); ok {
			return t.Name, args, true
		}
	}
	return "", "", false
}

// arguments fills the tool's schema: the command, and a text for whatever else
// is required.
func (t *Tool) arguments(command string) (string, bool) {
	var schema struct {
		Properties map[string]struct {
			Type jsontext.Value `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(t.Schema, &schema) != nil {
		return "", false
	}
	args := map[string]any{}
	for _, name := range []string{"command", "cmd", "commands", "script"} {
		p, ok := schema.Properties[name]
		if !ok {
			continue
		}
		switch kind := string(p.Type); {
		case !strings.Contains(kind, "array"):
			args[name] = command
		case name == "commands":
			args[name] = []string{command}
		default:
			args[name] = []string{"bash", "-c", command}
		}
		for _, other := range schema.Required {
			if _, given := args[other]; !given {
				args[other] = filler(string(schema.Properties[other].Type))
			}
		}
		text, err := json.Marshal(args, json.Deterministic(true))
		return string(text), err == nil
	}
	return "", false
}

// filler is a value of a schema type.
func filler(kind string) any {
	switch {
	case strings.Contains(kind, "boolean"):
		return false
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return 10000
	case strings.Contains(kind, "array"):
		return []string{}
	}
	return "run a step"
}

// namespaceOf is the namespace the client offers a tool in.
func (c *Call) namespaceOf(name string) string {
	i := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return ""
	}
	return c.Tools[i].Namespace
}
