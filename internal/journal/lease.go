package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Holder says who has a lease. It is written into the lock file for people and
// for the message of a refusal; whether the lease is held is a question to the
// lock alone, so content left behind by a killed process means nothing.
type Holder struct {
	PID     int       `json:"pid"`
	Program string    `json:"program"` // "muse exec"
	Started time.Time `json:"started"` // of the process
	Host    string    `json:"host"`
}

// Self is the holder for this process.
func Self(program string, started time.Time) Holder {
	// An unknown host name is no reason to refuse work; it is told apart from
	// this host by being empty.
	host, _ := os.Hostname()
	return Holder{PID: os.Getpid(), Program: program, Started: started.UTC().Truncate(time.Microsecond), Host: host}
}

// InUseError refuses a session that another process is writing.
type InUseError struct {
	Session string
	Holder  Holder // zero when the holder left no readable note
}

func (e *InUseError) Error() string {
	h := e.Holder
	if h.PID == 0 {
		return fmt.Sprintf("session %s is in use by another process", e.Session)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "session %s is in use by pid %d", e.Session, h.PID)
	if own, err := os.Hostname(); h.Host != "" && (err != nil || own != h.Host) {
		fmt.Fprintf(&b, " on %s", h.Host)
	}
	fmt.Fprintf(&b, " (%s, since %s)", h.Program, h.Started.Local().Format("2006-01-02 15:04:05"))
	return b.String()
}

// Lease is the right to write one session: a set of locked files. The locks
// end with the process, however it ends; they are not inherited by programs it
// starts.
type Lease struct {
	session string
	holder  Holder
	files   []*os.File
}

// Acquire takes the lease on session by locking the file at path, which is
// made if need be. It never waits: a lock that is held gives an [*InUseError].
func Acquire(path, session string, holder Holder) (*Lease, error) {
	l := &Lease{session: session, holder: holder}
	if err := l.Add(path); err != nil {
		return nil, err
	}
	return l, nil
}

// Add locks one more file for the same lease. On error the lease is as it was.
func (l *Lease) Add(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return fmt.Errorf("lock session %s: %w", l.session, err)
	}
	if err := tryLock(f); err != nil {
		defer f.Close()
		if errors.Is(err, errLocked) {
			return &InUseError{Session: l.session, Holder: readHolder(f)}
		}
		return fmt.Errorf("lock session %s: %s: %w", l.session, filepath.Base(path), err)
	}
	if err := writeHolder(f, l.holder); err != nil {
		f.Close()
		return fmt.Errorf("lock session %s: %s: %w", l.session, filepath.Base(path), err)
	}
	l.files = append(l.files, f)
	return nil
}

// Release gives the lease up. The lock files stay, empty: removing one would
// let two processes lock two files of the same name.
func (l *Lease) Release() error {
	var errs []error
	for i := len(l.files) - 1; i >= 0; i-- {
		f := l.files[i]
		errs = append(errs, f.Truncate(0), f.Close())
	}
	l.files = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("release session %s: %w", l.session, err)
	}
	return nil
}

func writeHolder(f *os.File, h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}

// readHolder reads the note in a lock file that someone else has locked. A
// note of a process that is gone was left by an earlier holder: the present
// one has not written its own yet, or never does.
func readHolder(f *os.File) Holder {
	var h Holder
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	if own, err := os.Hostname(); err == nil && own == h.Host && !processAlive(h.PID) {
		return Holder{}
	}
	return h
}
