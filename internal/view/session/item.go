package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

// Bounds of what a view carries of one surface; the whole is in the log and in
// the files beside it (MSP.md 13, Item.truncated).
const (
	maxText        = 1 << 20
	maxOutput      = 64 << 10
	maxArgs        = 1 << 20
	maxQueuedText  = 4 << 10
	maxFirstPrompt = 4 << 10
)

// derived is an identity for what has none of its own: a UUID (version 8) that
// is the same for every reader of the log.
func derived(record string, index int) string {
	h := sha256.New()
	h.Write([]byte("openmuse item\x00" + record))
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(index))
	h.Write(n[:])
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func attachmentID(item string, n int) string { return item + "/" + strconv.Itoa(n) }

// single shows an item that one record makes whole.
func (f *Fold) single(item msp.Item) {
	f.say(msp.NoteItemCompleted, &msp.ItemCompletedParams{Durable: f.here(), Item: item})
}

// begin shows an item that goes on.
func (f *Fold) begin(item msp.Item) *open {
	item.Revision, item.Status, item.RecordedAt = 1, msp.ItemStatusInProgress, stamp(f.cur.At)
	o := &open{Item: item, First: f.position()}
	d := f.here()
	f.say(msp.NoteItemStarted, &msp.ItemStartedParams{
		MaybeDurable: msp.MaybeDurable{Position: d.Position, SourceRange: &d.SourceRange}, Item: shown(item),
	})
	return o
}

// update shows an open item again.
func (f *Fold) update(o *open) {
	o.Item.Revision++
	o.Item.RecordedAt = stamp(f.cur.At)
	f.say(msp.NoteItemUpdated, &msp.ItemUpdatedParams{Durable: f.since(o.First), Item: shown(o.Item)})
}

// end shows an open item for the last time.
func (f *Fold) end(o *open, status msp.ItemStatus) {
	o.Item.Revision++
	o.Item.Status, o.Item.RecordedAt = status, stamp(f.cur.At)
	f.say(msp.NoteItemCompleted, &msp.ItemCompletedParams{Durable: f.since(o.First), Item: shown(o.Item)})
}

// shown is a copy of an item for a notification. Output on its way is not part
// of what a record says.
func shown(i msp.Item) msp.Item {
	if i.Status == msp.ItemStatusInProgress {
		i.VisibleOutput = nil
	}
	return i
}

// reply is a message that is being shown as it comes: it has no record yet.
type reply struct {
	MessageID, Run string
	Opened         bool
	Text           []byte // what was shown; it grows piece by piece
	Seen           int64  // bytes that came
	Holed          bool   // a fragment did not come: no more is shown until the end
}

// applyLive takes in what is shown while it happens.
func (f *Fold) applyLive(r event.Recorded) {
	switch b := r.Body.(type) {
	case event.OutputDelta:
		f.outputDelta(b)
	case event.TaskProgress:
		if c := f.s.Calls[f.s.Tasks[b.TaskID]]; c != nil && c.Open != nil && c.Streams {
			f.outputChunk(c.Open, b.Offset, b.Chunk)
		}
	case event.UserShellOutput:
		if o := f.s.Shells[b.CommandID]; o != nil {
			f.outputChunk(o, b.Offset, b.Chunk)
		}
	}
}

// outputDelta shows a fragment of the answer. White space alone is held back: a
// reply that has nothing else is never committed.
func (f *Fold) outputDelta(b event.OutputDelta) {
	if b.MessageID == "" || b.Text == "" {
		return
	}
	if f.s.Reply == nil || f.s.Reply.MessageID != b.MessageID {
		f.dropReply(msp.ItemStatusFailed)
		f.s.Reply = &reply{MessageID: b.MessageID, Run: f.cur.Run}
	}
	m := f.s.Reply
	m.Holed = m.Holed || b.Offset != m.Seen
	m.Seen += int64(len(b.Text))
	if m.Holed {
		return
	}
	room, cut := clip(b.Text, maxText-len(m.Text))
	m.Text, m.Holed = append(m.Text, room...), cut
	if !m.Opened {
		if len(bytes.TrimSpace(m.Text)) == 0 {
			return
		}
		at, ok := f.live()
		if !ok {
			return
		}
		m.Opened = true
		item := m.item()
		none := ""
		item.Text = &none
		f.show(msp.NoteItemStarted, &msp.ItemStartedParams{MaybeDurable: msp.MaybeDurable{Position: at}, Item: item})
		room = string(m.Text)
	}
	f.delta(m.MessageID, "text", room)
}

func (m *reply) item() msp.Item {
	text := string(m.Text)
	return msp.Item{
		ItemID: m.MessageID, Kind: msp.ItemKindAgentMessage, TurnID: named(m.Run), Revision: 1,
		Status: msp.ItemStatusInProgress, Text: &text,
	}
}

func (f *Fold) delta(item, field, text string) {
	if text == "" {
		return
	}
	if at, ok := f.live(); ok {
		f.show(msp.NoteItemDelta, &msp.ItemDeltaParams{Position: at, ItemID: item, Field: field, Delta: text})
	}
}

// outputChunk shows a piece of an open item's output. After a piece that did
// not come nothing is shown, so that what was shown is always a beginning of
// what is committed.
func (f *Fold) outputChunk(o *open, offset int64, chunk string) {
	o.Holed = o.Holed || offset != o.Seen || leavesOut(chunk)
	o.Seen += int64(len(chunk))
	if o.Holed {
		return
	}
	so := deref(o.Item.VisibleOutput)
	chunk, o.Holed = clip(chunk, maxOutput-len(so))
	if chunk == "" {
		return
	}
	so += chunk
	o.Item.VisibleOutput = &so
	f.delta(o.Item.ItemID, "output", chunk)
}

// leavesOut reports whether a tool says that it left output out before a chunk.
func leavesOut(chunk string) bool {
	line, _, cut := strings.Cut(chunk, "\n")
	return cut && strings.HasPrefix(line, "[") && strings.HasSuffix(line, " bytes not shown]")
}

// rest shows what was not shown of a text before the record that commits it,
// so that the pieces make the whole.
func (f *Fold) rest(item, field, shown, whole string) {
	tail, ok := strings.CutPrefix(whole, shown)
	if n := f.s.Last + 1; ok && tail != "" && n < f.cur.Sequence*Stride {
		f.s.Last = n
		f.show(msp.NoteItemDelta, &msp.ItemDeltaParams{
			Position: msp.Position{SessionID: f.s.Session, ViewCursor: Cursor(f.s.Session, n)}, ItemID: item, Field: field, Delta: tail,
		})
	}
}

// dropReply ends a reply that was shown and will not be committed: the attempt
// failed. No record stands for it, so a replay never shows it.
func (f *Fold) dropReply(status msp.ItemStatus) {
	m := f.s.Reply
	f.s.Reply = nil
	if m == nil || !m.Opened {
		return
	}
	// It belongs before the record that ends it.
	n := f.s.Last + 1
	if f.cur.Sequence > 0 && n >= f.cur.Sequence*Stride {
		return
	}
	f.s.Last = n
	item := m.item()
	item.Revision, item.Status, item.FailureReason = 2, status, "the reply broke off"
	f.show(msp.NoteItemCompleted, &msp.ItemCompletedParams{
		Durable: msp.Durable{
			Position: msp.Position{SessionID: f.s.Session, ViewCursor: Cursor(f.s.Session, n)},
			SourceRange: msp.SourceRange{
				Stream: msp.StreamRef{Kind: "session", ID: f.s.Session}, First: f.s.Record, Last: f.s.Record,
			},
		}, Item: item,
	})
}

func (f *Fold) assistantMessage(b event.AssistantMessage) {
	text, cut := clip(b.Text, maxText)
	item := msp.Item{
		ItemID: b.MessageID, Kind: msp.ItemKindAgentMessage, TurnID: named(f.cur.Run), Revision: 2,
		Status: msp.ItemStatusCompleted, RecordedAt: stamp(f.cur.At), Text: &text, Truncated: cut,
	}
	if item.ItemID == "" {
		item.ItemID = f.cur.ID
	}
	if b.Phase == "incomplete" {
		item.Status, item.FailureReason = msp.ItemStatusCancelled, "the reply broke off"
	}
	if m := f.s.Reply; m != nil && m.MessageID == b.MessageID {
		if m.Opened {
			f.rest(m.MessageID, "text", string(m.Text), text)
		}
		f.s.Reply = nil
	}
	f.dropReply(msp.ItemStatusFailed)
	f.single(item)
}

func (f *Fold) summaryCommitted(b event.SummaryCommitted) {
	item := f.reasoningItem(b.MessageID, b.ItemID)
	text, cut := clip(b.Text, maxText)
	item.Summary, item.Truncated = strings.Split(text, "\n\n"), cut
	f.single(item)
}

// reasoningCommitted shows reasoning that a provider gives in words.
func (f *Fold) reasoningCommitted(b event.ReasoningCommitted) {
	if b.Text == "" {
		return
	}
	item := f.reasoningItem(b.MessageID, b.ItemID)
	text, cut := clip(b.Text, maxText)
	item.Text, item.Truncated = &text, cut
	f.single(item)
}

func (f *Fold) reasoningItem(message, providerItem string) msp.Item {
	if message == "" {
		message = f.cur.ID
	}
	return msp.Item{
		ItemID: message, Kind: msp.ItemKindReasoning, TurnID: named(f.cur.Run), Revision: 1, Status: msp.ItemStatusCompleted,
		RecordedAt: stamp(f.cur.At), ProviderItemID: providerItem,
	}
}

func (f *Fold) shellCommand(b event.UserShellCommand) {
	f.s.Shells[b.CommandID] = f.begin(msp.Item{
		ItemID: f.cur.ID, Kind: msp.ItemKindUserShell, CommandID: b.CommandID, CommandText: b.CommandText,
	})
}

// shellResult ends a command. One that is not open has ended with its process.
func (f *Fold) shellResult(b event.UserShellResult) {
	if f.s.Shells[b.CommandID] == nil {
		return
	}
	o := f.takeShell(b.CommandID)
	out, cut := clip(b.VisibleOutput, maxOutput)
	f.outputRest(o, out)
	o.Item.VisibleOutput, o.Item.Truncated = &out, b.Truncated || cut
	o.Item.DurationMs = clone(&b.DurationMS)
	o.Item.ExitCode, o.Item.ExitSignal = number(b.ExitCode), number(b.ExitSignal)
	o.Item.OutputRef = outputRef(b.OutputRef, "available")
	status := msp.ItemStatusCompleted
	switch b.TerminalState {
	case "failed":
		status = msp.ItemStatusFailed
	case "timed_out":
		status, o.Item.Truncated = msp.ItemStatusTimedOut, true // there would have been more
	case "cancelled":
		status, o.Item.Truncated = msp.ItemStatusCancelled, true
	}
	f.end(o, status)
}

// outputRest shows what is missing of an output of which some was shown.
func (f *Fold) outputRest(o *open, whole string) {
	if shown := o.Item.VisibleOutput; shown != nil {
		f.rest(o.Item.ItemID, "output", *shown, whole)
		o.Item.VisibleOutput = &whole
	}
}

func (f *Fold) shellRejected(b event.UserShellRejected) {
	o := f.takeShell(b.CommandID)
	o.Item.FailureReason = b.Reason
	f.endWithoutOutput(o, msp.ItemStatusRejected)
}

// endWithoutOutput ends a command whose output was not recorded: what was shown
// of it is not part of the log.
func (f *Fold) endWithoutOutput(o *open, status msp.ItemStatus) {
	o.Item.VisibleOutput, o.Item.Truncated = nil, true
	f.end(o, status)
}

// takeShell is the open item of a command, or one that begins here.
func (f *Fold) takeShell(command string) *open {
	o := f.s.Shells[command]
	delete(f.s.Shells, command)
	if o == nil {
		o = &open{Item: msp.Item{ItemID: f.cur.ID, Kind: msp.ItemKindUserShell, CommandID: command}, First: f.position()}
	}
	return o
}

func (f *Fold) sideOpened(b event.SideOpened) {
	f.single(msp.Item{
		ItemID: f.cur.ID, Kind: msp.ItemKindSideChat, Revision: 1, Status: msp.ItemStatusCompleted, RecordedAt: stamp(f.cur.At),
		CommandID: b.CommandID, SideSessionID: b.SideSessionID, FallbackText: "side chat",
	})
}

func number(p *int) *int64 {
	if p == nil {
		return nil
	}
	n := int64(*p)
	return &n
}

func outputRef(r *event.OutputRef, availability string) *msp.OutputRef {
	if r == nil {
		return nil
	}
	if availability == "" {
		availability = "available"
	}
	return &msp.OutputRef{
		Kind: r.Kind, Availability: msp.OutputRefAvailability(availability), ByteLen: r.ByteLen, ID: r.ID, URI: r.URI,
		Digest: r.Digest, MediaType: r.MediaType, Path: r.Path,
	}
}
