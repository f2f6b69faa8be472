package msptest_test

import (
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

func TestCompaction(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	id := c.start().Session.SessionID
	anchor := msp.ViewPageParams{SessionID: id, Limit: 100, Anchor: msp.ViewPageAnchorLatestCompaction}
	e := refused(c, msp.ErrorKindNoBoundary, msp.MethodViewPage, anchor)
	if e.Code != -32042 || e.Data.LatestBoundaryCursor.IsZero() || e.Data.LatestBoundaryCursor.Get() != nil {
		t.Errorf("without a compaction: %+v", e)
	}
	for range 4 {
		ack, mark := c.submit(id, "say hello")
		c.finished(mark, ack.TurnID)
	}
	mark := c.Mark()
	ack := must[msp.SessionCompactResult](c, msp.MethodSessionCompact, msp.SessionCompactParams{SessionID: id, CommandID: msptest.CommandID()})
	if ack.Status != msp.CompactStatusAccepted {
		t.Fatalf("ack %+v", ack)
	}
	done := await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.Kind == msp.ItemKindCompaction })
	if i := done.Item; i.Status != msp.ItemStatusCompleted || i.Outcome != msp.CompactionOutcomeCompacted || i.Trigger != msp.CompactionTriggerManual {
		t.Errorf("compaction %+v", i)
	}
	next, from := c.submit(id, "say hello")
	c.finished(from, next.TurnID)

	page := must[msp.ViewPageResult](c, msp.MethodViewPage, anchor)
	if page.ResolvedAnchor == nil || page.ResolvedAnchor.BoundaryCursor == "" || len(page.Events) == 0 {
		t.Errorf("page from the compaction: %+v", page)
	}
	both := anchor
	both.Cursor = new("")
	refused(c, msp.ErrorKindInvalidParams, msp.MethodViewPage, both)
	c.leave()

	again := h.open(t)
	resumed := must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{
		SessionID: id, CommandID: msptest.CommandID(), History: msp.HistoryPreferenceAnchored,
	})
	snap := resumed.History.Snapshot
	if resumed.History.Mode != msp.HistoryModeAnchoredSnapshot || snap == nil || snap.Anchor == nil {
		t.Fatalf("history %+v", resumed.History)
	}
	if page.ResolvedAnchor != nil && snap.Anchor.BoundaryCursor != page.ResolvedAnchor.BoundaryCursor {
		t.Errorf("anchored at %s, paged from %s", snap.Anchor.BoundaryCursor, page.ResolvedAnchor.BoundaryCursor)
	}
	for _, pref := range []msp.HistoryPreference{msp.HistoryPreferenceAuto, msp.HistoryPreferenceInline, msp.HistoryPreferenceSnapshot} {
		r := must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID(), History: pref})
		hist := r.History
		if (hist.Items != nil) != (hist.Mode == msp.HistoryModeInline) ||
			(hist.Snapshot != nil) != (hist.Mode == msp.HistoryModeSnapshot || hist.Mode == msp.HistoryModeAnchoredSnapshot) ||
			(hist.NoneReason != "") != (hist.Mode == msp.HistoryModeNone) {
			t.Errorf("%s: mode %s, items %v, snapshot %v, reason %q", pref, hist.Mode, hist.Items != nil, hist.Snapshot != nil, hist.NoneReason)
		}
		if pref == msp.HistoryPreferenceInline && hist.Mode != msp.HistoryModeInline || pref == msp.HistoryPreferenceSnapshot && hist.Mode != msp.HistoryModeSnapshot {
			t.Errorf("asked for %s, served %s", pref, hist.Mode)
		}
	}
	again.leave()
}

// Output that does not fit an item is read in windows.
func TestReadOutput(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t, "--trust-workspace")
	id := must[msp.SessionStartResult](c, msp.MethodSessionStart, msp.SessionStartParams{
		CommandID: msptest.CommandID(), WorkspaceRoot: &c.home.workspace, ApprovalMode: new(msp.ApprovalModeAllowAll),
	}).Session.SessionID
	ack, mark := c.submit(id, "print a lot")
	item := await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.Kind == msp.ItemKindToolCall }).Item
	c.finished(mark, ack.TurnID)
	if item.OutputRef == nil || !item.Truncated {
		t.Fatalf("item %+v", item)
	}
	read := func(offset, length int64) msp.ItemReadOutputResult {
		t.Helper()
		return must[msp.ItemReadOutputResult](c, msp.MethodItemReadOutput, msp.ItemReadOutputParams{
			SessionID: id, ItemID: item.ItemID, OutputRef: item.OutputRef.ID, OffsetBytes: &offset, LengthBytes: &length,
		})
	}
	var whole string
	for offset := int64(0); ; {
		w := read(offset, 100_000)
		if w.Encoding != msp.ItemReadOutputEncodingUtf8 || w.OffsetBytes != offset || w.ByteLen != int64(len(w.Content)) {
			t.Fatalf("window at %d: offset %d, %d bytes, %s", offset, w.OffsetBytes, w.ByteLen, w.Encoding)
		}
		whole += w.Content
		offset += w.ByteLen
		if w.Eof {
			break
		}
		if w.ByteLen == 0 {
			t.Fatal("an empty window that is not the last one")
		}
	}
	if int64(len(whole)) != item.OutputRef.ByteLen {
		t.Errorf("read %d bytes, the reference says %d", len(whole), item.OutputRef.ByteLen)
	}
	refused(c, msp.ErrorKindNotFound, msp.MethodItemReadOutput, msp.ItemReadOutputParams{SessionID: id, ItemID: item.ItemID, OutputRef: "no-such"})
	// The umlauts that were printed are two bytes each: the second byte of one is
	// no place to begin.
	for offset := int64(0); offset < int64(len(whole)); offset++ {
		if whole[offset]&0xc0 == 0x80 {
			e := refused(c, msp.ErrorKindInvalidParams, msp.MethodItemReadOutput, msp.ItemReadOutputParams{
				SessionID: id, ItemID: item.ItemID, OutputRef: item.OutputRef.ID, OffsetBytes: &offset,
			})
			if next := e.Data.AlignedNextOffset; next == nil || *next <= offset || whole[*next]&0xc0 == 0x80 {
				t.Errorf("aligned offset %v behind %d", next, offset)
			}
			break
		}
	}
	c.leave()
}
