package cli

import (
	"context"
	"errors"
	"time"

	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/index"
	"github.com/openmuse/muse/internal/store/names"
)

// newNames is the authority over the names of a data root's sessions. What it
// has to know of logs it learns from the index.
func newNames(x *index.Index, root string, now func() time.Time) *names.Authority {
	return names.New(names.Options{
		Root: root, Now: now,
		Known: func(ctx context.Context) ([]names.Known, error) {
			rows, err := x.All(ctx, index.Query{Named: true, Wait: -1})
			var list []names.Known
			for _, r := range rows {
				list = append(list, names.Known{Session: r.ID, Name: r.Name, Source: r.NameSource})
			}
			return list, err
		},
		Logged: func(ctx context.Context, session string) (string, bool, error) {
			r, err := x.Get(ctx, session)
			if errors.Is(err, store.ErrNotFound) {
				return "", false, nil
			}
			return r.Name, err == nil, err
		},
	})
}
