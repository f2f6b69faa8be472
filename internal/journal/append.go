package journal

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

// Append gives env its sequence and time, and what else it lacks (id, stream,
// versions, type and durability of a durable event), and writes it. On error
// env is as it was and nothing of it is in the log.
func (j *Journal) Append(env *record.Envelope) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	filled := *env
	n := numbering{j.sequence, j.recorded}
	if err := j.fill(&filled, &n); err != nil {
		return err
	}
	j.buf = filled.Append(j.buf[:0])
	if err := j.write(n, 1); err != nil {
		return err
	}
	*env = filled
	return nil
}

// AppendFrame writes children, filled in as [Journal.Append] does, as one
// frame: all of them are in the log or none.
func (j *Journal) AppendFrame(children []record.Envelope) (*record.Frame, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return nil, err
	}
	n := numbering{j.sequence, j.recorded}
	f, err := j.frame(children, &n)
	if err != nil {
		return nil, err
	}
	j.buf = f.Append(j.buf[:0])
	if err := j.write(n, int64(len(children))); err != nil {
		return nil, err
	}
	return f, nil
}

// FirstFrame makes the frame that stands on line 1 of a new log, before there
// is a log: children are numbered from 1.
func FirstFrame(children []record.Envelope, opts Options) (*record.Frame, error) {
	opts.defaults()
	j := Journal{opts: opts}
	return j.frame(children, &numbering{})
}

func (j *Journal) frame(children []record.Envelope, n *numbering) (*record.Frame, error) {
	filled := append([]record.Envelope(nil), children...)
	for i := range filled {
		if err := j.fill(&filled[i], n); err != nil {
			return nil, fmt.Errorf("frame child %d: %w", i, err)
		}
	}
	return record.NewPermissionFrame(filled, j.lines+1, j.opts.NewID()), nil
}

// AppendMarker writes a marker for a record that was shown but is not kept. It
// fills in the stream, the position and the constant fields m lacks.
func (j *Journal) AppendMarker(m *record.Marker) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	filled := *m
	filled.Sequence = j.sequence + 1
	if filled.Name == "" {
		filled.Name = record.OmittedLiveOnly
	}
	if filled.SchemaVersion == 0 {
		filled.SchemaVersion = 1
	}
	if filled.Stream == (record.Stream{}) {
		filled.Stream = j.opts.Stream
	}
	if filled.ID == "" {
		filled.ID = j.opts.NewID()
	}
	if filled.Omitted == (record.Omitted{}) {
		filled.Omitted = record.TaskToolDelta()
	}
	j.buf = filled.Append(j.buf[:0])
	if err := j.write(numbering{filled.Sequence, j.recorded}, 1); err != nil {
		return err
	}
	*m = filled
	return nil
}

// numbering is where a log stands: its last sequence and recorded_at.
type numbering struct{ sequence, recorded int64 }

// fill completes env as the record after n.
func (j *Journal) fill(env *record.Envelope, n *numbering) error {
	if v := env.Payload; v.Kind() != '{' || !v.IsValid() {
		return fmt.Errorf("append %s record: payload is not a JSON object", env.PayloadType)
	}
	if hasLineFeed(env.Payload) {
		env.Payload = env.Payload.Clone()
		if err := env.Payload.Compact(jsontext.PreserveRawStrings(true)); err != nil {
			return fmt.Errorf("append %s record: %w", env.PayloadType, err)
		}
	}
	n.sequence++
	n.recorded = max(j.opts.Now().UnixMicro(), n.recorded+1)
	env.Sequence, env.RecordedAt = n.sequence, n.recorded
	if env.SchemaVersion == 0 {
		env.SchemaVersion = record.SchemaVersion
	}
	if env.ID == "" {
		env.ID = j.opts.NewID()
	}
	if env.Stream == (record.Stream{}) {
		env.Stream = j.opts.Stream
	}
	if env.RecordType == "" {
		env.RecordType = record.TypeEvent
	}
	if env.Durability == "" {
		env.Durability = record.Durable
	}
	if env.PayloadSchemaVersion == 0 {
		env.PayloadSchemaVersion = 1
	}
	return nil
}

// write writes j.buf and a line feed as the next line and moves on to n.
func (j *Journal) write(n numbering, records int64) error {
	if len(j.buf) > j.opts.MaxLine {
		size := len(j.buf)
		j.buf = nil
		return fmt.Errorf("append record: %d bytes are more than a line may have", size)
	}
	j.buf = append(j.buf, '\n')
	if err := j.unchanged(); err != nil {
		return err
	}
	written, err := j.file.WriteAt(j.buf, j.size)
	if err == nil && written < len(j.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return j.cutBack(err)
	}
	// Hash writes never fail (package hash).
	j.hash.Write(j.buf)
	j.digests.add(j.buf[:len(j.buf)-1])
	j.size += int64(len(j.buf))
	j.since.bytes += int64(len(j.buf))
	j.since.records += records
	j.lines++
	j.sequence, j.recorded = n.sequence, n.recorded
	j.dirty, j.sealed = true, false
	if cap(j.buf) > 1<<20 {
		j.buf = nil // one huge record must not pin its memory
	}
	return nil
}

// unchanged makes sure that the file still ends where this journal ended it.
// Some other program without the lease could have written to it, and writing
// on would bury what it wrote.
func (j *Journal) unchanged() error {
	info, err := j.file.Stat()
	if err != nil {
		return j.fail(err)
	}
	if info.Size() != j.size {
		return j.fail(fmt.Errorf("%s has %d bytes where %d were written: another program changed it", j.path, info.Size(), j.size))
	}
	return nil
}

// cutBack takes back a write that failed half way.
func (j *Journal) cutBack(cause error) error {
	if err := j.file.Truncate(j.size); err != nil {
		cause = fmt.Errorf("%w (and what was written of the record could not be taken back: %w)", cause, err)
	}
	return j.fail(cause)
}

func (j *Journal) fail(cause error) error {
	j.failed = fmt.Errorf("%w: %w", ErrFailed, cause)
	return j.failed
}

func (j *Journal) usable() error {
	if j.closed {
		return ErrClosed
	}
	return j.failed
}

func hasLineFeed(v jsontext.Value) bool {
	return bytes.IndexByte(v, '\n') >= 0 || bytes.IndexByte(v, '\r') >= 0
}
