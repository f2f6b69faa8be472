// Package demo carries the sample project and the recorded model that show the
// agent at work without an account and without a network: the model's replies
// are recorded, the tools run for real.
package demo

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed sample.txtar
var sample []byte

//go:embed model.json
var model []byte

// Prompt is what the recorded model answers.
const Prompt = "The tests fail. Find out why and fix the code, not the test."

// Model is the recorded model, a file for the script provider.
func Model() []byte { return model }

// WriteSample writes the sample project into dir, which must exist.
func WriteSample(dir string) error {
	for _, f := range txtar.Parse(sample).Files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(f.Name)), f.Data, 0o644); err != nil {
			return fmt.Errorf("write sample project: %w", err)
		}
	}
	return nil
}
