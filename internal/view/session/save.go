package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
)

// savedVersion changes with every change of what a record says to viewers or of
// what a fold remembers.
const savedVersion = 1

type saved struct {
	Version int    `json:"version"`
	State   state  `json:"state"`
	Gone    int64  `json:"gone,omitzero"`
	Kept    []Kept `json:"kept,omitzero"`
}

// ErrSaved is returned for a saved fold that this build cannot go on from; the
// log has to be folded from its beginning.
var ErrSaved = errors.New("the saved view is of another build or damaged")

// Save writes down the view, so that a long log need not be folded again. The
// form is ours and may be thrown away at any time.
func (v *View) Save() ([]byte, error) {
	f := v.fold
	out, err := json.Marshal(saved{savedVersion, f.s, v.gone, v.window()}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("save the view of session %s: %w", f.s.Session, err)
	}
	return out, nil
}

// Restore is a view as it was saved. Records after [Fold.Sequence] continue it.
func Restore(data []byte, limits Limits) (*View, error) {
	var in saved
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSaved, err)
	}
	f, err := in.fold()
	if err != nil {
		return nil, err
	}
	v := &View{fold: f, limits: limits.orDefault(), gone: in.Gone, kept: in.Kept}
	for _, k := range v.kept {
		v.bytes += len(k.Params)
	}
	v.shrink()
	return v, nil
}

func (in saved) fold() (*Fold, error) {
	if in.Version != savedVersion || in.State.Session == "" {
		return nil, fmt.Errorf("%w: version %d", ErrSaved, in.Version)
	}
	f := New(in.State.Session)
	fresh := f.s
	f.s = in.State
	// Empty maps may come back as nil.
	if f.s.Intents == nil {
		f.s.Intents = fresh.Intents
	}
	if f.s.Calls == nil {
		f.s.Calls = fresh.Calls
	}
	if f.s.Tasks == nil {
		f.s.Tasks = fresh.Tasks
	}
	if f.s.Shells == nil {
		f.s.Shells = fresh.Shells
	}
	if f.s.BoundaryMark == nil {
		f.s.BoundaryMark = fresh.BoundaryMark
	}
	f.forgetLive()
	return f, nil
}

// forgetLive drops what was on its way when the view was saved: whoever goes on
// has not shown it.
func (f *Fold) forgetLive() {
	f.s.Reply = nil
	quiet := func(o *open) {
		if o != nil {
			o.Item.VisibleOutput, o.Seen, o.Holed = nil, 0, false
		}
	}
	for _, c := range f.s.Calls {
		quiet(c.Open)
	}
	for _, o := range f.s.Shells {
		quiet(o)
	}
}

// Cache keeps saved views in a directory, one below it for each session. All of
// it may be deleted at any time; what is missing, of another build or of
// another log is folded again.
type Cache struct {
	// Dir is the directory of all sessions' views (seed 000, Data root:
	// sessions/.msp-view-v1). "" keeps nothing.
	Dir string
}

const cacheFile = "view.json"

// Saved is the newest record of which a cache holds the view, 0 when none does.
func (v *View) Saved() int64 { return v.saved }

// Keep saves a view.
func (c Cache) Keep(v *View) error {
	if c.Dir == "" {
		return nil
	}
	data, err := v.Save()
	if err != nil {
		return err
	}
	dir := filepath.Join(c.Dir, v.fold.s.Session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the view of session %s: %w", v.fold.s.Session, err)
	}
	tmp, err := os.CreateTemp(dir, cacheFile+".*.tmp")
	if err != nil {
		return fmt.Errorf("keep the view of session %s: %w", v.fold.s.Session, err)
	}
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, cacheFile))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the view of session %s: %w", v.fold.s.Session, err), os.Remove(tmp.Name()))
	}
	v.saved = v.fold.s.Sequence
	return nil
}

// load is the kept view of a session, nil when there is none that is of use.
func (c Cache) load(sessionID string, limits Limits) *View {
	if c.Dir == "" || !filepath.IsLocal(sessionID) {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(c.Dir, sessionID, cacheFile))
	if err != nil {
		return nil // a cache that cannot be read is no cache
	}
	v, err := Restore(data, limits)
	if err != nil || v.fold.s.Session != sessionID {
		return nil
	}
	return v
}

// LogFrom replays the kept events of a session after the sequence from, in log
// order. It returns yield's error.
type LogFrom func(from int64, yield func(event.Recorded) error) error

// Read is the view of a session's log: the kept one brought up to date, or one
// that is folded from the beginning. A kept view is of use when the record it
// ends with is still in its place.
func (c Cache) Read(sessionID string, log LogFrom, limits Limits) (*View, error) {
	if v := c.load(sessionID, limits); v != nil {
		at := v.fold.s.Sequence
		ok, err := v.goOn(log)
		if err != nil {
			return nil, err
		}
		if ok {
			v.saved = at
			return v, nil
		}
	}
	return ReadLog(sessionID, func(yield func(event.Recorded) error) error { return log(0, yield) }, limits)
}

var errOtherLog = errors.New("the log is another one")

// goOn applies what came after the view was saved; false when the view is not
// of this log.
func (v *View) goOn(log LogFrom) (bool, error) {
	end := v.fold.s.Record
	if end.Sequence == 0 {
		return false, nil
	}
	found := false
	err := log(end.Sequence-1, func(r event.Recorded) error {
		if !found {
			if r.Sequence != end.Sequence || r.ID != end.ID {
				return errOtherLog
			}
			found = true
			return nil
		}
		_, err := v.Apply(r)
		return err
	})
	if errors.Is(err, errOtherLog) {
		return false, nil
	}
	return found, err
}

// Forget throws the kept view of a session away.
func (c Cache) Forget(sessionID string) error {
	if c.Dir == "" || !filepath.IsLocal(sessionID) {
		return nil
	}
	err := os.Remove(filepath.Join(c.Dir, sessionID, cacheFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
