package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmuse/muse/internal/event"
)

// assets keeps pictures and cleared results beside the log. It implements
// agent.Assets. A session without a log keeps pictures in memory and cannot
// clear results, because nobody could read them again.
type assets struct {
	dir    string // session directory, "" without a log
	memory map[string][]byte
}

const assetDir = "input-assets"

// KeepImage writes a picture under its hash with mode 0600.
func (a *assets) KeepImage(mediaType string, data []byte) (event.ContentBlock, error) {
	sum := sha256.Sum256(data)
	_, kind, _ := strings.Cut(mediaType, "/")
	if kind == "" || strings.ContainsAny(kind, `/\.`) {
		return event.ContentBlock{}, fmt.Errorf("keep picture: media type %q", mediaType)
	}
	rel := assetDir + "/" + hex.EncodeToString(sum[:]) + "." + kind
	block := event.ContentBlock{Kind: "image", MediaType: mediaType, Path: rel}
	if a.dir == "" {
		if a.memory == nil {
			a.memory = map[string][]byte{}
		}
		a.memory[rel] = data
		return block, nil
	}
	path := filepath.Join(a.dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return block, fmt.Errorf("keep picture: %w", err)
	}
	err := writeNew(path, data)
	if errors.Is(err, os.ErrExist) {
		return block, nil
	}
	if err != nil {
		return block, fmt.Errorf("keep picture: %w", err)
	}
	return block, nil
}

// LoadImage reads a picture that was kept. The path comes from a log, so it is
// confined to the session's directory.
func (a *assets) LoadImage(b event.ContentBlock) ([]byte, error) {
	if a.dir == "" {
		data, ok := a.memory[b.Path]
		if !ok {
			return nil, fmt.Errorf("picture %s: %w", b.Path, os.ErrNotExist)
		}
		return data, nil
	}
	root, err := os.OpenRoot(a.dir)
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	defer root.Close()
	data, err := root.ReadFile(filepath.FromSlash(b.Path))
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	return data, nil
}

// KeepResult writes the whole text of a tool result.
func (a *assets) KeepResult(callID, text string) (rel, abs string, err error) {
	if a.dir == "" {
		return "", "", errors.New("the session keeps no files")
	}
	// Services repeat call ids; the hash keeps two results apart.
	sum := sha256.Sum256([]byte(text))
	rel = "tool-outputs/cleared/" + callID + "-" + hex.EncodeToString(sum[:6]) + "-result.txt"
	abs = filepath.Join(a.dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return "", "", fmt.Errorf("keep tool result: %w", err)
	}
	if err := writeNew(abs, []byte(text)); err != nil && !errors.Is(err, os.ErrExist) {
		return "", "", fmt.Errorf("keep tool result: %w", err)
	}
	return rel, abs, nil
}

// writeNew writes a file that does not exist yet; a failure leaves none.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		// The half file must go; that it cannot is a lesser trouble than why.
		_ = os.Remove(path)
	}
	return err
}
