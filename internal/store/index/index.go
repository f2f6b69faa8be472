// Package index answers which sessions there are, without reading their logs
// again: session-index.db in the data root has one row a session (seed 000,
// Session index).
//
// The logs are the truth and the index is derived from them. A row counts as
// long as the log has the size and the time that it had when it was read;
// otherwise what was added is read. An index that is missing, damaged or of
// another version is made again, in the background, those sessions first that
// were written last. Nobody waits for it longer than they say. When the file
// cannot be used at all, the index lives in memory.
//
// Several processes may use one index at a time, and each may be killed at any
// instant: rows are written in whole transactions, and which ones are missing
// or old is found out by looking at the logs, not by keeping account.
package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/sqldb"
)

// ErrClosed is returned for work on a closed index.
var ErrClosed = errors.New("session index is closed")

// Options say where the sessions are.
type Options struct {
	Root string // the data root, absolute
	// Memory keeps the index off the disk: nothing is written anywhere.
	Memory bool
	// Fresh is how long the index counts as up to date after a look at the
	// logs; 500 ms when 0.
	Fresh time.Duration
	// Poll is how often the logs are looked at while somebody watches for
	// changes that other processes make; 2 s when 0.
	Poll time.Duration
	// First is how long a list waits for the first rows of an index that has
	// none yet: no sessions would be a wrong answer, and soon there are some. 1 s
	// when 0.
	First time.Duration
	Now   func() time.Time // time.Now when nil
	// Trace gets what is worth knowing when something goes wrong; nil is none.
	Trace *slog.Logger
}

// Index is the index of one data root. It is safe for concurrent use. Making
// one costs nothing: the file is opened when the first question comes.
type Index struct {
	opts Options
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup

	using sync.RWMutex // held for writing to open and to replace db
	db    *sqldb.DB
	err   error // why there is none

	updating sync.Mutex // one batch at a time is read and written

	mu      sync.Mutex
	closed  bool
	pass    *pass     // under way
	looked  time.Time // when the last pass that found everything began
	touched map[string]bool
	busy    bool // a goroutine works on touched
	watch   watchers
}

// New is the index of a data root.
func New(opts Options) *Index {
	if opts.Fresh == 0 {
		opts.Fresh = 500 * time.Millisecond
	}
	if opts.Poll == 0 {
		opts.Poll = 2 * time.Second
	}
	if opts.First == 0 {
		opts.First = time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Trace == nil {
		opts.Trace = slog.New(slog.DiscardHandler)
	}
	x := &Index{opts: opts, touched: map[string]bool{}}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x
}

// Close ends all work of the index.
func (x *Index) Close() error {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.stop()
	x.work.Wait()
	x.watch.close()
	x.using.Lock()
	defer x.using.Unlock()
	d := x.db
	x.db, x.err = nil, ErrClosed
	if d == nil {
		return nil
	}
	if err := d.Close(); err != nil {
		return fmt.Errorf("close session index: %w", err)
	}
	return nil
}

// begin starts fn in the background, unless the index is closed.
func (x *Index) begin(fn func()) bool {
	if x.closed {
		return false
	}
	x.work.Go(fn)
	return true
}

// use runs fn with the database, which it opens when need be. A database that
// turns out to be damaged is set aside, and fn runs again with the new one.
func (x *Index) use(ctx context.Context, fn func(*sqldb.DB) error) error {
	const attempts = 3
	for n := 1; ; n++ {
		d, err := x.with(ctx, fn)
		if !errors.Is(err, sqldb.ErrCorrupt) || d == nil || n == attempts {
			return err
		}
		x.opts.Trace.Warn("session index is damaged and made again", "error", err)
		if err := x.discard(ctx, d); err != nil {
			return err
		}
	}
}

func (x *Index) with(ctx context.Context, fn func(*sqldb.DB) error) (*sqldb.DB, error) {
	x.using.RLock()
	for x.db == nil {
		x.using.RUnlock()
		if err := x.open(ctx); err != nil {
			return nil, err
		}
		x.using.RLock()
	}
	defer x.using.RUnlock()
	return x.db, fn(x.db)
}

// open opens the database, or one in memory when there can be none on disk.
func (x *Index) open(ctx context.Context) error {
	x.using.Lock()
	defer x.using.Unlock()
	if x.db != nil || x.err != nil {
		return x.err
	}
	d, err := x.openFile(ctx)
	if err != nil && ctx.Err() == nil {
		x.opts.Trace.Warn("session index cannot be kept on disk", "error", err)
		d, err = sqldb.Memory(ctx, options())
	}
	if err != nil {
		return fmt.Errorf("open session index: %w", err)
	}
	x.db = d
	return nil
}

func (x *Index) openFile(ctx context.Context) (*sqldb.DB, error) {
	if x.opts.Memory {
		return sqldb.Memory(ctx, options())
	}
	path := func(name string) string { return filepath.Join(x.opts.Root, name) }
	for again := true; ; again = false {
		d, replaced, err := sqldb.OpenBeside(ctx, path(fileName), path(ownName), options())
		if err != nil {
			return nil, err
		}
		if replaced {
			x.opts.Trace.Warn("session index was damaged and is made again")
		}
		err = sameVersion(ctx, d)
		if errors.Is(err, sqldb.ErrCorrupt) && again {
			x.opts.Trace.Warn("session index is damaged and made again", "error", err)
			if err := d.Discard(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		return d, nil
	}
}

// sameVersion empties an index that another version of this program made.
func sameVersion(ctx context.Context, d *sqldb.DB) error {
	return d.Write(ctx, func(tx *sql.Tx) error {
		var v string
		err := tx.QueryRowContext(ctx, "SELECT value FROM openmuse_meta WHERE key = 'schema'").Scan(&v)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if v == schemaVer {
			return nil
		}
		_, err = tx.ExecContext(ctx, drop+schema)
		return err
	})
}

// discard sets a damaged database aside, so that the next use makes a new one.
func (x *Index) discard(ctx context.Context, d *sqldb.DB) error {
	x.using.Lock()
	defer x.using.Unlock()
	if x.db != d {
		return nil // someone else did it
	}
	x.db = nil
	x.stale()
	if err := d.Discard(ctx); err != nil {
		return fmt.Errorf("set session index aside: %w", err)
	}
	return nil
}

// reopen lets go of a file that another process has set aside.
func (x *Index) reopen() {
	x.using.Lock()
	defer x.using.Unlock()
	if x.db == nil || !x.db.Replaced() {
		return
	}
	if err := x.db.Close(); err != nil {
		x.opts.Trace.Warn("close replaced session index", "error", err)
	}
	x.db = nil
	x.stale()
}

// stale makes the next question look at the logs.
func (x *Index) stale() {
	x.mu.Lock()
	x.looked = time.Time{}
	x.mu.Unlock()
}

// List answers a query. It begins to bring the index up to date, if that was
// not done just now, and waits for it as long as the query says.
func (x *Index) List(ctx context.Context, q Query) (Page, error) {
	p := x.look()
	whole, err := x.wait(ctx, p, q.Wait)
	if err != nil {
		return Page{}, err
	}
	var page Page
	none := false
	ask := func(d *sqldb.DB) error {
		return d.Read(func(db *sql.DB) (err error) {
			page, err = q.page(ctx, db)
			if err == nil && len(page.Rows) == 0 && !whole {
				err = db.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM sessions)").Scan(&none)
			}
			return err
		})
	}
	err = x.use(ctx, ask)
	if err == nil && none && p != nil {
		if err = p.waitFirst(ctx, x.opts.First); err == nil {
			err = x.use(ctx, ask)
		}
	}
	page.Whole = whole
	return page, err
}

// All is every session that a query selects. Limit and Cursor of the query are
// not used.
func (x *Index) All(ctx context.Context, q Query) ([]Row, error) { return x.Some(ctx, q, 0) }

// Some is the first most sessions that a query selects, page by page; 0 is all
// of them.
func (x *Index) Some(ctx context.Context, q Query, most int) ([]Row, error) {
	var all []Row
	for q.Cursor = ""; ; {
		if q.Limit = MaxLimit; most > 0 {
			q.Limit = min(MaxLimit, most-len(all))
		}
		page, err := x.List(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Rows...)
		if page.Next == "" || len(all) == most {
			return all, nil
		}
		q.Cursor, q.Wait = page.Next, 0
	}
}

// Start begins to bring the index up to date and returns at once.
func (x *Index) Start() { x.look() }

// Refresh brings the index up to date with the logs as they lie there now.
func (x *Index) Refresh(ctx context.Context) error {
	x.mu.Lock()
	earlier := x.pass
	x.mu.Unlock()
	if earlier != nil { // it may have been past what was written since
		select {
		case <-earlier.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	x.stale()
	_, err := x.wait(ctx, x.look(), -1)
	return err
}

// Get is the row of one session, as its log lies there now. The error is
// store.ErrNotFound when there is no such session.
func (x *Index) Get(ctx context.Context, id string) (Row, error) {
	s, err := store.Find(x.opts.Root, id)
	if err != nil {
		return Row{}, err
	}
	if ok, err := s.Started(); err != nil || !ok {
		return Row{}, errors.Join(err, fmt.Errorf("%w: %s has not started", store.ErrNotFound, id))
	}
	if err := x.update(ctx, []store.Started{{ID: s.ID, Shard: s.Shard()}}); err != nil {
		return Row{}, err
	}
	rows, err := x.rows(ctx, []string{s.ID})
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%w: %s", store.ErrNotFound, id)
	}
	if err != nil {
		return Row{}, err
	}
	return rows[0], nil
}
