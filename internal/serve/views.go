package serve

import (
	"github.com/openmuse/muse/internal/msp"
)

// subscribe attaches the client to the view of a loaded session: to what is
// still to come, or from a cursor on.
func subscribe(k *call, p msp.ViewSubscribeParams) (msp.ViewSubscribeResult, error) {
	f, err := k.loaded(p.SessionID)
	if err != nil {
		return msp.ViewSubscribeResult{}, err
	}
	out := msp.ViewSubscribeResult{ViewCursor: f.view.Fold().Cursor()}
	if p.After == nil {
		if !f.attached {
			f.attach()
			k.then(f.askAll)
		}
		return out, nil
	}
	ask := f.askAll
	if f.attached {
		ask = func() {} // they were put to the client already
	}
	return out, k.catchUpFrom(f, *p.After, ask)
}

// unsubscribe detaches the client; doing it twice changes nothing.
func unsubscribe(k *call, p msp.ViewUnsubscribeParams) (msp.ViewUnsubscribeResult, error) {
	if f := k.feeds.of(p.SessionID); f != nil {
		f.gate.Lock()
		k.release = f.gate.Unlock
		f.detach()
		k.then(f.rest)
	}
	return msp.ViewUnsubscribeResult{}, nil
}

// page serves a part of the view.
func page(k *call, p msp.ViewPageParams) (msp.ViewPageResult, error) {
	var out msp.ViewPageResult
	switch {
	case p.Anchor != "" && p.Anchor != msp.ViewPageAnchorLatestCompaction:
		return out, msp.InvalidParams("anchor", "is not latestCompaction")
	case p.Anchor != "" && p.Cursor != nil:
		return out, msp.InvalidParams("anchor", "excludes cursor")
	}
	err := k.seeing(p.SessionID, func(v *view, _ bool) (err error) {
		out, err = v.page(k.ctx, p)
		return err
	})
	return out, err
}
