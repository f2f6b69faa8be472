package muse

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Variables a supervisor sets for one run. They are scrubbed at every process
// boundary: a child never inherits the ceiling of whoever started its
// supervisor.
const (
	// SyncCeilingVariable is the number of seconds after which the driven
	// agent's synchronous shell kills a command.
	SyncCeilingVariable = "MUSE_DRIVE_SYNC_CEILING_SECONDS"
	// SoftCeilingVariable is the most time an agent should block on one tool
	// run; it kills nothing and is unset when none is configured.
	SoftCeilingVariable = "MUSE_DRIVE_SYNC_SOFT_CEILING_SECONDS"
	// RunVariable marks the processes of one run, so that a later supervisor
	// can tell leftovers of a killed one from strangers with a reused id.
	RunVariable = "MUSE_DRIVE_RUN_ID"
)

// DefaultSyncCeiling is the shell tool's hard limit (seed 001, single-turn
// normalization).
const DefaultSyncCeiling = 600 * time.Second

// ScrubEnv returns env (nil: the process environment) without the variables
// that belong to one run or to an enclosing session.
func ScrubEnv(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case SyncCeilingVariable, SoftCeilingVariable, RunVariable,
			// Facts about the session whose tool started us (CLI.md 3).
			"MUSE_SESSION_ID", "MUSE_THREAD_ID", "MUSE_TOOL_USE_ID", "MUSE_CURRENT_SESSION_LOG":
			return true
		}
		return false
	})
}

// runEnv is the environment of one run: scrubbed, with what the run sets.
func runEnv(base, set []string) []string {
	env := slices.DeleteFunc(ScrubEnv(base), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	})
	return append(env, set...)
}

// ceilings renders the ceiling variables; zero durations are left unset.
func ceilings(hard, soft time.Duration) []string {
	var set []string
	if hard > 0 {
		set = append(set, SyncCeilingVariable+"="+strconv.FormatInt(int64(hard/time.Second), 10))
	}
	if soft > 0 {
		set = append(set, SoftCeilingVariable+"="+strconv.FormatInt(int64(soft/time.Second), 10))
	}
	return set
}

// NewSessionID returns a random UUID (version 4).
func NewSessionID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: the runtime aborts instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ValidSessionID reports whether id has the form of a UUID.
func ValidSessionID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		switch i {
		case 8, 13, 18, 23:
			if id[i] != '-' {
				return false
			}
		default:
			if _, ok := hexDigit(id[i]); !ok {
				return false
			}
		}
	}
	return true
}
