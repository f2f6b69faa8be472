package msp

// SessionViewHealthChangedParams are the params of session/viewHealthChanged.
type SessionViewHealthChangedParams struct {
	SessionID  string            `json:"sessionId"`
	Health     SessionViewHealth `json:"health"`
	NoneReason HistoryNoneReason `json:"noneReason,omitzero"`
}

// ViewGapParams are the params of view/gap.
type ViewGapParams struct {
	SessionID string `json:"sessionId"`
	After     string `json:"after"` // the last event that was pushed
	Next      string `json:"next"`  // the next event that is pushed
}

// ViewPageParams is what view/page takes.
type ViewPageParams struct {
	SessionID string            `json:"sessionId"`
	Limit     int64             `json:"limit" msp:"min=1,max=1000"`
	Anchor    ViewPageAnchor    `json:"anchor,omitzero"`    // not together with cursor
	Cursor    *string           `json:"cursor,omitzero"`    // excluded itself; absent is the beginning, or backward the head
	Direction ViewPageDirection `json:"direction,omitzero"` // forward when absent
}

// ViewPageResolvedAnchor is where a named place was found.
type ViewPageResolvedAnchor struct {
	BoundaryCursor string `json:"boundaryCursor"`
}

// ViewPageResult is what view/page answers.
type ViewPageResult struct {
	Events         []UnframedViewNotification `json:"events"`                  // always in the order of the log
	NextCursor     *string                    `json:"nextCursor"`              // null when there is no more
	ResolvedAnchor *ViewPageResolvedAnchor    `json:"resolvedAnchor,omitzero"` // when an anchor was asked for
}

// ViewSubscribeParams is what view/subscribe takes.
type ViewSubscribeParams struct {
	SessionID string  `json:"sessionId"`
	After     *string `json:"after,omitzero"` // replays what follows it; absent is from now on
}

// ViewSubscribeResult is what view/subscribe answers.
type ViewSubscribeResult struct {
	ViewCursor string `json:"viewCursor"` // the newest one
}

// ViewUnsubscribeParams is what view/unsubscribe takes.
type ViewUnsubscribeParams struct {
	SessionID string `json:"sessionId"`
}

// ViewUnsubscribeResult is what view/unsubscribe answers.
type ViewUnsubscribeResult struct {
}

// SessionViewHealth says that the live view of a session was lost.
type SessionViewHealth string

// The values of SessionViewHealth; clients must bear others.
const (
	SessionViewHealthUnavailable SessionViewHealth = "unavailable"
)

func (SessionViewHealth) values() enumeration {
	return openValues(SessionViewHealthUnavailable)
}

// ViewPageAnchor is a named place to page from.
type ViewPageAnchor string

// The values of ViewPageAnchor; clients must bear others.
const (
	ViewPageAnchorLatestCompaction ViewPageAnchor = "latestCompaction"
)

func (ViewPageAnchor) values() enumeration {
	return openValues(ViewPageAnchorLatestCompaction)
}

// ViewPageDirection is the way a page extends from its cursor.
type ViewPageDirection string

// The values of ViewPageDirection.
const (
	ViewPageDirectionForward  ViewPageDirection = "forward"
	ViewPageDirectionBackward ViewPageDirection = "backward"
)

func (ViewPageDirection) values() enumeration {
	return closedValues(ViewPageDirectionForward, ViewPageDirectionBackward)
}
