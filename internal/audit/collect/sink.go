package collect

import (
	"context"
	"io"
	"io/fs"
)

// sink is where a collection goes. put and dir may be called from several
// goroutines; finish and abort once, after all of them.
type sink interface {
	// dir makes a directory; its times and mode are set at the end, because
	// every file put into it would change them.
	dir(out string, info fs.FileInfo) error
	// put stores a file and fills in e's SHA256, Copied and, on a read error,
	// Status and Reason. The error it returns is one of the output.
	put(ctx context.Context, out string, info fs.FileInfo, e *Entry, src io.Reader, tap func([]byte)) error
	// have reports whether the copy that e of an earlier attempt speaks of is
	// still there, and keeps it.
	have(e *Entry) (bool, error)
	// note writes one of the collection's own files.
	note(name string, text []byte) error
	// finish makes the collection final; abort leaves it to be resumed.
	finish() error
	abort() error
}

// result files a copy's outcome into the entry.
func (e *Entry) result(c copied) {
	e.SHA256, e.Copied = c.sha256, c.bytes
	if c.readErr != nil {
		e.Status, e.Reason = Partial, c.readErr.Error()
	}
}
