package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// A database in use is read again while it changes under the reading, with a
// pause that lets a writer finish. Databases up to groupMemory are read whole
// before anything is written; a larger one is copied as it is.
const (
	groupTries  = 5
	groupPause  = 50 * time.Millisecond
	groupMemory = 64 << 20
)

// work copies one job.
func (c *collector) work(ctx context.Context, j job) {
	defer func() {
		if err := j.dir.drop(); err != nil {
			c.problem(j.base.display(path.Dir(j.files[0].rel)), err)
		}
	}()
	switch {
	case c.stopped(ctx):
	case len(j.files) > 1:
		c.copyGroup(ctx, j)
	default:
		src, info, ok := c.open(j, j.files[0])
		if !ok {
			return
		}
		defer src.Close()
		c.copyFile(ctx, j, j.files[0], src, info, func() bool {
			after, err := src.Stat()
			return err != nil || after.Size() != info.Size() || !after.ModTime().Equal(info.ModTime())
		})
	}
}

// open opens a file of the evidence, or files why it cannot be read.
func (c *collector) open(j job, f found) (*os.File, fs.FileInfo, bool) {
	src, info, err := j.dir.OpenFile(f.name)
	if err == nil {
		return src, info, true
	}
	p := j.base.display(f.rel)
	if info == nil {
		c.problem(p, err)
		return nil, nil, false
	}
	e := newEntry(p, info)
	e.Status, e.Base, e.Rule, e.Reason = Unreadable, j.base.display(""), j.rule, err.Error()
	c.add(e)
	return nil, nil, false
}

// copyFile copies one file and files its entry; changed is asked when the copy
// is done.
func (c *collector) copyFile(ctx context.Context, j job, f found, src io.Reader, info fs.FileInfo, changed func() bool) {
	e := newEntry(j.base.display(f.rel), info)
	e.Status, e.Base, e.Rule, e.Resolved, e.Out = Collected, j.base.display(""), j.rule, f.real, f.out
	_, e.Sensitive = j.base.match.find("sensitive", f.rel)
	if r, ok := j.base.match.find("credential", f.rel); ok {
		e.Sensitive, e.Rule = true, r.Pattern
	}
	if len(j.files) > 1 {
		e.Group = j.base.display(j.files[0].rel)
	}
	kept, err := c.keepEarlier(&e)
	if err != nil {
		c.fail(err)
		return
	}
	if kept {
		c.add(e)
		return
	}
	var tap func([]byte)
	var log *logTap
	if path.Base(f.rel) == "session.jsonl" {
		log = newLogTap()
		tap = log.see
	}
	if err := c.sink.put(ctx, f.out, info, &e, src, tap); err != nil {
		c.fail(err)
		return
	}
	if log != nil {
		log.end()
		e.Projects = log.found.list()
	}
	e.Changed = changed()
	c.add(e)
}

// keepEarlier takes over the copy of an interrupted attempt if the file is as
// it was. Databases are always read again: their parts must be of one moment.
func (c *collector) keepEarlier(e *Entry) (bool, error) {
	old, ok := c.earlier[e.Path+e.PathHex]
	if !ok || e.Group != "" || old.Group != "" || old.Changed || old.Out != e.Out ||
		old.Size != e.Size || old.Mode != e.Mode || !old.ModTime.Equal(e.ModTime) {
		return false, nil
	}
	kept, err := c.sink.have(&old)
	if !kept || err != nil {
		return false, err
	}
	old.Base, old.Rule, old.Sensitive, old.Resolved = e.Base, e.Rule, e.Sensitive, e.Resolved
	*e = old
	return true, nil
}

// member is a file of a database, read whole or open.
type member struct {
	f    found
	info fs.FileInfo
	data []byte
}

// copyGroup copies a database and its sidecars in one state: they are read
// until none of them changed from the first look to the last.
func (c *collector) copyGroup(ctx context.Context, j job) {
	if c.groupSize(j) > groupMemory {
		c.copyLargeGroup(ctx, j)
		return
	}
	var members []member
	consistent := false
	for try := 1; try <= groupTries && !consistent; try++ {
		if try > 1 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(groupPause):
			}
		}
		before := c.state(j)
		members = members[:0]
		for _, f := range j.files {
			m, err := readMember(j, f)
			switch {
			case err == nil:
				members = append(members, m)
			case !errors.Is(err, fs.ErrNotExist): // a log that was just removed is no fault
				c.problem(j.base.display(f.rel), err)
			}
		}
		consistent = c.state(j) == before
	}
	for _, m := range members {
		c.copyFile(ctx, j, m.f, bytes.NewReader(m.data), m.info, func() bool { return !consistent })
	}
}

func readMember(j job, f found) (member, error) {
	src, info, err := j.dir.OpenFile(f.name)
	if err != nil {
		return member{}, err
	}
	defer src.Close()
	data, err := io.ReadAll(io.LimitReader(src, 2*groupMemory))
	if err != nil {
		return member{}, fmt.Errorf("%w: %w", errRead, err)
	}
	return member{f, info, data}, nil
}

func (c *collector) copyLargeGroup(ctx context.Context, j job) {
	before := c.state(j)
	for _, f := range j.files {
		src, info, ok := c.open(j, f)
		if !ok {
			continue
		}
		c.copyFile(ctx, j, f, src, info, func() bool { return c.state(j) != before })
		if err := src.Close(); err != nil {
			c.problem(j.base.display(f.rel), err)
		}
	}
}

func (c *collector) groupSize(j job) int64 {
	var total int64
	for _, f := range j.files {
		if info, err := j.dir.Lstat(f.name); err == nil {
			total += info.Size()
		}
	}
	return total
}

// state is what must not change while a database is copied. The -shm file is
// left out: it changes with every reader and is rebuilt from the -wal file.
func (c *collector) state(j job) string {
	var b strings.Builder
	for _, f := range j.files {
		if strings.HasSuffix(f.name, "-shm") {
			continue
		}
		info, err := j.dir.Lstat(f.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			b.WriteString("none;")
		case err != nil:
			b.WriteString("unreadable;")
		default:
			fmt.Fprintf(&b, "%d %d;", info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
