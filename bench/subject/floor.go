package subject

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/mockmodel"
)

// FloorArg is the argument under which the binary has to call [RunFloor].
const FloorArg = "floor"

// Floor is the least that an agent can do, in the measuring binary itself:
// send the whole conversation, read the stream, run the command, append two
// lines to a log. It checks nothing and keeps nothing safe.
func Floor(self string) *Subject { return floor(self, "floor") }

// ConfinedFloor is the floor with each command inside a bare bubblewrap, which
// has to be on PATH: a root that cannot be written, the current directory that
// can, no network.
func ConfinedFloor(self string) *Subject {
	s := floor(self, "floor-bwrap")
	s.Env = func(Place) []string { return []string{floorConfined + "=1"} }
	return s
}

const floorConfined = "BENCH_FLOOR_CONFINED"

// shell is the process that runs a command.
func shell(command string) *exec.Cmd {
	if os.Getenv(floorConfined) == "" {
		return exec.Command("bash", "-c", command)
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	return exec.Command("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		"--tmpfs", "/tmp", "--bind", dir, dir, "--chdir", dir, "bash", "-c", command)
}

func floor(self, name string) *Subject {
	return &Subject{
		Name: name, Program: self, Wire: mockmodel.Chat, Version: []string{FloorArg, "--version"},
		Run: func(p Place) []string {
			return []string{FloorArg, p.URL, filepath.Join(p.Home, "log", time.Now().Format("150405.000000")+".jsonl"), Prompt}
		},
		Configure: func(p Place) error { return os.MkdirAll(filepath.Join(p.Home, "log"), 0o700) },
		Logs:      Files{Dir: "log", Match: "*.jsonl"},
		Limit:     time.Minute,
	}
}

type floorMessage struct {
	Role    string      `json:"role"`
	Content string      `json:"content,omitzero"`
	Calls   []floorCall `json:"tool_calls,omitzero"`
	CallID  string      `json:"tool_call_id,omitzero"`
}

type floorCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

const floorTools = `[{"type":"function","function":{"name":"bash","description":"Run a command.",` +
	`"parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}]`

// RunFloor is the floor: args are the service, the log and the prompt.
func RunFloor(args []string, out io.Writer) error {
	if len(args) == 1 && args[0] == "--version" {
		_, err := fmt.Fprintln(out, "floor")
		return err
	}
	if len(args) != 3 {
		return fmt.Errorf("the floor takes a service, a log and a prompt, not %q", args)
	}
	log, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	messages := []floorMessage{{Role: "system", Content: "You run commands."}, {Role: "user", Content: args[2]}}
	for {
		reply, err := floorSend(args[0], messages)
		if err != nil {
			return err
		}
		messages = append(messages, *reply)
		if err := floorLog(log, reply); err != nil {
			return err
		}
		if len(reply.Calls) == 0 {
			_, err := fmt.Fprintln(out, reply.Content)
			return err
		}
		for _, c := range reply.Calls {
			var a struct {
				Command string `json:"command"`
			}
			if err := json.Unmarshal([]byte(c.Function.Arguments), &a); err != nil {
				return err
			}
			text, err := shell(a.Command).CombinedOutput()
			if err != nil {
				return err
			}
			result := floorMessage{Role: "tool", Content: string(text), CallID: c.ID}
			messages = append(messages, result)
			if err := floorLog(log, &result); err != nil {
				return err
			}
		}
	}
}

func floorLog(log *os.File, m *floorMessage) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = log.Write(append(line, '\n'))
	return err
}

func floorSend(url string, messages []floorMessage) (*floorMessage, error) {
	body, err := json.Marshal(map[string]any{
		"model": "mock-1", "stream": true, "messages": messages, "tools": jsontext.Value(floorTools),
	})
	if err != nil {
		return nil, err
	}
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the service answered %s", resp.Status)
	}
	m := &floorMessage{Role: "assistant"}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		if err := m.add(data); err != nil {
			return nil, err
		}
	}
	return m, lines.Err()
}

// add takes in one chunk of the stream.
func (m *floorMessage) add(data string) error {
	var chunk struct {
		Choices []struct {
			Delta struct {
				Content string      `json:"content"`
				Calls   []floorCall `json:"tool_calls"`
			} `json:"delta"`
		} `json:"choices"`
	}
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		return err
	}
	for _, c := range chunk.Choices {
		m.Content += c.Delta.Content
		for _, part := range c.Delta.Calls {
			if part.ID != "" {
				m.Calls = append(m.Calls, part)
				continue
			}
			m.Calls[len(m.Calls)-1].Function.Arguments += part.Function.Arguments
		}
	}
	return nil
}
