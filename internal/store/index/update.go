package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/sqldb"
	"github.com/openmuse/muse/internal/store/summary"
)

// batch is how many sessions are read between two transactions.
const batch = 64

// run makes one pass: rows of sessions that are gone are removed, those of new
// and changed ones are made, the last written first.
func (x *Index) run(p *pass) error {
	x.reopen()
	ctx := x.ctx
	// Opening the index, or making its file, takes as long as looking at the
	// logs.
	var have map[string]Row
	known := make(chan error, 1)
	go func() {
		var err error
		have, err = x.known(ctx)
		known <- err
	}()
	var all []store.Started
	err := store.Walk(x.opts.Root, func(s store.Started) error {
		all = append(all, s)
		return ctx.Err()
	})
	if knownErr := <-known; knownErr != nil {
		return knownErr
	}
	if err != nil {
		return fmt.Errorf("update session index: %w", err)
	}
	var stale []store.Started
	for _, s := range all {
		// A session that was made after the index was read has no row yet.
		k, ok := have[s.ID]
		delete(have, s.ID)
		if !ok || !k.fresh(s) || !k.Whole {
			stale = append(stale, s)
		}
	}
	if err := x.remove(ctx, x.gone(have)); err != nil {
		return err
	}
	slices.SortFunc(stale, func(a, b store.Started) int {
		if c := b.Written.Compare(a.Written); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	for part := range slices.Chunk(stale, batch) {
		if err := x.update(ctx, part); err != nil {
			return err
		}
		p.first()
	}
	p.first()
	return x.complete(ctx)
}

// known lists the sessions that have a row.
func (x *Index) known(ctx context.Context) (map[string]Row, error) {
	var have map[string]Row
	err := x.use(ctx, func(d *sqldb.DB) error {
		return d.Read(func(db *sql.DB) (err error) {
			have = map[string]Row{}
			rows, err := db.QueryContext(ctx, "SELECT session_id, openmuse_shard, openmuse_size, openmuse_written_ns, openmuse_whole FROM sessions INDEXED BY openmuse_sources")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, rows.Close()) }()
			for rows.Next() {
				var k Row
				var written int64
				if err := rows.Scan(&k.ID, &k.shard, &k.Size, &written, &k.Whole); err != nil {
					return err
				}
				k.Written = fromNanos(written)
				have[k.ID] = k
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read session index: %w", err)
	}
	return have, nil
}

// gone are those of the rows whose log is not there. One that no walk found may
// be of a session that began behind its back.
func (x *Index) gone(rows map[string]Row) map[string]Row {
	maps.DeleteFunc(rows, func(id string, r Row) bool {
		_, err := os.Lstat(store.LogIn(filepath.Join(x.opts.Root, "sessions", filepath.FromSlash(r.shard), id)))
		return err == nil
	})
	return rows
}

// remove takes out the rows of sessions that are gone.
func (x *Index) remove(ctx context.Context, gone map[string]Row) error {
	if len(gone) == 0 {
		return nil
	}
	err := x.use(ctx, func(d *sqldb.DB) error {
		return d.Write(ctx, func(tx *sql.Tx) error {
			for id := range gone {
				if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE session_id = ?", id); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("update session index: %w", err)
	}
	for id := range gone {
		x.watch.publish(Change{Row: Row{ID: id}, Removed: true})
	}
	return nil
}

// rows are the rows of some sessions, in no order.
func (x *Index) rows(ctx context.Context, ids []string) (list []Row, err error) {
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("read session index: %w", err)
	}
	err = x.use(ctx, func(d *sqldb.DB) error {
		return d.Read(func(db *sql.DB) (err error) {
			list, err = rowsOf(ctx, db, "SELECT "+columns+" FROM sessions WHERE session_id IN (SELECT value FROM json_each(?))", string(text))
			return err
		})
	})
	return list, err
}

// update makes the rows of some sessions anew where they are not those of the
// logs. Another process may have made them meanwhile.
func (x *Index) update(ctx context.Context, found []store.Started) error {
	x.updating.Lock()
	defer x.updating.Unlock()
	logs, err := store.OpenLogs(x.opts.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // they were removed
	}
	if err != nil {
		return fmt.Errorf("update session index: %w", err)
	}
	defer logs.Close() // only read
	ids := make([]string, len(found))
	for i, s := range found {
		ids[i] = s.ID
	}
	rows, err := x.rows(ctx, ids)
	if err != nil {
		return err
	}
	old := map[string]*Row{}
	for i := range rows {
		old[rows[i].ID] = &rows[i]
	}
	made := x.read(ctx, logs, found, old)
	if err := ctx.Err(); err != nil {
		return err
	}
	return x.write(ctx, made, old)
}

// read reads logs, a few at a time. What has a row that is as it should be is
// left out.
func (x *Index) read(ctx context.Context, logs *store.Logs, found []store.Started, old map[string]*Row) []Row {
	made := make([]*Row, len(found))
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(len(found), max(1, runtime.GOMAXPROCS(0)), 4) {
		wg.Go(func() {
			for i := range next {
				made[i] = x.readOne(ctx, logs, found[i], old[found[i].ID])
			}
		})
	}
	for i := range found {
		next <- i
	}
	close(next)
	wg.Wait()
	var rows []Row
	for _, r := range made {
		if r != nil {
			rows = append(rows, *r)
		}
	}
	return rows
}

// readOne reads what is new in a log, nil for nothing. A large log that was
// never read is looked at only at its ends for now.
func (x *Index) readOne(ctx context.Context, logs *store.Logs, found store.Started, old *Row) *Row {
	f, info, err := logs.Open(found.Shard, found.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed; the next pass takes the row out
	}
	dir := logs.Dir(found.Shard, found.ID)
	r := Row{ID: found.ID, Dir: dir, Log: store.LogIn(dir), Size: found.Size, Written: found.Written, Whole: true, shard: found.Shard}
	r.Summary.ID = r.ID
	if err != nil {
		// Until the log changes there is nothing to try again.
		x.opts.Trace.Warn("session log cannot be opened", "id", found.ID, "error", err)
		return &r
	}
	defer f.Close() // only read
	r.Size, r.Written = info.Size(), fromNanos(info.ModTime().UnixNano())
	if old != nil {
		if old.fresh(store.Started{Size: r.Size, Written: r.Written, Shard: r.shard}) && (old.Whole || r.Size > summary.Large) {
			return nil
		}
		r.Summary, r.state = old.Summary, old.state
	}
	if r.Size-r.state.Through > summary.Large && r.state.Through == 0 {
		r.Whole = false
		r.Summary, err = summary.Quick(ctx, f, r.Size)
		r.Summary.ID = r.ID
	} else {
		r.Summary, r.state, err = summary.Read(ctx, f, r.Size, r.Summary, r.state)
	}
	if err != nil {
		x.opts.Trace.Warn("session log cannot be read", "id", found.ID, "error", err)
	}
	return &r
}

// write puts rows into the index and tells who watches what changed.
func (x *Index) write(ctx context.Context, made []Row, old map[string]*Row) error {
	if len(made) == 0 {
		return nil
	}
	query := "INSERT OR REPLACE INTO sessions (" + columns + ") VALUES (?" + strings.Repeat(", ?", len(made[0].values())-1) + ")"
	err := x.use(ctx, func(d *sqldb.DB) error {
		return d.Write(ctx, func(tx *sql.Tx) (err error) {
			insert, err := tx.PrepareContext(ctx, query)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, insert.Close()) }()
			for i := range made {
				if _, err := insert.ExecContext(ctx, made[i].values()...); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("update session index: %w", err)
	}
	for _, r := range made {
		if o := old[r.ID]; r.Readable() && (o == nil || o.shard != r.shard || !reflect.DeepEqual(o.Summary, r.Summary)) {
			x.watch.publish(Change{Row: r})
		}
	}
	return nil
}

// complete reads the large logs to their ends, one after the other.
func (x *Index) complete(ctx context.Context) error {
	for {
		var rows []Row
		err := x.use(ctx, func(d *sqldb.DB) error {
			return d.Read(func(db *sql.DB) (err error) {
				rows, err = rowsOf(ctx, db, "SELECT "+columns+" FROM sessions WHERE NOT openmuse_whole ORDER BY updated_at_us DESC LIMIT 1")
				return err
			})
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := x.completeOne(ctx, rows[0]); err != nil {
			return err
		}
	}
}

func (x *Index) completeOne(ctx context.Context, old Row) error {
	x.updating.Lock()
	defer x.updating.Unlock()
	logs, err := store.OpenLogs(x.opts.Root)
	if err != nil {
		return fmt.Errorf("update session index: %w", err)
	}
	defer logs.Close() // only read
	r := old
	r.Whole = true
	f, info, err := logs.Open(old.shard, old.ID)
	if err == nil {
		defer f.Close() // only read
		r.Size, r.Written = info.Size(), fromNanos(info.ModTime().UnixNano())
		r.Summary, r.state, err = summary.Read(ctx, f, r.Size, summary.Summary{ID: old.ID}, summary.State{})
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err != nil {
		x.opts.Trace.Warn("session log cannot be read", "id", old.ID, "error", err)
		r.Summary = old.Summary
	}
	return x.write(ctx, []Row{r}, map[string]*Row{old.ID: &old})
}
