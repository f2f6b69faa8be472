package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openmuse/muse/internal/record"
)

// Commit makes everything appended before the call durable: it writes an
// integrity checkpoint when enough has come together since the last one, and
// syncs the file. Appends may go on meanwhile.
func (j *Journal) Commit() error {
	return j.commit(func() error {
		if j.since.records < j.opts.CheckpointRecords && j.since.bytes < j.opts.CheckpointBytes {
			return nil
		}
		return j.checkpoint(false)
	})
}

// Seal ends the log in order: its last line becomes a sealing checkpoint, and
// everything is made durable. The journal stays open.
func (j *Journal) Seal() error {
	return j.commit(func() error {
		if j.sealed {
			return nil
		}
		return j.checkpoint(true)
	})
}

func (j *Journal) commit(before func() error) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	err := j.usable()
	if err == nil {
		err = j.inPlace()
	}
	if err == nil {
		err = before()
	}
	dirty, newName := j.dirty, j.newName
	j.dirty, j.newName = false, false
	j.mu.Unlock()
	if err != nil {
		return err
	}
	if dirty {
		err = j.file.Sync()
	}
	if newName && err == nil {
		err = j.opts.SyncDir(filepath.Dir(j.path))
	}
	if err != nil {
		// What reached the disk is unknown now and a second sync may lie, so
		// no promise can be made any more.
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.fail(err)
	}
	return nil
}

// inPlace makes sure that the log's path still leads to the file that is
// written: nobody would find what goes to one that was removed or replaced.
func (j *Journal) inPlace() error {
	written, err := j.file.Stat()
	if err != nil {
		return j.fail(err)
	}
	named, err := os.Lstat(j.path)
	if err != nil || !os.SameFile(written, named) {
		return j.fail(fmt.Errorf("%s was removed or replaced while it was being written", j.path))
	}
	return nil
}

// checkpoint appends an integrity checkpoint.
func (j *Journal) checkpoint(sealed bool) error {
	payload, err := Checkpoint{Algorithm: "sha256", Bytes: j.size, Digest: digest(j.hash), LineDigests: j.digests.text(), Sealed: sealed, Self: noSelf}.payload()
	if err != nil {
		return err
	}
	env := record.Envelope{PayloadType: CheckpointType, Payload: payload}
	n := numbering{j.sequence, j.recorded}
	if err := j.fill(&env, &n); err != nil {
		return err
	}
	j.buf = env.Append(j.buf[:0])
	signSelf(j.buf)
	j.digests.restart()
	if err := j.write(n, 1); err != nil {
		return err
	}
	j.since, j.sealed = mark{}, sealed
	return nil
}

// Close syncs what is not yet durable and closes the file. It does not seal.
func (j *Journal) Close() error {
	err := j.commit(func() error { return nil })
	if errors.Is(err, ErrClosed) {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if closeErr := j.file.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close session log: %w", closeErr)
	}
	return err
}
