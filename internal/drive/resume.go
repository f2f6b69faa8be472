package drive

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/pkg/muse"
)

// Resume are the facts of an earlier turn to go on from. Headless resuming of
// a session is not part of the contract everywhere, so the context is carried
// in the prompt (seed 001, interrupts); the session log stays for a person.
type Resume struct {
	Request   string // the earlier request, without what a supervisor added
	Partial   string // what it had written
	SessionID string
	Workspace string
}

// LoadResume reads the artifacts directory of an earlier turn. A turn that
// was killed has no result; what it streamed is taken instead.
func LoadResume(dir string) (*Resume, error) {
	request, err := os.ReadFile(filepath.Join(dir, filePrompt))
	if err != nil {
		return nil, fmt.Errorf("continue from %s: %w", dir, err)
	}
	r := &Resume{Request: string(request)}
	data, err := os.ReadFile(filepath.Join(dir, fileMetadata))
	switch {
	case err == nil:
		var meta RunMetadata
		if err := json.Unmarshal(data, &meta); err != nil {
			return nil, fmt.Errorf("continue from %s: %w", dir, err)
		}
		r.Workspace = meta.Workspace
		if meta.Result != nil {
			r.Partial, r.SessionID = meta.Result.Reply, meta.Result.SessionID
			if meta.Result.Class == muse.ClassCompleted {
				return nil, fmt.Errorf("continue from %s: that turn is complete", dir)
			}
		}
	case os.IsNotExist(err):
		live, err := os.ReadFile(filepath.Join(dir, fileLiveReply))
		if err != nil {
			return nil, fmt.Errorf("continue from %s: %w", dir, err)
		}
		r.Partial = string(live)
	default:
		return nil, fmt.Errorf("continue from %s: %w", dir, err)
	}
	return r, nil
}

// loadResult returns the result of a turn that ended; nil when it did not.
func loadResult(dir string) *Result {
	data, err := os.ReadFile(filepath.Join(dir, fileResult))
	if err != nil {
		return nil
	}
	var r Result
	if json.Unmarshal(data, &r) != nil || r.Type != "muse.drive.result" {
		return nil
	}
	return &r
}
