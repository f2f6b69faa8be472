package config

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// A key command may ask its person for a password, so it gets a while; its
// output is a key, so it gets little room.
const (
	keyCommandTime   = 60 * time.Second
	keyCommandOutput = 64 << 10
)

// runKeyCommand runs argv without a shell and without input, and returns its
// trimmed output. The command comes from the person's settings, never from a
// workspace. What it leaves running in the background, such as an agent that
// keeps a vault open, is its own affair: its answer counts all the same.
func runKeyCommand(ctx context.Context, argv, environ []string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, keyCommandTime)
	defer cancel()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...)
	cmd.Env = environ
	out, errs := &capped{limit: keyCommandOutput}, &capped{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, errs
	// Children that keep the pipes open must not hold the run up.
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		if limited.Err() != nil {
			// The command itself had ended well, so that its group was left
			// alone. Whether that can still be ended changes nothing here.
			_ = cmd.Cancel()
		} else if len(out.text) > 0 {
			err = nil
		}
	}
	name := argv[0]
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s gave no answer within %s", name, keyCommandTime)
	case err != nil:
		if last := lastLine(string(errs.text)); last != "" {
			return "", fmt.Errorf("%s: %w: %s", name, err, last)
		}
		return "", fmt.Errorf("%s: %w", name, err)
	case out.cut:
		return "", fmt.Errorf("%s printed more than %d bytes", name, keyCommandOutput)
	}
	key := strings.TrimSpace(string(out.text))
	if problem := checkKey(key); problem != "" {
		return "", fmt.Errorf("what %s printed is not a key: %s", name, problem)
	}
	return key, nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > 300 {
		last = strings.ToValidUTF8(last[:300], "") + "…"
	}
	return last
}

// capped keeps the first limit bytes and takes the rest without keeping it.
type capped struct {
	text  []byte
	limit int
	cut   bool
}

func (c *capped) Write(p []byte) (int, error) {
	keep := min(len(p), c.limit-len(c.text))
	c.cut = c.cut || keep < len(p)
	c.text = append(c.text, p[:keep]...)
	return len(p), nil
}
