package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

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

// offsetEvery is how many records lie between two noted places of a log.
const offsetEvery = 64

// offsets are noted places of a log, so that reading can begin in its middle.
type offsets struct {
	sequence, offset []int64
}

// add notes a record, if it is time for one.
func (o *offsets) add(sequence, offset int64) {
	if n := len(o.sequence); n > 0 && sequence < o.sequence[n-1]+offsetEvery {
		return
	}
	o.sequence, o.offset = append(o.sequence, sequence), append(o.offset, offset)
}

// line notes a line of a log that is read.
func (o *offsets) line(line record.Line, offset int64) {
	switch {
	case line.Envelope != nil:
		o.add(line.Envelope.Sequence, offset)
	case line.Marker != nil:
		o.add(line.Marker.Sequence, offset)
	}
}

// before is where to begin reading for what comes after sequence.
func (o *offsets) before(sequence int64) int64 {
	i := sort.Search(len(o.sequence), func(i int) bool { return o.sequence[i] > sequence })
	if i == 0 {
		return 0
	}
	return o.offset[i-1]
}

// readEvents shows the events of the log at path with from < sequence ≤ to,
// beginning to read at offset. A line that is being written is left out.
func readEvents(path string, offset, from, to int64, show func(event.Recorded) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read session log: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("read session log: %w", err)
	}
	_, err = journal.ReadFrom(f, journal.ReadOptions{}, func(line record.Line, _ int64) error {
		for _, e := range events(line) {
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
