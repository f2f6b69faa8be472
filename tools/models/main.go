// Command models writes the generated model tables of internal/models from the
// data files of a maintained catalogue, the Go module charm.land/catwalk (MIT
// licence). It reads the files and links nothing of the module, whose embedded
// tables would cost every start of the program 14 ms.
//
//	go run ./tools/models                      # the version below
//	go run ./tools/models -version v0.53.0     # another one
//	go run ./tools/models -zip catwalk.zip     # a module archive at hand
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The catalogue and the version that the tables in the tree were made from.
const (
	module         = "charm.land/catwalk"
	defaultVersion = "v0.52.86"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("models", flag.ContinueOnError)
	flags.SetOutput(stderr)
	version := flags.String("version", defaultVersion, "version of "+module)
	archive := flags.String("zip", "", "module archive to read instead of downloading one")
	out := flags.String("out", filepath.Join("internal", "models", "data"), "directory of the tables")
	if err := flags.Parse(args); err != nil {
		return err
	}
	path := *archive
	if path == "" {
		var err error
		if path, err = download(ctx, *version); err != nil {
			return err
		}
	}
	services, err := readArchive(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	files, err := tables(services, *version)
	if err != nil {
		return err
	}
	return write(*out, files)
}

// download has the go command fetch and check the module's archive. The module
// may ask for a newer Go than the one running: that is no obstacle to reading
// its files, and the go command names the archive all the same.
func download(ctx context.Context, version string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()
	var answer struct{ Zip, Sum, Error string }
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		return "", fmt.Errorf("download %s@%s: %w", module, version, errors.Join(runErr, err, errors.New(stderr.String())))
	}
	if answer.Zip == "" || answer.Sum == "" {
		return "", fmt.Errorf("download %s@%s: %s", module, version, answer.Error)
	}
	return answer.Zip, nil
}

// write replaces the generated tables and removes those of services that are
// gone; meta.tsv is written by hand and stays.
func write(dir string, files map[string][]byte) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.tsv"))
	if err != nil {
		return err
	}
	for _, path := range old {
		name := filepath.Base(path)
		if _, stays := files[name]; stays || name == "meta.tsv" {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
