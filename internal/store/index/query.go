package index

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/store/summary"
)

// Limits of a page (MSP.md 7.1, session/list).
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// ErrCursor is found with errors.Is when a page cursor is none of ours, or was
// given out for other conditions.
var ErrCursor = errors.New("unknown page cursor")

// Query selects sessions. The zero Query is the first page of all, those that
// were written last first.
type Query struct {
	// Workspace is a directory; "" is any. A directory that is reached through
	// a link is also found under its real name.
	Workspace string
	// After leaves out sessions that were not written after that time.
	After time.Time
	// Branches, IDs and Text are conditions that must all hold; nil ones are
	// none.
	Branches *Branches
	IDs      *[]string
	Text     *Text
	// Words must all occur in the name, the title, the prompts or the workspace.
	Words []string
	// Name is a name as it is, in any case.
	Name string
	// Named leaves out sessions without a name.
	Named bool
	// Prefix is the beginning of the id.
	Prefix string
	Limit  int    `json:"-"` // DefaultLimit when 0, at most MaxLimit
	Cursor string `json:"-"`
	// Wait is how long the answer may wait for the index to be brought up to
	// date: 0 not at all, a negative one as long as it takes.
	Wait time.Duration `json:"-"`
}

// Branches is a list of branches, any of which will do; None stands for
// sessions on no branch.
type Branches struct {
	AnyOf []string
	None  bool
}

// Text are terms that occur in a field, in any case: each of AllOf, and one of
// AnyOf unless that is empty. Each term may occur in another one of the
// fields.
type Text struct {
	AllOf, AnyOf []string
	Name, Title  bool // the fields
}

// Page is a part of the answer to a query.
type Page struct {
	Rows []Row
	// Next is the cursor of the page after this one, "" on the last.
	Next string
	// Whole says that the index was up to date with the logs.
	Whole bool
}

// position is where a page ends.
type position struct {
	updated int64
	id      string
}

// fingerprint tells the conditions of queries apart.
func (q *Query) fingerprint() (uint64, error) {
	b, err := json.Marshal(q, json.Deterministic(true))
	if err != nil {
		return 0, fmt.Errorf("list sessions: %w", err)
	}
	h := fnv.New64a()
	h.Write(b) // never fails
	return h.Sum64(), nil
}

const cursorForm = "sl1."

func (p position) cursor(fingerprint uint64) string {
	b := binary.BigEndian.AppendUint64(nil, fingerprint)
	b = binary.BigEndian.AppendUint64(b, uint64(p.updated))
	return cursorForm + base64.RawURLEncoding.EncodeToString(append(b, p.id...))
}

func parseCursor(s string, fingerprint uint64) (p position, err error) {
	text, ok := strings.CutPrefix(s, cursorForm)
	b, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(b) < 17 || len(b) > 128 || binary.BigEndian.Uint64(b) != fingerprint {
		return p, fmt.Errorf("list sessions: %w", ErrCursor)
	}
	return position{int64(binary.BigEndian.Uint64(b[8:])), string(b[16:])}, nil
}

// conditions collects the parts of a WHERE clause.
type conditions struct {
	parts []string
	args  []any
}

func (c *conditions) add(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

// among adds that expr is one of values.
func (c *conditions) among(expr string, values []string, also ...string) error {
	list, err := json.Marshal(slices.Concat(values, also))
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	c.add(expr+" IN (SELECT value FROM json_each(?))", string(list))
	return nil
}

func (q *Query) conditions() (*conditions, error) {
	c := &conditions{}
	c.add("status = ?", valid)
	if q.Workspace != "" {
		keys := []string{key(q.Workspace)}
		// A workspace that is gone still has its sessions.
		if real, err := filepath.EvalSymlinks(q.Workspace); err == nil {
			keys = append(keys, key(real))
		}
		if err := c.among("workspace_key", keys); err != nil {
			return nil, err
		}
	}
	if !q.After.IsZero() {
		c.add("updated_at_us > ?", q.After.UnixMicro())
	}
	if q.Branches != nil {
		values := slices.DeleteFunc(slices.Clone(q.Branches.AnyOf), func(b string) bool { return b == "" })
		if q.Branches.None {
			values = append(values, "")
		}
		if err := c.among("git_branch", values); err != nil {
			return nil, err
		}
	}
	if q.IDs != nil {
		var lower []string
		for _, id := range *q.IDs {
			lower = append(lower, strings.ToLower(id))
		}
		if err := c.among("session_id", *q.IDs, lower...); err != nil {
			return nil, err
		}
	}
	if q.Name != "" {
		c.add("openmuse_name_folded = ?", summary.Fold(q.Name))
	}
	if q.Named {
		c.add("openmuse_name_folded <> ''")
	}
	if q.Prefix != "" {
		c.add("substr(session_id, 1, ?) = ?", len(q.Prefix), strings.ToLower(q.Prefix))
	}
	for _, w := range q.Words {
		w = summary.Fold(w)
		c.add("(instr(openmuse_name_folded, ?) OR instr(openmuse_title_folded, ?) OR instr(search_text, ?) OR instr(lower(workspace_root), ?))", w, w, w, w)
	}
	q.Text.conditions(c)
	return c, nil
}

func (t *Text) conditions(c *conditions) {
	if t == nil {
		return
	}
	term := func(text string) (string, []any) {
		var parts []string
		var args []any
		for column, on := range map[string]bool{"openmuse_name_folded": t.Name, "openmuse_title_folded": t.Title} {
			if on {
				parts = append(parts, "instr("+column+", ?) > 0")
				args = append(args, summary.Fold(text))
			}
		}
		if parts == nil {
			return "0", nil // text in no field is nowhere
		}
		return "(" + strings.Join(parts, " OR ") + ")", args
	}
	for _, text := range t.AllOf {
		part, args := term(text)
		c.add(part, args...)
	}
	var parts []string
	var all []any
	for _, text := range t.AnyOf {
		part, args := term(text)
		parts, all = append(parts, part), append(all, args...)
	}
	if parts != nil {
		c.add("("+strings.Join(parts, " OR ")+")", all...)
	}
}

// page reads one page.
func (q *Query) page(ctx context.Context, db *sql.DB) (Page, error) {
	var page Page
	fingerprint, err := q.fingerprint()
	if err != nil {
		return page, err
	}
	c, err := q.conditions()
	if err != nil {
		return page, err
	}
	if q.Cursor != "" {
		p, err := parseCursor(q.Cursor, fingerprint)
		if err != nil {
			return page, err
		}
		c.add("(updated_at_us, session_id) < (?, ?)", p.updated, p.id)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	query := "SELECT " + columns + " FROM sessions WHERE " + strings.Join(c.parts, " AND ") +
		" ORDER BY updated_at_us DESC, session_id DESC LIMIT ?"
	page.Rows, err = rowsOf(ctx, db, query, append(c.args, limit+1)...)
	if err != nil {
		return page, err
	}
	if len(page.Rows) > limit {
		page.Rows = page.Rows[:limit]
		last := &page.Rows[limit-1]
		page.Next = position{last.Updated, last.ID}.cursor(fingerprint)
	}
	return page, nil
}

func rowsOf(ctx context.Context, db *sql.DB, query string, args ...any) (list []Row, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("query session index: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r Row
		if err := r.scan(rows); err != nil {
			return nil, fmt.Errorf("query session index: %w", err)
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("query session index: %w", err)
	}
	return list, nil
}
