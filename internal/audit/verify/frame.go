package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/openmuse/muse/internal/record"
)

// frame checks a retained frame and the records in it.
func (l *log) frame(f *record.Frame, at place) {
	if f.Ordinal != at.line {
		l.frames = append(l.frames, pendingFrame{at: at, why: "outer_log_ordinal is not the line", wrong: true})
	}
	if !fits(f) {
		why := "content_sha256 does not fit the children"
		if strings.Trim(f.ContentSHA256, "0") == "sha256:" {
			why = "content_sha256 is all zeros"
		}
		l.frames = append(l.frames, pendingFrame{at: at, why: why + "; how other writers compute it is not known", wrong: true})
	}
	for i, c := range f.Children {
		if c.Index != i {
			l.find(at, Warning, IrregularRecord, "frame child %d has child_index %d", i, c.Index)
		}
		env, err := c.Envelope()
		if err != nil {
			l.badSince++
			l.find(at, Error, UnreadableLine, "%v", err)
			continue
		}
		l.envelope(env, at, []byte(c.RecordJSON))
	}
}

// fits tries the rules by which a hash of the children could have been made:
// ours first, which hashes them as the lines they would be.
func fits(f *record.Frame) bool {
	if f.ContentSHA256 == f.Digest() {
		return true
	}
	var texts []string
	for _, c := range f.Children {
		texts = append(texts, c.RecordJSON)
	}
	for _, sep := range []string{"", "\n", "\x00"} {
		sum := sha256.Sum256([]byte(strings.Join(texts, sep)))
		if f.ContentSHA256 == "sha256:"+hex.EncodeToString(sum[:]) {
			return true
		}
	}
	return false
}
