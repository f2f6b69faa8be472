package host

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// events are what a line of a log says, in the form in which watchers are
// shown it. A record of a shape we do not know says nothing.
func events(line record.Line) []event.Recorded {
	switch {
	case line.Envelope != nil:
		e, known, err := record.DecodeLog(line.Envelope)
		if err != nil || !known {
			return nil
		}
		return []event.Recorded{{Event: e, ID: line.Envelope.ID, Sequence: line.Envelope.Sequence, At: line.Envelope.RecordedAt}}
	case line.Frame != nil:
		return frameEvents(line.Frame)
	}
	return nil
}

func frameEvents(f *record.Frame) []event.Recorded {
	var out []event.Recorded
	for _, c := range f.Children {
		env, err := c.Envelope()
		if err != nil || env.PayloadType != permissionCommitted {
			continue
		}
		var p event.PermissionProfile
		if json.Unmarshal(env.Payload, &p) == nil {
			out = append(out, event.Recorded{Event: event.Event{Body: p}, ID: env.ID, Sequence: env.Sequence, At: env.RecordedAt})
		}
	}
	return out
}

// readEvents shows the events of the log at path with from < sequence ≤ to. A
// line that is being written is left out. Where they begin is looked for, so
// that the end of a long log is read without its beginning.
func readEvents(path string, from, to int64, show func(event.Recorded) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read session log: %w", err)
	}
	defer f.Close() // only read
	if from > 0 {
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("read session log: %w", err)
		}
		offset, err := journal.Seek(f, info.Size(), from)
		if err != nil {
			return fmt.Errorf("read session log: %w", err)
		}
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			return fmt.Errorf("read session log: %w", err)
		}
	}
	opts := journal.ReadOptions{Prepare: func(line record.Line) any { return events(line) }}
	_, err = journal.ReadEntries(f, opts, func(line journal.Entry) error {
		all, _ := line.Prepared.([]event.Recorded) // none of a line that is no record
		for _, e := range all {
			switch {
			case e.Sequence <= from:
			case e.Sequence > to:
				return errEnough
			default:
				if err := show(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
