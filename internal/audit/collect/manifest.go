package collect

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Status is what became of a file.
type Status string

// The outcomes.
const (
	Collected  Status = "collected"
	Partial    Status = "partial"    // reading failed on the way; what was read is kept
	Excluded   Status = "excluded"   // by a rule; a directory stands for all below it
	Credential Status = "credential" // left out because it holds secrets
	Unreadable Status = "unreadable"
	Link       Status = "link"    // a symbolic link, recorded and not followed
	Special    Status = "special" // a socket, pipe or device
)

// Entry is one line of the manifest.
type Entry struct {
	Path    string    `json:"path"`               // on the machine, from the root, with a leading slash
	PathHex string    `json:"path_hex,omitempty"` // the same in hex when it is not UTF-8
	Kind    string    `json:"kind"`               // "file", "directory", "link", "other"
	Status  Status    `json:"status"`
	Out     string    `json:"out,omitempty"` // where the copy is, relative to the collection
	Size    int64     `json:"size"`          // bytes on the machine
	Mode    string    `json:"mode"`          // octal, with the set-id bits
	ModTime time.Time `json:"mtime"`
	UID     *uint32   `json:"uid,omitempty"`
	GID     *uint32   `json:"gid,omitempty"`
	SHA256  string    `json:"sha256,omitempty"` // of the copy, hex
	Copied  int64     `json:"copied,omitempty"` // bytes of the copy

	Base      string   `json:"base,omitempty"`      // the home, project or root it was found under
	Rule      string   `json:"rule,omitempty"`      // the pattern that took it or left it out
	Reason    string   `json:"reason,omitempty"`    // why it was left out or could not be read
	Target    string   `json:"target,omitempty"`    // of a link
	Resolved  string   `json:"resolved,omitempty"`  // where it really is, when a link led there
	Sensitive bool     `json:"sensitive,omitempty"` // can hold secrets
	Changed   bool     `json:"changed,omitempty"`   // it changed while it was copied
	Group     string   `json:"group,omitempty"`     // database that a set of files belongs to
	Projects  []string `json:"projects,omitempty"`  // project paths that the file names

	Zip *zipPlace `json:"zip,omitempty"` // in the journal of an unfinished archive only
}

// zipPlace finds a finished member in an archive that has no directory yet.
type zipPlace struct {
	Offset     int64  `json:"offset"`
	Compressed int64  `json:"compressed"`
	CRC32      uint32 `json:"crc32"`
	Method     uint16 `json:"method"`
}

func newEntry(machinePath string, info fs.FileInfo) Entry {
	e := Entry{Path: machinePath, Kind: kindOf(info.Mode()), Size: info.Size(), Mode: octal(info.Mode()), ModTime: writable(info.ModTime())}
	if !utf8.ValidString(machinePath) {
		e.PathHex = hex.EncodeToString([]byte(machinePath))
		e.Path = strings.ToValidUTF8(machinePath, "\ufffd")
	}
	if info.IsDir() {
		e.Size = 0
	}
	e.UID, e.GID = owner(info)
	return e
}

// writable is t in UTC, or the nearest year that RFC 3339 can write: a file
// system can claim any time.
func writable(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return t
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

// octal writes the permission and set-id bits the way chmod takes them.
func octal(m fs.FileMode) string {
	bits := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return fmt.Sprintf("%04o", bits)
}

// line is the entry as one line of JSON. Names from the evidence are made
// valid UTF-8 on the way; PathHex keeps the bytes of the path itself.
func (e Entry) line() ([]byte, error) {
	b, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode manifest entry: %w", err)
	}
	return append(b, '\n'), nil
}

func parseEntry(line []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("decode manifest entry: %w", err)
	}
	return e, nil
}
