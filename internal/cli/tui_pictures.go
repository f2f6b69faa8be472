package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/plainfile"
	"github.com/openmuse/muse/internal/tui"
)

// readPicture reads a picture for a prompt. What is no ordinary file is not
// waited for.
func readPicture(path string) (tui.Picture, error) {
	name := filepath.Base(path)
	f, err := plainfile.Open(path)
	if err != nil {
		return tui.Picture{}, fmt.Errorf("the picture cannot be read: %w", err)
	}
	defer f.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxImageBytes+1))
	if err != nil {
		return tui.Picture{}, fmt.Errorf("the picture cannot be read: %w", err)
	}
	return checkPicture(name, data)
}

// checkPicture judges a picture by what it holds, not by its name.
func checkPicture(name string, data []byte) (tui.Picture, error) {
	if len(data) > maxImageBytes {
		return tui.Picture{}, fmt.Errorf("%s is larger than %d MB", name, maxImageBytes>>20)
	}
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return tui.Picture{Name: name, MediaType: kind, Data: data}, nil
	}
	return tui.Picture{}, fmt.Errorf("%s holds no PNG, JPEG, GIF or WebP picture", name)
}

// pictures are the pictures of --image.
func (r *tuiRun) pictures() ([]tui.Picture, error) {
	var out []tui.Picture
	for _, path := range r.opts.images {
		p, err := readPicture(path)
		if err != nil {
			return nil, tuiUsage("--image %s: %v", path, err)
		}
		out = append(out, p)
	}
	m := r.setup.ModelInfo
	if len(out) > 0 && !r.opts.resume && r.setup.Model.V != "" && !m.Images && !m.Assumed && r.setup.loggedOut == nil {
		return nil, tuiUsage("model %s does not take pictures (--image)", r.setup.Model.V)
	}
	return out, nil
}

// sees reports whether a model takes pictures. One that nothing is known of is
// taken at its word: its service will tell.
func (r *tuiRun) sees(provider, model string) bool {
	in, err := loadConfig(r.env)
	if err != nil {
		return true // the settings are wrong: that is told when they are used
	}
	in.Flags = r.opts.configFlags()
	if provider != "" {
		in.Flags.Provider = &provider
	}
	in.Flags.Model = &model
	resolved, err := config.Resolve(in)
	if err != nil {
		return true
	}
	in.Flags.Images = 1
	if _, err := config.Resolve(in); err != nil {
		return false // its provider takes none
	}
	return resolved.ModelInfo.Images || resolved.ModelInfo.Assumed
}

// clipboardLimit bounds the wait for a clipboard program.
const clipboardLimit = 5 * time.Second

// clipboardPrograms are what gives the picture on the clipboard as PNG, by
// platform, in the order in which they are tried.
func clipboardPrograms(goos string, getenv func(string) string) [][]string {
	switch goos {
	case "darwin":
		return [][]string{{"pngpaste", "-"}}
	case "windows":
		return nil
	}
	wayland, x := []string{"wl-paste", "--type", "image/png"}, []string{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"}
	if getenv("WAYLAND_DISPLAY") != "" {
		return [][]string{wayland, x}
	}
	return [][]string{x, wayland}
}

// clipboard is how the picture on the clipboard is read, nil where no program
// can.
func (r *tuiRun) clipboard() func(context.Context) (tui.Picture, error) {
	if len(clipboardPrograms(runtime.GOOS, r.env.Getenv)) == 0 {
		return nil
	}
	return func(ctx context.Context) (tui.Picture, error) {
		ctx, cancel := context.WithTimeout(ctx, clipboardLimit)
		defer cancel()
		names := ""
		for _, argv := range clipboardPrograms(runtime.GOOS, r.env.Getenv) {
			if names != "" {
				names += " or "
			}
			names += argv[0]
			path, err := exec.LookPath(argv[0])
			if err != nil {
				continue
			}
			var out capped
			cmd := exec.CommandContext(ctx, path, argv[1:]...)
			cmd.Stdout, cmd.WaitDelay = &out, time.Second
			if err := cmd.Run(); err != nil || out.Len() == 0 {
				return tui.Picture{}, errors.New("there is no picture on the clipboard")
			}
			return checkPicture("clipboard.png", out.Bytes())
		}
		return tui.Picture{}, fmt.Errorf("the clipboard is read with %s, and none is here; paste or name the path of a picture", names)
	}
}

// capped takes as much as a picture may have and a byte more.
type capped struct{ bytes.Buffer }

// Write implements io.Writer.
func (c *capped) Write(p []byte) (int, error) {
	if room := maxImageBytes + 1 - c.Len(); room < len(p) {
		c.Buffer.Write(p[:max(0, room)])
		return len(p), nil
	}
	return c.Buffer.Write(p)
}
