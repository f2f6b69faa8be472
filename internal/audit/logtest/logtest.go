// Package logtest makes session logs for tests: records with numbers, times and
// ids in order, frames, markers, and our integrity checkpoints. The same calls
// give the same bytes.
package logtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/openmuse/muse/internal/record"
)

// Start is the time of the first record: 2026-10-01T09:00:00Z in µs.
const Start = 1790845200000000

// Log is a log being made. The zero values of its fields are not useful: use
// New.
type Log struct {
	Session string
	At      int64 // time of the next record, in µs
	Step    int64 // added after each record
	Precise bool  // checkpoints have line_digests and self

	buf     bytes.Buffer
	seq     int64
	line    int64
	sum     hash.Hash
	digests []byte
}

// New starts an empty log.
func New(session string) *Log {
	return &Log{Session: session, At: Start, Step: 1000, sum: sha256.New()}
}

// Bytes is the log so far.
func (l *Log) Bytes() []byte { return l.buf.Bytes() }

// Lines is how many lines it has.
func (l *Log) Lines() int { return int(l.line) }

// Line appends a line as it is.
func (l *Log) Line(line []byte) {
	l.buf.Write(line)
	l.buf.WriteByte('\n')
	l.sum.Write(line)
	l.sum.Write([]byte{'\n'})
	d := sha256.Sum256(line)
	l.digests = append(l.digests, d[:4]...)
	l.line++
}

// Envelope is the next record, not yet appended.
func (l *Log) Envelope(payloadType, payload string) record.Envelope {
	l.seq++
	id := sha256.Sum256(fmt.Appendf(nil, "%s %d", l.Session, l.seq))
	h := hex.EncodeToString(id[:16])
	e := record.Envelope{
		SchemaVersion: 1, ID: h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:],
		Stream: record.Stream{Kind: "session", ID: l.Session}, Sequence: l.seq, RecordedAt: l.At,
		RecordType: record.TypeEvent, Durability: record.Durable,
		PayloadType: payloadType, PayloadSchemaVersion: 1, Payload: []byte(payload),
	}
	l.At += l.Step
	return e
}

// Record appends a record.
func (l *Log) Record(payloadType, payload string) {
	e := l.Envelope(payloadType, payload)
	l.Line(e.Append(nil))
}

// Run appends a run event.
func (l *Log) Run(run, event string) {
	l.Record("runtime.session", fmt.Sprintf(`{"event":%s,"kind":"run","run_id":%q}`, event, run))
}

// Approval appends an approval event.
func (l *Log) Approval(run, event string) {
	l.Record("runtime.session", fmt.Sprintf(`{"event":%s,"kind":"approval","run_id":%q}`, event, run))
}

// Task appends a task event.
func (l *Log) Task(run, task, event string) {
	l.Record("runtime.session", fmt.Sprintf(`{"event":%s,"kind":"task","run_id":%q,"task_id":%q}`, event, run, task))
}

// Metadata appends the session's metadata; an empty build is that of Meta's
// binary.
func (l *Log) Metadata(root, model, build string) {
	if build == "" {
		build = "1.4.2"
	}
	l.Record("runtime.session.metadata", fmt.Sprintf(
		`{"kind":"metadata","record":{"build":{"semver":%q,"sha":"0123abcd45"},"model_id":%q,"provider_id":"meta","workspace_root":%q}}`, build, model, root))
}

// Branch appends an observation of the workspace's branch.
func (l *Log) Branch(name string) {
	l.Record("session.workspace_branch.observed", fmt.Sprintf(
		`{"kind":"workspace_branch","record":{"reference":{"kind":"branch","name":%q},"vcs":"git"}}`, name))
}

// RunModel appends the model of a run.
func (l *Log) RunModel(run, model string) {
	l.Record("run.model.configured", fmt.Sprintf(
		`{"kind":"run_model","record":{"model_id":%q,"provider_id":"meta","run_stream":{"id":%q,"kind":"run"}}}`, model, run))
}

// Profile appends a frame with a permission profile.
func (l *Log) Profile(approval, reviewer, id, cause string) {
	children := []record.Envelope{
		l.Envelope("runtime.session.permission_format_declared", `{"format":"profile_v1","schema_version":1}`),
		l.Envelope("runtime.session.permission_profile_committed", fmt.Sprintf(
			`{"cause":%q,"resolved_snapshot":{"approval":%q,"reviewer":%q,"schema_version":1},"source":{"id":%q,"kind":"built_in"}}`, cause, approval, reviewer, id)),
	}
	l.Line(record.NewPermissionFrame(children, l.line+1, "a1b2c3d4-0000-4000-8000-000000000001").Append(nil))
}

// Marker appends a retained marker.
func (l *Log) Marker() {
	l.seq++
	l.Line(fmt.Appendf(nil, `{"retained_marker":"omitted_live_only","schema_version":1,"stream":{"kind":"session","id":%q},"position":{"id":"40000000-0000-4000-8000-%012d","sequence":%d},"omitted_record":{"record_type":"status","durability":"ephemeral","payload_type":"runtime.session","payload_schema_version":1,"payload_kind":"task","omission_class":"task_tool_delta_v1"}}`, l.Session, l.seq, l.seq))
}

// Checkpoint appends one of our integrity checkpoints.
func (l *Log) Checkpoint(sealed bool) {
	digest := hex.EncodeToString(l.sum.Sum(nil))
	payload := fmt.Sprintf(`{"algorithm":"sha256","bytes":%d,"digest":"sha256:%s","sealed":%v}`, l.buf.Len(), digest, sealed)
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	if l.Precise {
		payload = fmt.Sprintf(`{"algorithm":"sha256","bytes":%d,"digest":"sha256:%s","line_digests":%q,"sealed":%v,"self":"%s"}`,
			l.buf.Len(), digest, base64.StdEncoding.EncodeToString(l.digests), sealed, zeros)
	}
	e := l.Envelope("openmuse.integrity.checkpoint", `{"kind":"integrity_checkpoint","record":`+payload+`}`)
	line := e.Append(nil)
	if l.Precise {
		sum := sha256.Sum256(line)
		line = bytes.Replace(line, []byte(zeros), []byte(hex.EncodeToString(sum[:])), 1)
	}
	l.digests = l.digests[:0]
	l.Line(line)
}
