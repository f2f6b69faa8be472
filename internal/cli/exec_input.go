package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/openmuse/muse/internal/agent"
)

const (
	maxPromptBytes = 16 << 20
	maxKeyBytes    = 64 << 10
	maxImageBytes  = 20 << 20
	maxSchemaBytes = 1 << 20
	// schemaCorrections is how often the model may mend an answer that does
	// not fit --output-schema.
	schemaCorrections = 3
)

// readPrompt is the prompt as given or read from its file, byte for byte.
func (o *execOptions) readPrompt() (string, error) {
	if o.hasPrompt {
		if !utf8.ValidString(o.prompt) {
			return "", execUsage("the prompt is not valid UTF-8")
		}
		return o.prompt, nil
	}
	data, err := readFile(o.promptFile, maxPromptBytes)
	if err != nil {
		return "", execUsage("cannot read --prompt-file: %v", err)
	}
	switch {
	case !utf8.Valid(data):
		return "", execUsage("--prompt-file %s is not valid UTF-8", o.promptFile)
	case len(bytes.TrimSpace(data)) == 0:
		return "", execUsage("--prompt-file %s is empty", o.promptFile)
	}
	return string(data), nil
}

// readFile reads a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return data, nil
}

// readKey reads the key from stdin, which --api-key-stdin reserves for it.
func (o *execOptions) readKey(stdin io.Reader) (*string, error) {
	if !o.apiKeyStdin {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxKeyBytes))
	if err != nil {
		return nil, fmt.Errorf("read the API key from stdin: %w", err)
	}
	key := strings.TrimSpace(string(data))
	if key == "" {
		return nil, execUsage("--api-key-stdin: stdin held no key")
	}
	return &key, nil
}

type picture struct {
	mediaType string
	data      []byte
}

func (o *execOptions) readImages() ([]picture, error) {
	var out []picture
	for _, name := range o.images {
		data, err := readFile(name, maxImageBytes)
		if err != nil {
			return nil, execUsage("cannot read --image: %v", err)
		}
		kind := http.DetectContentType(data)
		switch kind {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
		default:
			return nil, execUsage("--image %s is %s: want a PNG, JPEG, GIF or WebP picture", name, kind)
		}
		out = append(out, picture{kind, data})
	}
	return out, nil
}

// readSchema is the schema that the answer must fit, nil without one.
func (o *execOptions) readSchema() (*agent.OutputSchema, error) {
	if o.outputSchema == "" {
		return nil, nil
	}
	data, err := readFile(o.outputSchema, maxSchemaBytes)
	if err != nil {
		return nil, execUsage("cannot read --output-schema: %v", err)
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, execUsage("--output-schema %s is not JSON: %v", o.outputSchema, err)
	}
	if err := checkSchema(doc); err != nil {
		return nil, execUsage("--output-schema %s cannot be used: %v", o.outputSchema, err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, execUsage("--output-schema %s is not a JSON Schema: %v", o.outputSchema, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, execUsage("--output-schema %s cannot be used: %v", o.outputSchema, err)
	}
	compact := jsontext.Value(data).Clone()
	if err := compact.Compact(); err != nil {
		return nil, execUsage("--output-schema %s is not JSON: %v", o.outputSchema, err)
	}
	return &agent.OutputSchema{
		Schema: compact, Corrections: schemaCorrections,
		Validate: func(answer jsontext.Value) error {
			var v any
			if err := json.Unmarshal(answer, &v); err != nil {
				return err
			}
			return resolved.Validate(v)
		},
	}, nil
}
