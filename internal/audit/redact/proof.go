package redact

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// proof writes what was removed where, one JSON object a line: first the head,
// then for each file its removals and its hashes, then what was left out, then
// the placeholders.
type proof struct {
	out *os.File
	w   *bufio.Writer
	err error
}

func newProof(root *os.Root, o Options) (*proof, error) {
	f, err := root.OpenFile(ProofName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create proof: %w", err)
	}
	p := &proof{out: f, w: bufio.NewWriterSize(f, 64<<10)}
	p.add(struct {
		Type  string    `json:"type"`
		Tool  string    `json:"tool"`
		Time  time.Time `json:"time"`
		Rules []string  `json:"rules"`
		Note  string    `json:"note"`
	}{"redaction", o.Tool, o.Now().UTC(), Rules(), "hashes and integrity checkpoints in the redacted logs are those of the originals and no longer fit"})
	return p, nil
}

func (p *proof) add(v any) {
	if p.err != nil {
		return
	}
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		_, err = p.w.Write(append(b, '\n'))
	}
	if err != nil {
		p.err = fmt.Errorf("write proof: %w", err)
	}
}

// removed notes one place. length is the secret's in bytes.
func (p *proof) removed(file string, line int64, path, rule string, s *secret, length int) {
	p.add(struct {
		Type        string `json:"type"`
		File        string `json:"file"`
		Line        int64  `json:"line"`
		Path        string `json:"path,omitempty"`
		Rule        string `json:"rule"`
		Placeholder string `json:"placeholder"`
		Length      int    `json:"length"`
	}{"removed", file, line, path, rule, s.placeholder, length})
}

func (p *proof) file(t target, before, after string, removed int64) {
	p.add(struct {
		Type     string `json:"type"`
		File     string `json:"file"`
		From     string `json:"from"`
		Original string `json:"original_sha256"`
		Redacted string `json:"redacted_sha256"`
		Removed  int64  `json:"removed"`
	}{"file", t.name, t.label, before, after, removed})
}

func (p *proof) leftOut(name string) {
	p.add(struct {
		Type string `json:"type"`
		File string `json:"file"`
	}{"left_out", name})
}

func (p *proof) secret(s *secret) {
	p.add(struct {
		Type        string `json:"type"`
		Placeholder string `json:"placeholder"`
		Rule        string `json:"rule"`
		Count       int64  `json:"count"`
	}{"placeholder", s.placeholder, s.rule, s.count})
}

func (p *proof) close() error {
	if err := p.w.Flush(); p.err == nil && err != nil {
		p.err = fmt.Errorf("write proof: %w", err)
	}
	if err := p.out.Close(); p.err == nil && err != nil {
		p.err = fmt.Errorf("close proof: %w", err)
	}
	return p.err
}
