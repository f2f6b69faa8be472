package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// checkpointType is the payload type of our integrity checkpoints. Their
// payload.record has
//
//	algorithm     "sha256"
//	bytes         offset at which the checkpoint's own line starts
//	digest        "sha256:" and the hash of all bytes before that
//	sealed        whether this ends the session
//	line_digests  optional: base64 of the first 4 bytes of the SHA-256 of each
//	              line since the checkpoint before, without its line feed; they
//	              name the line that was changed
//	self          optional: 64 hex digits, the SHA-256 of the checkpoint's own
//	              line with these digits as zeros; it protects the last line,
//	              which no later checkpoint covers
const checkpointType = "openmuse.integrity.checkpoint"

// lineDigest is what line_digests holds of a line.
func lineDigest(line []byte) [4]byte {
	sum := sha256.Sum256(line)
	return [4]byte(sum[:4])
}

// selfDigest is the self of a checkpoint line that has digits in it.
func selfDigest(line, digits []byte) string {
	i := bytes.LastIndex(line, digits)
	if len(digits) != 64 || i < 0 {
		return ""
	}
	h := sha256.New()
	h.Write(line[:i])
	h.Write(bytes.Repeat([]byte{'0'}, 64))
	h.Write(line[i+64:])
	return hex.EncodeToString(h.Sum(nil))
}

// checkpoint compares a checkpoint with the bytes before it.
func (l *log) checkpoint(e *record.Envelope, at place, raw []byte) {
	rec := jsonline.Get(e.Payload, "record")
	text := func(key string) []byte {
		lit, _ := jsonline.Literal(jsonline.Get(rec, key))
		return jsonline.Text(lit)
	}
	l.sealed = string(jsonline.Get(rec, "sealed")) == "true"
	if self := text("self"); self != nil && selfDigest(raw, self) != string(self) {
		l.find(at, Error, Checkpoint, "the checkpoint's own line was changed")
	}
	if a := text("algorithm"); string(a) != "sha256" {
		l.find(at, Error, Checkpoint, "unknown algorithm %q", a)
		return
	}
	if l.broken {
		return // everything after the first change differs
	}
	want := string(text("digest"))
	offset, ok := jsonline.Int(jsonline.Get(rec, "bytes"))
	fits := l.whole && ok && offset == at.offset && want == "sha256:"+hex.EncodeToString(l.sum.Sum(nil))
	if fits {
		l.first = place{}
		// The checkpoint's own line is covered by the next one.
		l.since = interval{start: at}
		return
	}
	l.broken = true
	l.locate(at, text("line_digests"))
}

// locate names the first line that is not as it was when the checkpoint was
// written: by the lines' own digests when the checkpoint has them, else by the
// first line that is wrong in itself, else as precisely as the interval.
func (l *log) locate(at place, encoded []byte) {
	start := l.since.start
	bad := l.first
	if i, ok := l.firstDifferent(encoded); ok {
		if d := l.since.at(i, at); bad.line == 0 || d.line < bad.line {
			bad = d
		}
	}
	switch {
	case bad.line == at.line:
		l.find(at, Error, Checkpoint, "the lines before it are as they were: the checkpoint itself was changed, or lines before it are missing")
	case bad.line != 0:
		l.find(bad, Error, Checkpoint, "the first line that is not as the checkpoint on line %d has it", at.line)
	default:
		l.find(start, Error, Checkpoint, "one of the lines %d to %d is not as it was when the checkpoint on line %d was written", start.line, at.line-1, at.line)
	}
}

// firstDifferent compares the lines of the interval with a checkpoint's
// digests of them and is the index of the first that differs, or the number of
// lines if all are as they were.
func (l *log) firstDifferent(encoded []byte) (int, bool) {
	raw, err := base64.StdEncoding.DecodeString(string(encoded))
	if err != nil || len(raw) == 0 || len(raw)%4 != 0 {
		return 0, false
	}
	have, n := l.since.digests, len(raw)/4
	same := func(from int) int {
		i := 0
		for i < n && from+i < len(have) && have[from+i] == [4]byte(raw[4*i:]) {
			i++
		}
		return i
	}
	i := same(0)
	if behind := len(have) - n; i == 0 && behind > 0 && n > 1 {
		// The checkpoint that these digests start from may be the line that
		// was changed; then the lines behind it fit.
		rest := 0
		for j := 1; j < n; j++ {
			if have[behind+j] == [4]byte(raw[4*j:]) {
				rest++
			}
		}
		if rest == n-1 {
			return behind + same(behind), true
		}
	}
	return i, true
}
