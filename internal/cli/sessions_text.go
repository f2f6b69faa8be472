package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/index"
	"github.com/openmuse/muse/internal/store/summary"
	"github.com/openmuse/muse/internal/store/textsearch"
)

// matchJSON is where a word was found in what was said and done.
type matchJSON struct {
	Word string    `json:"word"`
	Kind string    `json:"kind"` // "prompt", "answer", "call", "result"
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// searchTexts prints the sessions in which every word occurs: in what the index
// has of them, or in what was said and done. It reads one log after the other
// and prints what it finds at once.
func searchTexts(ctx context.Context, env *Env, s *sessionStore, q index.Query, o sessionsListOptions) error {
	var words []string
	for _, w := range o.words {
		words = append(words, summary.Fold(w))
	}
	q.Words = nil
	rows, err := s.index.All(ctx, q)
	if err != nil {
		return err
	}
	found := 0
	for i := range rows {
		if o.limit > 0 && found == o.limit {
			fmt.Fprintf(env.Stderr, "muse: the last %d sessions; --limit shows more\n", o.limit)
			break
		}
		matches, ok, err := s.matches(ctx, &rows[i], words)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(env.Stderr, "muse: warning: session %s: %s\n", rows[i].ID, auditShown(err.Error()))
		}
		if !ok {
			continue
		}
		found++
		if err := printMatches(env, &rows[i], matches, o.json); err != nil {
			return err
		}
	}
	if found == 0 && !o.json {
		fmt.Fprintln(env.Stderr, "muse: no sessions")
	}
	return nil
}

// matches looks for words in a session and reports whether it has them all.
func (s *sessionStore) matches(ctx context.Context, r *index.Row, words []string) ([]matchJSON, bool, error) {
	known := strings.Join([]string{summary.Fold(r.Name), summary.Fold(r.Title()), r.Search, summary.Fold(r.Root())}, "\n")
	var left []string
	for _, w := range words {
		if !strings.Contains(known, w) {
			left = append(left, w)
		}
	}
	if len(left) == 0 {
		return nil, true, nil
	}
	logs, err := store.OpenLogs(s.root)
	if err != nil {
		return nil, false, err
	}
	defer logs.Close() // only read
	f, _, err := logs.Open(r.Shard(), r.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil // it was removed just now
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // only read
	hits, err := textsearch.Find(ctx, f, left)
	if err != nil {
		return nil, false, err
	}
	var matches []matchJSON
	for i, h := range hits {
		if h == nil {
			return nil, false, nil
		}
		matches = append(matches, matchJSON{Word: left[i], Kind: h.Kind, At: time.UnixMicro(h.At).UTC(), Text: h.Text})
	}
	return matches, true, nil
}

func printMatches(env *Env, r *index.Row, matches []matchJSON, asJSON bool) error {
	if asJSON {
		j := toSessionJSON(r)
		j.Matches = matches
		return auditJSON(env, j)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", sessionTime(r.Updated), sessionLabel(r), auditShown(auditDash(shortTitle(r.Title()))))
	for _, m := range matches {
		fmt.Fprintf(&b, "    %s, %s: %s\n", m.Kind, sessionTime(m.At.UnixMicro()), auditShown(m.Text))
	}
	if _, err := fmt.Fprint(env.Stdout, b.String()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
